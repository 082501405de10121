-- The same, each order copied into all of its windows, and each window counted by itself.
CREATE TABLE orders (order_id BIGINT, restaurant_id BIGINT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'data/orders.jsonl', 'format' = 'json');

SELECT w AS window_start, restaurant_id, COUNT(*) AS orders
FROM (SELECT CAST(window_start AS TIMESTAMP(3)) AS w, restaurant_id
      FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '24' HOUR)))
GROUP BY w, restaurant_id;
