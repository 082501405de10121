CREATE TABLE ev (id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND) WITH ('connector'='filesystem','path'='${DIR}/ev.jsonl','format'='json');
CREATE TABLE cl (id INT, k STRING, u STRING, v INT, d DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND) WITH ('connector'='filesystem','path'='${DIR}/clicks.jsonl','format'='json');
CREATE TABLE cl0 (id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${DIR}/clicks.jsonl','format'='json');
CREATE TABLE cl20 (id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '20' SECOND) WITH ('connector'='filesystem','path'='${DIR}/clicks.jsonl','format'='json');
CREATE TABLE em (id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${DIR}/empty.jsonl','format'='json');
-- case tumble_count
SELECT window_start, window_end, COUNT(*), SUM(v), MIN(id), MAX(id) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case tumble_by_key
SELECT k, window_start, COUNT(*), COUNT(v), SUM(v), AVG(v), MIN(v), MAX(v) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end;
-- case tumble_two_keys
SELECT k, u, window_end, COUNT(*), SUM(d) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, k, u;
-- case tumble_no_delay_late_rows
SELECT window_start, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE cl0, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;
-- case tumble_long_delay_nothing_late
SELECT window_start, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE cl20, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;
-- case tumble_one_second
SELECT window_start, k, COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY k, window_start, window_end;
-- case tumble_one_day
SELECT window_start, window_end, window_time, COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '1' DAY)) GROUP BY window_start, window_end, window_time;
-- case tumble_offset
SELECT window_start, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '3' SECOND)) GROUP BY window_start, window_end;
-- case tumble_negative_offset
SELECT window_start, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL -'3' SECOND)) GROUP BY window_start, window_end;
-- case tumble_named_arguments
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(DATA => TABLE cl, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '15' SECOND)) GROUP BY window_start, window_end;
-- case tumble_window_time
SELECT window_time, COUNT(*) FROM TABLE(TUMBLE(TABLE ev, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, window_time;
-- case tumble_empty
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE em, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case tumble_where_before
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE((SELECT * FROM cl WHERE v > 0), DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
CREATE VIEW clpos AS SELECT id, k, v, ts FROM cl WHERE v > 0;
-- case tumble_over_view
SELECT window_start, k, SUM(v) FROM TABLE(TUMBLE(TABLE clpos, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k;
-- case tumble_where_after_tvf
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) WHERE k = 'a' AND v IS NOT NULL GROUP BY window_start, window_end;
-- case tumble_where_on_window_start
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) WHERE window_start >= TIMESTAMP '2026-01-01 00:00:20' GROUP BY window_start, window_end;
-- case tumble_having
SELECT window_start, k, COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k HAVING COUNT(*) > 1;
-- case tumble_filter_result
SELECT * FROM (SELECT window_start AS ws, k, SUM(v) AS s FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k) WHERE s > 2;
-- case tumble_distinct
SELECT window_start, COUNT(DISTINCT k), COUNT(DISTINCT u), COUNT(DISTINCT v), SUM(DISTINCT v) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case tumble_filter_aggregate
SELECT window_start, COUNT(*) FILTER (WHERE v > 0), SUM(v) FILTER (WHERE k = 'a'), COUNT(DISTINCT u) FILTER (WHERE v IS NOT NULL) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case tumble_first_last
SELECT window_start, FIRST_VALUE(id), LAST_VALUE(id), FIRST_VALUE(k), LAST_VALUE(v) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case tumble_listagg
SELECT window_start, LISTAGG(k), LISTAGG(CAST(id AS STRING), '-') FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case tumble_stddev
SELECT window_start, ROUND(STDDEV_POP(d), 6), ROUND(VAR_SAMP(d), 6) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end;
-- case tumble_expression_key
SELECT window_start, COALESCE(k, '?') AS kk, MOD(id, 2), COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, COALESCE(k, '?'), MOD(id, 2);
-- case tumble_window_only_in_group
SELECT COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case tumble_no_aggregates
SELECT window_start, k FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, k;
-- case tvf_alone_keeps_all
SELECT id, window_start, window_end, window_time FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND));
-- case tvf_alone_filter
SELECT id, window_start FROM TABLE(TUMBLE(TABLE ev, DESCRIPTOR(ts), INTERVAL '10' SECOND)) WHERE v > 3;
-- case group_only_by_window_start
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start;
-- case group_by_key_only_over_tvf
SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k;
-- case legacy_tumble
SELECT k, TUMBLE_START(ts, INTERVAL '10' SECOND), TUMBLE_END(ts, INTERVAL '10' SECOND), COUNT(*), SUM(v) FROM cl GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND);
-- case legacy_tumble_rowtime
SELECT TUMBLE_ROWTIME(ts, INTERVAL '10' SECOND), COUNT(*) FROM cl GROUP BY TUMBLE(ts, INTERVAL '10' SECOND);
-- case legacy_hop
SELECT HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), HOP_END(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), COUNT(*) FROM cl GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND);
-- case hop_count
SELECT window_start, window_end, COUNT(*), SUM(v), MIN(v), MAX(v) FROM TABLE(HOP(TABLE cl, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case hop_by_key
SELECT k, window_start, COUNT(*), AVG(v), MIN(d), COUNT(DISTINCT u) FROM TABLE(HOP(TABLE cl, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)) GROUP BY k, window_start, window_end;
-- case hop_slide_is_size
SELECT window_start, COUNT(*) FROM TABLE(HOP(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case hop_small_slide
SELECT window_start, COUNT(*), SUM(v) FROM TABLE(HOP(TABLE ev, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '3' SECOND)) GROUP BY window_start, window_end;
-- case hop_offset
SELECT window_start, COUNT(*) FROM TABLE(HOP(TABLE cl, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND, INTERVAL '2' SECOND)) GROUP BY window_start, window_end;
-- case hop_no_delay_late_rows
SELECT window_start, COUNT(*), SUM(v) FROM TABLE(HOP(TABLE cl0, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)) GROUP BY window_start, window_end;
-- case hop_tvf_alone
SELECT id, window_start, window_end FROM TABLE(HOP(TABLE ev, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND));
-- case hop_having_where
SELECT window_start, k, COUNT(*) FROM TABLE(HOP(TABLE cl, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) WHERE v >= 0 GROUP BY window_start, window_end, k HAVING COUNT(*) >= 2;
-- case cumulate_count
SELECT window_start, window_end, COUNT(*), SUM(v) FROM TABLE(CUMULATE(TABLE cl, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)) GROUP BY window_start, window_end;
-- case cumulate_by_key
SELECT k, window_start, window_end, COUNT(*), MIN(v), MAX(v), COUNT(DISTINCT u) FROM TABLE(CUMULATE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '30' SECOND)) GROUP BY k, window_start, window_end;
-- case cumulate_no_delay_late_rows
SELECT window_start, window_end, COUNT(*) FROM TABLE(CUMULATE(TABLE cl0, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)) GROUP BY window_start, window_end;
-- case cumulate_offset
SELECT window_start, window_end, COUNT(*) FROM TABLE(CUMULATE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '30' SECOND, INTERVAL '5' SECOND)) GROUP BY window_start, window_end;
-- case cumulate_tvf_alone
SELECT id, window_start, window_end FROM TABLE(CUMULATE(TABLE ev, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)) WHERE id < 5;
-- case two_level_tumble
SELECT window_start, COUNT(*), SUM(c), MAX(s) FROM TABLE(TUMBLE((SELECT k, window_time AS wt, COUNT(*) AS c, SUM(v) AS s FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY k, window_start, window_end, window_time), DESCRIPTOR(wt), INTERVAL '20' SECOND)) GROUP BY window_start, window_end;
-- case same_window_again
SELECT window_start, window_end, SUM(c), COUNT(*) FROM (SELECT window_start, window_end, k, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k) GROUP BY window_start, window_end;
-- case window_then_group
SELECT k, COUNT(*), SUM(c) FROM (SELECT k, window_start, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k) GROUP BY k;
-- case hop_then_tumble
SELECT window_start, MAX(c), COUNT(*) FROM TABLE(TUMBLE((SELECT window_time AS wt, COUNT(*) AS c FROM TABLE(HOP(TABLE cl, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end, window_time), DESCRIPTOR(wt), INTERVAL '30' SECOND)) GROUP BY window_start, window_end;
CREATE TABLE lz (id INT, t BIGINT, lt AS TO_TIMESTAMP_LTZ(t, 3), WATERMARK FOR lt AS lt - INTERVAL '1' SECOND) WITH ('connector'='filesystem','path'='${DIR}/dst.jsonl','format'='json');
-- case ltz_tumble_hour_utc
SELECT window_start, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE lz, DESCRIPTOR(lt), INTERVAL '1' HOUR)) GROUP BY window_start, window_end;
-- case ltz_tumble_hour_kolkata
-- tz Asia/Kolkata
SELECT window_start, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE lz, DESCRIPTOR(lt), INTERVAL '1' HOUR)) GROUP BY window_start, window_end;
-- case ltz_tumble_day_new_york
-- tz America/New_York
SELECT window_start, window_end, COUNT(*), MIN(id) FROM TABLE(TUMBLE(TABLE lz, DESCRIPTOR(lt), INTERVAL '1' DAY)) GROUP BY window_start, window_end;
-- case ltz_window_time
-- tz Europe/Berlin
SELECT window_time, COUNT(*) FROM TABLE(TUMBLE(TABLE lz, DESCRIPTOR(lt), INTERVAL '1' DAY)) GROUP BY window_start, window_end, window_time;
-- case ltz_tumble_day_berlin
-- tz Europe/Berlin
SELECT window_start, window_end, COUNT(*), MIN(id) FROM TABLE(TUMBLE(TABLE lz, DESCRIPTOR(lt), INTERVAL '1' DAY)) GROUP BY window_start, window_end;
-- case ltz_hop_berlin
-- tz Europe/Berlin
SELECT window_start, window_end, COUNT(*) FROM TABLE(HOP(TABLE lz, DESCRIPTOR(lt), INTERVAL '12' HOUR, INTERVAL '1' DAY)) GROUP BY window_start, window_end;
CREATE TABLE neg (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE) WITH ('connector'='filesystem','path'='${DIR}/epoch.jsonl','format'='json');
-- case tumble_around_epoch
SELECT window_start, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE neg, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case hop_around_epoch
SELECT window_start, window_end, COUNT(*) FROM TABLE(HOP(TABLE neg, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case computed_time_column
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE lz, DESCRIPTOR(lt), INTERVAL '6' HOUR)) GROUP BY window_start, window_end;
-- case order_by_time
SELECT id, k FROM cl ORDER BY ts;
-- case order_by_time_filtered
SELECT id, v FROM cl WHERE k = 'a' ORDER BY ts;
-- case order_by_time_then_more
SELECT id, ts FROM cl20 ORDER BY ts, id;
-- case window_group_by_order_limit
SELECT window_start, c FROM (SELECT window_start, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE cl, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end) ORDER BY c DESC, window_start LIMIT 2;
