CREATE TABLE c (id INT, k STRING, v INT, p DECIMAL(6,2)) WITH ('connector'='filesystem','path'='${DIR}/cdc.jsonl','format'='debezium-json');
CREATE TABLE g (id INT, k STRING, v INT) WITH ('connector'='filesystem','path'='${DIR}/grp.jsonl','format'='json');
-- case cdc_rows
SELECT * FROM c;
-- case cdc_filter
SELECT id, v FROM c WHERE v > 5;
-- case cdc_filter_flips
SELECT id, k FROM c WHERE k = 'a';
-- case cdc_projection_duplicates
SELECT k FROM c;
-- case cdc_expression
SELECT id, v * 2, p + 1, COALESCE(k, 'none') FROM c;
-- case cdc_count
SELECT k, COUNT(*), COUNT(v), COUNT(DISTINCT v) FROM c GROUP BY k;
-- case cdc_sum_avg
SELECT k, SUM(v), AVG(v), SUM(p), AVG(p) FROM c GROUP BY k;
-- case cdc_min_max
SELECT k, MIN(v), MAX(v), MIN(p), MAX(p) FROM c GROUP BY k;
-- case cdc_global
SELECT COUNT(*), SUM(v), MIN(v), MAX(v), COUNT(DISTINCT k) FROM c;
-- case cdc_emptied_groups
SELECT k, COUNT(*) FROM c WHERE k IN ('d', 'c') OR k IS NULL GROUP BY k;
-- case cdc_all_deleted_global
SELECT COUNT(*), SUM(v) FROM c WHERE k = 'd';
-- case cdc_sum_distinct
SELECT SUM(DISTINCT v), COUNT(DISTINCT v) FROM c WHERE k = 'b';
-- case cdc_filter_aggregate
SELECT k, COUNT(*) FILTER (WHERE v > 5), SUM(v) FILTER (WHERE p > 1), MAX(v) FILTER (WHERE p IS NULL) FROM c GROUP BY k;
-- case cdc_first_last
SELECT k, FIRST_VALUE(v), LAST_VALUE(v) FROM c WHERE k IN ('c', 'd') GROUP BY k;
-- case cdc_first_last_by_group
SELECT k, FIRST_VALUE(id), LAST_VALUE(id) FROM c WHERE id IN (3, 5, 8, 11) GROUP BY k;
-- case cdc_variance
SELECT k, ROUND(VAR_POP(v), 6), ROUND(STDDEV_SAMP(v), 6) FROM c GROUP BY k;
-- case cdc_having
SELECT k, COUNT(*) FROM c GROUP BY k HAVING COUNT(*) > 3;
-- case cdc_distinct
SELECT DISTINCT k FROM c;
-- case cdc_group_by_value
SELECT v, COUNT(*), MIN(id), MAX(id) FROM c GROUP BY v;
-- case cdc_listagg
SELECT k, LISTAGG(CAST(id AS STRING)) FROM c WHERE id IN (7, 9, 10) GROUP BY k;
-- case cdc_two_levels
SELECT n, COUNT(*), MAX(s) FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM c GROUP BY k) GROUP BY n;
-- case cdc_top1
SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM c) WHERE rn = 1;
-- case cdc_top2_ranks
SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM c) WHERE rn <= 2;
-- case cdc_top_global
SELECT id, v, rn FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY p DESC, id) AS rn FROM c) WHERE rn <= 3;
-- case cdc_order_limit
SELECT id, p FROM c ORDER BY p DESC, id LIMIT 3;
-- case cdc_join_inner
SELECT c.id, g.id, c.k FROM c JOIN g ON c.id = g.id;
-- case cdc_join_left
SELECT c.id, c.k, g.k FROM c LEFT JOIN g ON c.k = g.k AND c.id = g.id;
-- case cdc_self_join
SELECT a.id, b.id FROM c AS a JOIN c AS b ON a.k = b.k AND a.id < b.id;
-- case cdc_join_full
SELECT a.id, b.n FROM c AS a FULL JOIN (SELECT k, COUNT(*) AS n FROM g GROUP BY k) AS b ON a.k = b.k;
-- case cdc_semi
SELECT id FROM g WHERE id IN (SELECT id FROM c);
-- case cdc_anti
SELECT id FROM g WHERE id < 13 AND NOT EXISTS (SELECT 1 FROM c WHERE c.id = g.id);
-- case cdc_union
SELECT id, k FROM c UNION ALL SELECT id, k FROM c WHERE v > 8;
-- case cdc_count_over_join
SELECT a.k, COUNT(*), SUM(b.v) FROM c AS a JOIN g AS b ON a.k = b.k GROUP BY a.k;
CREATE TABLE c2 (id INT, k STRING, v INT, p DECIMAL(6,2), PRIMARY KEY (id) NOT ENFORCED) WITH ('connector'='filesystem','path'='${DIR}/cdc.jsonl','format'='debezium-json');
-- case cdc_primary_key
SELECT id, v FROM c2;
-- case cdc_primary_key_aggregate
SELECT k, COUNT(*), SUM(v), MAX(p) FROM c2 GROUP BY k;
