CREATE TABLE g (id INT, k STRING, m STRING, v INT, d DOUBLE, dc DECIMAL(10,2), s STRING, b BOOLEAN) WITH ('connector'='filesystem','path'='${DIR}/grp.jsonl','format'='json');
CREATE TABLE e (id INT, k STRING, v INT) WITH ('connector'='filesystem','path'='${DIR}/empty.jsonl','format'='json');
CREATE TABLE n (id INT, t TINYINT, s SMALLINT, a INT, l BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(10,2)) WITH ('connector'='filesystem','path'='${DIR}/nums.jsonl','format'='json');
CREATE TABLE w (id INT, ts TIMESTAMP(3), dt DATE, tm TIME(0)) WITH ('connector'='filesystem','path'='${DIR}/times.jsonl','format'='json');
-- case count_star_and_column
SELECT k, COUNT(*), COUNT(v), COUNT(d) FROM g GROUP BY k;
-- case sum_all_types
SELECT k, SUM(v), SUM(d), SUM(dc), SUM(CAST(v AS BIGINT)) FROM g GROUP BY k;
-- case avg_all_types
SELECT k, AVG(v), AVG(dc), AVG(CAST(v AS DOUBLE)) FROM g GROUP BY k;
-- case min_max_all_types
SELECT k, MIN(v), MAX(v), MIN(d), MAX(d), MIN(dc), MAX(dc), MIN(s), MAX(s) FROM g GROUP BY k;
-- case min_max_boolean_time
SELECT MIN(b), MAX(b) FROM g;
-- case min_max_times
SELECT MIN(ts), MAX(ts), MIN(dt), MAX(dt), MIN(tm), MAX(tm) FROM w;
-- case small_integer_sums
SELECT SUM(t), SUM(s), SUM(a), SUM(l), AVG(t), AVG(s), AVG(a) FROM n;
-- case sum_int_overflow
SELECT SUM(x), AVG(x), SUM(CAST(x AS BIGINT)) FROM (VALUES (2147483647), (2147483647), (1)) AS t(x);
-- case sum_types
SELECT REPLACE(TYPEOF(SUM(a)), ' NOT NULL', ''), REPLACE(TYPEOF(SUM(dc)), ' NOT NULL', ''), REPLACE(TYPEOF(AVG(dc)), ' NOT NULL', ''), REPLACE(TYPEOF(AVG(a)), ' NOT NULL', ''), REPLACE(TYPEOF(COUNT(a)), ' NOT NULL', ''), REPLACE(TYPEOF(SUM(f)), ' NOT NULL', ''), REPLACE(TYPEOF(AVG(f)), ' NOT NULL', ''), REPLACE(TYPEOF(MIN(t)), ' NOT NULL', ''), REPLACE(TYPEOF(SUM(t)), ' NOT NULL', '') FROM n;
-- case variance
SELECT k, ROUND(STDDEV_POP(d), 6), ROUND(VAR_POP(d), 6), ROUND(STDDEV_SAMP(d), 6), ROUND(VAR_SAMP(d), 6), ROUND(VARIANCE(d), 6), ROUND(STDDEV(d), 6) FROM g GROUP BY k;
-- case variance_of_one_row
SELECT id, STDDEV_POP(x), STDDEV_SAMP(x), VAR_POP(x), VAR_SAMP(x) FROM (VALUES (1, 2e0), (2, CAST(NULL AS DOUBLE))) AS t(id, x) GROUP BY id;
-- case variance_of_ints
SELECT m, STDDEV_POP(v), VAR_POP(v), VAR_SAMP(v) FROM g GROUP BY m;
-- case count_distinct
SELECT k, COUNT(DISTINCT v), COUNT(DISTINCT s), COUNT(DISTINCT d), COUNT(DISTINCT b) FROM g GROUP BY k;
-- case sum_distinct
SELECT k, SUM(DISTINCT v), AVG(DISTINCT v), MIN(DISTINCT v), SUM(v) FROM g GROUP BY k;
-- case distinct_and_filter
SELECT m, COUNT(DISTINCT v) FILTER (WHERE b), COUNT(DISTINCT v) FILTER (WHERE NOT b), COUNT(DISTINCT v) FROM g GROUP BY m;
-- case filter_clause
SELECT k, COUNT(*) FILTER (WHERE v > 0), SUM(v) FILTER (WHERE b), MAX(v) FILTER (WHERE s = 'x'), COUNT(v) FILTER (WHERE v IS NULL), COUNT(*) FROM g GROUP BY k;
-- case filter_null_condition
SELECT COUNT(*) FILTER (WHERE b), COUNT(*) FILTER (WHERE NOT b), COUNT(*) FILTER (WHERE b IS NULL) FROM g;
-- case global_aggregate
SELECT COUNT(*), SUM(v), MIN(d), MAX(dc), AVG(v) FROM g;
-- case global_aggregate_empty
SELECT COUNT(*), SUM(v) FROM e;
-- case group_aggregate_empty
SELECT k, COUNT(*), SUM(v) FROM e GROUP BY k;
-- case global_aggregate_all_filtered
SELECT COUNT(*), SUM(v) FROM g WHERE v > 100;
-- case group_by_two_keys
SELECT k, m, COUNT(*), SUM(v) FROM g GROUP BY k, m;
-- case group_by_three_types
SELECT s, b, dc, COUNT(*) FROM g GROUP BY s, b, dc;
-- case group_by_double
SELECT d, COUNT(*) FROM g GROUP BY d;
-- case group_by_expression
SELECT v > 0 AS pos, COUNT(*) FROM g GROUP BY v > 0;
-- case group_by_expression_reused
SELECT MOD(id, 3) + 1, UPPER(k), COUNT(*) FROM g GROUP BY MOD(id, 3), UPPER(k);
-- case group_by_case
SELECT CASE WHEN v < 0 THEN 'neg' WHEN v >= 0 THEN 'pos' ELSE 'null' END AS c, COUNT(*) FROM g GROUP BY CASE WHEN v < 0 THEN 'neg' WHEN v >= 0 THEN 'pos' ELSE 'null' END;
-- case group_by_without_aggregates
SELECT k, m FROM g GROUP BY k, m;
-- case group_key_not_selected
SELECT COUNT(*) FROM g GROUP BY k;
-- case group_by_ordinal_subquery
SELECT x, SUM(y) FROM (SELECT m AS x, COALESCE(v, 0) AS y FROM g) GROUP BY x;
-- case group_by_time
SELECT dt, COUNT(*) FROM w GROUP BY dt;
-- case expressions_over_aggregates
SELECT k, SUM(v) * 2 + COUNT(*), COALESCE(MAX(v), -1), CASE WHEN COUNT(v) > 3 THEN 'many' ELSE 'few' END FROM g GROUP BY k;
-- case aggregates_of_expressions
SELECT m, SUM(v * 2), MAX(COALESCE(v, 0) + id), COUNT(CASE WHEN v > 0 THEN 1 END), SUM(CASE WHEN b THEN 1 ELSE 0 END) FROM g GROUP BY m;
-- case same_aggregate_twice
SELECT m, SUM(v), SUM(v) + 1, COUNT(*), COUNT(*) FROM g GROUP BY m;
-- case having
SELECT k, COUNT(*) AS c FROM g GROUP BY k HAVING COUNT(*) > 7;
-- case having_other_aggregate
SELECT k, SUM(v) FROM g GROUP BY k HAVING MIN(v) < 0 AND COUNT(v) > 2;
-- case having_null_is_false
SELECT k, COUNT(*) FROM g GROUP BY k HAVING SUM(v) > 0;
-- case having_key
SELECT k, COUNT(*) FROM g GROUP BY k HAVING k IS NOT NULL;
-- case having_global
SELECT COUNT(*) FROM g HAVING COUNT(*) > 29;
-- case having_global_false
SELECT COUNT(*) FROM g HAVING COUNT(*) > 30;
-- case having_without_output
SELECT k FROM g GROUP BY k HAVING COUNT(*) < 7;
-- case having_shrinks_again
SELECT k, SUM(v) FROM g GROUP BY k HAVING SUM(v) BETWEEN 1 AND 9;
-- case where_before_group
SELECT k, COUNT(*) FROM g WHERE v IS NOT NULL AND v <> 0 GROUP BY k;
-- case first_last_value
SELECT k, FIRST_VALUE(v), LAST_VALUE(v), FIRST_VALUE(s), LAST_VALUE(id) FROM g GROUP BY k;
-- case listagg
SELECT k, LISTAGG(s), LISTAGG(s, '|') FROM g GROUP BY k;
-- case listagg_numbers
SELECT m, LISTAGG(CAST(v AS STRING), ';') FROM g GROUP BY m;
-- case array_agg
SELECT k, ARRAY_AGG(id) FROM g GROUP BY k;
-- case single_null_group
SELECT k, COUNT(*), SUM(v) FROM g WHERE k IS NULL GROUP BY k;
-- case select_distinct_after_group
SELECT DISTINCT c FROM (SELECT k, m, COUNT(*) AS c FROM g GROUP BY k, m);
-- case aggregate_of_aggregate
SELECT c, COUNT(*) FROM (SELECT k, m, COUNT(*) AS c FROM g GROUP BY k, m) GROUP BY c;
-- case aggregate_of_aggregate_min_max
SELECT MIN(s), MAX(s), SUM(s), COUNT(s), AVG(s) FROM (SELECT k, m, SUM(v) AS s FROM g GROUP BY k, m);
-- case aggregate_of_aggregate_distinct
SELECT COUNT(DISTINCT c), SUM(DISTINCT c) FROM (SELECT k, m, COUNT(*) AS c FROM g GROUP BY k, m);
-- case group_moves_between_keys
SELECT parity, COUNT(*), SUM(c), MIN(k), MAX(k) FROM (SELECT k, COUNT(*) AS c, MOD(COUNT(*), 2) AS parity FROM g GROUP BY k) GROUP BY parity;
-- case aggregate_over_top_n
SELECT COUNT(*), SUM(v), MIN(v), MAX(v) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY m ORDER BY v DESC, id) AS rn FROM g) WHERE rn <= 2;
-- case aggregate_over_left_join
SELECT a.k, COUNT(*), COUNT(b.id), SUM(b.v) FROM g AS a LEFT JOIN (SELECT * FROM g WHERE v > 2) AS b ON a.id = b.id GROUP BY a.k;
-- case aggregate_over_distinct
SELECT COUNT(*), SUM(v) FROM (SELECT DISTINCT v FROM g);
-- case aggregate_over_union
SELECT src, COUNT(*), SUM(v) FROM (SELECT 'g' AS src, v FROM g UNION ALL SELECT 'h', v + 1 FROM g WHERE v > 0 UNION ALL SELECT 'e', v FROM e) GROUP BY src;
-- case three_level_aggregate
SELECT COUNT(*), MAX(n) FROM (SELECT c, COUNT(*) AS n FROM (SELECT k, m, s, COUNT(*) AS c FROM g GROUP BY k, m, s) GROUP BY c);
-- case filter_over_aggregate
SELECT k, c FROM (SELECT k, COUNT(*) AS c FROM g GROUP BY k) WHERE c > 7 AND k <> 'z';
-- case projection_drops_key
SELECT c FROM (SELECT k, COUNT(*) AS c FROM g GROUP BY k);
-- case first_last_over_updates
SELECT MAX(c), MIN(c), COUNT(*) FROM (SELECT s, COUNT(*) AS c FROM g GROUP BY s);
-- case count_distinct_many_filters
SELECT COUNT(DISTINCT k) FILTER (WHERE v > 0), COUNT(DISTINCT m), COUNT(DISTINCT CASE WHEN b THEN s END) FROM g;
-- case decimal_sum_wide
SELECT SUM(x), AVG(x) FROM (VALUES (CAST('99999999999999999999.99' AS DECIMAL(38,2))), (CAST(0.01 AS DECIMAL(38,2)))) AS t(x);
-- case double_special_values
SELECT CAST(SUM(x) AS STRING), CAST(MAX(x) AS STRING), CAST(MIN(x) AS STRING), COUNT(x) FROM (VALUES (1e308), (1e308), (-1e0)) AS t(x);
