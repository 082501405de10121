-- Orders, one each two seconds. A delivery comes 10 to 45 minutes later; ${SLOW} of 1,000 take up to ${OVER} s longer, and some are written down without the number of their order.
CREATE TABLE g (id BIGINT, ts AS TO_TIMESTAMP_LTZ(1780000000000 + id * 2000, 3), WATERMARK FOR ts AS ts)
  WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '${N}');
CREATE VIEW made_orders AS
SELECT id AS order_id, DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm:ss') AS ts FROM g;
CREATE VIEW made_deliveries AS
SELECT CASE WHEN MOD(id, 331) = 7 THEN CAST(NULL AS BIGINT) ELSE id END AS order_id,
       DATE_FORMAT(TO_TIMESTAMP_LTZ(1780000000000 + id * 2000 + 1000 * took, 3), 'yyyy-MM-dd HH:mm:ss') AS ts
FROM (SELECT id, CASE WHEN MOD(id * 7919, 1000) < ${SLOW} THEN 2701 + MOD(id * 31, ${OVER}) ELSE 600 + MOD(id * 104729, 2100) END AS took FROM g);
