/* What the job is for: Ridelo's five pictures where its views are there, else the first rows of every view. 
 *
 * Questions go one after the other, and each waits ten times as long as it took, so that a page left open takes no more than a tenth of one worker. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ask, state, type Json } from '../model';
import { Card, Chart, Empty, Fig, Missing, Pane } from '../parts';
import { count, plural, short } from '../fmt';
import { query, Rows, views, type Result } from './sql';

let line: Promise<unknown> = Promise.resolve();
function inTurn<T>(f: () => Promise<T>): Promise<T> { const mine = line.then(f); line = mine.catch(() => 0); return mine; }

function useQuery(sql: string | null, get: (sql: string) => Promise<Result> = query): Result | null {
  const [r, set] = useState<Result | null>(null);
  useEffect(() => {
    if (!sql) return;
    let stop = false, timer = 0;
    const go = async () => { const x = await inTurn(() => stop ? Promise.resolve(null) : get(sql)); if (!stop && x) set(x), timer = window.setTimeout(go, Math.max(2000, 9 * x.ms)); };
    void go();
    return () => { stop = true; clearTimeout(timer); };
  }, [sql]);
  return r;
}
const at = (r: Result, name: string) => r.columns.findIndex(c => c.name.toLowerCase() === name);
const num = (x: Json) => Number(x ?? 0);

interface Bar { name: string; n: number; note?: string }
function Ranking({ list, unit, label }: { list: Bar[]; unit: string; label: string }) {
  const most = Math.max(1, ...list.map(b => b.n));
  return <ol class="ranking" aria-label={label}>{list.map(b => <li key={b.name}><span class="who">{b.name}{b.note && <small class="soft"> {b.note}</small>}</span><span class="track"><span style={{ width: 100 * b.n / most + '%' }} /></span><span class="num">{count(b.n)}<span class="sr"> {unit}</span></span></li>)}</ol>;
}
function Shown({ r, children }: { r: Result | null; children: (r: Result) => any }) {
  if (!r) return <Empty>Asking{'\u2026'}</Empty>;
  if (r.error) return <p class="notice bad" role="alert">{r.error}</p>;
  return r.rows.length ? children(r) : <Empty>No rows yet.</Empty>;
}

function Fraud() {
  const r = useQuery('SELECT user_id, score, chargebacks, bursts, cancellations FROM fraud_score ORDER BY score DESC LIMIT 10');
  return <Card title="Fraud score" note="the ten most suspicious users"><Shown r={r}>{x => <Ranking label="Users by fraud score" unit="points" list={x.rows.map(v => ({ name: 'user ' + v[0], n: num(v[1]), note: `${plural(num(v[2]), 'chargeback')}, ${plural(num(v[3]), 'burst')}` }))} />}</Shown></Card>;
}
function Couriers() {
  const r = useQuery('SELECT order_id, courier_id, lat, lon, ping_ts FROM order_positions WHERE lat IS NOT NULL ORDER BY ping_ts DESC LIMIT 300'), all = useQuery('SELECT COUNT(*) AS n, COUNT(ping_id) AS seen FROM order_positions');
  return (
    <Card title="Orders and couriers" note="newest positions">
      <Shown r={r}>{x => {
        const la = x.rows.map(v => num(v[2])), lo = x.rows.map(v => num(v[3])), a0 = Math.min(...la), a1 = Math.max(...la), o0 = Math.min(...lo), o1 = Math.max(...lo), W = 340, H = 230;
        return <svg class="map" viewBox={`0 0 ${W} ${H}`} role="img" aria-label={`${x.rows.length} newest positions of couriers, between latitude ${a0.toFixed(2)} and ${a1.toFixed(2)}, longitude ${o0.toFixed(2)} and ${o1.toFixed(2)}`}>
          <rect x="0.5" y="0.5" width={W - 1} height={H - 1} rx="4" class="frame" />
          {x.rows.map((v, i) => <circle key={i} cx={10 + (W - 20) * (lo[i] - o0) / (o1 - o0 || 1)} cy={H - 10 - (H - 20) * (la[i] - a0) / (a1 - a0 || 1)} r={i < 20 ? 3.5 : 2.2} class={i < 20 ? 'new' : ''}><title>order {v[0]}, courier {v[1]}</title></circle>)}
        </svg>;
      }}</Shown>
      {all && !all.error && all.rows[0] && <p class="soft"><Fig f="business/positions" v={num(all.rows[0][0])} as={count} /> positions; {plural(num(all.rows[0][0]) - num(all.rows[0][1]), 'order')} without any.</p>}
    </Card>
  );
}
function Enriched() {
  const r = useQuery("SELECT cuisine, COUNT(*) AS n, SUM(amount) AS total FROM enriched_orders GROUP BY cuisine ORDER BY n DESC LIMIT 10");
  return <Card title="Orders by cuisine" note="with what was true of the restaurant then"><Shown r={r}>{x => <Ranking label="Orders by cuisine" unit="orders" list={x.rows.map(v => ({ name: v[0] ?? 'restaurant unknown then', n: num(v[1]), note: short(num(v[2])) + ' in all' }))} />}</Shown></Card>;
}
function Busiest() {
  const r = useQuery('SELECT window_end, place, restaurant_id, orders FROM busiest_restaurants ORDER BY window_end DESC, place LIMIT 10');
  return <Card title="Busiest restaurants" note="last 24 hours, each minute"><Shown r={r}>{x => { const end = x.rows[0][0], list = x.rows.filter(v => v[0] === end); return <><p class="soft">until {String(end).replace(/\.0+$/, '')}</p><Ranking label="Busiest restaurants" unit="orders" list={list.map(v => ({ name: 'restaurant ' + v[2], n: num(v[3]) }))} /></>; }}</Shown></Card>;
}
function Charges() {
  const r = useQuery('SELECT ts, amount FROM charges ORDER BY ts DESC LIMIT 1000'), all = useQuery('SELECT COUNT(*) AS n, SUM(amount) AS total FROM charges');
  const data = useMemo(() => {
    if (!r || r.error || r.rows.length < 2) return null;
    const by = new Map<number, number>(), i = at(r, 'ts'), times = r.rows.map(v => Date.parse(String(v[i]).replace(' ', 'T').replace(/Z?$/, 'Z')) / 1000), wide = times[0] - times[times.length - 1], step = Math.max(60, Math.ceil(wide / 40 / 60) * 60);
    r.rows.forEach((v, k) => { const t = Math.floor(times[k] / step) * step; by.set(t, (by.get(t) ?? 0) + num(v[1])); });
    const xs = [...by.keys()].sort((a, b) => a - b);
    return [xs, xs.map(t => by.get(t)!)];
  }, [r]);
  return <Card title="Charges" note="billed, each payment once"><Shown r={r}>{() => data && <Chart data={data} bars height={190} value={v => short(v)} lines={[{ label: 'amount of the newest 1,000 charges', color: '--c1', fill: true }]} label="Amount charged over time" />}</Shown>
    {all && !all.error && all.rows[0] && <p class="soft"><Fig f="business/charges" v={num(all.rows[0][0])} as={count} /> charges, <Fig f="business/charged" v={String(all.rows[0][1])} /> in all.</p>}</Card>;
}
const RIDELO: [string, () => any][] = [['fraud_score', Fraud], ['order_positions', Couriers], ['enriched_orders', Enriched], ['busiest_restaurants', Busiest], ['charges', Charges]];

async function firstRows(name: string): Promise<Result> {
  const began = performance.now(), a = await ask(`api/views/${encodeURIComponent(name)}?limit=8`), ms = performance.now() - began, columns = (views().find(v => v.name === name)?.columns ?? []) as { name: string; type: string }[];
  if (a.status !== 200) return { columns: [], rows: [], ms, error: a.error };
  return { columns, rows: (a.body.rows ?? []).map((x: Json) => Array.isArray(x) ? x : columns.map(c => x[c.name] ?? null)), ms };
}

function Plain({ name }: { name: string }) {
  const r = useQuery(name, firstRows);
  return <Card title={name} wide><Shown r={r}>{x => <Rows r={x} caption={'First rows of ' + name} />}</Shown></Card>;
}

export function BusinessPane() {
  const names = new Set(views().map(v => v.name.toLowerCase())), ridelo = RIDELO.filter(([n]) => names.has(n)), others = views().filter(v => !RIDELO.some(([n]) => n === v.name.toLowerCase()));
  return (
    <Pane id="business" title="Results" shows="What the job computes: its materialized views as they are now, asked anew every few seconds." normal="figures that keep moving and look like your business.">
      {!state.views.body ? <Missing of="views" report={state.views} without="This build of weir has no materialized views." /> : !names.size ? <Empty>The job has no materialized view. Write <code>CREATE MATERIALIZED VIEW name AS SELECT ...</code> in its script, and its rows are shown here.</Empty>
        : <div class="cards">{ridelo.map(([n, Picture]) => <Picture key={n} />)}{others.map(v => <Plain key={v.name} name={v.name} />)}</div>}
    </Pane>
  );
}
