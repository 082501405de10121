SELECT * FROM t CROSS JOIN UNNEST(t.arr) WITH ORDINALITY AS u(x, i);
SELECT * FROM UNNEST(ARRAY[1, 2]);
SELECT * FROM t, LATERAL f(t.a) x;
SELECT * FROM t /*+ OPTIONS('a' = 'b', 'c.d' = '1') */ AS x;
SELECT /*+ BROADCAST(a), STATE_TTL('a' = '1d', 'b'='2h') */ * FROM a JOIN b ON TRUE;
SELECT /*+ SHUFFLE_HASH(t1, `t 2`) NEST_LOOP('x') , EARLY_FIRE */ a FROM t;
SELECT /*+ LOOKUP('table'='d', 'retry-predicate'='lookup_miss') */ * FROM t;
SELECT * FROM TABLE(f(TABLE t)) /*+ OPTIONS('a'='b') */;
