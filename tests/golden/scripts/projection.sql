CREATE TABLE b (id INT, p BOOLEAN, q BOOLEAN, x INT, y INT, s STRING) WITH ('connector'='filesystem','path'='${DIR}/bools.jsonl','format'='json');
CREATE TABLE e (id INT, p BOOLEAN, x INT) WITH ('connector'='filesystem','path'='${DIR}/empty.jsonl','format'='json');
-- case and_or_not
SELECT id, p AND q, p OR q, NOT p FROM b;
-- case is_true_false_unknown
SELECT id, p IS TRUE, p IS FALSE, p IS UNKNOWN, p IS NOT TRUE, p IS NOT FALSE, p IS NOT UNKNOWN, p IS NULL, p IS NOT NULL FROM b;
-- case nested_logic
SELECT id, (p AND NOT q) OR (q AND NOT p), NOT (p OR q), p AND (q OR p IS NULL) FROM b;
-- case comparisons_null
SELECT id, x = y, x <> y, x < y, x <= y, x > y, x >= y FROM b;
-- case distinct_from
SELECT id, x IS DISTINCT FROM y, x IS NOT DISTINCT FROM y, p IS DISTINCT FROM q, s IS NOT DISTINCT FROM CAST(NULL AS STRING) FROM b;
-- case where_column
SELECT id FROM b WHERE p;
-- case where_not_column
SELECT id FROM b WHERE NOT p;
-- case where_unknown_and_false
SELECT id FROM b WHERE p OR x = y;
-- case where_null_constant
SELECT id FROM b WHERE CAST(NULL AS BOOLEAN);
-- case where_constant_true
SELECT id FROM b WHERE TRUE AND 1 = 1;
-- case where_constant_false
SELECT id FROM b WHERE 1 > 2;
-- case where_is_not_null
SELECT id, y FROM b WHERE y IS NOT NULL AND y <> 1;
-- case in_list
SELECT id, x IN (1, 2), x NOT IN (1, 2), y IN (1, CAST(NULL AS INT)), y NOT IN (1, CAST(NULL AS INT)) FROM b;
-- case in_list_where
SELECT id FROM b WHERE s IN ('a', 'ab', '');
-- case not_in_list_where
SELECT id FROM b WHERE s NOT IN ('a', 'ab', '');
-- case in_list_long
SELECT id FROM b WHERE x IN (5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,-1);
-- case in_expressions
SELECT id FROM b WHERE x IN (y, y + 1, id - 4);
-- case between
SELECT id, x BETWEEN 0 AND 1, x NOT BETWEEN 0 AND 1, x BETWEEN y AND 3, x BETWEEN SYMMETRIC 3 AND 1, x BETWEEN 3 AND 1 FROM b;
-- case string_compare
SELECT id, s = 'a', s <> 'a', s < 'a', s >= 'A', s = '' FROM b;
-- case string_compare_trailing_space
SELECT id FROM b WHERE s > '' AND s < 'a';
-- case select_star
SELECT * FROM b;
-- case star_and_more
SELECT *, x + y AS z FROM b WHERE id < 4;
-- case qualified_star
SELECT t.*, t.id * 10 FROM b AS t WHERE t.id > 7;
-- case same_column_twice
SELECT id, id, x AS id2, x FROM b WHERE id < 3;
-- case constants_only
SELECT 1, 'x', TRUE, CAST(NULL AS INT), 1.50, DATE '2026-01-02' FROM b WHERE id = 1;
-- case quoted_names
SELECT `id` AS `select`, x AS `from`, y AS `a b` FROM b WHERE id IN (1, 2);
-- case empty_input
SELECT id, p, x FROM e;
-- case empty_input_where
SELECT x FROM e WHERE p;
-- case subquery_filter_chain
SELECT z FROM (SELECT id, x + y AS z FROM (SELECT * FROM b WHERE p IS NOT NULL) WHERE y IS NOT NULL) WHERE z > 0;
-- case cte
WITH t AS (SELECT id, x FROM b WHERE x > 0), u AS (SELECT id * 10 AS i10, x FROM t) SELECT i10, x FROM u WHERE i10 < 70;
-- case cte_columns
WITH t (i, v) AS (SELECT id, y FROM b) SELECT v, i FROM t WHERE v = 1;
-- case cte_used_twice
WITH t AS (SELECT id, x FROM b WHERE id <= 3) SELECT id, x FROM t UNION ALL SELECT -id, x FROM t;
CREATE VIEW v1 AS SELECT id, x, y FROM b WHERE p;
CREATE VIEW v2 (i, total) AS SELECT id, x + COALESCE(y, 0) FROM v1;
-- case view
SELECT * FROM v1;
-- case view_on_view
SELECT total, i FROM v2 WHERE total > 1;
CREATE TABLE c (id INT, x INT, y INT, x2 AS x * 2, xy AS COALESCE(x, 0) + COALESCE(y, 0), s STRING, su AS UPPER(s)) WITH ('connector'='filesystem','path'='${DIR}/bools.jsonl','format'='json');
-- case computed_columns
SELECT * FROM c;
-- case computed_column_filter
SELECT id, su FROM c WHERE x2 > 2 OR su = 'AB';
CREATE TABLE cl (z AS x - y) LIKE c;
-- case create_table_like
SELECT id, x2, z FROM cl WHERE z IS NOT NULL;
CREATE TABLE cl2 WITH ('path'='${DIR}/empty.jsonl') LIKE c (OVERWRITING OPTIONS);
-- case create_table_like_other_path
SELECT id, x2 FROM cl2;
-- case values_rows
SELECT a, b FROM (VALUES (1, 'x'), (2, 'y'), (2, 'y'), (-3, '')) AS t(a, b);
-- case values_nulls
SELECT a, b, a IS NULL FROM (VALUES (1, CAST(NULL AS STRING)), (CAST(NULL AS INT), 'z')) AS t(a, b);
-- case values_bare
VALUES (1, 'a'), (2, 'b'), (3, 'a');
-- case values_expressions
SELECT a + 1, b FROM (VALUES (1 + 1, UPPER('q')), (ABS(-5), 'r')) AS t(a, b) WHERE a > 2;
-- case values_common_type
SELECT a, TYPEOF(a) FROM (VALUES (1), (2.50), (CAST(3 AS BIGINT))) AS t(a);
-- case select_no_from
SELECT 1 + 1, 'a' || 'b', TRUE AND FALSE;
-- case union_all_three
SELECT id, x FROM b WHERE x = 1 UNION ALL SELECT id, y FROM b WHERE y = 1 UNION ALL SELECT id, 0 FROM e;
-- case union_all_duplicates
SELECT x FROM b UNION ALL SELECT x FROM b;
-- case union_all_types
SELECT id AS v FROM b WHERE id = 1 UNION ALL SELECT CAST(5000000000 AS BIGINT) FROM b WHERE id = 1;
-- case union_all_of_aggregates
SELECT 'x' AS w, COUNT(x) AS n FROM b UNION ALL SELECT 'y', COUNT(y) FROM b UNION ALL SELECT 'e', COUNT(*) FROM e;
-- case union_all_filter_above
SELECT k, v FROM (SELECT 'x' AS k, x AS v FROM b UNION ALL SELECT 'y', y FROM b) WHERE v > 1;
-- case select_distinct
SELECT DISTINCT x FROM b;
-- case select_distinct_pairs
SELECT DISTINCT p, q IS NULL FROM b;
-- case select_distinct_empty
SELECT DISTINCT x FROM e;
-- case case_in_where
SELECT id FROM b WHERE CASE WHEN p THEN x = 1 WHEN q THEN x IS NULL ELSE FALSE END;
