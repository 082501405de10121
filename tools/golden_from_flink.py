#!/usr/bin/env python3
"""golden_from_flink.py SCRIPT.sql [OUT.test]: runs a script of statements on Flink's SQL gateway and writes golden cases (tests/golden/golden.h).

A line '-- case NAME' names the SELECT behind it. The case gets the CREATE statements that it needs (by name, recursively), the data files that
they read (${DIR}/x is SCRIPT's data/x), and the rows that are left after all changes. Other comment lines between '-- case' and the SELECT:
    -- set KEY VALUE        a 'set' line of the case (weir only)
    -- flink KEY VALUE      a SET for Flink only, from here to the end of the script
    -- ledger TEXT          a line of the case's ledger block (worked out by hand)
    -- note TEXT            a '#' line above the case
    -- tz ZONE              SET 'table.local-time-zone' for this case, on both sides
    -- loose                rows-loose instead of rows
Rows are written as CAST(x AS STRING) writes them: the types of the result's columns give back the zeros that the gateway's JSON drops.
Statements that Flink refuses are listed on stderr and left out. The gateway must run (see tests/golden/scripts/README.md); GATEWAY_PORT names it."""
import base64, decimal, json, os, re, sys, time, urllib.error, urllib.request

GW = 'http://localhost:' + os.environ.get('GATEWAY_PORT', '18083')
D = decimal.Decimal
decimal.getcontext().prec = 80
KIND = {'INSERT': '+I', 'UPDATE_BEFORE': '-U', 'UPDATE_AFTER': '+U', 'DELETE': '-D'}

def http(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(GW + path, method=method, data=data, headers={'Content-Type': 'application/json'})
    with urllib.request.urlopen(request, timeout=60) as f: return json.loads(f.read().decode(), parse_float=lambda t: Number(t))

class Number(str): pass

def reason(e):
    text = e.read().decode()
    try: text = '\n'.join(json.loads(text)['errors'])
    except ValueError: pass
    found = re.findall(r'^(?:Caused by: )?[\w.$]*?(\w+(?:Exception|Error)): (.*)', text, re.M)
    return ': '.join(found[-1]) if found else text[:300]

def run(session, statement):
    op = http('POST', f'/v1/sessions/{session}/statements', {'statement': statement})['operationHandle']
    url, rows, cols = f'/v1/sessions/{session}/operations/{op}/result/0?rowFormat=JSON', [], []
    while url:
        r = http('GET', url)
        if r['resultType'] == 'NOT_READY':
            time.sleep(0.03)
            continue
        if 'results' in r:
            cols = [c['logicalType'] for c in r['results'].get('columns', [])]
            rows += r['results']['data']
        if r['resultType'] == 'EOS': break
        if r.get('nextResultUri') == url: time.sleep(0.03)
        url = r.get('nextResultUri')
    return cols, rows

# ---- texts of values, as CAST(x AS STRING) writes them ----
def fraction(text, precision):
    head, _, tail = text.partition('.')
    return head + ('.' + (tail + '0' * 9)[:precision] if precision else '')

def precision_of(t, default): return t.get('precision', default)

def text(v, t):
    if v is None: return 'NULL'
    kind = t['type']
    if kind == 'BOOLEAN': return 'TRUE' if v else 'FALSE'
    if kind == 'DECIMAL': return format(D(str(v)).quantize(D(1).scaleb(-t.get('scale', 0))), 'f')
    if kind in ('FLOAT', 'DOUBLE'): return str(v)
    if kind.startswith('TIMESTAMP'):
        p = precision_of(t, 6)
        if kind.endswith('LOCAL_TIME_ZONE'): return fraction(v.rstrip('Z').replace('T', ' '), p)  # local already
        return fraction(v.replace('T', ' '), p)
    if kind.startswith('TIME'): return fraction(v, precision_of(t, 0))
    if kind in ('BINARY', 'VARBINARY', 'BYTES'): return base64.b64decode(v).decode('utf-8', 'replace')
    if kind == 'ARRAY': return '[' + ', '.join(text(x, t['elementType']) for x in v) + ']'
    if kind == 'MAP': return '{' + ', '.join('%s=%s' % (k, text(x, t['valueType'])) for k, x in v.items()) + '}'
    if kind == 'ROW': return '(' + ', '.join(text(v[f['name']], f['fieldType']) for f in t['fields']) + ')'
    return str(v)

def fold(cols, rows):
    left, strange = [], 0
    for r in rows:
        line = ' | '.join(text(v, t) for v, t in zip(r['fields'], cols))
        if KIND[r['kind']][0] == '+': left.append(line)
        elif line in left: left.remove(line)
        else: strange += 1
    return sorted(left), strange

# ---- the script ----
def statements(sql):
    """Statements with the '--' comment lines before each: [(comments, text)]."""
    out, comments, cur, i = [], [], '', 0
    while i < len(sql):
        c = sql[i]
        if sql.startswith('--', i):
            j = sql.find('\n', i)
            if not cur.strip(): comments.append(sql[i + 2:j].strip())
            i = j
        elif c in "'`\"":
            j = sql.index(c, i + 1)
            cur, i = cur + sql[i:j + 1], j + 1
        elif c == ';':
            out.append((comments, cur.strip()))
            comments, cur, i = [], '', i + 1
        else: cur, i = cur + c, i + 1
    return out

def needed(sql, ddl):
    need, seen = [], sql
    for name in reversed(ddl):
        if re.search(r'(?<![\w.])%s\b' % re.escape(name), seen):
            need.insert(0, ddl[name])
            seen += '\n' + ddl[name]
    return need

def files_of(body, folder):
    """Files that the statements name; a folder brings all its files."""
    for path in sorted(set(re.findall(r"\$\{DIR\}/([\w./-]+)", body))):
        at = os.path.join(folder, path)
        if os.path.isdir(at):
            for f in sorted(os.listdir(at)): yield path.rstrip('/') + '/' + f
        else: yield path

def write_case(out, name, options, need, sql, rows, folder):
    for k, v in options:
        if k == 'note': out.write(f'\n# {v}')
    out.write(f'\ncase {name}\noracle Flink 2.3.0\n')
    zone = dict(options).get('tz')
    body = '\n'.join([s + ';' for s in ([f"SET 'table.local-time-zone' = '{zone}'"] if zone else []) + need + [sql]])
    for k, v in options:
        if k == 'set': out.write(f'set {v}\n')
    for f in files_of(body, folder):
        data = open(os.path.join(folder, f), encoding='utf-8', newline='').read()
        out.write(f'file {f}\n' + data + ('' if not data or data.endswith('\n') else '\n') + '----\n')
    out.write(f'sql\n{body}\n----\n' + ('rows-loose' if 'loose' in dict(options) else 'rows') + '\n' + ''.join(r + '\n' for r in rows) + '----\n')
    ledger = [v for k, v in options if k == 'ledger']
    if ledger: out.write('ledger\n' + '\n'.join(ledger) + '\n----\n')

def main():
    path = sys.argv[1]
    folder = os.path.join(os.path.dirname(os.path.abspath(path)), 'data')
    out = open(sys.argv[2], 'w', encoding='utf-8') if len(sys.argv) > 2 else sys.stdout
    topic = os.path.basename(path)[:-4]
    props = {'execution.runtime-mode': 'streaming', 'table.dml-sync': 'true', 'parallelism.default': '1', 'execution.target': 'remote', 'table.local-time-zone': 'UTC',
             'pipeline.auto-watermark-interval': '0'}
    session = http('POST', '/v1/sessions', {'properties': props})['sessionHandle']
    ddl, n, refused = {}, 0, 0
    out.write(f'# Recorded from Flink 2.3.0 by tools/golden_from_flink.py out of tests/golden/scripts/{topic}.sql: parallelism 1, streaming, a watermark after each row.\n')
    for comments, sql in statements(open(path, encoding='utf-8').read()):
        words = [c.partition(' ') for c in comments]
        options = [(k, v.strip()) for k, _, v in words]
        o, zone = dict(options), dict(options).get('tz', 'UTC')
        for k, v in options:
            if k == 'flink': run(session, "SET '%s' = '%s'" % tuple(v.split(' ', 1)))
        if 'tz' in o: run(session, f"SET 'table.local-time-zone' = '{zone}'")
        try: cols, rows = run(session, sql.replace('${DIR}', folder))
        except urllib.error.HTTPError as e:
            refused += 1
            sys.stderr.write(f"REFUSED {topic} {o.get('case', sql[:70])}: {reason(e)}\n")
            continue
        finally:
            if 'tz' in o: run(session, "SET 'table.local-time-zone' = 'UTC'")
        m = re.match(r'CREATE\s+(?:TEMPORARY\s+)?(?:TABLE|VIEW)\s+`?(\w+)', sql, re.I)
        if m: ddl[m.group(1)] = sql
        if m or not re.match(r'(SELECT|WITH|VALUES|\()', sql, re.I): continue
        n += 1
        left, strange = fold(cols, rows)
        if strange: sys.stderr.write(f"STRANGE {topic} {o.get('case')}: {strange} retractions without a row\n")
        if any('\n' in r for r in left): sys.stderr.write(f"NEWLINE in {o.get('case')}\n")
        write_case(out, o.get('case', f'{topic}_{n:03d}'), options, needed(sql, ddl), sql, left, folder)
        out.flush()
    http('DELETE', f'/v1/sessions/{session}')
    sys.stderr.write(f'{topic}: {n} cases, {refused} refused\n')
if __name__ == '__main__': main()
