-- Visits: the clicks of a user until nothing comes for half an hour.
CREATE TABLE clicks (
  user_id STRING, page STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '30' SECOND
) WITH ('connector' = 'filesystem', 'path' = '${IN}/clicks.jsonl', 'format' = 'json', 'on-error' = 'skip');

CREATE TABLE visits (
  user_id STRING, begins TIMESTAMP(3), seconds INT, clicks BIGINT, pages BIGINT, paid BOOLEAN
) WITH ('connector' = 'filesystem', 'path' = '${OUT}/visits', 'format' = 'json');

INSERT INTO visits
SELECT user_id, window_start, TIMESTAMPDIFF(SECOND, MIN(ts), MAX(ts)), COUNT(*), COUNT(DISTINCT page), MAX(CASE WHEN page = 'paid' THEN 1 ELSE 0 END) = 1
FROM TABLE(SESSION(TABLE clicks PARTITION BY user_id, DESCRIPTOR(ts), INTERVAL '30' MINUTE))
GROUP BY user_id, window_start, window_end;
