CREATE TABLE n (id INT, t TINYINT, s SMALLINT, a INT, l BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(10,2), e DECIMAL(4,1)) WITH ('connector'='filesystem','path'='${DIR}/nums.jsonl','format'='json');
-- case int_add_sub
SELECT id, t + t, s + s, a + a, l + l, t - s, s - a, a - l FROM n;
-- case int_mul
SELECT id, t * t, s * s, a * a, l * l, t * s, s * a, a * l FROM n;
-- case int_div
SELECT id, a / t, a / s, l / t, l / a, t / t, s / t FROM n WHERE t <> 0;
-- case int_mod
SELECT id, a % t, MOD(a, s), MOD(l, t), MOD(t, CAST(5 AS TINYINT)), MOD(-7, 3), MOD(7, -3) FROM n;
-- case mod_types
SELECT REPLACE(TYPEOF(MOD(CAST(1 AS BIGINT), 3)), ' NOT NULL', ''), REPLACE(TYPEOF(MOD(1, CAST(3 AS BIGINT))), ' NOT NULL', ''), REPLACE(TYPEOF(MOD(CAST(1 AS TINYINT), CAST(2 AS SMALLINT))), ' NOT NULL', ''), REPLACE(TYPEOF(5 % CAST(3 AS BIGINT)), ' NOT NULL', '');
-- case unary_minus
SELECT id, -t, -s, -a, -l, -d, -dc, +a FROM n;
-- case float_double
SELECT id, d + a, d - l, d * t, f + d, f * CAST(2 AS FLOAT) FROM n WHERE id IN (1, 2, 4, 5);
-- case float_div
SELECT id, d / a, a / d, f / CAST(4 AS FLOAT), d / 0.5E0, 1 / d FROM n WHERE id IN (1, 2, 5);
-- case float_text
SELECT id, CAST(f AS STRING), CAST(d AS STRING), CAST(CAST(f AS DOUBLE) AS STRING), CAST(CAST(d AS FLOAT) AS STRING) FROM n;
-- case decimal_add
SELECT id, dc + e, dc - e, e + a, dc + t, l + e FROM n;
-- case decimal_mul
SELECT id, dc * e, dc * a, e * l, dc * dc FROM n;
-- case decimal_div
SELECT id, dc / e, e / dc, dc / 3, a / e, CAST(1 AS DECIMAL(5,0)) / e FROM n;
-- case decimal_double
SELECT id, dc + d, d * dc, CAST(e AS DOUBLE) / 2 FROM n WHERE id IN (1, 2, 4, 5);
-- case decimal_mod
SELECT id, MOD(dc, e), dc % 3, MOD(a, e) FROM n WHERE id <> 3;
-- case types_integer_pairs
SELECT REPLACE(TYPEOF(CAST(1 AS TINYINT) + CAST(1 AS TINYINT)), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS TINYINT) + CAST(1 AS SMALLINT)), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS SMALLINT) + 1), ' NOT NULL', ''), REPLACE(TYPEOF(1 + CAST(1 AS BIGINT)), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS TINYINT) * CAST(1 AS BIGINT)), ' NOT NULL', ''), REPLACE(TYPEOF(1 / CAST(2 AS SMALLINT)), ' NOT NULL', '');
-- case types_float_pairs
SELECT REPLACE(TYPEOF(1 + CAST(1 AS FLOAT)), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS BIGINT) + CAST(1 AS FLOAT)), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(5,2)) + CAST(1 AS DOUBLE)), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(5,2)) * CAST(1 AS FLOAT)), ' NOT NULL', ''), REPLACE(TYPEOF(1e0 / 2), ' NOT NULL', '');
-- case types_decimal_add
SELECT REPLACE(TYPEOF(CAST(1 AS DECIMAL(10,2)) + CAST(1 AS DECIMAL(5,3))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(10,2)) - 1), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(38,0)) + CAST(1 AS DECIMAL(38,0))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(38,18)) + CAST(1 AS DECIMAL(38,2))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(3,1)) + CAST(1 AS BIGINT)), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS TINYINT) + 1.5), ' NOT NULL', '');
-- case types_decimal_mul
SELECT REPLACE(TYPEOF(CAST(1 AS DECIMAL(10,2)) * CAST(1 AS DECIMAL(5,3))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(10,2)) * 2), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(38,18)) * CAST(1 AS DECIMAL(38,18))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(20,10)) * CAST(1 AS DECIMAL(20,10))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS SMALLINT) * 0.25), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(38,37)) * 10), ' NOT NULL', '');
-- case types_decimal_div
SELECT REPLACE(TYPEOF(CAST(1 AS DECIMAL(10,2)) / CAST(1 AS DECIMAL(5,3))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(10,2)) / 3), ' NOT NULL', ''), REPLACE(TYPEOF(1 / CAST(1 AS DECIMAL(10,2))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DECIMAL(38,18)) / CAST(1 AS DECIMAL(38,18))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS BIGINT) / 1.5), ' NOT NULL', ''), REPLACE(TYPEOF(MOD(CAST(1 AS DECIMAL(10,2)), CAST(1 AS DECIMAL(5,3)))), ' NOT NULL', '');
-- case decimal_limits
SELECT CAST(CAST(1e19 AS DECIMAL(38,0)) * CAST(1e18 AS DECIMAL(38,0)) AS STRING);
-- case decimal_overflow_null
SELECT id, CAST(dc AS DECIMAL(38,0)) * CAST(1e30 AS DECIMAL(38,0)), CAST(l AS DECIMAL(38,0)) * l, l * l * CAST(l AS DECIMAL(38,0)) FROM n;
-- case decimal_overflow_cast_null
SELECT id, CAST(dc AS DECIMAL(4,2)), CAST(a AS DECIMAL(5,0)), CAST(l AS DECIMAL(10,2)), CAST(e AS DECIMAL(2,1)), TRY_CAST(dc AS DECIMAL(3,0)) FROM n;
-- case decimal_cast_rounding
SELECT id, CAST(dc AS DECIMAL(10,1)), CAST(dc AS DECIMAL(10,0)), CAST(e AS DECIMAL(10,0)), CAST(d AS DECIMAL(12,2)), CAST(dc AS DECIMAL(15,5)) FROM n WHERE id <> 3;
-- case round_function
SELECT id, ROUND(dc, 1), ROUND(dc), ROUND(dc, -1), ROUND(d, 1), ROUND(a, -2), ROUND(e, 5) FROM n WHERE id <> 3;
-- case round_half
SELECT ROUND(2.5), ROUND(-2.5), ROUND(0.5), ROUND(-0.5), ROUND(1.005, 2), ROUND(CAST(1.005 AS DOUBLE), 2), ROUND(CAST(0.285 AS DOUBLE), 2), ROUND(125, -1), ROUND(-125.315, 2);
-- case truncate_function
SELECT id, TRUNCATE(dc, 1), TRUNCATE(dc), TRUNCATE(d, 1), TRUNCATE(a, -1), TRUNCATE(dc, -1) FROM n WHERE id <> 3;
-- case floor_ceil
SELECT id, FLOOR(dc), CEIL(dc), FLOOR(d), CEIL(d), FLOOR(a), CEIL(e), FLOOR(f) FROM n WHERE id <> 3;
-- case abs_sign
SELECT id, ABS(t), ABS(a), ABS(l), ABS(d), ABS(dc), SIGN(a), SIGN(d), SIGN(dc) FROM n;
-- case types_of_math
SELECT REPLACE(TYPEOF(ROUND(1.255, 2)), ' NOT NULL', ''), REPLACE(TYPEOF(ROUND(CAST(1 AS DECIMAL(10,4)))), ' NOT NULL', ''), REPLACE(TYPEOF(FLOOR(CAST(1 AS DECIMAL(10,4)))), ' NOT NULL', ''), REPLACE(TYPEOF(CEIL(1.5e0)), ' NOT NULL', ''), REPLACE(TYPEOF(ABS(CAST(1 AS DECIMAL(10,4)))), ' NOT NULL', ''), REPLACE(TYPEOF(SIGN(CAST(1 AS DECIMAL(10,4)))), ' NOT NULL', ''), REPLACE(TYPEOF(TRUNCATE(CAST(1 AS DECIMAL(10,4)), 2)), ' NOT NULL', ''), REPLACE(TYPEOF(ROUND(CAST(1 AS BIGINT), -1)), ' NOT NULL', '');
-- case power_sqrt_log
SELECT ROUND(POWER(2, 10), 6), ROUND(POWER(2, -1), 6), ROUND(SQRT(2), 9), ROUND(LN(10), 9), ROUND(LOG10(1000), 9), ROUND(LOG2(8), 9), ROUND(LOG(2, 8), 9), ROUND(EXP(1), 9), POWER(4, 0.5);
-- case trigonometry
SELECT ROUND(SIN(1), 9), ROUND(COS(1), 9), ROUND(TAN(1), 9), ROUND(COT(1), 9), ROUND(ASIN(0.5), 9), ROUND(ACOS(0.5), 9), ROUND(ATAN(1), 9), ROUND(ATAN2(-1, -1), 9);
-- case hyperbolic_degrees
SELECT ROUND(SINH(1), 9), ROUND(COSH(1), 9), ROUND(TANH(1), 9), ROUND(DEGREES(PI()), 6), ROUND(RADIANS(180), 9), ROUND(PI(), 9), ROUND(E(), 9);
-- case math_over_nulls
SELECT id, ROUND(SQRT(ABS(dc)), 6), ROUND(EXP(e / 1000), 6), ROUND(POWER(a, 2), 2) FROM n WHERE id IN (1, 2, 5, 6);
-- case double_edge
SELECT CAST(SQRT(-1.0) AS STRING), CAST(LN(0) AS STRING), CAST(CAST(1 AS DOUBLE) / CAST(0 AS DOUBLE) AS STRING), CAST(-CAST(1 AS DOUBLE) / CAST(0 AS DOUBLE) AS STRING);
-- case bin_hex
SELECT id, BIN(t), HEX(a), HEX(l), BIN(s) FROM n;
-- case compare_mixed_types
SELECT id, a > d, l = a, dc < e, t <> s, d >= dc, f = d FROM n;
-- case compare_decimal_scales
SELECT id FROM n WHERE e = 2 OR dc = 10.250 OR dc = -0.01;
-- case where_arithmetic
SELECT id, a FROM n WHERE a % 2 <> 0 AND a / 2 > -100;
-- case division_guarded_by_case
SELECT id, CASE WHEN a <> 7 THEN 100 / (a - 7) ELSE 0 END, IF(t = 1, 0, 10 / (t - 1)) FROM n WHERE id IN (1, 2, 5, 6);
-- case precedence
SELECT 2 + 3 * 4, (2 + 3) * 4, -2 * -3, 10 - 4 - 3, 100 / 10 / 2, 7 - -2, 2 * 3 % 4, 1 + 2 = 3 AND NOT 2 > 3;
-- case literal_types_leading_zero
SELECT REPLACE(TYPEOF(0.25), ' NOT NULL', ''), REPLACE(TYPEOF(0.908), ' NOT NULL', ''), REPLACE(TYPEOF(00.5), ' NOT NULL', ''), REPLACE(TYPEOF(1.0), ' NOT NULL', '');
-- case bigint_as_decimal
SELECT REPLACE(TYPEOF(CAST(1 AS BIGINT) * CAST(1 AS DECIMAL(5,2))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS BIGINT) + CAST(1 AS DECIMAL(5,2))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS TINYINT) * CAST(1 AS DECIMAL(5,2))), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS INT) * CAST(1 AS DECIMAL(5,2))), ' NOT NULL', '');
-- case float_plus_double
SELECT REPLACE(TYPEOF(CAST(1 AS FLOAT) + CAST(1 AS DOUBLE)), ' NOT NULL', ''), REPLACE(TYPEOF(CAST(1 AS DOUBLE) * CAST(1 AS FLOAT)), ' NOT NULL', '');
-- case literal_types
SELECT REPLACE(TYPEOF(1), ' NOT NULL', ''), REPLACE(TYPEOF(2147483648), ' NOT NULL', ''), REPLACE(TYPEOF(1.50), ' NOT NULL', ''), REPLACE(TYPEOF(.5), ' NOT NULL', ''), REPLACE(TYPEOF(1e3), ' NOT NULL', ''), REPLACE(TYPEOF('abc'), ' NOT NULL', ''), REPLACE(TYPEOF(TRUE), ' NOT NULL', ''), REPLACE(TYPEOF(DATE '2026-01-01'), ' NOT NULL', ''), REPLACE(TYPEOF(TIME '01:02:03'), ' NOT NULL', ''), REPLACE(TYPEOF(TIMESTAMP '2026-01-01 00:00:00.123'), ' NOT NULL', '');
-- case interval_arithmetic
SELECT TIMESTAMP '2026-01-01 00:00:00' + INTERVAL '1' DAY * 3, TIMESTAMP '2026-01-01 00:00:00' + (INTERVAL '1' HOUR + INTERVAL '30' MINUTE);
