CREATE TABLE ratings (courier BIGINT, city STRING, rating INT, PRIMARY KEY (courier) NOT ENFORCED)
  WITH ('connector' = 'filesystem', 'path' = 'ratings.jsonl', 'format' = 'debezium-json');
INSERT INTO ratings SELECT * FROM now;
