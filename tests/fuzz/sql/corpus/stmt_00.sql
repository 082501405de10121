SELECT 1;
SELECT 1, 2 AS b, 3 c;
SELECT *;
SELECT t.*, u.a FROM t, u;
SELECT DISTINCT a FROM t;
SELECT ALL a FROM t;
select a from t where b group by c having d;
SELECT a value, b AS offset, c AS end, d `from` FROM t;
