CREATE TABLE g (id INT, k STRING, m STRING, v INT, d DOUBLE, s STRING, b BOOLEAN) WITH ('connector'='filesystem','path'='${DIR}/grp.jsonl','format'='json');
CREATE TABLE cl (id INT, k STRING, u STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND) WITH ('connector'='filesystem','path'='${DIR}/clicks.jsonl','format'='json');
-- case grouping_sets
SELECT k, m, COUNT(*), SUM(v) FROM g GROUP BY GROUPING SETS ((k, m), (k), ());
-- case rollup
SELECT k, m, COUNT(*), MIN(v), MAX(v) FROM g GROUP BY ROLLUP (k, m);
-- case cube
SELECT k, m, COUNT(*), COUNT(DISTINCT v) FROM g GROUP BY CUBE (k, m);
-- case grouping_function
SELECT k, GROUPING(k), COUNT(*) FROM g GROUP BY GROUPING SETS ((k), ());
-- case grouping_id
SELECT k, m, GROUPING_ID(k, m), COUNT(*) FROM g GROUP BY CUBE (k, m);
-- case grouping_sets_having
SELECT k, m, COUNT(*) AS c FROM g GROUP BY GROUPING SETS ((k), (m)) HAVING COUNT(*) > 7;
-- case grouping_sets_beside_key
SELECT m, k, COUNT(*) FROM g GROUP BY m, GROUPING SETS ((k), ());
-- case window_grouping_sets
SELECT window_start, k, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, GROUPING SETS ((k), ());
-- case window_rollup
SELECT window_start, k, u, COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '30' SECOND)) GROUP BY window_start, window_end, ROLLUP (k, u);
-- case window_cube_grouping
SELECT window_end, k, u, GROUPING(k), GROUPING(u), COUNT(*) FROM TABLE(HOP(TABLE cl, DESCRIPTOR(ts), INTERVAL '30' SECOND, INTERVAL '60' SECOND)) GROUP BY window_start, window_end, CUBE (k, u);
