-- Bars of a minute: first, highest, lowest and last price, volume, and the price weighted by volume.
CREATE TABLE trades (
  symbol STRING, price DECIMAL(10, 2), shares INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
) WITH ('connector' = 'filesystem', 'path' = '${IN}/trades.jsonl', 'format' = 'json', 'on-error' = 'skip');

CREATE TABLE bars (
  symbol STRING, `minute` TIMESTAMP(3), `open` DECIMAL(10, 2), high DECIMAL(10, 2), low DECIMAL(10, 2), `close` DECIMAL(10, 2), volume BIGINT, trades BIGINT, vwap DECIMAL(10, 4)
) WITH ('connector' = 'filesystem', 'path' = '${OUT}/bars', 'format' = 'json');

INSERT INTO bars
SELECT symbol, window_start, FIRST_VALUE(price), MAX(price), MIN(price), LAST_VALUE(price), SUM(CAST(shares AS BIGINT)), COUNT(*),
  CAST(SUM(price * shares) / SUM(shares) AS DECIMAL(10, 4))
FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY symbol, window_start, window_end;
