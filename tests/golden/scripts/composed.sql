CREATE TABLE g (id INT, k STRING, m STRING, v INT, d DOUBLE, dc DECIMAL(10,2), s STRING, b BOOLEAN) WITH ('connector'='filesystem','path'='${DIR}/grp.jsonl','format'='json');
CREATE TABLE n (id INT, t TINYINT, s SMALLINT, a INT, l BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(10,2)) WITH ('connector'='filesystem','path'='${DIR}/nums.jsonl','format'='json');
-- case percentile
SELECT k, PERCENTILE(v, 0.5), PERCENTILE(d, 0.25), PERCENTILE(dc, 0.9), PERCENTILE(v, 0), PERCENTILE(v, 1) FROM g GROUP BY k;
-- case percentile_array
SELECT k, PERCENTILE(d, ARRAY[0.1, 0.5, 0.99]) FROM g GROUP BY k;
-- case percentile_copies
SELECT k, PERCENTILE(d, 0.5, id) FROM g GROUP BY k;
-- case percentile_filter
SELECT k, PERCENTILE(d, 0.5) FILTER (WHERE v > 0) FROM g GROUP BY k;
-- case percentile_of_groups
SELECT m, PERCENTILE(c, 0.5) FROM (SELECT k, m, COUNT(*) AS c FROM g GROUP BY k, m) GROUP BY m;
-- case percentile_all_numbers
SELECT PERCENTILE(t, 0.4), PERCENTILE(s, 0.4), PERCENTILE(a, 0.4), PERCENTILE(l, 0.4), PERCENTILE(d, 0.4) FROM n WHERE id < 4;
-- case json_arrayagg
SELECT k, JSON_ARRAYAGG(v), JSON_ARRAYAGG(s NULL ON NULL), JSON_ARRAYAGG(dc), JSON_ARRAYAGG(b ABSENT ON NULL) FROM g GROUP BY k;
-- case json_objectagg
SELECT k, JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE v), JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE s ABSENT ON NULL) FROM g WHERE id < 12 GROUP BY k;
-- case json_arrayagg_of_objects
SELECT k, JSON_ARRAYAGG(JSON_OBJECT('id' VALUE id)) FROM g WHERE id < 8 GROUP BY k;
-- case json_object_of_json
SELECT id, JSON_OBJECT('a' VALUE JSON('{"x":[1,2]}'), 'n' VALUE v) FROM g WHERE id < 4;
-- case map_union
SELECT id, ARRAY_SORT(MAP_KEYS(MAP_UNION(MAP[k, id], MAP[m, v]))), CARDINALITY(MAP_UNION(MAP[m, 1], MAP['p', 2], MAP['q', 3])) FROM g WHERE id < 9 AND k IS NOT NULL;
-- case inet
SELECT id, INET_ATON(CAST(id AS STRING) || '.' || CAST(ABS(v) AS STRING)), INET_NTOA(id * 65536 + v) FROM g WHERE id < 16;
