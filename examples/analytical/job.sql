-- Orders a minute and city, for analytical stores: final rows into a topic that Druid and Pinot read, the newest state of each order by key into another, and both into ClickHouse.
CREATE TABLE orders (
  order_id  BIGINT,
  city      STRING,
  amount    DECIMAL(10, 2),
  status    STRING,
  ts        TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = '${BROKERS}', 'format' = 'json');

CREATE TABLE city_minutes (
  ts      TIMESTAMP(3),
  city    STRING,
  orders  BIGINT,
  amount  DOUBLE
) WITH ('connector' = 'kafka', 'topic' = 'city_minutes', 'properties.bootstrap.servers' = '${BROKERS}', 'format' = 'json');

CREATE TABLE order_now (
  order_id  BIGINT,
  city      STRING,
  status    STRING,
  ts        TIMESTAMP(3),
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH ('connector' = 'upsert-kafka', 'topic' = 'order_now', 'properties.bootstrap.servers' = '${BROKERS}', 'key.format' = 'json', 'value.format' = 'json');

CREATE TABLE city_minutes_clickhouse (
  ts      TIMESTAMP(3),
  city    STRING,
  orders  BIGINT,
  amount  DOUBLE
) WITH ('connector' = 'clickhouse', 'url' = '${CLICKHOUSE}', 'table-name' = 'city_minutes');

CREATE TEMPORARY VIEW minutes AS
SELECT window_start AS ts, city, COUNT(*) AS orders, SUM(CAST(amount AS DOUBLE)) AS amount
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, city;

EXECUTE STATEMENT SET
BEGIN
INSERT INTO city_minutes SELECT * FROM minutes;
INSERT INTO city_minutes_clickhouse SELECT * FROM minutes;
INSERT INTO order_now SELECT order_id, city, status, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY order_id ORDER BY ts DESC) AS n FROM orders) WHERE n = 1;
END;
