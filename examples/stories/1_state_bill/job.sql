-- Orders, each with its payments.
CREATE TABLE orders (order_id BIGINT, user_id BIGINT, amount DECIMAL(10, 2), ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND)
  WITH ('connector' = 'filesystem', 'path' = '${IN}/orders.jsonl', 'format' = 'json');
CREATE TABLE payments (payment_id BIGINT, order_id BIGINT, status STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND)
  WITH ('connector' = 'filesystem', 'path' = '${IN}/payments.jsonl', 'format' = 'json');
CREATE TABLE paid (order_id BIGINT, payment_id BIGINT, amount DECIMAL(10, 2), status STRING)
  WITH ('connector' = 'filesystem', 'path' = '${OUT}', 'format' = 'json');

INSERT INTO paid
SELECT o.order_id, p.payment_id, o.amount, p.status
FROM orders AS o
JOIN payments AS p
  ON o.order_id = p.order_id;
