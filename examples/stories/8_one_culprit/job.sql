-- Complaints in the notes of couriers, by city.
CREATE TABLE notes (id BIGINT, note STRING, courier AS MOD(id * 7919, 500), restaurant AS MOD(id * 104729, 70), ts AS TO_TIMESTAMP_LTZ(id, 3),
  WATERMARK FOR ts AS ts)
  WITH ('connector' = 'datagen', 'rows-per-second' = '${RATE}', 'fields.note.length' = '${LENGTH}',
        'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '1000000000');
CREATE TABLE complaints (city INT, notes BIGINT, angry BIGINT, most BIGINT, busiest BIGINT) WITH ('connector' = 'blackhole');

-- how many notes its courier has written so far, then how many were written about its restaurant
CREATE VIEW of_courier AS
SELECT id, ts, note, courier, restaurant,
       COUNT(*) OVER (PARTITION BY courier ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS written
FROM notes;
CREATE VIEW of_restaurant AS
SELECT id, ts, note, courier, written,
       COUNT(*) OVER (PARTITION BY restaurant ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS about
FROM of_courier;

-- the notes of a city in order, and whether one is angry: a ! or a ? after at least three digits
CREATE VIEW of_city AS
SELECT id, ts, note, MOD(courier, 9) AS city, written, about,
       COUNT(*) OVER (PARTITION BY MOD(courier, 9) ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS place
FROM of_restaurant;
CREATE VIEW judged AS
SELECT city, written, about + place AS about,
       REGEXP(note, '.*[0-9].*[0-9].*[0-9].*[!?]') AS angry
FROM of_city;

INSERT INTO complaints
SELECT city, COUNT(*), SUM(CASE WHEN angry THEN 1 ELSE 0 END), MAX(written), MAX(about)
FROM judged
GROUP BY city;
