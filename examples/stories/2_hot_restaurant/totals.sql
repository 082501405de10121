-- Orders and their sum, for each restaurant.
CREATE TABLE orders (order_id BIGINT, restaurant_id BIGINT, amount DECIMAL(10, 2))
  WITH ('connector' = 'filesystem', 'path' = 'data/orders.jsonl', 'format' = 'json');

SELECT restaurant_id, COUNT(*) AS orders, SUM(amount) AS amount, MAX(amount) AS largest
FROM orders
GROUP BY restaurant_id;
