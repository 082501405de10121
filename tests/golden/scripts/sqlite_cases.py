#!/usr/bin/env python3
"""sqlite_cases.py > tests/sql/sqlite.test: cases on larger random tables (seeded), with the rows that SQLite gives for the same query."""
import json, random, sqlite3, sys

r = random.Random(20260101)
def pick(*values): return r.choice(values)
A = [dict(id=i, k=pick('a', 'b', 'c', 'd', 'e', None), n=pick(None, *range(-3, 8)), v=pick(None, *range(-50, 60)), s=pick('', 'x', 'y', 'zz', 'Ä', None)) for i in range(1, 261)]
B = [dict(bid=i, k=pick('a', 'b', 'c', 'f', None), n=pick(None, *range(-2, 10)), w=pick(None, *range(-40, 40))) for i in range(1, 121)]
C = [dict(n=i, name=pick('one', 'two', 'three', None)) for i in list(range(-3, 6)) + [2, 2, 4, None]]
TYPES = {'id': 'INT', 'bid': 'INT', 'n': 'INT', 'v': 'INT', 'w': 'INT', 'k': 'STRING', 's': 'STRING', 'name': 'STRING'}
TABLES = {'a': A, 'b': B, 'c': C}

db = sqlite3.connect(':memory:')
for t, rows in TABLES.items():
    cols = list(rows[0])
    db.execute(f"CREATE TABLE {t} ({', '.join(cols)})")
    db.executemany(f"INSERT INTO {t} VALUES ({', '.join('?' * len(cols))})", [tuple(x.values()) for x in rows])

CASES = [
    ('top1', 'a', 'SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM a) AS x WHERE rn = 1'),
    ('top1_ascending', 'a', 'SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id DESC) AS rn FROM a) AS x WHERE rn = 1'),
    ('top1_over_join', 'ab', 'SELECT k, id, x FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC, id) AS rn FROM (SELECT a.k, a.id, a.v + b.w AS x FROM a JOIN b ON a.id = b.bid) AS j) AS y WHERE rn = 1'),
    ('top5_ranks', 'a', 'SELECT k, rn, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC, v, id) AS rn FROM a) AS x WHERE rn <= 5'),
    ('top_ranks_3_to_6', 'a', 'SELECT k, rn, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS rn FROM a) AS x WHERE rn BETWEEN 3 AND 6'),
    ('top10_global', 'a', 'SELECT rn, id, v FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC, id DESC) AS rn FROM a) AS x WHERE rn <= 10'),
    ('top3_of_counts', 'a', 'SELECT k, n, c FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY c DESC, n) AS rn FROM (SELECT k, n, COUNT(*) AS c FROM a GROUP BY k, n) AS g) AS x WHERE rn <= 3'),
    ('group', 'a', 'SELECT k, COUNT(*), COUNT(v), SUM(v), MIN(v), MAX(v), COUNT(DISTINCT n), SUM(DISTINCT n) FROM a GROUP BY k'),
    ('group_two', 'a', 'SELECT k, n, COUNT(*), SUM(v) FROM a GROUP BY k, n'),
    ('group_string', 'a', 'SELECT s, COUNT(*), MIN(id), MAX(id) FROM a GROUP BY s'),
    ('group_filter', 'a', 'SELECT n, COUNT(*) FILTER (WHERE v > 0), SUM(v) FILTER (WHERE k = \'a\' OR k IS NULL), COUNT(DISTINCT k) FILTER (WHERE v < 0) FROM a GROUP BY n'),
    ('group_having', 'a', 'SELECT k, n, SUM(v) FROM a GROUP BY k, n HAVING SUM(v) > 20 AND COUNT(*) < 6'),
    ('group_of_group', 'a', 'SELECT c, COUNT(*), MIN(t), MAX(t) FROM (SELECT k, n, COUNT(*) AS c, SUM(v) AS t FROM a GROUP BY k, n) AS g GROUP BY c'),
    ('group_of_group_distinct', 'a', 'SELECT COUNT(DISTINCT t), SUM(DISTINCT c), COUNT(*) FROM (SELECT k, n, COUNT(*) AS c, SUM(v) AS t FROM a GROUP BY k, n) AS g'),
    ('distinct', 'a', 'SELECT DISTINCT k, n FROM a'),
    ('distinct_of_group', 'a', 'SELECT DISTINCT c FROM (SELECT k, n, COUNT(*) AS c FROM a GROUP BY k, n) AS g'),
    ('where_three_valued', 'a', 'SELECT id FROM a WHERE NOT (v > 10 OR n < 2) AND (k <> \'a\' OR s = \'x\')'),
    ('where_in_between', 'a', 'SELECT id FROM a WHERE n NOT IN (1, 2, 3) AND v BETWEEN -10 AND 10 AND k IN (\'a\', \'b\')'),
    ('case_arithmetic', 'a', 'SELECT id, CASE WHEN v < 0 THEN -v WHEN v IS NULL THEN -1 ELSE v * 2 END, v / 7, v % 7, COALESCE(n, v, 0) FROM a WHERE id <= 40'),
    ('join', 'ab', 'SELECT a.id, b.bid FROM a JOIN b ON a.k = b.k AND a.n = b.n'),
    ('join_residual', 'ab', 'SELECT a.id, b.bid FROM a JOIN b ON a.k = b.k AND a.n = b.n AND a.v > b.w'),
    ('left_join', 'ab', 'SELECT a.id, b.bid FROM a LEFT JOIN b ON a.k = b.k AND a.n = b.n AND a.v > b.w'),
    ('right_join', 'ab', 'SELECT a.id, b.bid FROM a RIGHT JOIN b ON a.k = b.k AND a.n = b.n AND a.v < b.w'),
    ('full_join', 'ab', 'SELECT a.id, b.bid FROM a FULL JOIN b ON a.k = b.k AND a.n = b.n'),
    ('join_three', 'abc', 'SELECT a.k, c.name, COUNT(*), SUM(b.w) FROM a JOIN b ON a.k = b.k AND a.n = b.n LEFT JOIN c ON b.n = c.n GROUP BY a.k, c.name'),
    ('group_over_left_join', 'ab', 'SELECT a.k, a.n, COUNT(*), COUNT(b.bid), MAX(b.w) FROM a LEFT JOIN b ON a.n = b.n AND a.k = b.k GROUP BY a.k, a.n'),
    ('group_over_full_join', 'ab', 'SELECT a.k, b.k, COUNT(*), SUM(a.v), SUM(b.w) FROM a FULL JOIN b ON a.n = b.n AND a.k <> b.k GROUP BY a.k, b.k'),
    ('join_of_groups', 'ab', 'SELECT x.k, x.c, y.c FROM (SELECT k, COUNT(*) AS c FROM a GROUP BY k) AS x LEFT JOIN (SELECT k, SUM(w) AS c FROM b GROUP BY k) AS y ON x.k = y.k'),
    ('semi', 'ab', 'SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.n = a.n AND b.w > a.v)'),
    ('anti', 'ab', 'SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.n = a.n)'),
    ('in_subquery', 'ab', 'SELECT id FROM a WHERE n IN (SELECT n FROM b WHERE w > 20)'),
    ('not_in_subquery', 'ab', 'SELECT id FROM a WHERE n NOT IN (SELECT n FROM b WHERE n IS NOT NULL AND w > 25)'),
    ('not_in_subquery_null', 'ab', 'SELECT id FROM a WHERE n NOT IN (SELECT n FROM b)'),
    ('union_all_group', 'ab', 'SELECT k, SUM(x), COUNT(*) FROM (SELECT k, v AS x FROM a UNION ALL SELECT k, w FROM b UNION ALL SELECT k, n FROM b) AS u GROUP BY k'),
    ('nested_everything', 'ab', 'SELECT q, COUNT(*), SUM(c) FROM (SELECT x.k, x.c, CASE WHEN x.c > COALESCE(y.c, 0) THEN \'more\' ELSE \'less\' END AS q FROM (SELECT k, COUNT(*) AS c FROM a WHERE v IS NOT NULL GROUP BY k) AS x LEFT JOIN (SELECT k, COUNT(*) AS c FROM b GROUP BY k) AS y ON x.k = y.k) AS z GROUP BY q'),
]

def text(x): return 'NULL' if x is None else str(x)

print(f'# Written by tests/golden/scripts/sqlite_cases.py. Seeded random tables; rows by SQLite {sqlite3.sqlite_version}.')
for name, tables, sql in CASES:
    print(f'\ncase {name}\noracle SQLite {sqlite3.sqlite_version}')
    for t in tables:
        print(f'file {t}.jsonl')
        for x in TABLES[t]: print(json.dumps(x, separators=(',', ':'), ensure_ascii=False))
        print('----')
    print('sql')
    for t in tables:
        cols = ', '.join(f'{c} {TYPES[c]}' for c in TABLES[t][0])
        print(f"CREATE TABLE {t} ({cols}) WITH ('connector'='filesystem','path'='${{DIR}}/{t}.jsonl','format'='json');")
    print(sql + ';\n----\nrows')
    for line in sorted(' | '.join(map(text, row)) for row in db.execute(sql)): print(line)
    print('----')
