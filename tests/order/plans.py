"""Random plans for tests/order/run: queries over streams of (u, c, seq), built from filters, changed columns, GROUP BY, Top-1, joins and UNION ALL, into an output with a key.

A plan is SQL that weir and SQLite both read. `grows`: the columns per which seq only grows where rows come in order; (): it does per whatever key the order is
proved for; None: it does not."""
import sqlite3

TABLES = {'keyed': 'u', 'more': 'u', 'by_c': 'c', 'plain': None, 'single': None} # the messages' key; single: one partition

class Plan:
    def __init__(self, sql, append, grows): self.sql, self.append, self.grows = sql, append, grows

def source(rng):
    name = rng.choice(list(TABLES))
    return Plan(f'SELECT u, c, seq FROM {name}', True, ())

def some(rng, p):
    n = rng.randrange(2, 5)
    return Plan(f'SELECT u, c, seq FROM ({p.sql}) WHERE MOD(seq, {n}) < {rng.randrange(1, n)}', p.append, p.grows if p.append else None) # a row that leaves the filter is gone

def changed(rng, p):
    what = rng.choice(['u + 1 AS u, c', 'MOD(u, 7) AS u, c', "u, c || 'x' AS c", 'u, CAST(MOD(u, 5) AS VARCHAR) AS c', 'u, c'])
    keeps = {'u + 1 AS u, c': p.grows, "u, c || 'x' AS c": p.grows, 'u, c': p.grows}.get(what, p.grows if p.grows == () else None)
    return Plan(f'SELECT {what}, seq FROM ({p.sql})', p.append, keeps)

def grows_by(p, by, own):
    """own: a change has the seq of the row that made it."""
    return () if own and p.append and p.grows == () else tuple(by.split(', ')) if p.append else None

def grouped(rng, p):
    by, cols = rng.choice([('u', 'u, MIN(c) AS c'), ('c', 'MIN(u) AS u, c'), ('u, c', 'u, c')])
    how = rng.choice(['MAX(seq)', 'COUNT(*)'])
    return Plan(f'SELECT {cols}, {how} AS seq FROM ({p.sql}) GROUP BY {by}', False, grows_by(p, by, how == 'MAX(seq)'))

def top(rng, p):
    by = rng.choice(['u', 'c', 'u, c'])
    return Plan(f'SELECT u, c, seq FROM (SELECT u, c, seq, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY seq DESC) AS place FROM ({p.sql})) WHERE place = 1', False, grows_by(p, by, True))

def joined(rng, p, q):
    on, how = rng.choice(['u', 'c']), rng.choice(['JOIN', 'LEFT JOIN'])
    small = f"SELECT {on}, MAX(seq) AS most FROM ({q.sql}) WHERE seq < 40 GROUP BY {on}" # one row a key: as many rows come out as the left side has; each change of it changes all its partners
    return Plan(f'SELECT a.u AS u, a.c AS c, a.seq + COALESCE(b.most, 0) AS seq FROM ({p.sql}) AS a {how} ({small}) AS b ON a.{on} = b.{on}', False, None)

def united(rng, p, q): return Plan(f'{p.sql} UNION ALL {q.sql}', p.append and q.append, None)

def plan(rng, depth):
    if depth == 0: return source(rng)
    step = rng.choices([some, changed, grouped, top, joined, united], [3, 3, 4, 2, 2, 1])[0]
    return step(rng, plan(rng, depth - 1), plan(rng, rng.randrange(depth))) if step in (joined, united) else step(rng, plan(rng, depth - 1))

def truth(sql, tables):
    """The rows in the end, by SQLite."""
    db = sqlite3.connect(':memory:')
    db.create_function('MOD', 2, lambda a, b: None if a is None else a % b if a >= 0 else -(-a % b), deterministic=True)
    for name, rows in tables.items():
        db.execute(f'CREATE TABLE {name} (u BIGINT, c TEXT, seq BIGINT)')
        db.executemany(f'INSERT INTO {name} VALUES (?, ?, ?)', [(r['u'], r['c'], r['seq']) for r in rows])
    return db.execute(sql).fetchall()

def judge(plan, key, rows, right):
    """What is wrong with rows [(partition, offset, u, c, seq)] of an output whose order per `key` is proved; None: nothing."""
    of = lambda u, c: tuple({'u': u, 'c': c}[k] for k in key)
    came, last = {}, {}
    for part, _, u, c, seq in sorted(rows): came.setdefault(of(u, c), []).append((part, u, c, seq))
    for u, c, seq in right: last.setdefault(of(u, c), []).append((u, c, seq))
    for k, list_ in came.items():
        if len({r[0] for r in list_}) > 1: return f'{k} is in several partitions'
        if plan.grows is not None and set(plan.grows) <= set(key):
            seqs = [r[3] for r in list_]
            if seqs != sorted(seqs): return f'{k} comes as {seqs[:40]}'
        want = last.get(k, [])
        if len(want) == 1 and list_[-1][1:] != want[0]: return f'{k} ends with {list_[-1][1:]}, not {want[0]}'
    missing = [k for k, v in last.items() if None not in k and k not in came]
    return f'{missing[:3]} did not come' if missing else None
