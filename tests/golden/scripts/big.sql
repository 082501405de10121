CREATE TABLE b (id INT, k STRING, u STRING, v INT, d DOUBLE, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '3' SECOND) WITH ('connector'='filesystem','path'='${DIR}/big.jsonl','format'='json');
CREATE TABLE b0 (id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${DIR}/big.jsonl','format'='json');
CREATE TABLE l (id INT, k STRING, n INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '4' SECOND) WITH ('connector'='filesystem','path'='${DIR}/big_l.jsonl','format'='json');
CREATE TABLE r (rid INT, k STRING, n INT, w INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '4' SECOND) WITH ('connector'='filesystem','path'='${DIR}/big_r.jsonl','format'='json');
CREATE TABLE ver (k STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '4' SECOND) WITH ('connector'='filesystem','path'='${DIR}/big_versions.jsonl','format'='json');
CREATE VIEW vv AS SELECT k, rate, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM ver) WHERE rn = 1;
CREATE TABLE c (id INT, k STRING, v INT, s STRING) WITH ('connector'='filesystem','path'='${DIR}/big_cdc.jsonl','format'='debezium-json');
-- case tumble_keys
SELECT window_start, k, COUNT(*), SUM(v), MIN(v), MAX(v), COUNT(DISTINCT u), AVG(d) FROM TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '7' SECOND)) GROUP BY window_start, window_end, k;
-- case tumble_no_delay
SELECT window_start, COUNT(*), SUM(v), COUNT(DISTINCT k) FROM TABLE(TUMBLE(TABLE b0, DESCRIPTOR(ts), INTERVAL '2' SECOND)) GROUP BY window_start, window_end;
-- case hop_keys
SELECT window_start, k, COUNT(*), SUM(v), MIN(v), MAX(v), SUM(d) FROM TABLE(HOP(TABLE b, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '30' SECOND)) GROUP BY window_start, window_end, k;
-- case hop_no_delay
SELECT window_end, COUNT(*), SUM(v), MIN(v), MAX(v) FROM TABLE(HOP(TABLE b0, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case hop_distinct
SELECT window_end, COUNT(DISTINCT u), COUNT(DISTINCT v) FROM TABLE(HOP(TABLE b, DESCRIPTOR(ts), INTERVAL '15' SECOND, INTERVAL '45' SECOND)) GROUP BY window_start, window_end;
-- case cumulate_keys
SELECT window_start, window_end, k, COUNT(*), SUM(v), MAX(d) FROM TABLE(CUMULATE(TABLE b, DESCRIPTOR(ts), INTERVAL '20' SECOND, INTERVAL '60' SECOND)) GROUP BY window_start, window_end, k;
-- case cumulate_no_delay
SELECT window_start, window_end, COUNT(*), SUM(v), COUNT(DISTINCT k) FROM TABLE(CUMULATE(TABLE b0, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '20' SECOND)) GROUP BY window_start, window_end;
-- case two_levels
SELECT window_start, COUNT(*), SUM(c), MAX(s) FROM TABLE(TUMBLE((SELECT k, window_time AS wt, COUNT(*) AS c, SUM(v) AS s FROM TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end, window_time), DESCRIPTOR(wt), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- case window_top3
SELECT window_start, k, s, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY s DESC, k) AS rn FROM (SELECT window_start, window_end, k, SUM(v) AS s FROM TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '30' SECOND)) GROUP BY window_start, window_end, k)) WHERE rn <= 3;
-- case dedup_last
SELECT k, u, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, u ORDER BY p DESC) AS rn FROM b) WHERE rn = 1;
-- case order_by_time
SELECT id FROM b ORDER BY ts;
-- case interval_inner
SELECT l.id, r.rid FROM l JOIN r ON l.k = r.k AND l.n = r.n AND r.ts BETWEEN l.ts - INTERVAL '10' SECOND AND l.ts + INTERVAL '15' SECOND;
-- case interval_left
SELECT l.id, r.rid FROM l LEFT JOIN r ON l.k = r.k AND l.n = r.n AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '12' SECOND AND r.w > l.v;
-- case interval_right
SELECT l.id, r.rid FROM l RIGHT JOIN r ON l.k = r.k AND l.n = r.n AND r.ts BETWEEN l.ts - INTERVAL '20' SECOND AND l.ts - INTERVAL '2' SECOND;
-- case interval_full
SELECT l.id, r.rid FROM l FULL JOIN r ON l.k = r.k AND l.n = r.n AND r.ts BETWEEN l.ts - INTERVAL '5' SECOND AND l.ts + INTERVAL '5' SECOND;
-- case interval_full_one_key
SELECT l.id, r.rid FROM l FULL JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts + INTERVAL '1' SECOND AND l.ts + INTERVAL '6' SECOND AND (l.v + r.w > 10 OR l.n = 1);
-- case temporal_inner
SELECT l.id, vv.rate FROM l JOIN vv FOR SYSTEM_TIME AS OF l.ts ON l.k = vv.k;
-- case temporal_left
SELECT l.id, vv.rate, vv.ts FROM l LEFT JOIN vv FOR SYSTEM_TIME AS OF l.ts ON l.k = vv.k WHERE l.k IS NOT NULL;
-- case window_join_inner
SELECT x.window_start, x.id, y.rid FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(ts), INTERVAL '20' SECOND))) AS x JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '20' SECOND))) AS y ON x.window_start = y.window_start AND x.window_end = y.window_end AND x.k = y.k AND x.n = y.n;
-- case window_join_full
SELECT x.id, y.rid FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(ts), INTERVAL '15' SECOND))) AS x FULL JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '15' SECOND))) AS y ON x.window_start = y.window_start AND x.window_end = y.window_end AND x.k = y.k AND x.n = y.n;
-- case cdc_rows
SELECT * FROM c;
-- case cdc_group
SELECT k, COUNT(*), COUNT(v), SUM(v), AVG(v), MIN(v), MAX(v), COUNT(DISTINCT v), SUM(DISTINCT v), MIN(s), MAX(s) FROM c GROUP BY k;
-- case cdc_group_two
SELECT k, s, COUNT(*), MIN(id), MAX(id), SUM(v) FILTER (WHERE v > 0) FROM c GROUP BY k, s;
-- case cdc_group_of_group
SELECT n, COUNT(*), MIN(t), MAX(t) FROM (SELECT k, s, COUNT(*) AS n, SUM(v) AS t FROM c GROUP BY k, s) GROUP BY n;
-- case cdc_top3
SELECT k, rn, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM c) WHERE rn <= 3;
-- case cdc_top_ranks_2_to_4
SELECT s, rn, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY s ORDER BY v, id DESC) AS rn FROM c) WHERE rn BETWEEN 2 AND 4;
-- case cdc_left_join
SELECT a.id, b.id FROM c AS a LEFT JOIN c AS b ON a.k = b.k AND a.v = b.v AND a.id <> b.id;
-- case cdc_full_join
SELECT a.id, b.k, b.n FROM c AS a FULL JOIN (SELECT k, s, COUNT(*) AS n FROM c WHERE v > 5 GROUP BY k, s) AS b ON a.k = b.k AND a.s = b.s;
-- case cdc_semi_anti
SELECT id FROM c WHERE v > 3 AND k IN (SELECT k FROM c WHERE v < 0) AND NOT EXISTS (SELECT 1 FROM c AS d WHERE d.k = c.k AND d.v > c.v);
-- case cdc_distinct
SELECT DISTINCT k, v FROM c WHERE v IS NOT NULL;
-- case cdc_aggregate_over_join
SELECT a.k, COUNT(*), SUM(b.v), MAX(a.v) FROM c AS a JOIN c AS b ON a.k = b.k AND a.id < b.id GROUP BY a.k;
-- case cdc_top_over_group
SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY n DESC, k) AS rn FROM (SELECT k, COUNT(*) AS n FROM c GROUP BY k)) WHERE rn <= 3;
