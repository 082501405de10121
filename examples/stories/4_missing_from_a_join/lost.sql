-- The orders that the join leaves out, as a table.
CREATE TABLE orders (order_id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'orders.jsonl', 'format' = 'json');
CREATE TABLE deliveries (order_id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'deliveries.jsonl', 'format' = 'json');
CREATE TABLE lost (order_id BIGINT, ordered TIMESTAMP(3))
  WITH ('connector' = 'filesystem', 'path' = 'lost.jsonl', 'format' = 'json');

INSERT INTO lost
SELECT o.order_id, o.ts
FROM orders AS o
LEFT JOIN deliveries AS d
  ON o.order_id = d.order_id
 AND d.ts BETWEEN o.ts AND o.ts + INTERVAL '45' MINUTE
WHERE d.order_id IS NULL;
