-- Card testing: a user whose payments fail three times or more in a row and then one goes through, all within ten minutes.
CREATE TABLE payments (
  payment_id BIGINT, order_id BIGINT, user_id BIGINT, amount DECIMAL(10, 2), status STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '${IN}/payments.jsonl', 'format' = 'json',
  'on-error' = 'skip', 'watermark.future-guard' = '6 h' -- what is broken or dated far ahead is counted, and left out
);

SELECT user_id, tries, amount, lost, first_try, success
FROM payments MATCH_RECOGNIZE (
  PARTITION BY user_id
  ORDER BY ts
  MEASURES
    COUNT(F.payment_id) AS tries,
    S.amount AS amount,
    SUM(F.amount) AS lost,
    FIRST(F.ts) AS first_try,
    S.ts AS success
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (F{3,20} S) WITHIN INTERVAL '10' MINUTE
  DEFINE
    F AS F.status = 'failed',
    S AS S.status = 'captured'
) AS m;
