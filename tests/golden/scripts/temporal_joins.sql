CREATE TABLE o (id INT, cur STRING, amt INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '20' SECOND) WITH ('connector'='filesystem','path'='${DIR}/orders.jsonl','format'='json');
CREATE TABLE rate (cur STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '15' SECOND) WITH ('connector'='filesystem','path'='${DIR}/rates.jsonl','format'='json');
CREATE VIEW vr AS SELECT cur, rate, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY cur ORDER BY ts DESC) AS rn FROM rate) WHERE rn = 1;
CREATE TABLE cdc (cur STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '15' SECOND, PRIMARY KEY (cur) NOT ENFORCED) WITH ('connector'='filesystem','path'='${DIR}/cdc_rate.jsonl','format'='debezium-json');
CREATE TABLE e (cur STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (cur) NOT ENFORCED) WITH ('connector'='filesystem','path'='${DIR}/empty.jsonl','format'='debezium-json');
-- case view_inner
SELECT id, o.cur, amt, r.rate, r.ts FROM o JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur;
-- case view_left
SELECT id, amt * r.rate FROM o LEFT JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur;
-- case view_left_all_columns
SELECT * FROM o LEFT JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur;
-- case view_residual_inner
SELECT id, r.rate FROM o JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur AND o.amt > r.rate;
-- case view_residual_left
SELECT id, r.rate FROM o LEFT JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur AND r.rate > 3;
-- case view_where
SELECT id, r.rate FROM o LEFT JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur WHERE r.rate IS NULL;
-- case cdc_inner
SELECT id, o.cur, c.rate FROM o JOIN cdc FOR SYSTEM_TIME AS OF o.ts AS c ON o.cur = c.cur;
-- case cdc_left_with_deleted_version
SELECT id, o.cur, c.rate FROM o LEFT JOIN cdc FOR SYSTEM_TIME AS OF o.ts AS c ON o.cur = c.cur;
-- case empty_versions_left
SELECT id, e.rate FROM o LEFT JOIN e FOR SYSTEM_TIME AS OF o.ts ON o.cur = e.cur;
-- case empty_versions_inner
SELECT id, e.rate FROM o JOIN e FOR SYSTEM_TIME AS OF o.ts ON o.cur = e.cur;
-- case aggregate_over_temporal
SELECT o.cur, COUNT(*), SUM(amt * r.rate) FROM o JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur GROUP BY o.cur;
-- case window_over_temporal
SELECT window_start, SUM(x), COUNT(*) FROM TABLE(TUMBLE((SELECT o.ts AS ts, amt * r.rate AS x FROM o LEFT JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur), DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- case two_temporal_joins
SELECT id, r.rate, c.rate FROM o LEFT JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur LEFT JOIN cdc FOR SYSTEM_TIME AS OF o.ts AS c ON o.cur = c.cur;
-- case filter_before_temporal
SELECT id, r.rate FROM (SELECT * FROM o WHERE amt > 4) AS p JOIN vr FOR SYSTEM_TIME AS OF p.ts AS r ON p.cur = r.cur;
-- case expression_of_both
SELECT id, CASE WHEN r.rate IS NULL THEN 'none' ELSE CAST(amt * r.rate AS STRING) END FROM o LEFT JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur;
CREATE TABLE r1 (cur STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${DIR}/rates_in_order.jsonl','format'='json');
CREATE VIEW v1 AS SELECT cur, rate, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY cur ORDER BY ts DESC) AS rn FROM r1) WHERE rn = 1;
-- case same_time_last_version_wins
SELECT id, r.rate FROM o JOIN v1 FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur;
