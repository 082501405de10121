CREATE TABLE l (id INT, k STRING, n INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND) WITH ('connector'='filesystem','path'='${DIR}/l.jsonl','format'='json');
CREATE TABLE r (rid INT, k STRING, n INT, w INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '3' SECOND) WITH ('connector'='filesystem','path'='${DIR}/r.jsonl','format'='json');
CREATE TABLE e (rid INT, k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${DIR}/empty.jsonl','format'='json');
CREATE TABLE lz (id INT, k STRING, lt TIMESTAMP_LTZ(3), WATERMARK FOR lt AS lt - INTERVAL '2' SECOND) WITH ('connector'='filesystem','path'='${DIR}/zl.jsonl','format'='json');
CREATE TABLE rz (rid INT, k STRING, lt TIMESTAMP_LTZ(3), WATERMARK FOR lt AS lt - INTERVAL '2' SECOND) WITH ('connector'='filesystem','path'='${DIR}/zr.jsonl','format'='json');
-- case inner_both_sides
SELECT l.id, r.rid, l.ts, r.ts FROM l JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '5' SECOND AND l.ts + INTERVAL '5' SECOND;
-- case inner_forward
SELECT l.id, r.rid FROM l, r WHERE l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '5' SECOND;
-- case inner_backward
SELECT l.id, r.rid FROM l, r WHERE l.k = r.k AND r.ts >= l.ts - INTERVAL '10' SECOND AND r.ts <= l.ts - INTERVAL '3' SECOND;
-- case inner_open_bounds
SELECT l.id, r.rid FROM l JOIN r ON l.k = r.k AND r.ts > l.ts - INTERVAL '5' SECOND AND r.ts < l.ts + INTERVAL '5' SECOND;
-- case inner_left_in_terms_of_right
SELECT l.id, r.rid FROM l JOIN r ON l.k = r.k AND l.ts BETWEEN r.ts - INTERVAL '1' SECOND AND r.ts + INTERVAL '10' SECOND;
-- case inner_equal_time
SELECT l.id, r.rid FROM l JOIN r ON l.k = r.k AND l.ts = r.ts;
-- case inner_residual
SELECT l.id, r.rid FROM l JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '20' SECOND AND l.ts + INTERVAL '20' SECOND AND l.v < r.w;
-- case inner_two_keys
SELECT l.id, r.rid FROM l JOIN r ON l.k = r.k AND l.n = r.n AND r.ts BETWEEN l.ts - INTERVAL '20' SECOND AND l.ts + INTERVAL '20' SECOND;
-- case inner_filters
SELECT l.id, r.rid FROM l JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '20' SECOND AND l.ts + INTERVAL '20' SECOND WHERE l.v > 5 AND r.w IS NOT NULL;
-- case left_outer
SELECT l.id, r.rid, r.w FROM l LEFT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '5' SECOND;
-- case left_outer_residual
SELECT l.id, r.rid FROM l LEFT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '20' SECOND AND l.ts + INTERVAL '20' SECOND AND r.w > l.v;
-- case left_outer_negative_bounds
SELECT l.id, r.rid FROM l LEFT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '10' SECOND AND l.ts - INTERVAL '1' SECOND;
-- case left_outer_empty_bounds
SELECT l.id, r.rid FROM l LEFT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts + INTERVAL '5' SECOND AND l.ts - INTERVAL '5' SECOND;
-- case right_outer
SELECT l.id, r.rid FROM l RIGHT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '5' SECOND;
-- case full_outer
SELECT l.id, r.rid FROM l FULL JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '1' SECOND AND l.ts + INTERVAL '5' SECOND;
-- case full_outer_residual
SELECT l.id, r.rid FROM l FULL JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '20' SECOND AND l.ts + INTERVAL '20' SECOND AND l.n = 1;
-- case left_outer_empty_right
SELECT l.id, e.rid FROM l LEFT JOIN e ON l.k = e.k AND e.ts BETWEEN l.ts AND l.ts + INTERVAL '5' SECOND;
-- case inner_empty_left
SELECT r.rid FROM e JOIN r ON r.k = e.k AND e.ts BETWEEN r.ts AND r.ts + INTERVAL '5' SECOND;
-- case aggregate_over_interval_join
SELECT l.k, COUNT(*), SUM(r.w) FROM l JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '20' SECOND AND l.ts + INTERVAL '20' SECOND GROUP BY l.k;
-- case window_over_interval_join
SELECT window_start, COUNT(*), COUNT(rid) FROM TABLE(TUMBLE((SELECT l.ts AS lts, r.rid FROM l LEFT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '5' SECOND AND l.ts + INTERVAL '5' SECOND), DESCRIPTOR(lts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case unmatched_left_only
SELECT id FROM (SELECT l.id, r.rid FROM l LEFT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '5' SECOND) WHERE rid IS NULL;
-- case self_interval_join
SELECT a.id, b.id FROM l AS a JOIN l AS b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '15' SECOND AND a.id <> b.id;
-- case three_way_interval
SELECT l.id, r.rid, x.rid FROM l JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '5' SECOND AND l.ts + INTERVAL '5' SECOND JOIN (SELECT * FROM r) AS x ON l.k = x.k AND x.ts BETWEEN l.ts AND l.ts + INTERVAL '10' SECOND;
-- case ltz_interval_join
-- tz America/New_York
SELECT id, rid FROM lz JOIN rz ON lz.k = rz.k AND rz.lt BETWEEN lz.lt - INTERVAL '5' SECOND AND lz.lt + INTERVAL '5' SECOND;
-- case projected_times_and_keys
SELECT UPPER(l.k) AS kk, TIMESTAMPDIFF(SECOND, l.ts, r.ts) AS gap FROM l JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '10' SECOND AND l.ts + INTERVAL '10' SECOND;
