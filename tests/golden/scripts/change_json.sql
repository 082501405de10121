CREATE TABLE c (id INT, name STRING, weight DECIMAL(5, 2), made TIMESTAMP(3), flag BOOLEAN) WITH ('connector'='filesystem','path'='${DIR}/canal.jsonl','format'='canal-json','canal-json.database.include'='inv.*','canal-json.table.include'='products\d');
CREATE TABLE ca (id INT, name STRING) WITH ('connector'='filesystem','path'='${DIR}/canal.jsonl','format'='canal-json');
CREATE TABLE m (id BIGINT, name STRING, description STRING, weight DOUBLE) WITH ('connector'='filesystem','path'='${DIR}/maxwell.jsonl','format'='maxwell-json');
CREATE TABLE o (id INT, name STRING, weight DOUBLE) WITH ('connector'='filesystem','path'='${DIR}/ogg.jsonl','format'='ogg-json');
-- case canal_rows
SELECT * FROM c;
-- case canal_groups
SELECT name, COUNT(*), SUM(weight), MAX(made), COUNT(flag) FROM c GROUP BY name;
-- case canal_all_tables
SELECT * FROM ca;
-- case canal_one_column
SELECT id FROM c WHERE id <> 102;
-- case maxwell_rows
SELECT * FROM m;
-- case maxwell_groups
SELECT name, COUNT(*), COUNT(description), SUM(weight) FROM m GROUP BY name;
-- case maxwell_filter
SELECT id, weight FROM m WHERE weight > 5.16 OR description IS NULL;
-- case ogg_rows
SELECT * FROM o;
-- case ogg_sum
SELECT COUNT(*), SUM(weight) FROM o;
