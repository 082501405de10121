#!/usr/bin/env python3
"""golden_from_flink.py TRANSCRIPT NAME [DATA_DIR]: turns a Flink transcript (statements behind '> ', then the changelog rows in order) into golden cases.

Each SELECT with rows becomes one case: the CREATE statements before it, the data files that it names (${SEM}/in/x becomes ${DIR}/x), and
the rows that are left after all changes, to be compared loosely (tests/golden/golden.h). Statements that ended in ERROR are left out: what
weir says instead is written by hand. Output goes to stdout."""
import collections, os, re, sys

def statements(path):
    cur, rows, out = None, [], []
    for line in open(path, encoding='utf-8').read().split('\n'):
        if line.startswith('> '):
            if cur is not None: out.append((cur, rows))
            cur, rows = line[2:], []
        elif line.startswith('  ') and not rows and not line.startswith('   '): cur += '\n' + line[2:]
        elif line.startswith('   ') and not rows: pass
        elif line: rows.append(line)
    if cur is not None: out.append((cur, rows))
    return out

def fold(rows):
    left = []
    for r in rows:
        kind, _, text = r.partition(' ')
        text = ' | '.join(text.split('\t'))
        if kind in ('+I', '+U'): left.append(text)
        elif kind in ('-U', '-D') and text in left: left.remove(text)
    return left

def main():
    path, name = sys.argv[1:3]
    data = sys.argv[3] if len(sys.argv) > 3 else os.path.join(os.path.dirname(path), 'in')
    ddl, n = collections.OrderedDict(), 0
    print('# Rows recorded from Flink 2.3.0, SQL gateway, parallelism 1, streaming mode, time zone UTC, watermark after each row.')
    for sql, rows in statements(path):
        m = re.match(r'CREATE\s+(?:TABLE|VIEW)\s+`?(\w+)', sql, re.I)
        if m:
            if not (rows and rows[0].startswith('ERROR')): ddl[m.group(1)] = sql
            continue
        if not re.match(r'(SELECT|WITH|VALUES)\b', sql, re.I) or (rows and rows[0].startswith('ERROR')): continue
        n += 1
        need, text = [], sql
        for t in reversed(ddl):
            if re.search(r'\b%s\b' % t, text): need.insert(0, ddl[t]); text += ddl[t]
        body = '\n'.join(need + [sql])
        print(f'\ncase {name}_{n:02d}\noracle Flink 2.3.0')
        for f in sorted(set(re.findall(r"\$\{SEM\}/in/([\w.]+)", body))):
            print(f'file {f}')
            sys.stdout.write(open(os.path.join(data, f), encoding='utf-8').read().rstrip('\n') + '\n----\n')
        print('sql\n' + body.replace('${SEM}/in/', '${DIR}/') + '\n----')
        print('rows-loose')
        for r in fold(rows): print(r)
        print('----')
main()
