-- Ridelo live: the five outputs of job.sql as materialized views, for the dashboard and for whoever asks: logs that grow, no files and no database written.
-- weir gen ridelo IN ... writes the logs; weir run live.sql --set IN=IN --ui 127.0.0.1:8080 shows them. README.md says more.

-- What is not asked for again within 30 days may be forgotten: users, orders for recognising copies, payments.
SET 'pipeline.name' = 'ridelo';
SET 'table.exec.state.ttl' = '30 d';

-- ---------------------------------------------------------------- the logs

CREATE TABLE orders (
  order_id       BIGINT,
  user_id        BIGINT,
  restaurant_id  BIGINT,
  courier_id     BIGINT,
  amount         DECIMAL(10, 2),
  ts             TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '${IN}/orders.jsonl', 'format' = 'json', 'source.mode' = 'tail',
  'on-error' = 'skip', 'watermark.future-guard' = '6 h'
);

CREATE TABLE cancellations (
  cancellation_id  BIGINT,
  order_id         BIGINT,
  user_id          BIGINT,
  reason           STRING,
  ts               TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '60' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '${IN}/cancellations.jsonl', 'format' = 'json', 'source.mode' = 'tail',
  'on-error' = 'skip', 'watermark.future-guard' = '6 h'
);

CREATE TABLE payments (
  payment_id  BIGINT,
  order_id    BIGINT,
  user_id     BIGINT,
  amount      DECIMAL(10, 2),
  status      STRING,          -- 'captured' or 'failed'
  ts          TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '${IN}/payments.jsonl', 'format' = 'json', 'source.mode' = 'tail',
  'on-error' = 'skip', 'watermark.future-guard' = '6 h'
);

CREATE TABLE chargebacks (
  chargeback_id  BIGINT,
  payment_id     BIGINT,
  user_id        BIGINT,
  amount         DECIMAL(10, 2),
  ts             TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' MINUTE
) WITH (
  'connector' = 'filesystem', 'path' = '${IN}/chargebacks.jsonl', 'format' = 'json', 'source.mode' = 'tail',
  'on-error' = 'skip', 'watermark.future-guard' = '6 h'
);

CREATE TABLE courier_pings (
  ping_id     BIGINT,
  courier_id  BIGINT,
  order_id    BIGINT,
  lat         DOUBLE,
  lon         DOUBLE,
  ts          TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '30' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '${IN}/courier_pings.jsonl', 'format' = 'json', 'source.mode' = 'tail',
  'on-error' = 'skip', 'watermark.future-guard' = '6 h'
);

CREATE TABLE restaurant_changes (
  change_id      BIGINT,
  restaurant_id  BIGINT,
  name           STRING,
  cuisine        STRING,
  city           STRING,
  commission     DECIMAL(5, 2),
  ts             TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '60' SECOND,
  PRIMARY KEY (restaurant_id) NOT ENFORCED
) WITH (
  'connector' = 'filesystem', 'path' = '${IN}/restaurant_changes.jsonl', 'format' = 'json', 'source.mode' = 'tail',
  'on-error' = 'skip', 'watermark.future-guard' = '6 h'
);

-- ---------------------------------------------------------------- the way there

-- A log may deliver an order twice. Keep the last copy; nothing is dropped for being late.
CREATE TEMPORARY VIEW orders_once AS
SELECT order_id, user_id, amount
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY order_id ORDER BY ts DESC) AS rn
  FROM orders
)
WHERE rn = 1;

-- Three orders and more of one user within ten minutes.
CREATE TEMPORARY VIEW bursts AS
SELECT user_id, window_start, window_end, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' MINUTE))
GROUP BY user_id, window_start, window_end
HAVING COUNT(*) >= 3;

-- Everything that is known against a user, one fact a row.
CREATE TEMPORARY VIEW user_facts AS
SELECT user_id, order_id, amount, CAST(NULL AS BIGINT) AS cancellation_id, CAST(NULL AS BIGINT) AS failed_payment_id,
       CAST(NULL AS BIGINT) AS chargeback_id, CAST(NULL AS BIGINT) AS burst
FROM orders_once
UNION ALL
SELECT user_id, CAST(NULL AS BIGINT), CAST(NULL AS DECIMAL(10, 2)), cancellation_id, CAST(NULL AS BIGINT),
       CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)
FROM cancellations
UNION ALL
SELECT user_id, CAST(NULL AS BIGINT), CAST(NULL AS DECIMAL(10, 2)), CAST(NULL AS BIGINT), payment_id,
       CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)
FROM payments
WHERE status = 'failed'
UNION ALL
SELECT user_id, CAST(NULL AS BIGINT), CAST(NULL AS DECIMAL(10, 2)), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT),
       chargeback_id, CAST(NULL AS BIGINT)
FROM chargebacks
UNION ALL
SELECT user_id, CAST(NULL AS BIGINT), CAST(NULL AS DECIMAL(10, 2)), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT),
       CAST(NULL AS BIGINT), n
FROM bursts;

-- ---------------------------------------------------------------- the outputs

-- (a) fraud score per user, corrected whenever a chargeback arrives, however late
CREATE MATERIALIZED VIEW fraud_score (user_id, orders, amount, cancellations, failed_payments, chargebacks, bursts, score) AS
SELECT user_id,
       COUNT(order_id),
       CAST(SUM(amount) AS DECIMAL(12, 2)),
       COUNT(DISTINCT cancellation_id),
       COUNT(DISTINCT failed_payment_id),
       COUNT(DISTINCT chargeback_id),
       COUNT(burst),
       2 * COUNT(DISTINCT cancellation_id) + 5 * COUNT(DISTINCT failed_payment_id)
         + 20 * COUNT(DISTINCT chargeback_id) + 10 * COUNT(burst)
FROM user_facts
GROUP BY user_id;

-- (b) where the courier was in the first ten minutes of an order; orders without any position come with NULLs
CREATE MATERIALIZED VIEW order_positions (order_id, user_id, courier_id, order_ts, ping_id, ping_ts, lat, lon) WITH ('retention' = '1 d', 'retention.column' = 'order_ts') AS
SELECT o.order_id, o.user_id, o.courier_id, CAST(o.ts AS TIMESTAMP(3)), p.ping_id, CAST(p.ts AS TIMESTAMP(3)), p.lat, p.lon
FROM orders AS o
LEFT JOIN courier_pings AS p
  ON o.order_id = p.order_id
 AND o.courier_id = p.courier_id
 AND p.ts BETWEEN o.ts AND o.ts + INTERVAL '10' MINUTE;

-- (c) orders with what was true of their restaurant at that time
CREATE MATERIALIZED VIEW enriched_orders (order_id, user_id, amount, order_ts, restaurant_id, change_id, name, cuisine, city, commission) WITH ('retention' = '1 d', 'retention.column' = 'order_ts') AS
SELECT o.order_id, o.user_id, o.amount, o.ts, o.restaurant_id, r.change_id, r.name, r.cuisine, r.city, r.commission
FROM orders AS o
LEFT JOIN restaurant_changes FOR SYSTEM_TIME AS OF o.ts AS r
  ON o.restaurant_id = r.restaurant_id;

-- (d) the ten busiest restaurants of the last 24 hours, each minute
CREATE MATERIALIZED VIEW busiest_restaurants (window_start, window_end, place, restaurant_id, orders) WITH ('retention' = '1 h', 'retention.column' = 'window_end') AS
SELECT window_start, window_end, place, restaurant_id, n
FROM (
  SELECT window_start, window_end, restaurant_id, n,
         ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC, restaurant_id) AS place
  FROM (
    SELECT window_start, window_end, restaurant_id, COUNT(*) AS n
    FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '24' HOUR))
    GROUP BY window_start, window_end, restaurant_id
  )
)
WHERE place <= 10;

-- (e) each captured payment once, into the billing database
CREATE MATERIALIZED VIEW charges (payment_id, order_id, user_id, amount, ts) AS
SELECT payment_id, order_id, user_id, amount, ts
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY payment_id ORDER BY ts DESC) AS rn
  FROM payments
  WHERE status = 'captured'
)
WHERE rn = 1;

