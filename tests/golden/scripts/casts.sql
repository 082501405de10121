CREATE TABLE c (id INT, v STRING) WITH ('connector'='filesystem','path'='${DIR}/casts.jsonl','format'='json');
CREATE TABLE n (id INT, t TINYINT, s SMALLINT, a INT, l BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(10,2), e DECIMAL(4,1)) WITH ('connector'='filesystem','path'='${DIR}/nums.jsonl','format'='json');
CREATE TABLE b (id INT, p BOOLEAN) WITH ('connector'='filesystem','path'='${DIR}/bools.jsonl','format'='json');
CREATE TABLE w (id INT, ts TIMESTAMP(3), dt DATE, tm TIME(0)) WITH ('connector'='filesystem','path'='${DIR}/times.jsonl','format'='json');
-- case try_cast_integers
SELECT id, TRY_CAST(v AS TINYINT), TRY_CAST(v AS SMALLINT), TRY_CAST(v AS INT), TRY_CAST(v AS BIGINT) FROM c;
-- case try_cast_floats
SELECT id, TRY_CAST(v AS FLOAT), TRY_CAST(v AS DOUBLE) FROM c WHERE id <> 11;
-- case try_cast_decimal
SELECT id, TRY_CAST(v AS DECIMAL(10,2)), TRY_CAST(v AS DECIMAL(3,0)) FROM c WHERE id NOT IN (8, 13);
-- case try_cast_boolean
SELECT id, TRY_CAST(v AS BOOLEAN) FROM c;
-- case try_cast_date_time
SELECT id, TRY_CAST(v AS DATE), TRY_CAST(v AS TIME), TRY_CAST(v AS TIMESTAMP(3)), TRY_CAST(v AS TIMESTAMP(0)) FROM c WHERE id NOT IN (1, 2, 10, 18, 22);
-- case try_cast_timestamp_with_t
SELECT id, TRY_CAST(v AS DATE), TRY_CAST(v AS TIMESTAMP(3)) FROM c WHERE id = 22;
-- case try_cast_date_year_only
SELECT id, TRY_CAST(v AS DATE), TRY_CAST(v AS TIME) FROM c WHERE id IN (1, 2, 10, 18);
-- case try_cast_binary_char
SELECT id, CAST(v AS CHAR(3)), CAST(v AS VARCHAR(2)), CAST(v AS BYTES) FROM c;
-- case integers_down
SELECT id, CAST(a AS TINYINT), CAST(a AS SMALLINT), CAST(l AS INT), CAST(l AS TINYINT), CAST(s AS TINYINT) FROM n;
-- case integers_up
SELECT id, CAST(t AS BIGINT), CAST(s AS INT), CAST(a AS DOUBLE), CAST(t AS FLOAT), CAST(t AS DECIMAL(5,2)) FROM n WHERE id <> 3;
-- case floats_to_integers
SELECT id, CAST(f AS INT), CAST(d AS INT), CAST(d AS BIGINT), CAST(f AS BIGINT) FROM n;
-- case floats_to_small_integers
SELECT id, CAST(d AS TINYINT), CAST(f AS SMALLINT) FROM n WHERE id <> 3;
-- case decimal_to_integers
SELECT id, CAST(dc AS INT), CAST(e AS INT), CAST(dc AS BIGINT), CAST(e AS TINYINT), CAST(e AS SMALLINT) FROM n;
-- case double_to_decimal
SELECT id, CAST(d AS DECIMAL(10,3)), CAST(f AS DECIMAL(6,1)) FROM n WHERE id <> 3;
-- case numbers_to_string
SELECT id, CAST(t AS STRING), CAST(a AS STRING), CAST(l AS STRING), CAST(dc AS STRING), CAST(e AS STRING) FROM n;
-- case numbers_to_short_text
SELECT id, CAST(a AS VARCHAR(3)), CAST(t AS CHAR(5)) || '|', CAST(dc AS VARCHAR(20)) FROM n;
-- case numbers_to_boolean
SELECT id, CAST(a AS BOOLEAN), CAST(CAST(a - 7 AS INT) AS BOOLEAN), CAST(t AS BOOLEAN) FROM n;
-- case boolean_to_other
SELECT id, CAST(p AS INT), CAST(p AS STRING), CAST(p AS TINYINT), CAST(p AS DECIMAL(3,1)), CAST(p AS DOUBLE) FROM b;
-- case time_to_string
SELECT id, CAST(ts AS STRING), CAST(dt AS STRING), CAST(tm AS STRING), CAST(ts AS VARCHAR(10)) FROM w;
-- case time_casts
SELECT id, CAST(ts AS DATE), CAST(ts AS TIME(0)), CAST(dt AS TIMESTAMP(3)), CAST(ts AS TIMESTAMP(0)), CAST(ts AS TIMESTAMP(6)) FROM w WHERE id <> 3;
-- case time_to_ltz
SELECT id, CAST(ts AS TIMESTAMP_LTZ(3)), CAST(dt AS TIMESTAMP_LTZ(3)) FROM w;
-- case ltz_cast_in_zone
-- tz Asia/Tokyo
SELECT id, CAST(CAST(ts AS TIMESTAMP_LTZ(3)) AS STRING), CAST(CAST(ts AS TIMESTAMP_LTZ(3)) AS TIMESTAMP(3)), CAST(CAST(ts AS TIMESTAMP_LTZ(3)) AS DATE) FROM w;
-- case cast_null
SELECT CAST(NULL AS TINYINT), CAST(NULL AS DECIMAL(5,2)), CAST(NULL AS STRING), CAST(NULL AS DATE), CAST(NULL AS TIMESTAMP(3)), CAST(NULL AS BOOLEAN), CAST(NULL AS DOUBLE), CAST(NULL AS BYTES);
-- case cast_literals
SELECT CAST('12' AS INT), CAST(1.999 AS INT), CAST(-1.999 AS INT), CAST('1.234' AS BIGINT), CAST(1.005 AS DECIMAL(10,2)), CAST(-1.005 AS DECIMAL(10,2)), CAST(300 AS TINYINT), CAST(TRUE AS STRING);
-- case cast_time_literals
SELECT CAST('2026-01-02' AS DATE), CAST('2026-01-02 03:04:05.6789' AS TIMESTAMP(3)), CAST('03:04:05' AS TIME), CAST('2026-01-02' AS TIMESTAMP(3)), CAST(DATE '2026-01-02' AS STRING), CAST(TIMESTAMP '2026-01-02 03:04:05' AS STRING);
-- case cast_float_texts
SELECT CAST(1e7 AS STRING), CAST(1e-3 AS STRING), CAST(9.999e-4 AS STRING), CAST(123456789.125e0 AS STRING), CAST(CAST(1e10 AS FLOAT) AS STRING), CAST(CAST(0.1 AS FLOAT) AS STRING), CAST(CAST(16777217 AS FLOAT) AS STRING), CAST(1e0 AS STRING);
-- case cast_doubles_shortest
SELECT CAST(0.1e0 + 0.2e0 AS STRING), CAST(1e0 / 3 AS STRING), CAST(2e0 / 3 AS STRING), CAST(100e0 / 3 AS STRING), CAST(1.7976931348623157e308 AS STRING), CAST(4.9e-324 AS STRING), CAST(2.2250738585072014E-308 AS STRING);
-- case cast_nested_text
SELECT CAST(ARRAY[1, 2, 3] AS STRING), CAST(ROW(1, 'x', TRUE) AS STRING), CAST(MAP['a', 1] AS STRING), CAST(ARRAY['a', 'b c'] AS STRING);
-- case implicit_cast_union
SELECT CAST(1 AS TINYINT) AS x UNION ALL SELECT 300 UNION ALL SELECT CAST(5000000000 AS BIGINT);
-- case implicit_cast_case
SELECT id, CASE WHEN id = 1 THEN a WHEN id = 2 THEN l ELSE t END, CASE WHEN id < 3 THEN dc ELSE a END, REPLACE(TYPEOF(CASE WHEN id < 3 THEN dc ELSE a END), ' NOT NULL', '') FROM n;
