CREATE TABLE ratings (courier BIGINT, city STRING, rating INT, PRIMARY KEY (courier) NOT ENFORCED)
  WITH ('connector' = 'filesystem', 'path' = 'ratings.jsonl', 'format' = 'debezium-json');
SELECT city, MAX(rating) AS best FROM ratings GROUP BY city;
