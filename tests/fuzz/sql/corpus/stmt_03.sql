VALUES (1, 'a'), (2, 'b');
VALUES ROW(1, 2);
VALUES (1) ORDER BY 1 LIMIT 1;
TABLE t;
(SELECT 1);
((SELECT 1));
SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS t(a, b);
SELECT * FROM (SELECT a FROM t) WHERE a > 1;
