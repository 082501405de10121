CREATE TABLE l (id INT, k STRING, n INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND) WITH ('connector'='filesystem','path'='${DIR}/l.jsonl','format'='json');
CREATE TABLE r (rid INT, k STRING, n INT, w INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '3' SECOND) WITH ('connector'='filesystem','path'='${DIR}/r.jsonl','format'='json');
CREATE VIEW lw AS SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(ts), INTERVAL '10' SECOND));
CREATE VIEW rw AS SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND));
-- case inner
SELECT lw.window_start, id, rid FROM lw JOIN rw ON lw.window_start = rw.window_start AND lw.window_end = rw.window_end AND lw.k = rw.k;
-- case inner_no_key
SELECT lw.window_start, id, rid FROM lw JOIN rw ON lw.window_start = rw.window_start AND lw.window_end = rw.window_end WHERE id < 4;
-- case inner_residual
SELECT lw.window_end, id, rid FROM lw JOIN rw ON lw.window_start = rw.window_start AND lw.window_end = rw.window_end AND lw.k = rw.k AND lw.v > rw.w;
-- case left
SELECT lw.window_start, id, rid FROM lw LEFT JOIN rw ON lw.window_start = rw.window_start AND lw.window_end = rw.window_end AND lw.k = rw.k;
-- case right
SELECT rw.window_start, id, rid FROM lw RIGHT JOIN rw ON lw.window_start = rw.window_start AND lw.window_end = rw.window_end AND lw.k = rw.k;
-- case full
SELECT COALESCE(lw.window_start, rw.window_start), id, rid FROM lw FULL JOIN rw ON lw.window_start = rw.window_start AND lw.window_end = rw.window_end AND lw.n = rw.n;
-- case semi_in
SELECT id FROM lw WHERE k IN (SELECT k FROM rw WHERE rw.window_start = lw.window_start AND rw.window_end = lw.window_end);
-- case anti_not_exists
SELECT id FROM lw WHERE NOT EXISTS (SELECT 1 FROM rw WHERE rw.window_start = lw.window_start AND rw.window_end = lw.window_end AND rw.k = lw.k);
-- case semi_exists
SELECT id FROM lw WHERE EXISTS (SELECT 1 FROM rw WHERE rw.window_start = lw.window_start AND rw.window_end = lw.window_end AND rw.n = lw.n);
-- case hop_windows
SELECT a.window_start, id, rid FROM (SELECT * FROM TABLE(HOP(TABLE l, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))) AS a JOIN (SELECT * FROM TABLE(HOP(TABLE r, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))) AS b ON a.window_start = b.window_start AND a.window_end = b.window_end AND a.k = b.k;
-- case join_of_window_aggregates
SELECT a.window_start, a.k, a.c, b.c FROM (SELECT window_start, window_end, k, COUNT(*) AS c FROM lw GROUP BY window_start, window_end, k) AS a LEFT JOIN (SELECT window_start, window_end, k, SUM(w) AS c FROM rw GROUP BY window_start, window_end, k) AS b ON a.window_start = b.window_start AND a.window_end = b.window_end AND a.k = b.k;
-- case aggregate_over_window_join
SELECT ws, COUNT(*) FROM (SELECT lw.window_start AS ws, lw.window_end AS we, id, rid FROM lw JOIN rw ON lw.window_start = rw.window_start AND lw.window_end = rw.window_end AND lw.k = rw.k) GROUP BY ws, we;
