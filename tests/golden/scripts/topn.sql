CREATE TABLE g (id INT, k STRING, m STRING, v INT, d DOUBLE, dc DECIMAL(10,2), s STRING, b BOOLEAN) WITH ('connector'='filesystem','path'='${DIR}/grp.jsonl','format'='json');
CREATE TABLE cl (id INT, k STRING, u STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND) WITH ('connector'='filesystem','path'='${DIR}/clicks.jsonl','format'='json');
CREATE TABLE cl20 (id INT, k STRING, u STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '20' SECOND) WITH ('connector'='filesystem','path'='${DIR}/clicks.jsonl','format'='json');
CREATE TABLE e (id INT, k STRING, v INT) WITH ('connector'='filesystem','path'='${DIR}/empty.jsonl','format'='json');
-- case top3_no_rank
SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id DESC) AS rn FROM g) WHERE rn <= 3;
-- case top3_with_rank
SELECT k, id, v, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM g) WHERE rn <= 3;
-- case top2_ascending_nulls_first
SELECT k, id, v, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS rn FROM g) WHERE rn <= 2;
-- case top_less_than
SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY d, id) AS rn FROM g) WHERE rn < 3;
-- case top_literal_first
SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY d, id) AS rn FROM g) WHERE 3 > rn;
-- case top_offset_ranks
SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) AS rn FROM g) WHERE rn BETWEEN 2 AND 3;
-- case top_offset_no_rank
SELECT k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY dc DESC, id) AS rn FROM g) WHERE rn > 1 AND rn <= 3;
-- case top_exact_rank
SELECT k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS rn FROM g) WHERE rn = 2;
-- case top_global
SELECT id, v, rn FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC, id) AS rn FROM g) WHERE rn <= 4;
-- case top_more_than_rows
SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS rn FROM g WHERE k = 'a') WHERE rn <= 100;
-- case top_empty
SELECT k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS rn FROM e) WHERE rn <= 2;
-- case top_two_partition_columns
SELECT k, m, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, m ORDER BY id DESC) AS rn FROM g) WHERE rn <= 2;
-- case top_order_by_string_and_null
SELECT m, id, s, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY m ORDER BY s DESC, id) AS rn FROM g) WHERE rn <= 3;
-- case top_order_by_expression
SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY COALESCE(v, 0) * -1, id) AS rn FROM g) WHERE rn <= 2;
-- case top_with_filter_beside
SELECT k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM g) WHERE rn <= 3 AND b;
-- case top_where_inside
SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) AS rn FROM g WHERE v IS NOT NULL) WHERE rn <= 2;
-- case top_over_counts
SELECT k, c, rn FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY c DESC, k) AS rn FROM (SELECT k, COUNT(*) AS c FROM g GROUP BY k)) WHERE rn <= 2;
-- case top_over_sums_per_group
SELECT m, k, s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY m ORDER BY s, k) AS rn FROM (SELECT m, k, SUM(v) AS s FROM g GROUP BY m, k)) WHERE rn <= 2;
-- case top_over_top
SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC, id) AS r2 FROM (SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM g) WHERE rn <= 2)) WHERE r2 <= 3;
-- case filter_over_rank
SELECT k, id FROM (SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS rn FROM g) WHERE rn <= 3) WHERE rn >= 2;
-- case count_over_top
SELECT k, COUNT(*), MAX(rn) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS rn FROM g) WHERE rn <= 5 GROUP BY k;
-- case order_by_limit
SELECT id, v FROM g ORDER BY v DESC, id LIMIT 5;
-- case order_by_limit_asc_nulls
SELECT id, v FROM g ORDER BY v, id LIMIT 3;
-- case order_by_limit_offset
SELECT id, dc FROM g ORDER BY dc DESC, id LIMIT 3 OFFSET 2;
-- case order_by_fetch
SELECT id FROM g ORDER BY id DESC FETCH FIRST 2 ROWS ONLY;
-- case order_by_nulls_last
SELECT id, v FROM g ORDER BY v ASC NULLS LAST, id LIMIT 4;
-- case order_by_nulls_first_desc
SELECT id, v FROM g ORDER BY v DESC NULLS FIRST, id LIMIT 3;
-- case order_by_alias_ordinal
SELECT id, COALESCE(v, 0) + 1 AS z FROM g ORDER BY z DESC, 1 LIMIT 2;
-- case order_by_hidden_column
SELECT k FROM g ORDER BY id LIMIT 4;
-- case order_limit_over_aggregate
SELECT k, COUNT(*) AS c FROM g GROUP BY k ORDER BY c DESC, k LIMIT 2;
-- case limit_counts
SELECT COUNT(*) FROM (SELECT id FROM g LIMIT 7);
-- case limit_more_than_rows
SELECT COUNT(*) FROM (SELECT id FROM g LIMIT 1000);
-- case limit_zero
SELECT id FROM g LIMIT 0;
-- case limit_in_subquery_ordered
SELECT SUM(v) FROM (SELECT v FROM g ORDER BY id LIMIT 8);
-- case dedup_first_proctime
SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS rn FROM cl) WHERE rn = 1;
-- case dedup_last_proctime
SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS rn FROM cl) WHERE rn = 1;
-- case dedup_last_rowtime
SELECT k, id, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM cl) WHERE rn = 1;
-- case dedup_first_rowtime
SELECT k, id, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS rn FROM cl20) WHERE rn = 1;
-- case dedup_first_rowtime_late
SELECT k, id, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts ASC) AS rn FROM cl) WHERE rn = 1;
-- case dedup_last_rowtime_two_keys
SELECT k, u, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, u ORDER BY ts DESC) AS rn FROM cl) WHERE rn = 1;
-- case dedup_then_count
SELECT COUNT(*), SUM(v) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY u ORDER BY ts DESC) AS rn FROM cl) WHERE rn = 1;
-- case dedup_then_window
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE((SELECT k, u, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, u ORDER BY ts) AS rn FROM cl20) WHERE rn = 1), DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case dedup_where_after
SELECT k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS rn FROM cl) WHERE rn = 1 AND v > 0;
-- case window_top_n
SELECT window_start, k, s, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY s DESC, k) AS rn FROM (SELECT window_start, window_end, k, SUM(v) AS s FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k)) WHERE rn <= 2;
-- case window_top_n_no_rank
SELECT window_start, k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY c DESC, k) AS rn FROM (SELECT window_start, window_end, k, COUNT(*) AS c FROM TABLE(HOP(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND)) GROUP BY window_start, window_end, k)) WHERE rn = 1;
-- case window_top_n_on_rows
SELECT window_start, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v DESC, id) AS rn FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '20' SECOND))) WHERE rn <= 2;
-- case window_top_n_on_rows_by_key
SELECT window_start, k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY v, id) AS rn FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '30' SECOND))) WHERE rn <= 1;
-- case window_dedup_last
SELECT window_start, k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY ts DESC) AS rn FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND))) WHERE rn = 1;
-- case window_dedup_first
SELECT window_start, k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY ts) AS rn FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND))) WHERE rn <= 1;
