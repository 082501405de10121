-- The best rating of each city, from the lines of the log, each taken as one more rating.
CREATE TABLE ratings (op STRING, after ROW<courier BIGINT, city STRING, rating INT>)
  WITH ('connector' = 'filesystem', 'path' = 'ratings.jsonl', 'format' = 'json');

SELECT r.after.city AS city, MAX(r.after.rating) AS best
FROM ratings AS r
WHERE op <> 'd'
GROUP BY r.after.city;
