-- Each order with the current offer of its restaurant.
CREATE TABLE orders (order_id BIGINT, restaurant_id BIGINT, amount DECIMAL(10, 2))
  WITH ('connector' = 'filesystem', 'path' = 'data/orders.jsonl', 'format' = 'json');
CREATE TABLE offers (restaurant_id BIGINT, offer BIGINT)
  WITH ('connector' = 'filesystem', 'path' = 'offers.jsonl', 'format' = 'json');
CREATE TABLE orders_with_offers (order_id BIGINT, amount DECIMAL(10, 2), offer BIGINT)
  WITH ('connector' = 'filesystem', 'path' = '${OUT}', 'format' = 'json');
SET 'table.exec.state.ttl' = '1 d';

INSERT INTO orders_with_offers
SELECT o.order_id, o.amount, f.offer
FROM orders AS o
JOIN offers AS f
  ON o.restaurant_id = f.restaurant_id;
