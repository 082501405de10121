-- What each restaurant took, and how often each user ordered.
CREATE TABLE orders (order_id BIGINT, user_id BIGINT, restaurant_id BIGINT, amount DECIMAL(10, 2), ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'data/orders.jsonl', 'format' = 'json');
CREATE TABLE restaurants (restaurant_id BIGINT, orders BIGINT, amount DECIMAL(12, 2), PRIMARY KEY (restaurant_id) NOT ENFORCED)
  WITH ('connector' = 'sqlite', 'path' = '${OUT}.db');
CREATE TABLE users (user_id BIGINT, orders BIGINT, PRIMARY KEY (user_id) NOT ENFORCED)
  WITH ('connector' = 'sqlite', 'path' = '${OUT}.db');

EXECUTE STATEMENT SET BEGIN
INSERT INTO restaurants
SELECT place, COUNT(*) AS n, CAST(SUM(amount) AS DECIMAL(12, 2)) AS took
FROM (SELECT restaurant_id AS place, amount FROM orders)
GROUP BY place;
INSERT INTO users
SELECT user_id, COUNT(*)
FROM orders
GROUP BY user_id;
END;
