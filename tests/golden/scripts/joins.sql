CREATE TABLE l (id INT, k STRING, n INT, v INT, ts TIMESTAMP(3)) WITH ('connector'='filesystem','path'='${DIR}/l.jsonl','format'='json');
CREATE TABLE r (rid INT, k STRING, n INT, w INT, ts TIMESTAMP(3)) WITH ('connector'='filesystem','path'='${DIR}/r.jsonl','format'='json');
CREATE TABLE m (n INT, name STRING) WITH ('connector'='filesystem','path'='${DIR}/m.jsonl','format'='json');
CREATE TABLE e (n INT, k STRING, name STRING) WITH ('connector'='filesystem','path'='${DIR}/empty.jsonl','format'='json');
-- case inner
SELECT l.id, r.rid, l.k FROM l JOIN r ON l.k = r.k;
-- case inner_two_keys
SELECT l.id, r.rid FROM l JOIN r ON l.k = r.k AND l.n = r.n;
-- case inner_residual
SELECT l.id, r.rid FROM l JOIN r ON l.k = r.k AND l.v > r.w;
-- case inner_where
SELECT l.id, r.rid FROM l JOIN r ON l.k = r.k WHERE l.v IS NOT NULL AND r.w > 0;
-- case comma_join_where
SELECT l.id, r.rid FROM l, r WHERE l.k = r.k AND l.n = r.n AND l.id <> 4;
-- case left
SELECT l.id, r.rid FROM l LEFT JOIN r ON l.k = r.k;
-- case left_residual
SELECT l.id, r.rid, r.w FROM l LEFT JOIN r ON l.k = r.k AND r.w > l.v;
-- case left_condition_on_left_only
SELECT l.id, r.rid FROM l LEFT JOIN r ON l.k = r.k AND l.v > 5;
-- case left_condition_on_right_only
SELECT l.id, r.rid FROM l LEFT JOIN r ON l.k = r.k AND r.n = 1;
-- case left_where_right_null
SELECT l.id FROM l LEFT JOIN r ON l.k = r.k WHERE r.rid IS NULL;
-- case left_where_kills_padding
SELECT l.id, r.rid FROM l LEFT JOIN r ON l.k = r.k WHERE r.w >= 0;
-- case right
SELECT l.id, r.rid FROM l RIGHT JOIN r ON l.k = r.k AND l.n = r.n;
-- case right_residual
SELECT l.id, r.rid, l.v FROM l RIGHT OUTER JOIN r ON l.k = r.k AND l.v < r.w;
-- case full
SELECT l.id, r.rid FROM l FULL OUTER JOIN r ON l.k = r.k AND l.n = r.n;
-- case full_residual
SELECT l.id, r.rid FROM l FULL JOIN r ON l.k = r.k AND l.v <> r.w;
-- case full_both_keys
SELECT l.k, r.k, COALESCE(l.k, r.k) FROM l FULL JOIN r ON l.k = r.k AND l.id = r.rid - 100;
-- case not_distinct_keys
SELECT l.id, r.rid FROM l JOIN r ON l.k IS NOT DISTINCT FROM r.k AND l.n IS NOT DISTINCT FROM r.n;
-- case join_using
SELECT id, rid, k FROM l JOIN r USING (k) WHERE id < 5;
-- case cross_join
SELECT l.id, m.name FROM l CROSS JOIN m WHERE l.id < 3;
-- case non_equi_join
SELECT l.id, r.rid FROM l JOIN r ON l.v < r.w;
-- case join_on_expression
SELECT l.id, r.rid FROM l JOIN r ON l.id + 100 = r.rid;
-- case join_on_cast_types
SELECT l.id, x.b FROM l JOIN (SELECT CAST(n AS BIGINT) AS b FROM m) AS x ON l.n = x.b WHERE l.id < 4;
-- case join_empty_right
SELECT l.id, e.name FROM l JOIN e ON l.k = e.k;
-- case left_join_empty_right
SELECT l.id, e.name FROM l LEFT JOIN e ON l.k = e.k WHERE l.id < 4;
-- case full_join_empty_left
SELECT e.name, r.rid FROM e FULL JOIN r ON e.k = r.k WHERE r.rid < 104;
-- case self_join
SELECT a.id, b.id FROM l AS a JOIN l AS b ON a.k = b.k AND a.id < b.id;
-- case self_left_join
SELECT a.id, b.id FROM l AS a LEFT JOIN l AS b ON a.k = b.k AND a.id < b.id;
-- case three_way
SELECT l.id, r.rid, m.name FROM l JOIN r ON l.k = r.k JOIN m ON r.n = m.n;
-- case three_way_left_left
SELECT l.id, r.rid, m.name FROM l LEFT JOIN r ON l.k = r.k AND r.w > 5 LEFT JOIN m ON r.n = m.n;
-- case three_way_left_inner
SELECT l.id, r.rid, m.name FROM l LEFT JOIN r ON l.k = r.k AND r.w > 5 JOIN m ON l.n = m.n;
-- case three_way_full
SELECT l.id, r.rid, m.name FROM l FULL JOIN r ON l.k = r.k AND l.n = r.n LEFT JOIN m ON l.n = m.n AND m.name = 'one';
-- case join_in_subquery
SELECT l.id, x.name FROM l LEFT JOIN (SELECT r.k, m.name FROM r JOIN m ON r.n = m.n WHERE m.name IS NOT NULL) AS x ON l.k = x.k;
-- case join_duplicates_multiply
SELECT a.n, b.name FROM m AS a JOIN m AS b ON a.n = b.n;
-- case join_of_aggregates
SELECT a.k, a.c, b.c FROM (SELECT k, COUNT(*) AS c FROM l GROUP BY k) AS a LEFT JOIN (SELECT k, COUNT(*) AS c FROM r GROUP BY k) AS b ON a.k = b.k;
-- case full_join_of_aggregates
SELECT a.k, a.c, b.k, b.c FROM (SELECT k, COUNT(*) AS c FROM l GROUP BY k) AS a FULL JOIN (SELECT k, SUM(w) AS c FROM r GROUP BY k) AS b ON a.k = b.k;
-- case join_aggregate_value_as_key
SELECT a.k, b.k, a.c FROM (SELECT k, COUNT(*) AS c FROM l GROUP BY k) AS a JOIN (SELECT k, COUNT(*) AS c FROM r GROUP BY k) AS b ON a.c = b.c;
-- case join_with_distinct
SELECT l.id, d.k FROM l JOIN (SELECT DISTINCT k FROM r) AS d ON l.k = d.k;
-- case aggregate_over_outer_join
SELECT l.k, COUNT(*), COUNT(r.rid), SUM(r.w), MIN(l.v) FROM l LEFT JOIN r ON l.k = r.k GROUP BY l.k;
-- case count_over_full_join
SELECT COUNT(*), COUNT(l.id), COUNT(r.rid) FROM l FULL JOIN r ON l.k = r.k AND l.n = r.n;
-- case semi_in
SELECT id FROM l WHERE k IN (SELECT k FROM r);
-- case semi_in_filtered
SELECT id, v FROM l WHERE n IN (SELECT n FROM r WHERE w > 5);
-- case semi_exists
SELECT id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.w > l.v);
-- case semi_exists_uncorrelated
SELECT id FROM l WHERE EXISTS (SELECT 1 FROM e);
-- case semi_and_filter
SELECT id FROM l WHERE k IN (SELECT k FROM r) AND v > 5;
-- case semi_on_aggregate
SELECT id FROM l WHERE n IN (SELECT COUNT(*) FROM r GROUP BY k);
-- case anti_not_exists
SELECT id, k FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k);
-- case anti_not_exists_residual
SELECT id FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.w > l.v);
-- case anti_not_in_with_null
SELECT id FROM l WHERE k NOT IN (SELECT k FROM r);
-- case anti_not_in_without_null
SELECT id, k FROM l WHERE k NOT IN (SELECT k FROM r WHERE k IS NOT NULL);
-- case anti_not_in_empty
SELECT id FROM l WHERE k NOT IN (SELECT k FROM e);
-- case anti_updating
SELECT id FROM l WHERE NOT EXISTS (SELECT 1 FROM (SELECT k, COUNT(*) AS c FROM r GROUP BY k) AS x WHERE x.k = l.k AND x.c > 2);
