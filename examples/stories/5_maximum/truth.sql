CREATE TABLE now (courier BIGINT, city STRING, rating INT) WITH ('connector' = 'filesystem', 'path' = 'now.jsonl', 'format' = 'json');
SELECT city, MAX(rating) AS best FROM now GROUP BY city;
