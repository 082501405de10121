"""Random tables and queries for tests/prop/run. Every piece of a query is written twice: (weir, DuckDB).

The two differ on purpose, in each place where the dialects do and weir follows Flink:
  division of integers truncates (DuckDB: //), AVG of integers too; AVG of a DECIMAL has 6 decimals, rounded half up (DuckDB gives a DOUBLE): here it is a
  whole number of millionths; CAST of a DECIMAL to an integer truncates; GREATEST and LEAST are NULL if an argument is; an aggregate without GROUP BY over
  nothing gives no row in a stream; LEFT, REPEAT, LPAD and SUBSTRING with numbers below 1; windows are arithmetic; ROW_NUMBER among equals is the order
  of arrival (rowid).
What is not made: sums that leave BIGINT (they wrap in Flink, DuckDB refuses), DOUBLEs that are no quarters (the order of addition shows), division by zero."""
import bisect, datetime, json, random, re

EPOCH_MS = 1767225600000  # 2026-01-01
STRINGS = ['a', 'b', '', 'ab', 'B', 'Ä', 'ä', 'zz', '日本', '😀', 'a b', "it's", '100%', 'x_y', '"q"', 'back\\slash', 'NULL', '1', '1.50', ' a ', 'x' * 40, '\t', 'ﬀ']
TYPE = {'int': 'INT', 'big': 'BIGINT', 'xbig': 'BIGINT', 'tiny': 'TINYINT', 'dec': 'DECIMAL(10,2)', 'xdec': 'DECIMAL(38,10)', 'str': 'STRING', 'bool': 'BOOLEAN', 'ts': 'TIMESTAMP(3)',
        'date': 'DATE', 'dbl': 'DOUBLE'}
DUCK = {**TYPE, 'str': 'VARCHAR', 'ts': 'TIMESTAMP', 'davg': 'HUGEINT'}
NUMERIC = ('int', 'big')         # what arithmetic may be done with
TERMINAL = ('davg', 'dbl9', 'decx')      # only passed on: their types are not the same on both sides
LETTER = {'int': 'n', 'big': 'v', 'xbig': 'x', 'tiny': 'y', 'dec': 'd', 'xdec': 'e', 'str': 's', 'bool': 'f', 'date': 'day', 'dbl': 'r'}

def iso(ms):
    t = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=ms)
    return f'{t:%Y-%m-%d %H:%M:%S}.{t.microsecond // 1000:03}'
def scaled(c, scale): return ('-' if c < 0 else '') + f'{abs(c) // 10**scale}.{abs(c) % 10**scale:0{scale}}'
def quote(s): return "'" + s.replace("'", "''") + "'"

class Choices:
    """Where a query gets its decisions from: a seed, or a list of earlier decisions, which is how a query is made smaller. 0 is the simplest decision."""
    def __init__(self, seed=None, given=None): self.rng, self.given, self.made = random.Random(seed), given, []
    def below(self, n):
        if self.given is None: x = self.rng.randrange(n)
        else: x = min(self.given[len(self.made)], n - 1) if len(self.made) < len(self.given) else 0
        self.made.append(x)
        return x
    def chance(self, p): return self.below(100) >= 100 - int(p * 100)
    def choice(self, of): return of[self.below(len(of))]
    def weighted(self, of): # [(weight, what)]
        at = self.below(sum(w for w, _ in of))
        for w, what in of:
            if at < w: return what
            at -= w
    def between(self, a, b): # 0, or what is nearest, is the simplest
        order = sorted(range(a, b + 1), key=lambda x: (abs(x), x < 0))
        return self.choice(order)
    def some(self, of, k):
        rest, out = list(of), []
        for _ in range(min(k, len(rest))): out.append(rest.pop(self.below(len(rest))))
        return out

class Table:
    """Rows (append) or changes (old, new) with the rows that are left at the end."""
    def __init__(self, r, name):
        self.name, self.base = name, r.choice([EPOCH_MS, EPOCH_MS, 0, -EPOCH_MS // 3])
        kinds = ['int', 'str', 'int', 'big'] + r.sample(['str', 'dec', 'bool', 'date', 'dbl', 'xbig', 'xdec', 'tiny', 'int', 'str', 'dec'], r.choice([1, 2, 4, 6]))
        self.cols = [('id', 'int')]
        for k in kinds:
            n = sum(1 for _, t in self.cols[1:] if t == k)
            self.cols.append((LETTER[k] + (str(n) if n else ''), k))
        self.cols.append(('ts', 'ts'))
        self.kind = r.choice(['append'] * 6 + ['debezium', 'debezium', 'debezium-pk', 'upsert'])
        self.append, self.pk = self.kind == 'append', self.kind in ('debezium-pk', 'upsert')
        n = r.choice([0, 1, 2, 3, 5, 8, 12, 20, 30, 40])
        self.nulls = r.choice([0, 0.1, 0.3])
        self.keys, self.strings, self.days = r.sample(STRINGS, r.choice([1, 2, 4, 8])), r.sample(STRINGS, 6), r.choice([3, 400])
        self.parts = r.choice([1, 1, 1, 2, 3]) if self.append else 1
        self.changes, alive = [], {}       # (old, new, part, seed of its text)
        ids = r.sample(range(1, r.choice([n + 1, 10 * n + 10]) + 1), n) if self.append else None
        for i in range(n if self.append else 2 * n):
            old = new = None
            if self.append: new = self.row(r, ids[i])
            elif r.random() < 0.5 or not alive: new = self.row(r, i + 1)
            else:
                old = alive[r.choice(sorted(alive))]
                if r.random() < 0.6:
                    new = self.row(r, old['id'])
                    for c in list(new):
                        if r.random() < 0.5: new[c] = old[c]
            if old: del alive[old['id']]
            if new: alive[new['id']] = new
            self.changes.append((old, new, r.randrange(self.parts), r.random()))
    def value(self, r, c, t):
        if t == 'str': return r.choice(self.keys if c == 's' else self.strings)
        if t == 'int': return r.randint(-4, 6)
        if t == 'big': return r.choice([r.randint(-50, 60), r.randint(-3, 3) * 10**12])
        if t == 'tiny': return r.choice([-128, 127, 0, r.randint(-3, 3)])
        if t == 'xbig': return r.choice([-2**63, 2**63 - 1, -2**63 + 1, 2**53 + 1, 0, -1, r.randint(-3, 3)])
        if t == 'dec': return r.choice([r.randint(-300, 500), r.randint(-20, 20) * 50])
        if t == 'xdec': return r.choice([10**38 - 1, 1 - 10**38, 0, 1, -1, r.randint(-3, 3) * 10**10])
        if t == 'bool': return r.random() < 0.5
        if t == 'date': return self.base // 86400000 + r.randint(-self.days, self.days)
        if t == 'dbl': return r.choice([r.randint(-20, 20) / 4, r.randint(-3, 3) * 1000.0])
    def row(self, r, i):
        out = {'id': i}
        for c, t in self.cols[1:-1]:
            x = self.value(r, c, t)
            out[c] = None if r.random() < self.nulls else x
        out['ts'] = self.base + r.choice([r.randint(-30000, 60000), r.randint(-3, 6) * 10000])
        return out
    def final(self):
        if self.append: return [new for _, new, _, _ in self.changes]
        alive = {}
        for old, new, _, _ in self.changes:
            if old: alive.pop(old['id'], None)
            if new: alive[new['id']] = new
        return list(alive.values())
    def in_order(self): return self.parts == 1
    # ---- weir's side ----
    def json(self, seed, row):
        r, out = random.Random(seed), []
        if row is None: return 'null'
        for c, t in self.cols:
            v = row[c]
            if v is None:
                if self.kind != 'append' or r.random() < 0.5: out.append((c, 'null'))
                continue
            if t in ('dec', 'xdec'): v = scaled(v, 2 if t == 'dec' else 10); v = v if r.random() < 0.5 else f'"{v}"'
            elif t == 'ts': v = f'"{iso(v)}"'
            elif t == 'date': v = f'"{datetime.date(1970, 1, 1) + datetime.timedelta(days=v)}"'
            else: v = json.dumps(v, ensure_ascii=r.random() < 0.3)
            out.append((c, v))
        r.shuffle(out)
        return '{' + ','.join(f'"{c}":{v}' for c, v in out) + '}'
    def files(self):
        lines = [[] for _ in range(self.parts)]
        for at, (old, new, part, seed) in enumerate(self.changes):
            if self.append: lines[part].append(self.json(seed, new))
            elif self.kind == 'upsert': lines[0].append(f'{{"partition":0,"offset":{at},"key":{{"id":{(new or old)["id"]}}},"value":{self.json(seed, new)}}}')
            else: lines[0].append(f'{{"before":{self.json(seed, old)},"after":{self.json(seed, new)},"op":"{"d" if not new else "u" if old else "c"}"}}')
        return [(f'{self.name}/p{i}.jsonl' if self.parts > 1 else self.path(), x) for i, x in enumerate(lines)]
    def path(self): return self.name if self.parts > 1 else self.name + ('.kafka.jsonl' if self.kind == 'upsert' else '.jsonl')
    def ddl(self):
        cols = ', '.join(f'{c} {TYPE[t]}' for c, t in self.cols)
        if self.pk: cols += ', PRIMARY KEY (id) NOT ENFORCED'
        if self.append and ('ts', 'ts') in self.cols: cols += ", WATERMARK FOR ts AS ts - INTERVAL '1' DAY"
        fmt = {'append': 'json', 'upsert': 'upsert-json'}.get(self.kind, 'debezium-json')
        return f"CREATE TABLE {self.name} ({cols}) WITH ('connector'='filesystem','path'='${{DIR}}/{self.path()}','format'='{fmt}');\n"
    # ---- DuckDB's ----
    def literal(self, t, v):
        if v is None: return 'NULL'
        if t == 'str': return quote(v)
        if t == 'ts': return f"TIMESTAMP '{iso(v)}'"
        if t == 'date': return f"(DATE '1970-01-01' + {v})"
        if t == 'dec': return scaled(v, 2)
        if t == 'xdec': return f"'{scaled(v, 10)}'::DECIMAL(38,10)"
        return str(v)
    def load(self, db):
        db.execute(f'CREATE OR REPLACE TABLE {self.name} ({", ".join(f"{c} {DUCK[t]}" for c, t in self.cols)})')
        rows = self.final()
        if rows: db.execute(f'INSERT INTO {self.name} VALUES ' + ', '.join('(' + ', '.join(self.literal(t, x[c]) for c, t in self.cols) + ')' for x in rows))

# ---- expressions: (weir, DuckDB) ----
def same(t): return (t, t)
def fmt(form, *parts): return tuple(form.format(*[p[i] for p in parts]) for i in (0, 1))

class Gen:
    def __init__(self, choices, tables): self.r, self.tables, self.n_alias, self.views = choices, tables, 0, []
    def alias(self): self.n_alias += 1; return f't{self.n_alias}'
    def col(self, scope, types):
        found = [c for c, t in scope if t in types]
        return same(self.r.choice(found)) if found else None
    def number(self, scope, depth=2):
        r = self.r
        c = self.col(scope, NUMERIC)
        if depth == 0 or not r.chance(0.55): return c if c and not r.chance(0.2) else same(str(r.between(-5, 9)))
        x = self.number(scope, depth - 1)
        if r.chance(0.05): x = fmt('(- {})', x)
        def case2(): # CASE x WHEN
            return fmt('CASE {} WHEN {} THEN {} WHEN {} THEN {} END', x, same(str(r.between(-2, 2))), self.number(scope, depth - 1), same(str(r.between(-2, 2))), self.number(scope, 0))
        def pick(): # NULL if one is
            y = self.number(scope, depth - 1)
            f = r.choice(['GREATEST', 'LEAST'])
            return (f'{f}({x[0]}, {y[0]})', f'(CASE WHEN ({x[1]}) IS NULL OR ({y[1]}) IS NULL THEN NULL ELSE {f}({x[1]}, {y[1]}) END)')
        def division():
            by = r.choice(['2', '3', '-4', 'NULLIF(2, 2)'])
            return (f'({x[0]} / {by})', f'({x[1]} // {by})')
        return r.weighted([
            (3, lambda: fmt('({} ' + r.choice('+-') + ' {})', x, self.number(scope, depth - 1))),
            (1, lambda: fmt('({} * {})', x, same(str(r.between(-3, 4))))),
            (1, division),
            (1, lambda: (lambda m: (f'MOD({x[0]}, {m})', f'({x[1]} % {m})'))(r.choice('357'))),
            (1, lambda: fmt('ABS({})', x)),
            (1, lambda: (f'SIGN({x[0]})', f'CAST(SIGN({x[1]}) AS BIGINT)')),
            (2, lambda: fmt('COALESCE({}, {})', x, self.number(scope, depth - 1))),
            (1, lambda: (lambda y: (f'IFNULL({x[0]}, {y[0]})', f'COALESCE({x[1]}, {y[1]})'))(self.number(scope, depth - 1))),
            (1, lambda: fmt('NULLIF({}, {})', x, same(str(r.between(-2, 5))))),
            (2, lambda: fmt('CASE WHEN {} THEN {} ELSE {} END', self.cond(scope, depth - 1), x, self.number(scope, depth - 1))),
            (1, lambda: (lambda a, b: (f'IF({a[0]}, {x[0]}, {b[0]})', f'CASE WHEN {a[1]} THEN {x[1]} ELSE {b[1]} END'))(self.cond(scope, depth - 1), self.number(scope, depth - 1))),
            (1, case2), (1, pick),
            (1, lambda: (lambda s: (f'CHAR_LENGTH({s[0]})', f'length({s[1]})'))(self.text(scope, depth - 1))),
            (1, lambda: (lambda s: (f"POSITION('a' IN {s[0]})", f"position('a' IN {s[1]})"))(self.text(scope, depth - 1))),
            (1, lambda: (lambda c: (f'CAST({c[0]} AS INT)', f'CAST(trunc({c[1]}) AS INT)') if c else x)(self.col(scope, ('dec',)))),
            (1, lambda: (lambda c, p: fmt('EXTRACT(' + p + ' FROM {})', c) if c else x)(self.col(scope, ('ts', 'date')), r.choice(['YEAR', 'MONTH', 'DAY', 'QUARTER', 'WEEK']))),
            (1, lambda: (lambda c, p: fmt('EXTRACT(' + p + ' FROM {})', c) if c else x)(self.col(scope, ('ts',)), r.choice(['HOUR', 'MINUTE']))),
            # an INT, as in Flink: seconds of more than 68 years go round
            (1, lambda: (lambda c, d: (f'TIMESTAMPDIFF(SECOND, {c[0]}, {d[0]})', f'((((epoch_ms({d[1]}) - epoch_ms({c[1]})) // 1000 + 2147483648) % 4294967296 + 4294967296) % 4294967296 - 2147483648)') if c else x)(self.col(scope, ('ts',)), self.col(scope, ('ts',)))),
            (1, lambda: (lambda c, d: (f'TIMESTAMPDIFF(DAY, {c[0]}, {d[0]})', f'({d[1]} - {c[1]})') if c else x)(self.col(scope, ('date',)), self.col(scope, ('date',)))),
        ])()
    def text(self, scope, depth=1):
        r = self.r
        c = self.col(scope, ('str',))
        if depth == 0 or not r.chance(0.5): return c if c and not r.chance(0.1) else same(quote(r.choice(STRINGS)))
        x = self.text(scope, depth - 1)
        def sub(): a, b = 1 + r.below(3), r.below(4); return (f'SUBSTRING({x[0]}, {a}, {b})', f'substring({x[1]}, {a}, {b})')
        return r.weighted([
            (3, lambda: fmt('({} || {})', x, self.text(scope, depth - 1))),
            (2, sub),
            (2, lambda: fmt(r.choice(['UPPER', 'LOWER']) + '({})', x)),
            (2, lambda: fmt("COALESCE({}, 'none')", x)),
            (1, lambda: fmt(r.choice(['TRIM', 'LTRIM', 'RTRIM']) + '({})', x)),
            (1, lambda: fmt("REPLACE({}, 'a', {})", x, same(quote(r.choice(['', 'aa', 'ä']))))),
            (1, lambda: fmt('REVERSE({})', x)),
            (1, lambda: fmt('LPAD({}, ' + r.choice('1357') + ", 'xy')", x)),
            (1, lambda: fmt('RPAD({}, ' + r.choice('1357') + ", 'xy')", x)),
            (1, lambda: fmt(r.choice(['LEFT', 'RIGHT']) + '({}, ' + r.choice('0123') + ')', x)),
            (1, lambda: fmt('REPEAT({}, ' + r.choice('0123') + ')', x)),
            (1, lambda: fmt('MD5({})', x)),
            (1, lambda: (lambda n: (f'CAST({n[0]} AS STRING)', f'CAST({n[1]} AS VARCHAR)'))(self.number(scope, depth - 1))),
            (1, lambda: (lambda n: (f'CAST({n[0]} AS STRING)', f"CAST({n[1]} AS VARCHAR)") if n else x)(self.col(scope, ('dec', 'xdec', 'date', 'xbig')))),
            (1, lambda: (lambda n: (f"DATE_FORMAT({n[0]}, 'yyyy-MM-dd HH:mm:ss')", f"strftime({n[1]}, '%Y-%m-%d %H:%M:%S')") if n else x)(self.col(scope, ('ts',)))),
            (1, lambda: fmt('CASE WHEN {} THEN {} END', self.cond(scope, depth - 1), x)),
        ])()
    def cond(self, scope, depth=2):
        r = self.r
        if depth > 0 and r.chance(0.3):
            if r.chance(0.2): return fmt('(NOT {})', self.cond(scope, depth - 1))
            return fmt('({} ' + r.choice(['AND', 'OR']) + ' {})', self.cond(scope, depth - 1), self.cond(scope, depth - 1))
        op = r.choice(['=', '<>', '<', '<=', '>', '>='])
        def basic(): return fmt('{} ' + op + ' {}', self.number(scope, 1), self.number(scope, 1))
        def dec():
            c = self.col(scope, ('dec',)); x = scaled(r.between(-200, 300), 2)
            return fmt('{} ' + op + ' {}', c, same(x)) if c else basic()
        def extreme():
            c = self.col(scope, ('xbig',))
            return fmt('{} ' + op + ' {}', c, same(r.choice(['0', '9223372036854775807', '-9223372036854775807', '9007199254740992']))) if c else basic()
        def boolean(): c = self.col(scope, ('bool',)); return c if c else basic()
        def time():
            c = self.col(scope, ('ts',)); x = self.tables[0].base + r.between(-20, 40) * 1000
            return fmt('{} ' + op + ' {}', c, same(f"TIMESTAMP '{iso(x)}'")) if c else basic()
        def pair():
            a = self.col(scope, ('dec', 'xbig', 'date', 'bool', 'ts', 'dbl', 'xdec', 'str', 'int'))
            t = dict(scope)[a[0]] if a else None
            b = self.col(scope, (t,)) if t else None
            return fmt('{} ' + op + ' {}', a, b) if b else basic()
        def listed():
            items = [str(r.between(-4, 7)) for _ in range(1 + r.below(4))]
            if r.chance(0.15): items.append('CAST(NULL AS INT)')
            return fmt('{} ' + r.choice(['', 'NOT ']) + 'IN ({})', self.number(scope, 1), same(', '.join(items)))
        def words(): return fmt('{} ' + r.choice(['', 'NOT ']) + 'IN ({})', self.text(scope), same(', '.join(quote(r.choice(STRINGS)) for _ in range(1 + r.below(4)))))
        def between(): a = r.between(-3, 4); return fmt('{} ' + r.choice(['', 'NOT ']) + f'BETWEEN {a} AND {a + r.between(-1, 5)}', self.number(scope, 1))
        def double(): c = self.col(scope, ('dbl',)); return fmt('{} ' + op + ' ' + r.choice(['CAST(0 AS DOUBLE)', 'CAST(2.5 AS DOUBLE)']), c) if c else basic()
        return r.weighted([
            (4, basic), (3, lambda: fmt('{} IS ' + r.choice(['', 'NOT ']) + 'NULL', same(r.choice(scope)[0]))), (3, lambda: fmt('{} ' + op + ' {}', self.text(scope), self.text(scope))),
            (2, listed), (1, words), (2, between), (1, dec), (1, extreme), (2, boolean), (1, time), (1, pair), (1, double),
            (1, lambda: fmt('({} IS ' + r.choice(['TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE', 'UNKNOWN', 'NOT UNKNOWN']) + ')', self.cond(scope, 0)) if depth else basic()),
            (1, lambda: fmt('({} IS ' + r.choice(['', 'NOT ']) + 'DISTINCT FROM {})', self.number(scope, 1), self.number(scope, 1))),
            (1, lambda: fmt('{} ' + r.choice(['', 'NOT ']) + 'LIKE {}', self.text(scope), same(quote(r.choice(['a%', '%b', '_', '%', '', '%ä%', '__', 'x!_y', '%a%b']))))),
            (1, lambda: (lambda x: (x[0].replace('IS UNKNOWN', 'IS UNKNOWN'), x[1]))(fmt('(({}) = ({}))', self.cond(scope, 0), self.cond(scope, 0))) if depth else basic()),
        ])()
    def expr(self, scope):
        r = self.r
        def column(): c, t = r.choice(scope); return same(c), t
        def dec():
            c = self.col(scope, ('dec',)); x = scaled(r.between(-99, 99), 2)
            return (fmt('({} + {})', c, same(x)), 'dec') if c else column()
        def dbl():
            c = self.col(scope, ('dbl',))
            return (fmt('({} ' + r.choice(['+', '-', '*']) + ' {})', c, same('CAST(0.5 AS DOUBLE)')), 'dbl') if c else column()
        def time():
            c = self.col(scope, ('ts',)); n = r.choice(['1', '10', '86400'])
            return (fmt('({} ' + r.choice('+-') + " INTERVAL '" + n + "' SECOND({}))".replace('({})', ''), c) if n != '86400' else fmt("({} + INTERVAL '1' DAY)", c), 'ts') if c else column()
        def part():
            c, u = self.col(scope, ('ts',)), r.choice(['SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR'])
            return ((f'FLOOR({c[0]} TO {u})', f"date_trunc('{u}', {c[1]})::TIMESTAMP"), 'ts') if c else column()
        def day():
            c = self.col(scope, ('ts',))
            return (fmt('CAST({} AS DATE)', c), 'date') if c else column()
        def round_dec():
            c, f = self.col(scope, ('dec',)), r.choice(['ROUND({}, 1)', 'FLOOR({})', 'CEIL({})', '({} * 2)', '(- {})', 'ABS({})', 'CAST({} AS DECIMAL(12,1))'])
            return (fmt(f, c), 'decx') if c else column()
        def case():
            c = self.col(scope, ('dec', 'date', 'bool', 'xbig', 'dbl', 'xdec'))
            return (fmt('CASE WHEN {} THEN {} END', self.cond(scope, 1), c), dict(scope)[c[0]]) if c else column()
        return r.weighted([(5, column), (3, lambda: (self.number(scope), 'big')), (3, lambda: (self.text(scope, 2), 'str')), (1, dec), (1, dbl), (1, time), (1, case), (1, part), (1, day), (1, round_dec),
                           (1, lambda: (fmt('({})', self.cond(scope, 1)), 'bool'))])()

    # ---- relations: (weir, DuckDB, columns), each a complete SELECT ----
    def rel(self, depth):
        if depth <= 0: return self.base()
        return self.r.weighted([(2, self.filter), (2, self.project), (4, self.group), (5, self.join), (3, self.semi), (2, self.topn), (3, self.union), (1, self.distinct), (1, self.whole),
                                (2, self.window), (1, self.session), (1, self.limit), (1, self.join3), (1, self.scalar), (2, self.over), (2, self.sets), (1, self.interval),
                                (1, self.window_join), (1, self.window_topn), (1, self.dedup), (1, self.values), (1, self.rank), (1, self.unnest), (1, self.nested_key), (1, self.using), (1, self.correlated),
                                (1, self.tuple_in), (1, self.lateral), (1, self.twice), (1, self.cascade)])(depth)
    def base(self):
        t = self.r.choice(self.tables)
        cols = list(t.cols) if not self.r.chance(0.5) else [c for c in t.cols if not self.r.chance(0.4)] or t.cols[:2]
        return same('SELECT ' + ', '.join(c for c, _ in cols) + f' FROM {t.name}') + (cols,)
    def values(self, depth):
        rows, a = 1 + self.r.below(4), self.alias()
        items = []
        for i in range(rows):
            n = str(self.r.between(-3, 5)) if not (i and self.r.chance(0.2)) else 'CAST(NULL AS INT)'
            items.append(f"({n}, {quote(self.r.choice(STRINGS[:6]))})")
        return (f'SELECT {a}.c0, {a}.c1 FROM (VALUES {", ".join(items)}) AS {a}(c0, c1)', f'SELECT {a}.c0, {a}.c1 FROM (VALUES {", ".join(items)}) AS {a}(c0, c1)', [('c0', 'int'), ('c1', 'str')])
    def sub(self, rel, alias):
        if self.r.chance(0.12):
            name = f'w{len(self.views)}'
            self.views.append((name, rel[0], rel[1]))
            return same(f'{name} {alias}')
        return (f'({rel[0]}) {alias}', f'({rel[1]}) {alias}')
    def scoped(self, cols, alias): return [(f'{alias}.{c}', t) for c, t in cols]
    def select(self, items, frm, tail=('', '')):
        names = [(f'c{i}', t) for i, (_, t) in enumerate(items)]
        return tuple('SELECT ' + ', '.join(f'{e[i]} AS c{n}' for n, (e, _) in enumerate(items)) + f' FROM {frm[i]}{tail[i]}' for i in (0, 1)) + (names,)
    def all_of(self, scope): return [(same(c), t) for c, t in scope]
    def where(self, cond): return (f' WHERE {cond[0]}', f' WHERE {cond[1]}')
    def maybe_where(self, scope, p=0.3): return self.where(self.cond(scope)) if self.r.chance(p) else ('', '')
    def filter(self, depth):
        rel, a = self.rel(depth - 1), self.alias(); scope = self.scoped(rel[2], a)
        return self.select(self.all_of(scope), self.sub(rel, a), self.where(self.cond(scope)))
    def project(self, depth):
        rel, a = self.rel(depth - 1), self.alias(); scope = self.scoped(rel[2], a)
        return self.select([self.expr(scope) for _ in range(1 + self.r.below(4))], self.sub(rel, a))
    def aggregate(self, scope):
        r = self.r
        filt = ('', '')
        if r.chance(0.25): c = self.cond(scope, 1); filt = (f' FILTER (WHERE {c[0]})', f' FILTER (WHERE {c[1]})')
        distinct = 'DISTINCT ' if r.chance(0.3) else ''
        star = ((f'COUNT(*){filt[0]}', f'COUNT(*){filt[1]}'), 'big')
        wrap = lambda f, x, t: ((f'{f}({distinct}{x[0]}){filt[0]}', f'{f}({distinct}{x[1]}){filt[1]}'), t)
        def big(): x = self.number(scope, 1); return fmt('CAST({} AS BIGINT)', x)
        def total(): return wrap('SUM', big(), 'big')
        def avg(): x = big(); return ((f'AVG({distinct}{x[0]}){filt[0]}', f'(SUM({distinct}{x[1]}){filt[1]} // COUNT({distinct}{x[1]}){filt[1]})'), 'big')
        def least(): c, t = r.choice(scope); return wrap(r.choice(['MIN', 'MAX']), same(c), t)
        def dsum(): c = self.col(scope, ('dec',)); return wrap('SUM', c, 'dec') if c else star
        def rsum(): c = self.col(scope, ('dbl',)); return wrap(r.choice(['SUM', 'AVG']), c, 'dbl9') if c else star
        def davg():
            c = self.col(scope, ('dec',))
            if not c: return star
            s, n = f'SUM({distinct}CAST({c[1]} * 100 AS HUGEINT)){filt[1]}', f'COUNT({distinct}{c[1]}){filt[1]}'
            return ((f'AVG({distinct}{c[0]}){filt[0]}', f'(sign({s})::HUGEINT * ((2 * abs({s}) * 10000 + {n}) // (2 * {n})))'), 'davg')
        return r.weighted([(2, lambda: star), (2, lambda: wrap('COUNT', same(r.choice(scope)[0]), 'big')), (2, total), (1, avg), (3, least), (1, dsum), (1, davg), (1, rsum)])()
    def group_keys(self, scope, n):
        keys = []
        for _ in range(n):
            k, t = self.expr(scope) if self.r.chance(0.3) else (lambda x: (same(x[0]), x[1]))(self.r.choice(scope))
            if not re.search(r'\bt\d+\.', k[0]): k, t = (lambda x: (same(x[0]), x[1]))(self.r.choice(scope))  # a constant would be a position
            keys.append((k, t))
        return list({k[0]: (k, t) for k, t in keys}.values())
    def having(self, scope, tail):
        if not self.r.chance(0.25): return tail
        x, t = self.aggregate(scope)
        if t != 'big': return tail
        h = self.r.choice(['> 1', '<= 2', '<> 1', 'IS NOT NULL', 'IS NULL'])
        return tuple(f'{tail[i]} HAVING {x[i]} {h}' for i in (0, 1))
    def group(self, depth):
        r, rel, a = self.r, self.rel(depth - 1), self.alias(); scope = self.scoped(rel[2], a)
        keys = self.group_keys(scope, r.choice([1, 1, 2, 3]))
        aggs = [self.aggregate(scope) for _ in range(1 + r.below(4))]
        tail = tuple(' GROUP BY ' + ', '.join(k[i] for k, _ in keys) for i in (0, 1))
        frm = self.sub(rel, a)
        w = self.maybe_where(scope, 0.15)
        return self.select((keys if not r.chance(0.2) else keys[:1]) + aggs, frm, self.having(scope, tuple(w[i] + tail[i] for i in (0, 1))))
    def sets(self, depth):
        r, rel, a = self.r, self.rel(depth - 1), self.alias(); scope = self.scoped(rel[2], a)
        picked = r.some(scope, r.choice([2, 1, 3]))
        names = [c for c, _ in picked]
        kind = r.choice(['SETS', 'ROLLUP', 'CUBE'])
        if kind == 'SETS':
            sets = []
            for _ in range(1 + r.below(3)):
                s = tuple(c for c in names if not r.chance(0.4))
                if s not in sets: sets.append(s)     # a set twice gives its rows once in Flink
            if set(sum(sets, ())) != set(names): sets.append(tuple(names))
            tail = ' GROUP BY GROUPING SETS (' + ', '.join('(' + ', '.join(s) + ')' for s in sets) + ')'
        else: tail = f' GROUP BY {kind}({", ".join(names)})'
        items = self.all_of(picked) + [self.aggregate(scope) for _ in range(1 + r.below(2))]
        if r.chance(0.5): items.append((same(f'GROUPING({names[0]})'), 'big'))
        # a set () over nothing has no row in a stream
        q = self.select(items + [(same('COUNT(*)'), 'big')], self.sub(rel, a), same(tail))
        o, n = self.alias(), len(items)
        return (f'SELECT {", ".join(f"{o}.c{i} AS c{i}" for i in range(n))} FROM ({q[0]}) {o}', f'SELECT {", ".join(f"{o}.c{i} AS c{i}" for i in range(n))} FROM ({q[1]}) {o} WHERE {o}.c{n} > 0', q[2][:-1])
    def distinct(self, depth):
        rel, a = self.rel(depth - 1), self.alias(); scope = self.scoped(rel[2], a)
        q = self.select(self.all_of(self.r.some(scope, 1 + self.r.below(3))), self.sub(rel, a))
        return (q[0].replace('SELECT', 'SELECT DISTINCT', 1), q[1].replace('SELECT', 'SELECT DISTINCT', 1), q[2])
    def whole(self, depth):
        rel, a = self.rel(depth - 1), self.alias(); scope = self.scoped(rel[2], a)
        return self.select([self.aggregate(scope) for _ in range(1 + self.r.below(4))], self.sub(rel, a), ('', ' HAVING COUNT(*) > 0'))
    def pairs(self, left, right): return [(x, y) for x, t in left for y, u in right if (t == u and t not in TERMINAL) or (t in NUMERIC and u in NUMERIC)]
    def on(self, left, right):
        r, pairs = self.r, self.pairs(left, right)
        if not pairs: return None
        parts = [same(f'{x} = {y}') for x, y in r.some(pairs, r.choice([1, 1, 2]))]
        if r.chance(0.1): parts[0] = same(parts[0][0].replace(' = ', ' IS NOT DISTINCT FROM '))
        if r.chance(0.35): parts.append(self.cond(left + right, 1))
        return tuple(' AND '.join(p[i] for p in parts) for i in (0, 1))
    def join(self, depth):
        r = self.r
        A, B, a, b = self.rel(depth - 1), self.rel(r.below(depth)), self.alias(), self.alias()
        left, right = self.scoped(A[2], a), self.scoped(B[2], b)
        kind, on = r.choice(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN']), self.on(left, right)
        if r.chance(0.1) or on is None: kind, on = r.choice(['JOIN', 'LEFT JOIN']), self.cond(left + right, 1)
        sa, sb = self.sub(A, a), self.sub(B, b)
        frm = tuple(f'{sa[i]} {kind} {sb[i]} ON {on[i]}' for i in (0, 1))
        scope = left + right
        items = self.all_of(r.some(scope, 1 + r.below(6)))
        if r.chance(0.3): items.append(self.expr(scope))
        return self.select(items, frm, self.maybe_where(scope))
    def join3(self, depth):
        r = self.r
        rels = [self.base() for _ in range(3)]; names = [self.alias() for _ in range(3)]
        scopes = [self.scoped(x[2], n) for x, n in zip(rels, names)]
        on1, on2 = self.on(scopes[0], scopes[1]), self.on(scopes[0] + scopes[1], scopes[2])
        if not on1 or not on2: return self.join(depth)
        subs, k1, k2 = [self.sub(x, n) for x, n in zip(rels, names)], r.choice(['JOIN', 'LEFT JOIN', 'FULL JOIN']), r.choice(['JOIN', 'LEFT JOIN', 'RIGHT JOIN'])
        frm = tuple(f'{subs[0][i]} {k1} {subs[1][i]} ON {on1[i]} {k2} {subs[2][i]} ON {on2[i]}' for i in (0, 1))
        return self.select(self.all_of(r.some(sum(scopes, []), 5)), frm)
    def appends(self): return [t for t in self.tables if t.append]
    def interval(self, depth):
        r, able = self.r, self.appends()
        if not able: return self.join(depth)
        A, B, a, b = r.choice(able), r.choice(able), self.alias(), self.alias()
        left, right = self.scoped(A.cols, a), self.scoped(B.cols, b)
        x, y = r.choice(self.pairs(left, right))
        lo, hi = r.choice([0, 1, 10]), r.choice([0, 1, 5, 20])
        extra = self.cond(left + right, 1) if r.chance(0.25) else same('1 = 1')
        on = fmt(f"{x} = {y} AND {a}.ts BETWEEN {b}.ts - INTERVAL '{lo}' SECOND AND {b}.ts + INTERVAL '{hi}' SECOND AND {{}}", extra)
        kind = r.choice(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'])
        return self.select(self.all_of(r.some(left + right, 1 + r.below(5))), fmt(f'{A.name} {a} {kind} {B.name} {b} ON {{}}', on))
    def semi(self, depth):
        r = self.r
        A, B, a, b = self.rel(depth - 1), self.rel(r.below(2)), self.alias(), self.alias()
        left, right = self.scoped(A[2], a), self.scoped(B[2], b)
        pairs = [(x, y) for x, t in left for y, u in right if t == u and t not in TERMINAL]
        if not pairs: return self.filter(depth)
        x, y = r.choice(pairs)
        whole = dict(left)[x] != 'dec'  # IN and NOT IN of decimals of different precision are refused
        neg, extra = r.choice(['', 'NOT ']), self.cond(right, 1) if r.chance(0.5) else same('1 = 1')
        sb = self.sub(B, b)
        if whole and not r.chance(0.5): cond = tuple(f'{x} {neg}IN (SELECT {y} FROM {sb[i]} WHERE {extra[i]})' for i in (0, 1))
        else:
            more = ''
            if r.chance(0.3): x2, y2 = r.choice(pairs); more = f' AND {x2} {r.choice(["<", "=", ">=", "<>"])} {y2}'
            cond = tuple(f'{neg}EXISTS (SELECT 1 FROM {sb[i]} WHERE {x} = {y}{more} AND {extra[i]})' for i in (0, 1))
        if r.chance(0.2): c = self.cond(left, 1); cond = tuple(f'{cond[i]} AND {c[i]}' for i in (0, 1))
        return self.select(self.all_of(left), self.sub(A, a), self.where(cond))
    def scalar(self, depth):
        r = self.r
        A, B, a, b = self.rel(depth - 1), self.base(), self.alias(), self.alias()
        left, right = self.scoped(A[2], a), self.scoped(B[2], b)
        c = self.col(right, NUMERIC)
        if not c: return self.filter(depth)
        sb, f = self.sub(B, b), r.choice(['MAX', 'MIN', 'SUM'])
        x = tuple(f'(SELECT {f}(CAST({c[i]} AS BIGINT)) FROM {sb[i]})' for i in (0, 1))
        return self.select(self.all_of(left), self.sub(A, a), self.where(fmt('{} ' + r.choice(['<', '>=', '<>', '=']) + ' {}', self.number(left, 1), x)))
    def order(self, scope): return ', '.join(c + self.r.choice([' ASC', ' DESC', '']) for c, _ in self.r.some(scope, len(scope)))
    def topn(self, depth):
        r, rel, a, o = self.r, self.rel(depth - 1), self.alias(), self.alias()
        scope = self.scoped(rel[2], a)
        part = '' if r.chance(0.2) else 'PARTITION BY ' + ', '.join(c for c, _ in r.some(scope, r.choice([1, 1, 2]))) + ' '
        over = f'ROW_NUMBER() OVER ({part}ORDER BY {self.order(scope)})'
        frm = self.sub(rel, a)
        inner = tuple(f'(SELECT {", ".join(c for c, _ in scope)}, {over} AS rn FROM {frm[i]}) {o}' for i in (0, 1))
        out = self.scoped(rel[2], o)
        cond = same(f'{o}.rn {r.choice(["<= 1", "= 1", "<= 2", "<= 3", "< 5", "<= 10", "= 2"])}')
        if r.chance(0.2): c = self.cond(out, 1); cond = tuple(f'{cond[i]} AND {c[i]}' for i in (0, 1))
        items = self.all_of(out)
        if r.chance(0.4): items.append((same(f'{o}.rn'), 'big'))
        return self.select(items, inner, self.where(cond))
    def limit(self, depth):
        rel, a, o = self.rel(depth - 1), self.alias(), self.alias(); scope = self.scoped(rel[2], a)
        n = 1 + self.r.below(6)
        more = f' OFFSET {self.r.below(3)}' if self.r.chance(0.2) else ''
        q = self.select(self.all_of(scope), self.sub(rel, a), same(f' ORDER BY {self.order(scope)} LIMIT {n}{more}'))
        return tuple(f'SELECT {", ".join(f"{o}.{c}" for c, _ in q[2])} FROM ({q[i]}) {o}' for i in (0, 1)) + (q[2],)
    def union(self, depth):
        r, A = self.r, self.rel(depth - 1)
        a, b, o = self.alias(), self.alias(), self.alias()
        left = self.scoped(A[2], a)
        B = self.rel(r.below(depth)) if not r.chance(0.3) else A
        right, pick = self.scoped(B[2], b), []
        for c, t in left:
            found = [y for y, u in right if u == t]
            if found: pick.append((c, t, r.choice(found)))
        if not pick: return self.filter(depth)
        pick = pick[:1 + r.below(4)]
        op = r.choice(['UNION ALL', 'UNION ALL', 'UNION', 'INTERSECT', 'EXCEPT', 'INTERSECT ALL', 'EXCEPT ALL'])
        sa, sb = self.sub(A, a), self.sub(B, b)
        q = [f'SELECT {", ".join(f"{o}.c{n} AS c{n}" for n in range(len(pick)))} FROM (SELECT {", ".join(f"{c} AS c{n}" for n, (c, _, _) in enumerate(pick))} FROM {sa[i]} {op} '
             f'SELECT {", ".join(f"{y} AS c{n}" for n, (_, _, y) in enumerate(pick))} FROM {sb[i]}) {o}' for i in (0, 1)]
        return (q[0], q[1], [(f'c{n}', t) for n, (_, t, _) in enumerate(pick)])
    def rank(self, depth): # ties are all in or all out
        r, rel, a, o = self.r, self.rel(depth - 1), self.alias(), self.alias()
        scope = self.scoped(rel[2], a)
        part = '' if r.chance(0.2) else 'PARTITION BY ' + ', '.join(c for c, _ in r.some(scope, r.choice([1, 1, 2]))) + ' '
        order = ', '.join(c + r.choice([' ASC', ' DESC', '']) for c, _ in r.some(scope, 1 + r.below(2)))
        frm, names = self.sub(rel, a), ', '.join(c for c, _ in scope)
        inner = tuple(f'(SELECT {names}, {r_name}() OVER ({part}ORDER BY {order}) AS rn FROM {frm[i]}) {o}' for r_name in [r.choice(['RANK', 'DENSE_RANK'])] for i in (0, 1))
        items = self.all_of(self.scoped(rel[2], o))
        if r.chance(0.4): items.append((same(f'{o}.rn'), 'big'))
        return self.select(items, inner, same(f' WHERE {o}.rn {r.choice(["<= 1", "<= 2", "= 1", "< 4"])}'))
    def unnest(self, depth):
        r, rel, a, u = self.r, self.rel(depth - 1), self.alias(), self.alias()
        scope = self.scoped(rel[2], a)
        parts = [fmt('CAST({} AS BIGINT)', self.number(scope, 1)) for _ in range(1 + r.below(3))]
        frm, how = self.sub(rel, a), r.choice(['CROSS JOIN', 'CROSS JOIN', 'LEFT JOIN'])
        on = ' ON TRUE' if how == 'LEFT JOIN' else ''
        frm = (f'{frm[0]} {how} UNNEST(ARRAY[{", ".join(x[0] for x in parts)}]) AS {u}(x){on}', f'{frm[1]} {how} LATERAL (SELECT unnest([{", ".join(x[1] for x in parts)}]) AS x) AS {u}(x){on}')
        return self.select(self.all_of(r.some(scope, 1 + r.below(3))) + [(same(f'{u}.x'), 'big')], frm)
    def nested_key(self, depth): # grouped or made distinct by an ARRAY or a ROW
        r, rel, a, o = self.r, self.rel(depth - 1), self.alias(), self.alias()
        scope = self.scoped(rel[2], a)
        frm, agg = self.sub(rel, a), self.aggregate(scope)
        if r.chance(0.5):
            x, y = (fmt('CAST({} AS BIGINT)', self.number(scope, 1)) for _ in (0, 1))
            keys, outs, types = (f'ARRAY[{x[0]}, {y[0]}]', f'[{x[1]}, {y[1]}]'), same(f'{o}.r[1] AS c0, {o}.r[2] AS c1'), ['big', 'big']
        else:
            (x, t), (y, u) = r.choice(scope), r.choice(scope)
            if t in (*TERMINAL, 'dec', 'big') or u in (*TERMINAL, 'dec', 'big'): return self.group(depth) # the precision of a sum is not known here
            kt, ku = TYPE[t], TYPE[u]
            keys, outs, types = (f'CAST(ROW({x}, {y}) AS ROW<f0 {kt}, f1 {ku}>)', f"{{'f0': {x}, 'f1': {y}}}"), same(f'{o}.r.f0 AS c0, {o}.r.f1 AS c1'), [t, u]
        q = tuple(f'SELECT {outs[i]}, {o}.c AS c2 FROM (SELECT {keys[i]} AS r, {agg[0][i]} AS c FROM {frm[i]} GROUP BY {keys[i]}) {o}' for i in (0, 1))
        return q + ([('c0', types[0]), ('c1', types[1]), ('c2', agg[1])],)
    def using(self, depth):
        r, A, B, a, b = self.r, self.rel(depth - 1), self.rel(self.r.below(depth)), self.alias(), self.alias()
        common = [c for c, t in A[2] if (c, t) in B[2] and t not in TERMINAL]
        if not common: return self.join(depth)
        key, kind = r.choice(common), r.choice(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'])
        sa, sb = self.sub(A, a), self.sub(B, b)
        rest = [c for c in self.scoped(A[2], a) + self.scoped(B[2], b) if c[0].split('.')[1] != key]
        return self.select([(same(key), dict(A[2])[key])] + self.all_of(r.some(rest, 1 + r.below(4))), tuple(f'{sa[i]} {kind} {sb[i]} USING ({key})' for i in (0, 1)))
    def correlated(self, depth): # a scalar subquery for each row
        r, A, B, a, b = self.r, self.rel(depth - 1), self.base(), self.alias(), self.alias()
        left, right = self.scoped(A[2], a), self.scoped(B[2], b)
        pairs = [(x, y) for x, t in left for y, u in right if t == u and t not in TERMINAL]
        c = self.col(right, NUMERIC)
        if not pairs or not c: return self.filter(depth)
        (x, y), f = r.choice(pairs), r.choice(['MAX', 'MIN', 'SUM', 'COUNT'])
        sb, sa = self.sub(B, b), self.sub(A, a)
        sub = tuple(f'(SELECT {f}(CAST({c[i]} AS BIGINT)) FROM {sb[i]} WHERE {y} = {x})' for i in (0, 1))
        if r.chance(0.5): return self.select(self.all_of(r.some(left, 1 + r.below(4))) + [(sub, 'big')], sa)
        return self.select(self.all_of(left), sa, self.where(fmt('{} ' + r.choice(['<', '>=', '<>', '=']) + ' {}', self.number(left, 1), sub)))
    def tuple_in(self, depth):
        r, A, B, a, b = self.r, self.rel(depth - 1), self.base(), self.alias(), self.alias()
        left, right = self.scoped(A[2], a), self.scoped(B[2], b)
        pairs = [(x, y) for x, t in left for y, u in right if t == u and t not in (*TERMINAL, 'dec')]
        if len(pairs) < 2: return self.filter(depth)
        (x, y), (v, w) = r.some(pairs, 2)
        sa, sb = self.sub(A, a), self.sub(B, b)
        return self.select(self.all_of(left), sa, tuple(f' WHERE ({x}, {v}) IN (SELECT {y}, {w} FROM {sb[i]})' for i in (0, 1)))
    def lateral(self, depth): # the first rows of another table for each row
        r, A, B, a, b, o = self.r, self.rel(depth - 1), self.base(), self.alias(), self.alias(), self.alias()
        left, right = self.scoped(A[2], a), self.scoped(B[2], b)
        pairs = [(x, y) for x, t in left for y, u in right if t == u and t not in TERMINAL]
        if not pairs: return self.filter(depth)
        (x, y), n = r.choice(pairs), 1 + r.below(3)
        sa, sb, names, order = self.sub(A, a), self.sub(B, b), ', '.join(c for c, _ in right), self.order(right)
        frm = tuple(f'{sa[i]}, LATERAL (SELECT {names} FROM {sb[i]} WHERE {y} = {x} ORDER BY {order} LIMIT {n}) {o}' for i in (0, 1))
        return self.select(self.all_of(r.some(left + self.scoped(B[2], o), 1 + r.below(5))), frm)
    def twice(self, depth): # a view read by both sides of a join or a union
        r, rel, a, b = self.r, self.rel(depth - 1), self.alias(), self.alias()
        name = f'w{len(self.views)}'
        self.views.append((name, rel[0], rel[1]))
        left, right = self.scoped(rel[2], a), self.scoped(rel[2], b)
        on = self.on(left, right)
        if on is None: return rel
        return self.select(self.all_of(r.some(left + right, 1 + r.below(5))), tuple(f'{name} {a} {kind} {name} {b} ON {on[i]}' for kind in [r.choice(['JOIN', 'LEFT JOIN', 'FULL JOIN'])] for i in (0, 1)))
    # ---- windows ----
    def cascade(self, depth): # windows of windows
        r, able = self.r, self.appends()
        if not able: return self.group(depth)
        t, a, b, slide, n = r.choice(able), self.alias(), self.alias(), r.choice([1, 3, 10]), r.choice([1, 2, 3])
        scope = self.scoped(t.cols, a)
        frm = self.windowed(t, a, r.choice(['TUMBLE', 'HOP']), slide, n)
        (k, kt), agg, big = r.choice(scope), self.aggregate(scope), r.choice([20, 30, 60]) * 1000
        name = f'w{len(self.views)}'
        inner = (f'SELECT {k} AS k, {agg[0][0]} AS c, {a}.window_time AS wt FROM {frm[0]} GROUP BY {k}, {a}.window_start, {a}.window_end, {a}.window_time',
                 f"SELECT {k} AS k, {agg[0][1]} AS c, {a}.we - INTERVAL '1' MILLISECOND AS wt FROM {frm[1]} GROUP BY {k}, {a}.ws, {a}.we")
        self.views.append((name, *inner))
        floor = f'(epoch_ms(wt) - ((epoch_ms(wt) % {big}) + {big}) % {big})'
        outer = (f"TABLE(TUMBLE(TABLE {name}, DESCRIPTOR(wt), INTERVAL '{big // 1000}' SECOND)) {b}", f'(SELECT *, make_timestamp_ms({floor}) AS ws, make_timestamp_ms({floor} + {big}) AS we FROM {name}) {b}')
        return self.grouped_window([(f'{b}.k', kt), (f'{b}.c', agg[1])], outer, ('', ''), self.bounds(b))
    def windowed(self, t, a, kind, slide, n):
        """(weir's TVF, DuckDB's rows with ws and we) of a table"""
        S, SL = slide * n * 1000, slide * 1000
        floor = lambda m: f'(epoch_ms(ts) - ((epoch_ms(ts) % {m}) + {m}) % {m})'
        steps = f'(VALUES {", ".join(f"({i})" for i in range(n))}) steps(i)'
        cols = ', '.join(c for c, _ in t.cols)
        at = lambda x: f'make_timestamp_ms({x})'
        if kind == 'TUMBLE': args, src = f"INTERVAL '{slide * n}' SECOND", f'(SELECT {cols}, {at(floor(S))} AS ws, {at(f"{floor(S)} + {S}")} AS we FROM {t.name}) {a}'
        elif kind == 'HOP': args, src = f"INTERVAL '{slide}' SECOND, INTERVAL '{slide * n}' SECOND", f'(SELECT {cols}, {at(f"{floor(SL)} - i * {SL}")} AS ws, {at(f"{floor(SL)} - i * {SL} + {S}")} AS we FROM {t.name}, {steps}) {a}'
        else: args, src = f"INTERVAL '{slide}' SECOND, INTERVAL '{slide * n}' SECOND", f'(SELECT {cols}, {at(floor(S))} AS ws, {at(f"{floor(S)} + (i + 1) * {SL}")} AS we FROM {t.name}, {steps} WHERE epoch_ms(ts) < {floor(S)} + (i + 1) * {SL}) {a}'
        return (f'TABLE({kind}(TABLE {t.name}, DESCRIPTOR(ts), {args})) {a}', src)
    def bounds(self, a): return [((f'{a}.window_start', f'{a}.ws'), 'ts'), ((f'{a}.window_end', f'{a}.we'), 'ts')]
    def window(self, depth):
        r, able = self.r, self.appends()
        if not able: return self.group(depth)
        t = r.choice(able); a = self.alias()
        scope = self.scoped(t.cols, a)
        frm = self.windowed(t, a, r.choice(['TUMBLE', 'HOP', 'CUMULATE']), r.choice([1, 3, 10, 20]), r.choice([1, 2, 3, 5]))
        cond, bounds = self.maybe_where(scope), self.bounds(a)
        if r.chance(0.2): return self.select(bounds + self.all_of(r.some(scope, 3)), frm, cond)
        return self.grouped_window(scope, frm, cond, bounds)
    def grouped_window(self, scope, frm, cond, bounds, fixed=None):
        r = self.r
        keys = self.all_of(fixed if fixed is not None else r.some(scope, r.choice([0, 1, 1, 2])))
        group = [', '.join(k[i] for k, _ in bounds + keys) for i in (0, 1)]
        if keys and fixed is None and r.chance(0.2): # GROUPING SETS in a window; weir refuses them for SESSION
            names = ', '.join(k[0] for k, _ in keys)
            group = [', '.join(k[i] for k, _ in bounds) + f', GROUPING SETS (({names}), ())' for i in (0, 1)]
        tail = tuple(f'{cond[i]} GROUP BY {group[i]}' for i in (0, 1))
        return self.select(bounds[:r.choice([2, 2, 1])] + keys + [self.aggregate(scope) for _ in range(1 + r.below(3))], frm, tail)
    def session(self, depth):
        r, able = self.r, self.appends()
        if not able: return self.group(depth)
        t = r.choice(able); a = self.alias()
        scope = self.scoped(t.cols, a)
        key = r.choice([None] + [c for c, _ in t.cols[:-1]]) # weir groups a SESSION by its own keys only
        gap = r.choice([1, 3, 10, 30])
        part = f'PARTITION BY {key} ' if key else ''
        frm = (f"TABLE(SESSION(TABLE {t.name} {part}, DESCRIPTOR(ts), INTERVAL '{gap}' SECOND)) {a}",
               f'(SELECT *, MIN(ts) OVER ({part + ", " if key else "PARTITION BY "}g) AS ws, MAX(ts) OVER ({part + ", " if key else "PARTITION BY "}g) + INTERVAL \'{gap}\' SECOND AS we FROM '
               f'(SELECT *, SUM(CASE WHEN before IS NULL OR epoch_ms(ts) - epoch_ms(before) > {gap * 1000} THEN 1 ELSE 0 END) OVER ({part}ORDER BY ts, rid ROWS UNBOUNDED PRECEDING) AS g FROM '
               f'(SELECT *, rowid AS rid, LAG(ts) OVER ({part}ORDER BY ts, rowid) AS before FROM {t.name}))) {a}')
        fixed = [(f'{a}.{key}', dict(t.cols)[key])] if key else []
        return self.grouped_window(scope, frm, ('', ''), self.bounds(a), fixed)
    def window_join(self, depth):
        r, able = self.r, self.appends()
        if not able: return self.join(depth)
        A, B, a, b, kind, slide, n = r.choice(able), r.choice(able), self.alias(), self.alias(), r.choice(['TUMBLE', 'HOP', 'CUMULATE']), r.choice([3, 10, 20]), r.choice([1, 2, 3])
        left, right = self.scoped(A.cols, a), self.scoped(B.cols, b)
        x, y = r.choice(self.pairs(left, right))
        fa, fb = self.windowed(A, a, kind, slide, n), self.windowed(B, b, kind, slide, n)
        how = r.choice(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'])
        extra = self.cond(left + right, 1) if r.chance(0.2) else same('1 = 1')
        on = fmt('{} AND {}', (f'{x} = {y} AND {a}.window_start = {b}.window_start AND {a}.window_end = {b}.window_end', f'{x} = {y} AND {a}.ws = {b}.ws AND {a}.we = {b}.we'), extra)
        return self.select(self.bounds(a)[:r.below(3)] + self.all_of(r.some(left + right, 1 + r.below(5))), fmt(f'{{}} {how} {{}} ON {{}}', fa, fb, on))
    def window_topn(self, depth):
        r, able = self.r, self.appends()
        if not able: return self.topn(depth)
        t, a, o = r.choice(able), self.alias(), self.alias()
        scope = self.scoped(t.cols, a)
        frm = self.windowed(t, a, r.choice(['TUMBLE', 'HOP', 'CUMULATE']), r.choice([3, 10, 20]), r.choice([1, 2, 3]))
        part = ''.join(', ' + c for c, _ in r.some(scope, r.below(3)))
        order, names = self.order(scope), ', '.join(c for c, _ in scope)
        inner = (f'(SELECT {names}, {a}.window_start AS ws, {a}.window_end AS we, ROW_NUMBER() OVER (PARTITION BY {a}.window_start, {a}.window_end{part} ORDER BY {order}) AS rn FROM {frm[0]}) {o}',
                 f'(SELECT {names}, {a}.ws AS ws, {a}.we AS we, ROW_NUMBER() OVER (PARTITION BY {a}.ws, {a}.we{part} ORDER BY {order}) AS rn FROM {frm[1]}) {o}')
        items = self.all_of(self.scoped(r.some(t.cols, 3), o)) + [(same(f'{o}.ws'), 'ts'), (same(f'{o}.rn'), 'big')][:r.below(3)]
        return self.select(items, inner, same(f' WHERE {o}.rn {r.choice(["<= 1", "<= 2", "<= 5", "< 4"])}'))
    def dedup(self, depth):
        r = self.r
        able = [t for t in self.appends() if t.in_order()]
        if not able: return self.topn(depth)
        t, a, o = r.choice(able), self.alias(), self.alias()
        scope, way = self.scoped(t.cols, a), r.choice(['ASC', 'DESC'])
        part, names = ', '.join(c for c, _ in r.some(scope[:-1], r.choice([1, 1, 2]))), ', '.join(c for c, _ in scope)
        inner = tuple(f'(SELECT {names}, ROW_NUMBER() OVER (PARTITION BY {part} ORDER BY {a}.ts {way}{", " + a + ".rowid " + way if i else ""}) AS rn FROM {t.name} {a}) {o}' for i in (0, 1))
        return self.select(self.all_of(self.scoped(t.cols, o)), inner, same(f' WHERE {o}.rn = 1'))
    def over(self, depth):
        r, able = self.r, self.appends()
        if not able: return self.group(depth)
        t = r.choice(able); a = self.alias()
        scope = self.scoped(t.cols, a)
        items = self.all_of(r.some(scope, 1 + r.below(3)))
        parts = [r.some(scope[1:-1], r.choice([1, 1, 0, 2])) for _ in range(r.choice([1, 1, 2]))]
        for _ in range(1 + r.below(4)): items.append(self.over_item(scope, a, t.in_order() and len(parts) == 1, ', '.join(c for c, _ in r.choice(parts))))
        return self.select(items, same(f'{t.name} {a}'), self.maybe_where(scope))
    def over_item(self, scope, a, in_order, part):
        r = self.r
        part = f'PARTITION BY {part} ' if part else ''
        byrow = (f'{part}ORDER BY {a}.ts', f'{part}ORDER BY {a}.ts, {a}.rowid')
        kind = r.choice(['range', 'range', 'so far', 'rank', 'dense_rank', 'rows', 'rows', 'all rows', 'lag', 'row_number', 'first'])
        # one OVER behind another, or more than one file: rows of one time have no order
        if not in_order and kind not in ('range', 'so far', 'rank', 'dense_rank'): kind = r.choice(['range', 'so far', 'rank', 'dense_rank'])
        if kind == 'row_number': return (f'ROW_NUMBER() OVER ({byrow[0]})', f'row_number() OVER ({byrow[1]})'), 'big'
        if kind in ('rank', 'dense_rank'): return (f'{kind.upper()}() OVER ({byrow[0]})', f'{kind}() OVER ({byrow[0]})'), 'big'
        if kind == 'lag':
            (c, u), by = r.choice(scope), r.choice([1, 1, 0, 2, 5])
            return fmt(f'LAG({c}, {by}) OVER ({{}})', byrow), u
        if kind == 'first':
            (c, u), f = r.choice(scope), r.choice(['FIRST_VALUE', 'LAST_VALUE'])
            # Flink's forget NULLs
            return (f'{f}({c}) OVER ({byrow[0]} ROWS UNBOUNDED PRECEDING)', f'{f.lower()}({c} IGNORE NULLS) OVER ({byrow[1]} ROWS UNBOUNDED PRECEDING)'), u
        n = r.choice([0, 1, 2, 3, 10, 40])
        w = {'so far': same(byrow[0]), 'all rows': fmt('{} ROWS UNBOUNDED PRECEDING', byrow), 'rows': fmt(f'{{}} ROWS BETWEEN {n} PRECEDING AND CURRENT ROW', byrow),
             'range': same(f"{byrow[0]} RANGE BETWEEN INTERVAL '{n}' SECOND PRECEDING AND CURRENT ROW")}[kind]
        filt = self.cond(scope, 1) if r.chance(0.25) else None
        f = tuple(f' FILTER (WHERE {filt[i]})' if filt else '' for i in (0, 1))
        call = lambda fn, x: tuple(f'{fn}({x[i]}){f[i]} OVER ({w[i]})' for i in (0, 1))
        def number(): return fmt('CAST({} AS BIGINT)', self.number(scope, 1))
        fn = r.choice(['COUNT(*)', 'COUNT', 'SUM', 'AVG', 'MIN', 'DSUM'])
        if fn == 'SUM': return call('SUM', number()), 'big'
        if fn == 'AVG': x = number(); s, c = call('SUM', x), call('COUNT', x); return (call('AVG', x)[0], f'({s[1]} // {c[1]})'), 'big'
        if fn == 'DSUM' and (c := self.col(scope, ('dec',))): return call('SUM', c), 'dec'
        if fn in ('MIN', 'COUNT'): c, u = r.choice(scope); return (call('COUNT', same(c)), 'big') if fn == 'COUNT' else (call(r.choice(['MIN', 'MAX']), same(c)), u)
        return call('COUNT', same('*')), 'big'

def query(choices, tables):
    """(weir's script behind the tables, DuckDB's, types)"""
    g = Gen(choices, tables)
    rel = g.rel(1 + choices.choice([0, 0, 1, 1, 2, 3]))
    if len(rel[2]) == 1: rel = (f'SELECT q.{rel[2][0][0]} AS c0, 1 AS one FROM ({rel[0]}) q', f'SELECT q.{rel[2][0][0]} AS c0, 1 AS one FROM ({rel[1]}) q', rel[2] + [('one', 'int')]) # a row that is '' alone is no line
    if not g.views: return rel[0] + ';', rel[1], [t for _, t in rel[2]]
    duck = 'WITH ' + ', '.join(f'{n} AS ({d})' for n, _, d in g.views) + ' ' + rel[1]
    if choices.chance(0.5): return ''.join(f'CREATE VIEW {n} AS {w};\n' for n, w, _ in g.views) + rel[0] + ';', duck, [t for _, t in rel[2]]
    return 'WITH ' + ', '.join(f'{n} AS ({w})' for n, w, _ in g.views) + ' ' + rel[0] + ';', duck, [t for _, t in rel[2]]
