CREATE TABLE j (a INT, b STRING, d DOUBLE, t TIMESTAMP(3)) WITH ('connector'='filesystem','path'='${DIR}/quirks.jsonl','format'='json');
-- case json_quirks
SELECT * FROM j;
-- case json_fewer_columns
SELECT b FROM (SELECT b, d FROM j) WHERE d > 1;
CREATE TABLE jn (r ROW<x INT, y ROW<z STRING>>, ar ARRAY<INT>, mp MAP<STRING, INT>, id INT) WITH ('connector'='filesystem','path'='${DIR}/nested.jsonl','format'='json');
-- case json_nested_fields
SELECT id, r.x, r.y.z, ar[1], ar[2], CARDINALITY(ar), mp['k'] FROM jn;
-- case json_nested_null
SELECT id, r IS NULL, ar IS NULL, r.y IS NULL FROM jn;
CREATE TABLE jt (id INT, b BOOLEAN, ti TINYINT, si SMALLINT, bi BIGINT, f FLOAT, dc DECIMAL(20,5), dt DATE, tm TIME(0), ts TIMESTAMP(3), lt TIMESTAMP_LTZ(3), ch CHAR(3), vc VARCHAR(4)) WITH ('connector'='filesystem','path'='${DIR}/typed.jsonl','format'='json');
-- case json_all_types
SELECT * FROM jt;
CREATE TABLE jb (id INT, b BOOLEAN) WITH ('connector'='filesystem','path'='${DIR}/odd_booleans.jsonl','format'='json');
-- case json_odd_booleans
SELECT * FROM jb;
CREATE TABLE jiso (id INT, ts TIMESTAMP(3), lt TIMESTAMP_LTZ(3)) WITH ('connector'='filesystem','path'='${DIR}/iso.jsonl','format'='json','json.timestamp-format.standard'='ISO-8601');
-- case json_iso_timestamps
SELECT * FROM jiso;
CREATE TABLE jign (a INT, b STRING) WITH ('connector'='filesystem','path'='${DIR}/broken.jsonl','format'='json','json.ignore-parse-errors'='true');
-- case json_ignore_errors
SELECT * FROM jign;
CREATE TABLE c (id INT, s STRING, d DOUBLE, t TIMESTAMP(3)) WITH ('connector'='filesystem','path'='${DIR}/quirks.csv','format'='csv','csv.null-literal'='');
-- case csv_quirks
SELECT * FROM c;
-- case csv_projection
SELECT s, d * 2 FROM c WHERE id IS NOT NULL;
CREATE TABLE c2 (id INT, s STRING, x INT) WITH ('connector'='filesystem','path'='${DIR}/semi.csv','format'='csv','csv.field-delimiter'=';','csv.quote-character'='''','csv.null-literal'='NULL','csv.allow-comments'='true');
-- case csv_options
SELECT * FROM c2;
CREATE TABLE c3 (id INT, s STRING, d DOUBLE) WITH ('connector'='filesystem','path'='${DIR}/broken.csv','format'='csv','csv.ignore-parse-errors'='true');
-- case csv_ignore_errors
SELECT * FROM c3;
CREATE TABLE raw1 (line STRING) WITH ('connector'='filesystem','path'='${DIR}/quirks.csv','format'='raw');
-- case raw_lines
SELECT line, CHAR_LENGTH(line) FROM raw1;
CREATE TABLE dir1 (id INT, v STRING) WITH ('connector'='filesystem','path'='${DIR}/parts','format'='json');
-- case directory_of_files
SELECT id, v FROM dir1;
-- case directory_aggregate
SELECT v, COUNT(*), SUM(id) FROM dir1 GROUP BY v;
CREATE TABLE res (`timestamp` TIMESTAMP(3), `value` INT, `start` STRING, `rows` INT) WITH ('connector'='filesystem','path'='${DIR}/reserved.jsonl','format'='json');
-- case reserved_names
SELECT `timestamp`, `value`, `start`, `rows` FROM res WHERE `value` > 1;
