#!/usr/bin/env python3
"""job.sql on Flink, to compare answers. Flink has no sqlite sink, no future guard and no skipping of bad lines, so generate with
malformed and future rates of 0, and run with 'pipeline.auto-watermark-interval' = '0' and parallelism 1.

  on_flink.py script IN OUT          prints job.sql for Flink: the sqlite tables become print tables, weir's own options go
  on_flink.py collect TM_OUT OUT     makes OUT/ridelo.db from what the print tables wrote to the task manager's output
  truth.py compare IN OUT            then compares as for weir"""
import os, re, sqlite3, sys


def script(folder, out):
    here = os.path.dirname(os.path.abspath(__file__))
    text = open(os.path.join(here, 'job.sql')).read()
    text = text.replace(",\n  'on-error' = 'skip', 'watermark.future-guard' = '6 h'", '')
    text = re.sub(r"'connector' = 'sqlite', .*'table' = '(\w+)'", r"'connector' = 'print', 'print-identifier' = '\1'", text)
    print(text.replace('${IN}', folder).replace('${OUT}', out), end='')


def collect(printed, out):
    path = os.path.join(out, 'ridelo.db')
    if os.path.exists(path):
        os.unlink(path)
    db = sqlite3.connect(path)
    db.execute('CREATE TABLE fraud_score(user_id INTEGER PRIMARY KEY, orders, amount, cancellations, failed_payments, chargebacks, bursts, score)')
    db.execute('CREATE TABLE charges(payment_id INTEGER PRIMARY KEY, order_id, user_id, amount, ts)')
    for line in open(printed):
        m = re.match(r'(fraud_score|charges)\S*> ([+-][IUD])\[(.*)\]$', line)
        if not m or m[2] == '-U':
            continue
        values = [None if v == 'null' else v for v in m[3].split(', ')]
        if m[2] == '-D':
            db.execute(f'DELETE FROM {m[1]} WHERE rowid = ?', values[:1])
        else:
            db.execute(f'INSERT OR REPLACE INTO {m[1]} VALUES({",".join("?" * len(values))})', values)
    db.commit()


if len(sys.argv) == 4 and sys.argv[1] in ('script', 'collect'):
    (script if sys.argv[1] == 'script' else collect)(*sys.argv[2:])
else:
    print(__doc__, file=sys.stderr)
    sys.exit(2)
