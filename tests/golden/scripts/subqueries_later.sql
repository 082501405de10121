CREATE TABLE l (id INT, k STRING, n INT, v INT, ts TIMESTAMP(3)) WITH ('connector'='filesystem','path'='${DIR}/l.jsonl','format'='json');
CREATE TABLE r (rid INT, k STRING, n INT, w INT, ts TIMESTAMP(3)) WITH ('connector'='filesystem','path'='${DIR}/r.jsonl','format'='json');
CREATE TABLE m (n INT, name STRING) WITH ('connector'='filesystem','path'='${DIR}/m.jsonl','format'='json');
CREATE TABLE e (n INT, k STRING, name STRING) WITH ('connector'='filesystem','path'='${DIR}/empty.jsonl','format'='json');
-- case not_in_two_columns
SELECT id FROM l WHERE (k, n) NOT IN (SELECT k, n FROM r WHERE k IS NOT NULL AND n IS NOT NULL) AND k IS NOT NULL AND n IS NOT NULL;
