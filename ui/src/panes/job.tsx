/* The job as a living graph: figures of every operator in its box, rates on the lines, the culprit marked; and the same as a table. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { BOX_H, BOX_W, layout, path, type Graph, type Node } from '../graph';
import { state, type Op, type Status } from '../model';
import { Card, Empty, Fig, Mark, Meter, Pane, Table, Tile } from '../parts';
import { bytes, count, cut, percent, plural, rate, span, when } from '../fmt';
import { culprit, Limit, type Culprit } from '../why';

const FOLD_FROM = 60;
const lagOf = (s: Status, o: Op) => { /* behind the furthest source: what windows wait for */
  const last = Math.max(...s.sources.map(x => x.last_us ?? -Infinity));
  return o.watermark_us === null || !isFinite(last) ? null : Math.max(0, last - o.watermark_us);
};
/* Of the time of its busiest instance. outside: for the other end of a sink or a look-up; blocked: what follows takes no more, or there is no memory; turn: its worker does something else. */
export function shares(o: Op) {
  const t = o.time;
  if (!t) return null;
  const sum = (...names: string[]) => names.reduce((a, n) => a + (t[n] ?? 0), 0);
  return { busy: sum('work', 'read', 'decode', 'write', 'flush', 'spill'), outside: sum('outside', 'answers'), blocked: sum('room', 'memory'), waiting: sum('input'), turn: sum('turn') };
}
export const stateKind = (o: Op) => o.predicted_steady_bytes !== null && o.account_bytes > 1 << 20 && o.account_bytes > 1.5 * o.predicted_steady_bytes ? 'warn' : 'ok';

function BoxText({ s, n, far, culprit: c }: { s: Status; n: Node; far: boolean; culprit: Culprit | null }) {
  const o = n.ops[n.ops.length - 1], first = n.ops[0], many = n.ops.length > 1, sh = shares(o), hot = s.hot_keys.find(h => n.ops.some(x => x.id === h.operator));
  const bytesOf = n.ops.reduce((a, x) => a + x.account_bytes, 0), drops = n.ops.some(x => Object.keys(x.dropped).length), x0 = n.x - BOX_W / 2, y0 = n.y - BOX_H / 2;
  const sure = n.ops.reduce((a, x) => a + (x.predicted_steady_bytes ?? 0), 0), w = BOX_W - 20;
  if (far) return <text class="far" x={n.x} y={n.y + 9} text-anchor="middle">{cut(many ? `${n.ops.length} operators` : first.table ?? first.kind, 15)}</text>;
  return (
    <g transform={`translate(${x0} ${y0})`}>
      <svg width={BOX_W - 4} height={BOX_H}>
      <text class="kind" x="10" y="18">{many ? `${n.ops.length} operators` : first.kind}{drops ? ' \u00b7 drops rows' : ''}</text>
      {hot && <text class="hot" x={BOX_W - 10} y="18" text-anchor="end">{'\u25b2'} hot key</text>}
      <text class="name" x="10" y="37">{cut(many ? n.ops.map(x => x.kind).join(' \u2192 ') : first.title, 22)}</text>
      <text class="line" x="10" y="56">{rate(first.in_per_s)} in{'  \u2192  '}{rate(o.out_per_s)} out</text>
      <text class="line soft" x="10" y="73">{o.watermark_us === null ? 'no event time' : when(o.watermark_us).slice(11) + (lagOf(s, o) ? ', ' + span(lagOf(s, o)).replace(/\.\d/, '').replace('min', 'm') + ' behind' : '')}</text>
      {bytesOf > 0 ? <text class="line soft" x="10" y="90">{bytes(bytesOf)}{sure > 0 ? ' of ' + bytes(sure) : ''}</text> : <text class="line soft" x="10" y="90">keeps nothing</text>}
      {sh && <g transform="translate(10 96)"><rect class="sh-bg" width={w} height="4" /><rect class="sh-busy" width={w * sh.busy} height="4" /><rect class="sh-outside" x={w * sh.busy} width={w * sh.outside} height="4" /><rect class="sh-blocked" x={w * (sh.busy + sh.outside)} width={w * sh.blocked} height="4" /></g>}
      </svg>
      {c && n.ops.some(x => x.id === c.operator) && <g class="culprit-tag"><rect x="-1" y="-22" width={BOX_W + 2} height="20" rx="4" /><text x="8" y="-8">{'\u25b2'} limits the job: {cut(c.cls, 18)}</text></g>}
    </g>
  );
}

function say(s: Status, n: Node, c: Culprit | null): string {
  const o = n.ops[n.ops.length - 1];
  return `${n.ops.length > 1 ? plural(n.ops.length, 'operator') + ': ' : ''}${n.ops.map(x => x.title).join(', ')}; ${rate(n.ops[0].in_per_s)} in, ${rate(o.out_per_s)} out, ${bytes(n.ops.reduce((a, x) => a + x.account_bytes, 0))} of state` +
    (lagOf(s, o) ? `, event time ${span(lagOf(s, o))} behind` : '') + (c && n.ops.some(x => x.id === c.operator) ? `; limits the job: ${c.cls}` : '');
}

interface View { x: number; y: number; k: number }
function Picture({ s, graph, down, chosen, choose, find, c }: { s: Status; graph: Graph; down: boolean; chosen: string; choose: (id: string, n: Node) => void; find: string; c: Culprit | null }) {
  const box = useRef<SVGSVGElement>(null), [size, setSize] = useState({ w: 800, h: 460 }), [view, setView] = useState<View | null>(null);
  const drag = useRef<{ x: number; y: number; v: View; moved: boolean } | null>(null), fingers = useRef(new Map<number, { x: number; y: number }>());
  useEffect(() => {
    const see = new ResizeObserver(() => { const r = box.current?.getBoundingClientRect(); if (r) setSize({ w: Math.max(r.width, 100), h: Math.max(r.height, 100) }); });
    see.observe(box.current!);
    return () => see.disconnect();
  }, []);
  useEffect(() => setView(null), [graph]);
  const tall = Math.round(Math.max(230, Math.min(graph.h * Math.min(size.w / graph.w, 1.15) + 56, 0.62 * innerHeight)));
  const fitK = Math.min(size.w / graph.w, size.h / (graph.h + 24), 1.15);
  const k0 = graph.nodes.length <= 30 ? Math.max(fitK, Math.min(0.62, down ? size.w / graph.w : 0.62)) : fitK;
  const fit: View = { k: k0, x: graph.w * k0 <= size.w ? (size.w - graph.w * k0) / 2 : 0, y: (graph.h + 24) * k0 <= size.h ? (size.h - (graph.h - 24) * k0) / 2 : 24 * k0 };
  const v = view ?? fit;
  const zoom = (f: number, cx = size.w / 2, cy = size.h / 2) => setView(o => { const a = o ?? fit, k = Math.max(0.03, Math.min(2.5, a.k * f)); return { k, x: cx - (cx - a.x) * k / a.k, y: cy - (cy - a.y) * k / a.k }; });
  const show = (n: Node) => setView({ k: Math.max(v.k, 0.8), x: size.w / 2 - n.x * Math.max(v.k, 0.8), y: size.h / 2 - n.y * Math.max(v.k, 0.8) });
  const hit = find ? graph.nodes.filter(n => n.ops.some(o => (o.title + ' ' + o.id + ' ' + (o.table ?? '')).toLowerCase().includes(find.toLowerCase()))) : [];
  useEffect(() => { if (hit[0]) show(hit[0]); }, [find]);
  const near = useMemo(() => { /* what feeds the chosen one and what it feeds */
    if (!chosen) return null;
    const seen = new Set<string>();
    const walk = (id: string, up: boolean) => { for (const e of graph.edges) { const [a, b] = up ? [e.to, e.from] : [e.from, e.to]; if (a === id && !seen.has((up ? 'u' : 'd') + b)) seen.add((up ? 'u' : 'd') + b), walk(b, up); } };
    walk(chosen, true), walk(chosen, false);
    return new Set([chosen, ...[...seen].map(x => x.slice(1))]);
  }, [chosen, graph]);
  const wheel = (e: WheelEvent) => { if (!e.ctrlKey && !e.metaKey && !e.shiftKey) return; e.preventDefault(); const r = box.current!.getBoundingClientRect(); zoom(Math.exp(-e.deltaY / 300), e.clientX - r.left, e.clientY - r.top); };
  useEffect(() => { const el = box.current!; el.addEventListener('wheel', wheel, { passive: false }); return () => el.removeEventListener('wheel', wheel); });
  const press = (e: PointerEvent) => { fingers.current.set(e.pointerId, { x: e.clientX, y: e.clientY }); drag.current = { x: e.clientX, y: e.clientY, v, moved: false }; };
  const move = (e: PointerEvent) => {
    const d = drag.current, f = fingers.current;
    if (!d || !f.has(e.pointerId)) return;
    if (f.size === 2) { /* two fingers: their distance is the zoom */
      const [a, b] = [...f.values()], before = Math.hypot(a.x - b.x, a.y - b.y);
      f.set(e.pointerId, { x: e.clientX, y: e.clientY });
      const [p, q] = [...f.values()], r = box.current!.getBoundingClientRect();
      if (before > 0) zoom(Math.hypot(p.x - q.x, p.y - q.y) / before, (p.x + q.x) / 2 - r.left, (p.y + q.y) / 2 - r.top);
      d.moved = true;
      return;
    }
    if (!d.moved && Math.hypot(e.clientX - d.x, e.clientY - d.y) < 5) return;
    d.moved = true;
    setView({ k: d.v.k, x: d.v.x + e.clientX - d.x, y: d.v.y + e.clientY - d.y });
  };
  const lift = (e: PointerEvent) => { fingers.current.delete(e.pointerId); if (!fingers.current.size) setTimeout(() => { drag.current = null; }, 0); };
  const keys = (e: KeyboardEvent) => {
    const by: Record<string, [number, number]> = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (by[e.key]) setView({ ...v, x: v.x + by[e.key][0], y: v.y + by[e.key][1] }), e.preventDefault();
    else if (e.key === '+' || e.key === '=') zoom(1.25);
    else if (e.key === '-') zoom(0.8);
    else if (e.key === '0') setView(null);
  };
  const fastest = Math.max(1, ...s.operators.map(o => o.out_per_s ?? 0)), far = v.k < 0.42, now = new Map(s.operators.map(o => [o.id, o]));
  return (
    <div class="graph-box">
      <div class="zoom" role="group" aria-label="Zoom"><button onClick={() => zoom(1.25)} aria-label="Zoom in">+</button><button onClick={() => zoom(0.8)} aria-label="Zoom out">{'\u2212'}</button><button onClick={() => setView(null)} aria-label="Fit the whole job">Fit</button></div>
      <svg ref={box} style={{ height: tall + 'px' }} class={'graph' + (far ? ' is-far' : '')} role="group" aria-label="Graph of the job: arrow keys move it, plus and minus zoom, Tab goes from operator to operator" tabindex={0} onKeyDown={keys} onPointerDown={press} onPointerMove={move} onPointerUp={lift} onPointerCancel={lift} onPointerLeave={lift}>
        <g transform={`translate(${v.x} ${v.y}) scale(${v.k})`}>
          {graph.edges.map((e, i) => {
            const r = now.get(e.sender.id)?.out_per_s ?? 0, mid = e.points[Math.floor(e.points.length / 2)] ?? { x: 0, y: 0 }, x = s.exchanges.find(q => q.operator === e.receiver && q.port === e.port), skewed = x && x.rows > 1000 && x.busiest > 2 * x.mean;
            return (
              <g key={i} class={'edge' + (r > 0 ? ' flows' : '') + (near && !(near.has(e.from) && near.has(e.to)) ? ' dim' : '')} data-edge={`${e.sender.id}>${e.receiver}`} data-exchange={e.exchange}>
                <path d={path(e.points, down)} style={{ strokeWidth: 1.2 + 4 * Math.log1p(r) / Math.log1p(fastest) }} class={e.exchange} />
                {!far && <text x={mid.x} y={mid.y - 7} text-anchor="middle">{r ? rate(r) : ''}</text>}{!far && e.exchange !== 'forward' && <text x={mid.x} y={mid.y + 15} text-anchor="middle">{skewed ? '\u25b2 uneven' : e.exchange === 'hash' ? 'by key' : 'to one'}</text>}
              </g>
            );
          })}
          {graph.nodes.map(n0 => {
            const n = { ...n0, ops: n0.ops.map(o => now.get(o.id) ?? o) }, mine = c && n.ops.some(o => o.id === c.operator), o = n.ops[n.ops.length - 1];
            const cls = 'op' + (mine ? ' culprit' : '') + (n.ops.length > 1 ? ' many' : '') + (chosen === n.id ? ' chosen' : '') + (near && !near.has(n.id) ? ' dim' : '') + (hit.some(h => h.id === n.id) ? ' found' : '') + ' ' + (n.ops.length > 1 ? 'mid' : n.ops[0].kind === 'source' ? 'source' : n.ops[0].kind === 'sink' ? 'sink' : 'mid');
            return (
              <g key={n.id} class={cls} tabindex={0} role="button" aria-pressed={chosen === n.id} aria-label={say(s, n, c)} data-op={o.id} data-n={n.ops.length} onClick={() => drag.current?.moved || choose(n.id, n)} onKeyDown={e => { if (e.key === 'Enter' || e.key === ' ') e.preventDefault(), e.stopPropagation(), choose(n.id, n); }}>
                <rect x={n.x - BOX_W / 2} y={n.y - BOX_H / 2} width={BOX_W} height={BOX_H} rx="6" />
                <BoxText s={s} n={n} far={far} culprit={c} />
              </g>
            );
          })}
        </g>
      </svg>
    </div>
  );
}

function Details({ s, o, close }: { s: Status; o: Op; close: () => void }) {
  const hot = s.hot_keys.filter(h => h.operator === o.id), sh = shares(o), drops = Object.entries(o.dropped);
  const row = (name: string, f: string, v: any, as?: (v: any) => string) => <div><dt>{name}</dt><dd><Fig f={`op/${o.id}/${f}`} v={v} as={as} /></dd></div>;
  return (
    <Card title={o.title} note={o.id}>
      <button class="close" onClick={close} aria-label="Close the details">{'\u2715'}</button>
      <dl class="facts">
        {row('rows in', 'in', o.in[0] + o.in[1], count)}{row('rows out', 'out', o.out, count)}
        {row('in per second', 'in_per_s', o.in_per_s, rate)}{row('out per second', 'out_per_s', o.out_per_s, rate)}
        {row('event time', 'watermark_us', o.watermark_us, when)}{row('behind the newest row', 'lag', lagOf(s, o), span)}
        {row('state', 'account_bytes', o.account_bytes, bytes)}{row('state at most so far', 'peak', o.state_peak_bytes, bytes)}
        {row('the bill says now', 'predicted', o.predicted_bytes, bytes)}{row('the bill says in the long run', 'steady', o.predicted_steady_bytes, bytes)}
        {row('keys', 'keys', o.keys, count)}{row('bounded by', 'bound', o.bound)}
        {sh && <>{row('busy', 'busy', sh.busy, percent)}{row('waiting for its other end', 'outside', sh.outside, percent)}{row('blocked by what follows', 'blocked', sh.blocked, percent)}{row('waiting for input', 'waiting', sh.waiting, percent)}{row('waiting for its worker', 'turn', sh.turn, percent)}</>}
        {drops.map(([r, n]) => row('left out: ' + r, 'dropped/' + r, n, count))}
      </dl>
      {hot.map(h => <p key={h.key} class="notice warn"><Mark kind="warn" /> Key <b>{h.key}</b> has {percent(h.share)} of the rows; a worker's fair share is {percent(h.fair_share)}.{h.split ? ' ' + h.split : ''}</p>)}
    </Card>
  );
}

export function JobPane({ s }: { s: Status }) {
  const [fold, setFold] = useState<boolean | null>(null), [open, setOpen] = useState(new Set<string>()), [chosen, setChosen] = useState(''), [find, setFind] = useState('');
  const [narrow, setNarrow] = useState(matchMedia('(max-width: 700px)').matches);
  useEffect(() => { const m = matchMedia('(max-width: 700px)'), f = () => setNarrow(m.matches); m.addEventListener('change', f); return () => m.removeEventListener('change', f); }, []);
  const folds = fold ?? s.operators.length > FOLD_FROM, plan = s.operators.map(o => o.id + '<' + o.inputs.map(i => i.operator)).join();
  const graph = useMemo(() => layout(s, folds, open, narrow, narrow ? 0.6 : 2.6), [plan, folds, open, narrow]);
  const c = culprit(state.why.body), op = s.operators.find(o => o.id === chosen), slowest = s.sources.reduce((a, x) => Math.max(a, x.event_time_lag_us), 0);
  const timeless = s.operators.every(o => !o.time);
  const choose = (id: string, n: Node) => n.ops.length > 1 ? setOpen(new Set([...open, n.id])) : setChosen(chosen === id ? '' : id);
  const memory = s.memory_bytes + s.budget.process_bytes, last = s.checkpoints[s.checkpoints.length - 1], sum = (f: (o: Op) => number | undefined, kind: string) => s.operators.filter(o => o.kind === kind).reduce((a, o) => a + (f(o) ?? 0), 0);
  return (
    <Pane id="job" title="Job" shows="Each box is a step of your SQL; rows move along the lines from tables that are read to tables that are written." normal="every box passes rows on, nothing is marked, and event time stays a fixed distance behind the newest row."
      tools={<><label class="find"><span class="sr">Find an operator</span><input type="search" placeholder="Find an operator" value={find} onInput={e => setFind((e.target as HTMLInputElement).value)} /></label>
        <label class="check"><input type="checkbox" checked={folds} onChange={() => { setFold(!folds); setOpen(new Set()); }} /> fold runs of operators</label></>}>
      <dl class="tiles">
        <Tile label="rows in" f="rows_in" v={s.rows_in} as={count} sub={rate(sum(o => o.out_per_s, 'source')) + ' now'} />
        <Tile label="rows out" f="rows_out" v={s.rows_out} as={count} sub={rate(sum(o => o.in_per_s, 'sink')) + ' now'} />
        <Tile label="event time behind the clock" f="event_time_lag_us" v={slowest || null} as={v => v ? span(v) : 'not known'} sub="of the slowest table" />
        <Tile label="memory" f="memory_total" v={memory} as={bytes} sub={`of ${bytes(s.budget.limit_bytes)}, ${s.budget.level}`} kind={s.budget.limit_bytes && memory > 0.9 * s.budget.limit_bytes ? 'warn' : 'ok'} />
        <Tile label="last checkpoint" f="last_checkpoint_us" v={last?.total_us} as={v => last ? span(v) : 'none yet'} sub={last ? `number ${last.epoch}, ${bytes(last.new_bytes)} written` : s.checkpoints_failed ? 'attempts failed' : 'a job without --state-dir makes none'} kind={s.checkpoints_failed ? 'warn' : 'ok'} />
        <Tile label="running for" f="running_us" v={s.running_us} as={span} sub={plural(s.workers, 'worker')} />
      </dl>
      {graph.nodes.length ? <Picture s={s} graph={graph} down={narrow} chosen={chosen} choose={choose} find={find} c={c} /> : <Empty>The plan has no operators.</Empty>}
      <p class="legend"><span><i class="sw source" />read from</span><span><i class="sw mid" />computes</span><span><i class="sw sink" />written to</span><span><i class="ln" />same worker</span><span><i class="ln hash" />sent to the worker of the key</span><span><i class="sw busy" />busy</span><span><i class="sw outside" />waits for its other end</span><span><i class="sw blocked" />blocked</span>{graph.folded > 0 && <span>{plural(graph.folded, 'operator')} folded away: click a stack to open it</span>}<span class="soft">Ctrl and wheel, or + and {'\u2212'}, zoom</span></p>
      <Limit />
      {op && <Details s={s} o={op} close={() => setChosen('')} />}
      <h3>All operators</h3>
      <div class={s.operators.length > 30 ? 'tall' : ''}><Table caption="All operators of the job" rows={s.operators} id={o => o.id} row={o => ({ 'data-row': o.id, class: c?.operator === o.id ? 'bad-row' : '' })} columns={[
        { name: 'Operator', cell: o => <button class="link" onClick={() => { setChosen(o.id); document.getElementById('h-job')?.scrollIntoView(); }}>{o.title}</button>, key: o => o.title },
        { name: 'In', num: true, cell: o => <Fig f={`op/${o.id}/in`} v={o.in[0] + o.in[1]} as={count} />, key: o => o.in[0] + o.in[1] },
        { name: 'Out', num: true, cell: o => <Fig f={`op/${o.id}/out`} v={o.out} as={count} />, key: o => o.out },
        { name: 'In/s', num: true, cell: o => rate(o.in_per_s), key: o => o.in_per_s ?? 0 },
        { name: 'Out/s', num: true, cell: o => rate(o.out_per_s), key: o => o.out_per_s ?? 0 },
        { name: 'Busy', num: true, hide: timeless, cell: o => percent(shares(o)?.busy), key: o => shares(o)?.busy ?? 0 },
        { name: 'Blocked', num: true, hide: timeless, cell: o => percent(shares(o)?.blocked), key: o => shares(o)?.blocked ?? 0 },
        { name: 'Waiting', num: true, hide: timeless, cell: o => percent(shares(o)?.waiting), key: o => shares(o)?.waiting ?? 0 },
        { name: 'Event time', num: true, cell: o => <Fig f={`op/${o.id}/watermark_us`} v={o.watermark_us} as={when} />, key: o => o.watermark_us ?? 0 },
        { name: 'State', num: true, cell: o => <Fig f={`op/${o.id}/account_bytes`} v={o.account_bytes} as={bytes} />, key: o => o.account_bytes },
        { name: 'of its bill', cell: o => o.predicted_steady_bytes ? <span class="fig"><Meter share={o.account_bytes / o.predicted_steady_bytes} kind={stateKind(o)} label={`${percent(o.account_bytes / o.predicted_steady_bytes)} of the bill`} /> {percent(o.account_bytes / o.predicted_steady_bytes)}</span> : '\u2013', key: o => o.predicted_steady_bytes ? o.account_bytes / o.predicted_steady_bytes : -1 },
      ]} /></div>
      <h3>Hot keys</h3>
      <p class="explain">A key with more rows than one worker's fair share makes that worker the slow one.</p>
      <Table caption="Hot keys" empty={s.workers > 1 ? 'No key stands out: rows spread evenly over the workers.' : 'The job has one worker, so no key can be too hot for its worker.'} rows={s.hot_keys} id={(h, i) => h.operator + h.key + i} columns={[
        { name: 'Key', cell: h => <code>{h.key}</code> },
        { name: 'Operator', cell: h => s.operators.find(o => o.id === h.operator)?.title ?? h.operator },
        { name: 'Share', num: true, cell: h => <Fig f={`hot/${h.operator}/${h.key}`} v={h.share} as={percent} />, key: h => h.share },
        { name: 'Fair share', num: true, cell: h => percent(h.fair_share) },
        { name: 'What helps', cell: h => h.combined ? 'nothing to do: its rows are combined before they are sent' : h.split ?? 'see hot keys in the documentation' },
      ]} />
    </Pane>
  );
}
