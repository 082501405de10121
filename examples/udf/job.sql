-- Functions written in C: examples/udf/example.c, compiled to libexample.so beside this file.
CREATE FUNCTION geo_distance AS 'geo_distance' LANGUAGE C USING LIBRARY './libexample.so';
CREATE FUNCTION slug AS 'text_slug' LANGUAGE C USING LIBRARY './libexample.so';
CREATE FUNCTION weighted_mean AS 'weighted_mean' LANGUAGE C USING LIBRARY './libexample.so';
CREATE FUNCTION words AS 'split_words' LANGUAGE C USING LIBRARY './libexample.so';

CREATE TABLE articles (id INT, author STRING, title STRING, stars INT, votes INT, lat DOUBLE, lon DOUBLE)
WITH ('connector' = 'filesystem', 'path' = 'articles.jsonl', 'format' = 'json');

-- A scalar function: where an article stands, and how far from Bern it was written.
SELECT id, slug(title) AS link, CAST(geo_distance(46.948, 7.4474, lat, lon) AS INT) AS km FROM articles;

-- An aggregate: stars by author, weighted by votes.
SELECT author, weighted_mean(stars, votes) AS mean, COUNT(*) AS articles FROM articles GROUP BY author;

-- A table function: the words of the titles.
SELECT w.length, COUNT(*) AS n FROM articles, LATERAL TABLE(words(title)) AS w(word, length) GROUP BY w.length;
