-- What the reader got before the crash, and after it.
CREATE TABLE before_it (id BIGINT, courier BIGINT, n BIGINT) WITH ('connector' = 'filesystem', 'path' = 'before.jsonl', 'format' = 'json', 'on-error' = 'skip');
CREATE TABLE after_it (id BIGINT, courier BIGINT, n BIGINT) WITH ('connector' = 'filesystem', 'path' = 'after.jsonl', 'format' = 'json');
CREATE VIEW got AS SELECT id, courier, n FROM before_it UNION ALL SELECT id, courier, n FROM after_it;
