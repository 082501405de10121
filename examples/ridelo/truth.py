#!/usr/bin/env python3
"""The right answers of job.sql, computed the plain way: no panes, no timers, no state that expires; dictionaries and loops.

  truth.py answers IN         reads the logs that 'weir gen ridelo' wrote into IN, checks the counts in IN/truth.json, and writes
                              IN/truth_fraud_score.jsonl, truth_order_positions.jsonl, truth_enriched_orders.jsonl,
                              truth_busiest_restaurants.jsonl, truth_charges.jsonl and truth_answers.json (row counts)
  truth.py compare IN OUT     compares the results of the job in OUT (ridelo.db and the folders of JSON lines) with them

Exit code 0: all equal. 1: a difference, which is shown. 2: usage, or a file is missing. README.md says what the rules below mean."""
import collections, datetime, glob, heapq, json, os, sqlite3, sys

MINUTE = 60_000
DELAY = {'orders': 10_000, 'cancellations': 60_000, 'payments': 10_000, 'chargebacks': 5 * MINUTE, 'courier_pings': 30_000,
         'restaurant_changes': 60_000}                      # WATERMARK FOR ts AS ts - this
GUARD = 6 * 60 * MINUTE                                     # 'watermark.future-guard'
FIELDS = {'orders': (('order_id', 'user_id', 'restaurant_id', 'courier_id'), ('amount',)),
          'cancellations': (('cancellation_id', 'order_id', 'user_id'), ()),
          'payments': (('payment_id', 'order_id', 'user_id'), ('amount',)),
          'chargebacks': (('chargeback_id', 'payment_id', 'user_id'), ('amount',)),
          'courier_pings': (('ping_id', 'courier_id', 'order_id'), ('lat', 'lon')),
          'restaurant_changes': (('change_id', 'restaurant_id'), ('commission',))}
INTERVAL = 10 * MINUTE                                      # order x ping
BURST_WINDOW, BURST_ORDERS = 10 * MINUTE, 3
HOP_SLIDE, HOP_SIZE, PLACES = MINUTE, 24 * 60 * MINUTE, 10
NEVER = -1 << 62                                            # the watermark before the first row
ambiguous = []


# ---------------------------------------------------------------- reading

minutes = {}


def parse_time(text):
    """'yyyy-MM-dd HH:mm:ss.SSS' -> ms since 1970."""
    base = minutes.get(text[:16])
    if base is None:
        base = int(datetime.datetime.strptime(text[:16] + '+0000', '%Y-%m-%d %H:%M%z').timestamp()) * 1000
        minutes[text[:16]] = base
    if len(text) != 23 or text[16] != ':' or text[19] != '.':
        raise ValueError(text)
    second = int(text[17:19])
    if second > 59:
        raise ValueError(text)
    return base + second * 1000 + int(text[20:23])


def show_time(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime('%Y-%m-%d %H:%M:%S.') + '%03d' % (ms % 1000)


def accepted(folder, stream, counts):
    """Yields (row, ts, watermark before the row) for each line that the job's source lets through, in the order of the log."""
    ints, numbers = FIELDS[stream]
    id_field, delay, newest, seen = ints[0], DELAY[stream], None, set()
    n = counts[stream] = collections.Counter(lines=0, accepted=0, malformed=0, future=0, out_of_order=0, late=0, duplicates=0)
    one = os.path.join(folder, stream + '.jsonl')
    paths = [one] if os.path.exists(one) else sorted(glob.glob(os.path.join(folder, stream, '*.jsonl')))
    if not paths:
        sys.exit(f'{one}: no such file (exit 2)')
    for path in paths:
        with open(path, 'rb') as log:
            for line in log:
                n['lines'] += 1
                try:
                    row = json.loads(line)
                    for f in ints:
                        if type(row[f]) is not int:
                            raise ValueError(f)
                    for f in numbers:
                        if type(row[f]) is not float:
                            raise ValueError(f)
                    ts = parse_time(row['ts'])
                except (ValueError, KeyError, TypeError):
                    n['malformed'] += 1
                    continue
                if newest is not None and ts - newest > GUARD:
                    n['future'] += 1
                    continue
                n['accepted'] += 1
                watermark = NEVER if newest is None else newest - delay
                if ts <= watermark:
                    n['late'] += 1
                elif newest is not None and ts < newest:
                    n['out_of_order'] += 1
                if row[id_field] in seen:
                    n['duplicates'] += 1
                seen.add(row[id_field])
                yield row, ts, watermark
                if newest is None or ts > newest:
                    newest = ts


def cents(number):
    return round(number * 100)


def money(c):
    return '%d.%02d' % divmod(c, 100)


# ---------------------------------------------------------------- the five answers

def answer_fraud(orders, cancelled, failed, charged_back, write):
    """Facts per user; orders once by id, bursts from all deliveries that came before their window was closed."""
    users = collections.defaultdict(lambda: [0, 0, set(), set(), set(), 0])
    for copies in orders.values():
        for c in copies[1:]:
            if (c['ts'], c['row']) != (copies[0]['ts'], copies[0]['row']):
                ambiguous.append(f"order {c['row']['order_id']}: two different copies")
        fact = users[copies[0]['row']['user_id']]
        fact[0] += 1
        fact[1] += cents(copies[0]['row']['amount'])
    for place, events in ((2, cancelled), (3, failed), (4, charged_back)):
        for event_id, user in events:
            users[user][place].add(event_id)
    windows, dropped = collections.Counter(), 0
    for copies in orders.values():
        for c in copies:
            end = c['ts'] // BURST_WINDOW * BURST_WINDOW + BURST_WINDOW
            if c['watermark'] >= end - 1:
                dropped += 1
            else:
                windows[c['row']['user_id'], end] += 1
    for (user, _), n in windows.items():
        if n >= BURST_ORDERS:
            users[user][5] += 1
    for user, (n, amount, cancellations, failures, chargebacks, bursts) in sorted(users.items()):
        score = 2 * len(cancellations) + 5 * len(failures) + 20 * len(chargebacks) + 10 * bursts
        write(f'{{"user_id":{user},"orders":{n},"amount":{money(amount) if n else "null"},"cancellations":{len(cancellations)},'
              f'"failed_payments":{len(failures)},"chargebacks":{len(chargebacks)},"bursts":{bursts},"score":{score}}}\n')
    return dropped


def answer_positions(orders, pings, write):
    """Each delivery of an order with each delivery of a ping of its courier for it, 0 to 10 minutes later."""
    for row, ts, watermark in pings:
        for c in orders.get(row['order_id'], ()):
            o = c['row']
            if o['courier_id'] != row['courier_id'] or not c['ts'] <= ts <= c['ts'] + INTERVAL:
                continue
            c['matched'] = True
            if watermark >= c['ts'] + INTERVAL:
                ambiguous.append(f"ping {row['ping_id']}: its order may have expired")
            if c['watermark'] >= ts:
                ambiguous.append(f"order {o['order_id']}: its ping {row['ping_id']} may have expired")
            write(f'{{"order_id":{o["order_id"]},"user_id":{o["user_id"]},"courier_id":{o["courier_id"]},"order_ts":"{o["ts"]}",'
                  f'"ping_id":{row["ping_id"]},"ping_ts":"{row["ts"]}","lat":{row["lat"]},"lon":{row["lon"]}}}\n')
    for copies in orders.values():
        for c in copies:
            if not c['matched']:
                o = c['row']
                write(f'{{"order_id":{o["order_id"]},"user_id":{o["user_id"]},"courier_id":{o["courier_id"]},"order_ts":"{o["ts"]}",'
                      '"ping_id":null,"ping_ts":null,"lat":null,"lon":null}\n')


def answer_enriched(orders, changes, write):
    """Each delivery of an order with the newest change of its restaurant that is not newer than the order."""
    versions = collections.defaultdict(list)                # restaurant -> [(ts, change_id, row)] in order of the log
    late_changes = []
    for row, ts, watermark in changes:
        known = versions[row['restaurant_id']]
        if known and ts < known[-1][0] and (ts, row['change_id'], row) not in known:
            ambiguous.append(f"change {row['change_id']}: overtaken by a newer one")
        known.append((ts, row['change_id'], row))
        if ts <= watermark:
            late_changes.append((row['restaurant_id'], ts, watermark, row))
    for known in versions.values():
        known.sort(key=lambda v: v[:2])
    times = collections.defaultdict(list)
    for copies in orders.values():
        for c in copies:
            o = c['row']
            times[o['restaurant_id']].append(c['ts'])
            then = None
            for v in versions.get(o['restaurant_id'], ()):
                if v[0] <= c['ts']:
                    then = v[2]
                elif v[0] <= c['watermark']:
                    ambiguous.append(f"order {o['order_id']}: what was true of restaurant {o['restaurant_id']} may be forgotten")
            r = [json.dumps(then[f]) if then else 'null' for f in ('change_id', 'name', 'cuisine', 'city', 'commission')]
            write(f'{{"order_id":{o["order_id"]},"user_id":{o["user_id"]},"amount":{money(cents(o["amount"]))},"order_ts":"{o["ts"]}",'
                  f'"restaurant_id":{o["restaurant_id"]},"change_id":{r[0]},"name":{r[1]},"cuisine":{r[2]},"city":{r[3]},'
                  f'"commission":{r[4]}}}\n')
    for restaurant, ts, watermark, row in late_changes:
        if versions[restaurant].count((ts, row['change_id'], row)) > 1:
            continue                                        # a copy; the first one counts, and is checked by itself if it was late
        if any(ts <= t <= watermark for t in times[restaurant]):
            ambiguous.append(f"change {row['change_id']}: an order of restaurant {restaurant} may have been served before it came")


def answer_busiest(orders, write):
    """For each minute, the ten restaurants with most orders in the 24 h before; an order counts in the windows still open for it."""
    begin, stop = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    dropped = partly = 0
    for copies in orders.values():
        for c in copies:
            slide = c['ts'] // HOP_SLIDE * HOP_SLIDE
            first, last = slide + HOP_SLIDE, slide + HOP_SIZE
            still_open = (c['watermark'] + 1) // HOP_SLIDE * HOP_SLIDE + HOP_SLIDE
            if still_open > last:
                dropped += 1
                continue
            partly += still_open > first
            begin[max(first, still_open)][c['row']['restaurant_id']] += 1
            stop[last + HOP_SLIDE][c['row']['restaurant_id']] += 1
    now = collections.Counter()
    if not begin:
        return 0, 0
    for end in range(min(begin), max(stop), HOP_SLIDE):
        for restaurant, n in begin.get(end, {}).items():
            now[restaurant] += n
        for restaurant, n in stop.get(end, {}).items():
            now[restaurant] -= n
            if not now[restaurant]:
                del now[restaurant]
        best = heapq.nsmallest(PLACES, ((-n, restaurant) for restaurant, n in now.items()))
        for place, (n, restaurant) in enumerate(best, 1):
            write(f'{{"window_start":"{show_time(end - HOP_SIZE)}","window_end":"{show_time(end)}","place":{place},'
                  f'"restaurant_id":{restaurant},"orders":{-n}}}\n')
    return dropped, partly


def answer_charges(captured, write):
    for payment_id, row in sorted(captured.items()):
        write(f'{{"payment_id":{payment_id},"order_id":{row["order_id"]},"user_id":{row["user_id"]},'
              f'"amount":{money(cents(row["amount"]))},"ts":"{row["ts"]}"}}\n')


# ---------------------------------------------------------------- commands

def answers(folder):
    counts, rows = {}, {}

    def to(name, answer, *args):
        n = 0
        with open(os.path.join(folder, f'truth_{name}.jsonl'), 'w') as out:
            def write(line):
                nonlocal n
                n += 1
                out.write(line)
            result = answer(*args, write)
        rows[name] = n
        return result

    orders = collections.defaultdict(list)
    for row, ts, watermark in accepted(folder, 'orders', counts):
        orders[row['order_id']].append({'row': row, 'ts': ts, 'watermark': watermark, 'matched': False})
    captured, failed = {}, []
    for row, ts, _ in accepted(folder, 'payments', counts):
        if row['status'] == 'failed':
            failed.append((row['payment_id'], row['user_id']))
        elif captured.setdefault(row['payment_id'], row) != row:
            ambiguous.append(f"payment {row['payment_id']}: two different copies")
    cancelled = [(r['cancellation_id'], r['user_id']) for r, _, _ in accepted(folder, 'cancellations', counts)]
    charged_back = [(r['chargeback_id'], r['user_id']) for r, _, _ in accepted(folder, 'chargebacks', counts)]
    late_bursts = to('fraud_score', answer_fraud, orders, cancelled, failed, charged_back)
    to('charges', answer_charges, captured)
    to('enriched_orders', answer_enriched, orders, accepted(folder, 'restaurant_changes', counts))
    dropped, partly = to('busiest_restaurants', answer_busiest, orders)
    to('order_positions', answer_positions, orders, accepted(folder, 'courier_pings', counts))
    with open(os.path.join(folder, 'truth_answers.json'), 'w') as out:
        json.dump({'rows': rows, 'streams': {s: dict(n) for s, n in counts.items()},
                   'orders_late_for_burst_window': late_bursts, 'orders_late_for_every_hop_window': dropped,
                   'orders_late_for_some_hop_windows': partly}, out, indent=1)
        out.write('\n')
    bad = 0
    stated = json.load(open(os.path.join(folder, 'truth.json')))
    for stream, n in counts.items():
        for kind, value in n.items():
            if stated['streams'][stream][kind] != value:
                bad += 1
                print(f'{stream}: {kind}: the generator says {stated["streams"][stream][kind]}, the log has {value}')
        if stated['streams'][stream]['watermark_delay_ms'] != DELAY[stream]:
            bad += 1
            print(f'{stream}: another watermark delay')
    for text in ambiguous[:10]:
        print('ambiguous: ' + text)
    print(', '.join(f'{name} {n}' for name, n in rows.items()))
    return 1 if bad or ambiguous else 0


def plain(value):
    """A form in which equal values are equal: numbers in millionths, timestamps with three digits."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return round(value * 1_000_000)
    if isinstance(value, str):
        if len(value) >= 19 and value[4] == '-' and value[13] == ':':
            value = value.replace('T', ' ').rstrip('Z')
            whole, _, part = value.partition('.')
            return whole + '.' + (part + '000')[:max(3, len(part.rstrip('0')))]
        try:
            return round(float(value) * 1_000_000)
        except ValueError:
            return value
    return value


def read_rows(paths, columns):
    rows = collections.Counter()
    for path in paths:
        with open(path) as f:
            for line in f:
                row = json.loads(line)
                rows[tuple(plain(row.get(c)) for c in columns)] += 1
    return rows


def compare(folder, out):
    bad = 0
    for name in ('fraud_score', 'order_positions', 'enriched_orders', 'busiest_restaurants', 'charges'):
        truth = os.path.join(folder, f'truth_{name}.jsonl')
        with open(truth) as f:
            first = f.readline()
        if not first:
            sys.exit(f'{truth}: empty')
        columns = list(json.loads(first))
        want = read_rows([truth], columns)
        if name in ('fraud_score', 'charges'):
            db = sqlite3.connect(f'file:{out}/ridelo.db?mode=ro', uri=True)
            have = collections.Counter(tuple(map(plain, r)) for r in db.execute(f'SELECT {",".join(columns)} FROM {name}'))
            db.close()
        else:
            base = os.path.join(out, name)
            paths = [p for p in (base, base + '.jsonl', base + '.json') if os.path.isfile(p)]
            paths += [p for p in glob.glob(os.path.join(base, '**'), recursive=True)
                      if os.path.isfile(p) and not os.path.basename(p).startswith(('.', '_'))]
            have = read_rows(paths, columns)
        missing, extra = want - have, have - want
        print(f'{name}: {sum(want.values())} rows wanted, {sum(have.values())} found: '
              + ('equal' if not missing and not extra else f'{sum(missing.values())} missing, {sum(extra.values())} too many'))
        for what, rows in (('missing', missing), ('too many', extra)):
            for row in sorted(rows, key=repr)[:5]:
                print(f'  {what}: ' + ', '.join(f'{c}={v / 1e6:.12g}' if isinstance(v, int) else f'{c}={v}' for c, v in zip(columns, row)))
        bad += bool(missing or extra)
    return 1 if bad else 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == 'answers':
        return answers(sys.argv[2])
    if len(sys.argv) == 4 and sys.argv[1] == 'compare':
        return compare(sys.argv[2], sys.argv[3])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == '__main__':
    sys.exit(main())
