CREATE TABLE l (id INT, k STRING, n INT, v INT, ts TIMESTAMP(3)) WITH ('connector'='filesystem','path'='${DIR}/l.jsonl','format'='json');
CREATE TABLE r (rid INT, k STRING, n INT, w INT, ts TIMESTAMP(3)) WITH ('connector'='filesystem','path'='${DIR}/r.jsonl','format'='json');
CREATE TABLE m (n INT, name STRING) WITH ('connector'='filesystem','path'='${DIR}/m.jsonl','format'='json');
CREATE TABLE e (n INT, k STRING, name STRING) WITH ('connector'='filesystem','path'='${DIR}/empty.jsonl','format'='json');
-- case semi_two_columns
SELECT id FROM l WHERE (k, n) IN (SELECT k, n FROM r);
-- case scalar_subquery
SELECT id, v FROM l WHERE v > (SELECT AVG(v) FROM l);
-- case scalar_subquery_select
SELECT id, (SELECT MAX(w) FROM r) FROM l WHERE id < 3;
-- case scalar_subquery_correlated
SELECT id, (SELECT MAX(w) FROM r WHERE r.k = l.k) FROM l;
-- case scalar_subquery_in_expression
SELECT id, v - (SELECT MIN(v) FROM l) FROM l WHERE v IS NOT NULL;
-- case scalar_subquery_empty
SELECT id, (SELECT MAX(n) FROM e) FROM l WHERE id < 3;
-- case scalar_subquery_equal
SELECT id FROM l WHERE v = (SELECT MAX(v) FROM l);
-- case scalar_subquery_count_correlated
SELECT id, (SELECT COUNT(*) FROM r WHERE r.n = l.n) FROM l WHERE n IS NOT NULL;
-- case scalar_subquery_where_correlated
SELECT id FROM l WHERE v > (SELECT MIN(w) FROM r WHERE r.k = l.k);
