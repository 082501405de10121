/* Where every row went: a flow for the chosen operator, and the same sums as a table. */
import { useState } from 'preact/hooks';
import { state, type Misses, type Op, type Status } from '../model';
import { Card, Fig, Mark, Pane, Table } from '../parts';
import { count, cut, percent, plural, span } from '../fmt';

interface Part { name: string; n: number; kind: 'out' | 'kept' | 'drop' | 'flight' | 'open' }
const JOIN = /join/;
const EXACT = new Set(['source', 'values', 'calc', 'union', 'sink', 'keep', 'window_tvf']), PASSES = new Set(['local_agg', 'unnest', 'time_sort', 'over', 'spread', 'dedup']);
const REASONS: Record<string, string> = {
  filtered: 'left out by WHERE', late: 'came after their window or watermark had closed', malformed: 'could not be read', 'dead-letter': 'were put aside', 'unmatched-left': 'of the left side found no partner', 'unmatched-right': 'of the right side found no partner',
  'null-key': 'had no key to join by', duplicate: 'had been seen before', expired: 'were forgotten when their time was over', 'before-start': 'were older than where the job began', future: 'were too far in the future',
  'ranked-out': 'were not among the first', 'retract-unknown': 'took back a row that was not there', 'no-change': 'changed nothing', blank: 'were empty lines', tombstone: 'only deleted a key', redelivered: 'had come before', refused: 'were refused by the output',
};

/* in = these; the rest of a sum is what an operator has taken up (groups, windows, the other side of a join). */
export function parts(o: Op, finished: boolean): { total: number; list: Part[]; closes: boolean } {
  const total = o.in[0] + o.in[1] + (o.made ?? 0), held = o.held ? o.held[0] + o.held[1] : 0, drops = Object.entries(o.dropped), dropped = drops.reduce((a, [, n]) => a + n, 0), list: Part[] = [];
  const exact = EXACT.has(o.kind);
  if (exact) {
    list.push({ name: o.kind === 'sink' ? 'written' : 'passed on', n: o.out, kind: 'out' });
    const rest = total - o.out - dropped;
    if (rest > 0) list.push({ name: finished ? 'not accounted for' : 'in flight', n: rest, kind: finished ? 'open' : 'flight' });
  } else if (o.matched) {
    list.push({ name: 'matched', n: o.matched[0] + o.matched[1], kind: 'out' });
    const rest = total - o.matched[0] - o.matched[1] - dropped;
    if (rest > 0) list.push({ name: 'waiting for a partner', n: rest, kind: 'kept' });
  } else if (o.held && PASSES.has(o.kind)) {
    list.push({ name: 'passed on', n: Math.min(o.out, total), kind: 'out' }, { name: o.kind === 'local_agg' ? 'combined with others' : 'taken into the result', n: o.used ?? 0, kind: 'kept' }, { name: 'held for event time', n: held, kind: 'flight' });
  } else list.push({ name: JOIN.test(o.kind) ? 'joined' : o.kind.includes('top') ? 'ranked' : 'taken into the result', n: Math.max(0, total - dropped), kind: 'kept' });
  for (const [name, n] of drops) list.push({ name, n, kind: 'drop' });
  return { total, list: list.filter(p => p.n > 0), closes: o.closes };
}

const COLORS = { out: '--c1', kept: '--c2', flight: '--ink-3', open: '--bad', drop: '' };
const DROPS = ['--c4', '--c5', '--c6', '--c7', '--c8'];
const colorOf = (p: Part, i: number) => COLORS[p.kind] || DROPS[i % DROPS.length];

function Flow({ o, finished }: { o: Op; finished: boolean }) {
  const { total, list } = parts(o, finished), W = 800, top = 12, gap = 14, rows = list.map((p, i) => ({ ...p, c: colorOf(p, i), share: total ? p.n / total : 0 }));
  const room = Math.max(90, 44 * rows.length), least = 3, flex = Math.max(1, room - least * rows.length), hs = rows.map(r => least + flex * r.share), high = hs.reduce((a, b) => a + b, 0), pad = Math.max(gap, 36 - Math.min(...hs, 36));
  const H = top * 2 + 10 + high + pad * Math.max(0, rows.length - 1);
  let left = top + (H - 2 * top - 10 - high) / 2, right = top;
  return (
    <svg class="flow" viewBox={`0 0 ${W} ${H}`} role="img" aria-label={`${o.title}: ${count(total)} rows in: ` + rows.map(r => `${count(r.n)} ${r.name}`).join(', ')}>
      <rect class="flow-in" x="150" y={left} width="10" height={high} rx="2" />
      <text x="140" y={H / 2 - 2} text-anchor="end" class="big">{count(total)}</text><text x="140" y={H / 2 + 16} text-anchor="end" class="soft">rows in</text>
      {rows.map((r, i) => {
        const h = hs[i], a = left, b = right;
        left += h, right += h + pad;
        return (
          <g key={r.name}>
            <path d={`M160 ${a}C310 ${a} 290 ${b} 440 ${b}V${b + h}C290 ${b + h} 310 ${a + h} 160 ${a + h}Z`} style={{ fill: `var(${r.c})` }} class={'band ' + r.kind} />
            <rect x="440" y={b} width="10" height={h} rx="2" style={{ fill: `var(${r.c})` }} />
            <text x="460" y={b + h / 2 - 1} class="mid">{count(r.n)}<tspan class="soft">{'  ' + percent(r.share)}</tspan></text><text x="460" y={b + h / 2 + 15} class="soft">{cut(r.name + (REASONS[r.name] ? ': ' + REASONS[r.name] : ''), 46)}</text>
          </g>
        );
      })}
      {!total && <text x="300" y={H / 2 + 5} class="soft">no rows yet</text>}
    </svg>
  );
}

export function LedgerPane({ s }: { s: Status }) {
  const detail = new Map((state.ledger.body?.operators ?? []).map((o: Op) => [o.id, o])), [chosen, setChosen] = useState(''), op = s.operators.find(o => o.id === chosen) ?? s.operators.find(o => Object.keys(o.dropped).length) ?? s.operators.find(o => o.kind === 'source') ?? s.operators[0];
  const open = s.operators.filter(o => !o.closes), reasons = new Map<string, number>();
  for (const o of s.operators) for (const [r, n] of Object.entries(o.dropped)) reasons.set(r, (reasons.get(r) ?? 0) + n);
  const all = [...reasons].sort((a, b) => b[1] - a[1]);
  if (!op) return null;
  return (
    <Pane id="ledger" title="Ledger" shows="Where every row went: rows in = rows passed on + rows kept + rows left out, each with its reason." normal="every line closes, and each reason is one that your SQL asked for, such as a WHERE.">
      {open.length ? <p class="notice bad" role="alert"><Mark kind="bad" /> <b>The sum does not close</b> at {open.map(o => o.title).join(', ')}: rows are missing without a reason. That is a fault of weir; please report it with the script.</p>
        : <p class="notice ok"><Mark kind="ok" /> <b>Every sum closes.</b> {all.length ? <>Left out on the way: {all.map(([r, n], i) => <>{i ? ', ' : ''}<Fig f={`reason/${r}`} v={n} as={count} /> {r}</>)}.</> : 'No row was left out.'}</p>}
      <Card wide>
        <div class="card-tools"><label>Rows of <select value={op.id} onChange={e => setChosen((e.target as HTMLSelectElement).value)}>{s.operators.map(o => <option key={o.id} value={o.id}>{cut(o.title, 60)}</option>)}</select></label>
          <span class="closes" data-f={`ledger/${op.id}/closes`} data-v={String(op.closes)}>{op.closes ? <Mark kind="ok" word="closes" /> : <Mark kind="bad" word="does not close" />}</span></div>
        <div class="scroll" tabIndex={0} role="region" aria-label="Flow of rows"><Flow o={op} finished={s.finished} /></div>
        {op.open && <p class="notice bad"><Mark kind="bad" /> {op.open}</p>}
        <Unmatched o={{ ...op, ...(detail.get(op.id) ?? {}) } as Op} />
      </Card>
      <h3>Every operator</h3>
      <Table caption="Ledger of every operator" rows={s.operators} id={o => o.id} row={o => ({ class: o.closes ? '' : 'bad-row' })} columns={[
        { name: 'Operator', cell: o => <button class="link" aria-pressed={o.id === op.id} onClick={() => setChosen(o.id)}>{o.title}</button> },
        { name: 'In', num: true, cell: o => <Fig f={`ledger/${o.id}/in`} v={o.in[0] + o.in[1]} as={count} />, key: o => o.in[0] + o.in[1] },
        { name: 'Out', num: true, cell: o => <Fig f={`ledger/${o.id}/out`} v={o.out} as={count} />, key: o => o.out },
        { name: 'Became', cell: o => <Stack o={o} finished={s.finished} /> },
        { name: 'Left out', cell: o => Object.entries(o.dropped).length ? <span class="reasons">{Object.entries(o.dropped).map(([r, n]) => <span key={r}><Fig f={`ledger/${o.id}/dropped/${r}`} v={n} as={count} /> {r}</span>)}</span> : '\u2013' },
        { name: 'Closes', cell: o => o.closes ? <Mark kind="ok" word="yes" /> : <Mark kind="bad" word="no" /> },
      ]} />
      <p class="soft">{plural(s.operators.length, 'operator')}; {count(s.rows_in)} rows read, {count(s.rows_out)} rows written. The sums are part of every checkpoint, so they are right after a crash too.</p>
    </Pane>
  );
}

/* Of a join: why rows found no partner, and how much wider it would have to be. */
function Unmatched({ o }: { o: Op }) {
  const sides = (o.unmatched ?? []).map((m: Misses, i) => ({ m, side: i ? 'right' : 'left', n: Object.values(m.why).reduce((a, b) => a + b, 0) })).filter(x => x.n > 0);
  return (
    <>
      {sides.map(({ m, side, n }) => <p key={side} class="soft">{count(n)} of the {side} side found no partner: {Object.entries(m.why).map(([w, k]) => `${count(k)} ${w.replace(/-/g, ' ')}`).join(', ')}.{m.upper_more_us > 0 && ` An upper bound wider by ${span(m.upper_more_us)} would have kept 99.9 % of them.`}{m.lower_more_us > 0 && ` A lower bound wider by ${span(m.lower_more_us)} would have kept 99.9 %.`}</p>)}
      {o.late && o.late.behind.rows > 0 && <p class="soft">{count(o.late.behind.rows)} came behind the watermark, by {span(o.late.behind.most_us)} at most; a delay longer by {span(o.late.delay_more_us)} would have kept 99.9 % of all rows.</p>}
    </>
  );
}

function Stack({ o, finished }: { o: Op; finished: boolean }) {
  const { total, list } = parts(o, finished);
  return <span class="stack" role="img" aria-label={list.map(p => `${p.name} ${count(p.n)}`).join(', ') || 'no rows'}>{list.map((p, i) => <span key={p.name} title={`${p.name}: ${count(p.n)}`} style={{ flexGrow: total ? p.n / total : 0, background: `var(${colorOf(p, i)})` }} />)}</span>;
}
