CREATE TABLE b (id INT, p BOOLEAN, q BOOLEAN, x INT, y INT, s STRING) WITH ('connector'='filesystem','path'='${DIR}/bools.jsonl','format'='json');
-- case case_searched
SELECT id, CASE WHEN x > 0 THEN 'pos' WHEN x < 0 THEN 'neg' WHEN x = 0 THEN 'zero' END FROM b;
-- case case_simple
SELECT id, CASE x WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'other' END, CASE s WHEN 'a' THEN 1 END FROM b;
-- case case_null_branches
SELECT id, CASE WHEN p THEN x END, CASE WHEN p THEN CAST(NULL AS INT) ELSE y END, CASE WHEN q IS NULL THEN 'null' ELSE CAST(q AS STRING) END FROM b;
-- case case_nested
SELECT id, CASE WHEN p THEN CASE WHEN q THEN 1 ELSE 2 END ELSE CASE WHEN q THEN 3 ELSE 4 END END FROM b;
-- case if_function
SELECT id, IF(p, x, y), IF(x > y, 'gt', 'le'), IF(x IS NULL, -1, x) FROM b;
-- case coalesce
SELECT id, COALESCE(x, y), COALESCE(y, x, 99), COALESCE(s, 'none'), IFNULL(x, 0), COALESCE(CAST(NULL AS INT), CAST(NULL AS INT)) FROM b;
-- case coalesce_types
SELECT REPLACE(TYPEOF(COALESCE(CAST(1 AS INT), CAST(2 AS BIGINT))), ' NOT NULL', ''), COALESCE(CAST(NULL AS INT), 2.5), REPLACE(TYPEOF(COALESCE(CAST(NULL AS INT), 2.5)), ' NOT NULL', ''), IFNULL(CAST(NULL AS STRING), 'x');
-- case nullif
SELECT id, NULLIF(x, y), NULLIF(x, 1), NULLIF(s, 'a') FROM b;
-- case greatest_least
SELECT id, GREATEST(x, y), LEAST(x, y), GREATEST(x, 0, 3), LEAST(s, 'a') FROM b;
-- case case_strings_lengths
SELECT id, CASE WHEN p THEN 'a' ELSE 'long text' END, CHAR_LENGTH(CASE WHEN p THEN 'a' ELSE 'long text' END) FROM b;
-- case arrays
SELECT id, ARRAY[x, y][1], CARDINALITY(ARRAY[x, y, 3]), ARRAY_CONTAINS(ARRAY[x, y], 1), ARRAY[s, 'k'][2] FROM b;
-- case rows_fields
SELECT id, ROW(x, s), MAP['x', x, 'y', y]['y'] FROM b;
