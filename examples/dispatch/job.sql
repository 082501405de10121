-- Dispatch: every ten seconds the open orders and the free couriers of a town are matched over the least total way.
CREATE TABLE orders (
  town STRING, order_id BIGINT, x DOUBLE, y DOUBLE, to_x DOUBLE, to_y DOUBLE, status STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '${IN}/orders.jsonl', 'format' = 'json',
  'stats.rows-per-second' = '2' -- at most, in the evening; for the bill
);

CREATE TABLE couriers (
  town STRING, courier_id STRING, x DOUBLE, y DOUBLE, status STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '${IN}/couriers.jsonl', 'format' = 'json',
  'stats.rows-per-second' = '20', 'stats.keys.courier_id' = '200', 'stats.keys.town' = '2' -- the same, and how many there are
);

SELECT town, order_id, courier_id, CAST(distance AS DECIMAL(8, 1)) AS metres, waited_ms / 1000 AS waited_s, attempt, stop, rowtime AS decided
FROM ASSIGN(
  orders         => TABLE orders PARTITION BY town,
  couriers       => TABLE couriers PARTITION BY town,
  order_key      => DESCRIPTOR(order_id),
  order_at       => DESCRIPTOR(x, y),
  drop_at        => DESCRIPTOR(to_x, to_y),
  order_status   => DESCRIPTOR(status),
  courier_key    => DESCRIPTOR(courier_id),
  courier_at     => DESCRIPTOR(x, y),
  courier_status => DESCRIPTOR(status),
  on_time        => DESCRIPTOR(ts),
  `every`        => INTERVAL '10' SECOND,
  max_distance   => 3000,                 -- metres, as x and y
  wait_weight    => 0.5,                  -- a second of waiting is worth half a metre
  batch          => 0.25,                 -- two orders on one way, where that is a quarter shorter
  reassign       => 1,                    -- a refused order goes to one other courier
  max_wait       => INTERVAL '20' MINUTE);
