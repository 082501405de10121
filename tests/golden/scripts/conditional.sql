CREATE TABLE b (id INT, p BOOLEAN, q BOOLEAN, x INT, y INT, s STRING) WITH ('connector'='filesystem','path'='${DIR}/bools.jsonl','format'='json');
CREATE TABLE j (id INT, j STRING) WITH ('connector'='filesystem','path'='${DIR}/jsons.jsonl','format'='json');
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
-- case json_value
SELECT id, JSON_VALUE(j, '$.a'), JSON_VALUE(j, '$.a.b'), JSON_VALUE(j, '$.s'), JSON_VALUE(j, '$.n'), JSON_VALUE(j, '$.f'), JSON_VALUE(j, '$.t') FROM j WHERE id <> 4;
-- case json_value_arrays
SELECT id, JSON_VALUE(j, '$.a.c[0]'), JSON_VALUE(j, '$.a.c[2].d'), JSON_VALUE(j, '$[1]'), JSON_VALUE(j, '$.a.c[9]'), JSON_VALUE(j, '$') FROM j WHERE id <> 4;
-- case json_value_malformed
SELECT id, JSON_VALUE(j, 'lax $.a'), JSON_VALUE(j, '$.a' DEFAULT 'e' ON EMPTY DEFAULT 'r' ON ERROR), JSON_VALUE(j, 'strict $.a' NULL ON EMPTY DEFAULT 'bad' ON ERROR) FROM j;
-- case json_value_on_empty
SELECT id, JSON_VALUE(j, '$.zz' DEFAULT 'e' ON EMPTY DEFAULT 'r' ON ERROR) FROM j WHERE id IN (1, 2, 4, 5, 6);
-- case json_value_returning
SELECT id, JSON_VALUE(j, '$.a' RETURNING INT NULL ON ERROR), JSON_VALUE(j, '$.f' RETURNING DOUBLE), JSON_VALUE(j, '$.t' RETURNING BOOLEAN) FROM j WHERE id IN (1, 2, 3, 5);
-- case json_value_bracket_names
SELECT JSON_VALUE('{"a b":1,"x":{"y-z":"q"}}', '$[''a b'']'), JSON_VALUE('{"a b":1,"x":{"y-z":"q"}}', '$.x[''y-z'']');
-- case json_exists
SELECT id, JSON_EXISTS(j, '$.a'), JSON_EXISTS(j, '$.a.b'), JSON_EXISTS(j, '$.n'), JSON_EXISTS(j, '$[0]'), JSON_EXISTS(j, '$.a.c[1]') FROM j WHERE id <> 4;
-- case json_exists_error
SELECT id, JSON_EXISTS(j, 'strict $.zz' FALSE ON ERROR), JSON_EXISTS(j, 'strict $.zz' TRUE ON ERROR), JSON_EXISTS(j, 'strict $.zz' UNKNOWN ON ERROR) FROM j WHERE id IN (1, 2, 3);
-- case json_query
SELECT id, JSON_QUERY(j, '$.a'), JSON_QUERY(j, '$.a.c'), JSON_QUERY(j, '$'), JSON_QUERY(j, '$.s') FROM j WHERE id <> 4;
-- case json_query_wrapper
SELECT id, JSON_QUERY(j, '$.a.b' WITH CONDITIONAL WRAPPER), JSON_QUERY(j, '$.a' WITH UNCONDITIONAL WRAPPER) FROM j WHERE id <> 4;
-- case is_json
SELECT id, j IS JSON, j IS JSON OBJECT, j IS JSON ARRAY, j IS JSON SCALAR, j IS NOT JSON FROM j;
-- case json_string
SELECT JSON_STRING('a"b'), JSON_STRING(1), JSON_STRING(TRUE), JSON_STRING(CAST(NULL AS INT)), JSON_STRING(1.50), JSON_QUOTE('a"b'), JSON_UNQUOTE('"a\"b"');
-- case json_object
SELECT JSON_OBJECT('a' VALUE 1, 'b' VALUE CAST(NULL AS STRING)), JSON_OBJECT('a' VALUE 'x', 'b' VALUE CAST(NULL AS STRING) ABSENT ON NULL), JSON_OBJECT(), JSON_ARRAY(1, 'x', CAST(NULL AS INT)), JSON_ARRAY(1, CAST(NULL AS INT) NULL ON NULL), JSON_ARRAY();
-- case json_object_columns
SELECT id, JSON_OBJECT('id' VALUE id, 'x' VALUE x, 's' VALUE s) FROM b;
-- case arrays
SELECT id, ARRAY[x, y][1], CARDINALITY(ARRAY[x, y, 3]), ARRAY_CONTAINS(ARRAY[x, y], 1), ARRAY[s, 'k'][2] FROM b;
-- case rows_fields
SELECT id, ROW(x, s), MAP['x', x, 'y', y]['y'] FROM b;
