-- The three products of each category that made the most money in each hour.
CREATE TABLE sales (
  category STRING, product STRING, pieces INT, price DECIMAL(8, 2), ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE
) WITH ('connector' = 'filesystem', 'path' = '${IN}/sales.jsonl', 'format' = 'json', 'on-error' = 'skip');

CREATE TABLE best (
  `hour` TIMESTAMP(3), category STRING, place BIGINT, product STRING, revenue DECIMAL(38, 2), pieces BIGINT
) WITH ('connector' = 'filesystem', 'path' = '${OUT}/best', 'format' = 'json');

INSERT INTO best
SELECT window_start, category, place, product, revenue, pieces
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, category ORDER BY revenue DESC, product) AS place
  FROM (
    SELECT window_start, window_end, category, product, SUM(pieces * price) AS revenue, SUM(CAST(pieces AS BIGINT)) AS pieces
    FROM TABLE(TUMBLE(TABLE sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
    GROUP BY window_start, window_end, category, product
  )
)
WHERE place <= 3;
