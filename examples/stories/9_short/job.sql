-- Orders and turnover of each minute, for the finance department.
CREATE TABLE orders (order_id BIGINT, user_id SMALLINT, amount DECIMAL(10, 2), ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'data/orders.jsonl', 'format' = 'json',
        'on-error' = 'skip');
CREATE TABLE per_minute (minute TIMESTAMP(3), orders BIGINT, amount DECIMAL(12, 2))
  WITH ('connector' = 'filesystem', 'path' = 'per_minute.jsonl', 'format' = 'json');

INSERT INTO per_minute
SELECT window_start, COUNT(user_id), CAST(SUM(amount) AS DECIMAL(12, 2))
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;
