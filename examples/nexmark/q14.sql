-- Nexmark q14: a calculation with a function of the user, and a filter.
-- ${IN}: a directory written by 'weir gen nexmark'. ${LIB}: the library made of count_char.c. The query is the one of nexmark-flink.

CREATE TABLE bid (
  auction  BIGINT,
  bidder  BIGINT,
  price  BIGINT,
  channel  VARCHAR,
  url  VARCHAR,
  `dateTime`  TIMESTAMP(3),
  extra  VARCHAR,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH (
  'connector' = 'filesystem',
  'path' = '${IN}/bid.jsonl',
  'format' = 'json'
);

CREATE TABLE nexmark_q14 (
  auction  BIGINT,
  bidder  BIGINT,
  price  DECIMAL(23, 3),
  bidTimeType  VARCHAR,
  `dateTime`  TIMESTAMP(3),
  extra  VARCHAR,
  c_counts  BIGINT
) WITH (
  'connector' = 'blackhole'
);

CREATE FUNCTION count_char AS 'count_char' LANGUAGE C USING LIBRARY '${LIB}';

INSERT INTO nexmark_q14
SELECT
    auction,
    bidder,
    0.908 * price as price,
    CASE
        WHEN HOUR(`dateTime`) >= 8 AND HOUR(`dateTime`) <= 18 THEN 'dayTime'
        WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime'
        ELSE 'otherTime'
    END AS bidTimeType,
    `dateTime`,
    extra,
    count_char(extra, 'c') AS c_counts
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
