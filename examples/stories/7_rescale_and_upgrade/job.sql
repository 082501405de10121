-- What each restaurant took.
CREATE TABLE orders (order_id BIGINT, user_id BIGINT, restaurant_id BIGINT, amount DECIMAL(10, 2), ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'data/orders.jsonl', 'format' = 'json');
CREATE TABLE restaurants (restaurant_id BIGINT, orders BIGINT, amount DECIMAL(12, 2), PRIMARY KEY (restaurant_id) NOT ENFORCED)
  WITH ('connector' = 'sqlite', 'path' = '${OUT}.db');

INSERT INTO restaurants
SELECT restaurant_id, COUNT(*), CAST(SUM(amount) AS DECIMAL(12, 2))
FROM orders
GROUP BY restaurant_id;
