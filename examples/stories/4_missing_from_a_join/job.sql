-- Each order with its delivery.
CREATE TABLE orders (order_id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'orders.jsonl', 'format' = 'json');
CREATE TABLE deliveries (order_id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'deliveries.jsonl', 'format' = 'json');
CREATE TABLE trips (order_id BIGINT, ordered TIMESTAMP(3), delivered TIMESTAMP(3))
  WITH ('connector' = 'filesystem', 'path' = '${OUT}', 'format' = 'json');

INSERT INTO trips
SELECT o.order_id, o.ts, d.ts
FROM orders AS o
JOIN deliveries AS d
  ON o.order_id = d.order_id
 AND d.ts BETWEEN o.ts AND o.ts + INTERVAL '45' MINUTE;
