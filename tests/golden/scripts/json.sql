CREATE TABLE j (id INT, j STRING) WITH ('connector'='filesystem','path'='${DIR}/jsons.jsonl','format'='json');
CREATE TABLE b (id INT, p BOOLEAN, q BOOLEAN, x INT, y INT, s STRING) WITH ('connector'='filesystem','path'='${DIR}/bools.jsonl','format'='json');
-- case json_value
SELECT id, JSON_VALUE(j, '$.a'), JSON_VALUE(j, '$.a.b'), JSON_VALUE(j, '$.s'), JSON_VALUE(j, '$.n'), JSON_VALUE(j, '$.t') FROM j WHERE id <> 4;
-- case json_value_number_text
SELECT JSON_VALUE('{"f":1.50,"i":100,"e":1e3,"n":-0.0}', '$.f'), JSON_VALUE('{"f":1.50,"i":100,"e":1e3,"n":-0.0}', '$.i'), JSON_VALUE('{"f":1.50,"i":100,"e":1e3,"n":-0.0}', '$.e');
-- case json_value_arrays
SELECT id, JSON_VALUE(j, '$.a.c[0]'), JSON_VALUE(j, '$.a.c[2].d'), JSON_VALUE(j, '$[1]'), JSON_VALUE(j, '$.a.c[9]'), JSON_VALUE(j, '$') FROM j WHERE id <> 4;
-- case json_value_malformed
SELECT id, JSON_VALUE(j, 'lax $.a'), JSON_VALUE(j, '$.s') FROM j;
-- case json_value_on_error
SELECT id, JSON_VALUE(j, '$.a' DEFAULT 'e' ON EMPTY DEFAULT 'r' ON ERROR), JSON_VALUE(j, 'strict $.a' NULL ON EMPTY DEFAULT 'bad' ON ERROR) FROM j;
-- case json_value_on_empty
SELECT id, JSON_VALUE(j, '$.zz' DEFAULT 'e' ON EMPTY DEFAULT 'r' ON ERROR) FROM j WHERE id IN (1, 2, 4, 5, 6);
-- case json_value_returning
SELECT id, JSON_VALUE(j, '$.a' RETURNING INT NULL ON ERROR), JSON_VALUE(j, '$.f' RETURNING DOUBLE), JSON_VALUE(j, '$.t' RETURNING BOOLEAN) FROM j WHERE id IN (1, 2, 3, 5);
-- case json_value_bracket_names
SELECT JSON_VALUE('{"a b":1,"x":{"y-z":"q"}}', '$[''a b'']'), JSON_VALUE('{"a b":1,"x":{"y-z":"q"}}', '$.x[''y-z'']');
-- case json_exists
SELECT id, JSON_EXISTS(j, '$.a'), JSON_EXISTS(j, '$.a.b'), JSON_EXISTS(j, '$.a.c[1]') FROM j WHERE id <> 4;
-- case json_exists_null_value
SELECT id, JSON_EXISTS(j, '$.n') FROM j WHERE id = 1;
-- case json_exists_index_of_object
SELECT id, JSON_EXISTS(j, '$[0]') FROM j WHERE id <> 4;
-- case json_exists_error
SELECT id, JSON_EXISTS(j, 'strict $.zz' FALSE ON ERROR), JSON_EXISTS(j, 'strict $.zz' TRUE ON ERROR), JSON_EXISTS(j, 'strict $.zz' UNKNOWN ON ERROR) FROM j WHERE id IN (1, 2, 3);
-- case json_query
SELECT id, JSON_QUERY(j, '$.a'), JSON_QUERY(j, '$.a.c'), JSON_QUERY(j, '$.s') FROM j WHERE id <> 4;
-- case json_query_whole
SELECT id, JSON_QUERY(j, '$') FROM j WHERE id NOT IN (1, 4);
-- case json_query_key_order
SELECT JSON_QUERY('{"b":1,"a":{"z":1,"y":2.50}}', '$');
-- case json_query_wrapper
SELECT id, JSON_QUERY(j, '$.a.b' WITH CONDITIONAL WRAPPER), JSON_QUERY(j, '$.a' WITH UNCONDITIONAL WRAPPER) FROM j WHERE id <> 4;
-- case is_json
SELECT id, j IS JSON, j IS JSON OBJECT, j IS JSON ARRAY, j IS JSON SCALAR, j IS NOT JSON FROM j;
-- case json_string
SELECT JSON_STRING('a"b'), JSON_STRING(1), JSON_STRING(TRUE), JSON_STRING(CAST(NULL AS INT)), JSON_STRING(1.50), JSON_QUOTE('a"b'), JSON_UNQUOTE('"a\"b"');
-- case json_object
SELECT JSON_OBJECT('a' VALUE 1, 'b' VALUE CAST(NULL AS STRING)), JSON_OBJECT(), JSON_ARRAY(1, 'x', CAST(NULL AS INT)), JSON_ARRAY();
-- case json_object_on_null
SELECT JSON_OBJECT('a' VALUE 'x', 'b' VALUE CAST(NULL AS STRING) ABSENT ON NULL), JSON_ARRAY(1, CAST(NULL AS INT) NULL ON NULL);
-- case json_object_columns
SELECT id, JSON_OBJECT('id' VALUE id, 's' VALUE s, 'x' VALUE x) FROM b;
-- case json_object_key_order
SELECT JSON_OBJECT('b' VALUE 1, 'a' VALUE 2);
