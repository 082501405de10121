-- Silences: a sensor that should report every half minute and did not for more than ninety seconds.
CREATE TABLE readings (
  sensor STRING, celsius DOUBLE, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '20' SECOND
) WITH ('connector' = 'filesystem', 'path' = '${IN}/readings.jsonl', 'format' = 'json', 'on-error' = 'skip');

CREATE TABLE gaps (
  sensor STRING, last_seen TIMESTAMP(3), back TIMESTAMP(3), silent_seconds INT, jump DOUBLE
) WITH ('connector' = 'filesystem', 'path' = '${OUT}/gaps', 'format' = 'json');

INSERT INTO gaps
SELECT sensor, last_seen, ts, TIMESTAMPDIFF(SECOND, last_seen, ts), ROUND(celsius - last_celsius, 1)
FROM (
  SELECT sensor, ts, celsius, LAG(ts) OVER w AS last_seen, LAG(celsius) OVER w AS last_celsius
  FROM readings
  WINDOW w AS (PARTITION BY sensor ORDER BY ts)
)
WHERE TIMESTAMPDIFF(SECOND, last_seen, ts) > 90;
