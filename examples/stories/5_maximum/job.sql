-- The best rating of each city, from a log of changes.
CREATE TABLE ratings (courier BIGINT, city STRING, rating INT, PRIMARY KEY (courier) NOT ENFORCED)
  WITH ('connector' = 'filesystem', 'path' = 'ratings.jsonl', 'format' = 'debezium-json');
CREATE TABLE best (city STRING, best INT)
  WITH ('connector' = 'filesystem', 'path' = 'best.jsonl', 'format' = 'json');

INSERT INTO best
SELECT city, MAX(rating) AS best
FROM ratings
GROUP BY city;
