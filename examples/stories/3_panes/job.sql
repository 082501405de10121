-- Orders of each restaurant in the last 24 hours, refreshed each minute.
CREATE TABLE orders (order_id BIGINT, restaurant_id BIGINT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'data/orders.jsonl', 'format' = 'json');

SELECT window_start, restaurant_id, COUNT(*) AS orders
FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '24' HOUR))
GROUP BY window_start, window_end, restaurant_id;
