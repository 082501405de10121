#!/usr/bin/env python3
"""examples/make_inputs.py [DIR]: the small inputs of click_sessions, sensor_gaps, stock_bars and top_products; the same bytes every time.
Rows come up to some seconds out of order, never later than the watermark of the job allows."""
import datetime, json, os, random, sys

top = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
START = datetime.datetime(2026, 3, 2, 8, 0, 0)

def write(folder, name, rows, shuffle_s, rng):
    """Rows with ts in seconds, in an order that is off by less than shuffle_s."""
    rows.sort(key=lambda r: (r['ts'] + rng.uniform(0, shuffle_s), r['ts']))
    with open(os.path.join(top, folder, name), 'w') as f:
        for r in rows:
            at = START + datetime.timedelta(milliseconds=round(r['ts'] * 1000))
            f.write(json.dumps({**r, 'ts': at.strftime('%Y-%m-%d %H:%M:%S.') + f'{at.microsecond // 1000:03d}'}, separators=(',', ':')) + '\n')

def clicks():
    rng, rows = random.Random(1), []
    for user in range(1, 9):
        t = rng.uniform(0, 3600)
        for _ in range(rng.randint(1, 3)):
            for page in ['home'] + [rng.choice(['list', 'item', 'item', 'cart']) for _ in range(rng.randint(0, 6))] + ['paid'] * (rng.random() < 0.4):
                rows.append({'user_id': f'u{user}', 'page': page, 'ts': round(t, 3)})
                t += rng.expovariate(1 / 90)
            t += 1800 + rng.uniform(60, 4000)
    write('click_sessions', 'clicks.jsonl', rows, 20, rng)

def readings():
    rng, rows = random.Random(2), []
    for k, sensor in enumerate(['boiler', 'inlet', 'outlet', 'roof']):
        t, value = rng.uniform(0, 30), 20.0 + 10 * k
        while t < 3000:
            rows.append({'sensor': sensor, 'celsius': round(value, 1), 'ts': round(t)})
            value += rng.gauss(0, 0.4)
            t += 30 + rng.choice([0, 0, 1, -1]) + (rng.choice([150, 300, 700]) if rng.random() < 0.04 else 0)
    write('sensor_gaps', 'readings.jsonl', rows, 15, rng)

def trades():
    rng, rows = random.Random(3), []
    for symbol, price in [('ACME', 101.0), ('BOLT', 17.5), ('CRUX', 240.0)]:
        t = 0.0
        while t < 600:
            t += rng.expovariate(1 / 9)
            price = max(1, price * (1 + rng.gauss(0, 0.001)))
            rows.append({'symbol': symbol, 'price': round(price, 2), 'shares': rng.choice([10, 50, 100, 100, 200]), 'ts': round(t, 3)})
    rows.sort(key=lambda r: r['ts'])
    write('stock_bars', 'trades.jsonl', rows, 0, rng) # open and close are the first and the last trade as they came

def sales():
    rng, rows = random.Random(4), []
    products = [(c, f'{c}-{n}', rng.uniform(2, 60)) for c in ('garden', 'kitchen', 'office') for n in range(1, 7)]
    for _ in range(240):
        category, product, price = rng.choice(products)
        rows.append({'category': category, 'product': product, 'pieces': rng.randint(1, 4), 'price': round(price, 2), 'ts': round(rng.uniform(0, 3 * 3600))})
    write('top_products', 'sales.jsonl', rows, 30, rng)

for make in clicks, readings, trades, sales: make()
