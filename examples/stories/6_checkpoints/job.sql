-- Each position of a courier with its number, for a program that reads our standard output.
CREATE TABLE pings (id BIGINT, note STRING, courier AS MOD(id * 7919, 300), ts AS TO_TIMESTAMP_LTZ(id, 3), WATERMARK FOR ts AS ts)
  WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'fields.note.length' = '500',
        'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '${N}');

SELECT id, courier, COUNT(*) OVER (PARTITION BY courier ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n, note
FROM pings;
