-- Ratings of couriers, as a database's change log has them: what held before goes away, what holds now comes.
CREATE TABLE g (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '${N}');
CREATE VIEW now AS
SELECT courier, 'city ' || CAST(MOD(courier, 9) AS STRING) AS city, CAST(LAST_VALUE(rating) AS INT) AS rating
FROM (SELECT MOD(id * 7919, ${COURIERS}) AS courier, MOD(id * 104729, 1000) AS rating FROM g)
GROUP BY courier;
