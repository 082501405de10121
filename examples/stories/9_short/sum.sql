CREATE TABLE per_minute (minute TIMESTAMP(3), orders BIGINT, amount DECIMAL(12, 2))
  WITH ('connector' = 'filesystem', 'path' = 'per_minute.jsonl', 'format' = 'json');
