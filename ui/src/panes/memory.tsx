/* What the job remembers: measured over time, what the bill said, where it goes, when the budget is reached. */
import { useMemo, useState } from 'preact/hooks';
import { state, type Op, type Sample, type Status } from '../model';
import { Card, Chart, Empty, Fig, Mark, Meter, Pane, Table } from '../parts';
import { bytes, count, percent, span, when } from '../fmt';
import { stateKind } from './job';

const BOUNDS: Record<string, string> = { stateless: 'buffers only', keys: 'how many keys there are', time: 'how long rows are kept', input: 'the size of the input', nothing: 'nothing: it grows for ever' };

/* Least squares over the last part of the samples: bytes per second. */
export function slope(xs: { t: number; v: number }[]): number {
  const n = xs.length;
  if (n < 8 || xs[n - 1].t - xs[0].t < 8) return 0;
  const mt = xs.reduce((a, x) => a + x.t, 0) / n, mv = xs.reduce((a, x) => a + x.v, 0) / n;
  const up = xs.reduce((a, x) => a + (x.t - mt) * (x.v - mv), 0), down = xs.reduce((a, x) => a + (x.t - mt) ** 2, 0);
  return down ? up / down : 0;
}

function forecast(samples: Sample[], pick: (s: Sample) => number, limit: number) {
  const recent = samples.slice(-Math.max(60, Math.floor(samples.length / 3))).map(s => ({ t: s.t, v: pick(s) })), per = slope(recent), last = recent[recent.length - 1];
  const reach = last && per > 0 && limit > last.v ? last.t + (limit - last.v) / per : null;
  return { per, last, reach };
}

function Growth({ s, op }: { s: Status; op: Op | null }) {
  const at = op ? state.opIds.indexOf(op.id) : -1, pick = (x: Sample) => at >= 0 ? x.ops[at] ?? 0 : x.memory, limit = s.budget.limit_bytes, samples = state.samples;
  const f = forecast(samples, pick, limit), n = samples.length;
  const data = useMemo(() => {
    if (n < 2) return null;
    const t = samples.map(x => x.t), ahead = Math.max(t[n - 1] - t[0], 30) * 0.4, flat = (x: number) => t.map(() => x);
    const xs = [...t, t[n - 1] + ahead], none = (v: (number | null)[]) => [...v, null];
    const predicted = op ? flat(op.predicted_bytes ?? 0) : samples.map(x => x.predicted);
    const then = [...t.slice(0, -1).map(() => null), f.last.v, Math.max(0, f.last.v + f.per * ahead)];
    return [xs, none(samples.map(pick)), ...(op ? [] : [none(samples.map(x => x.state))]), none(predicted as number[]), then, ...(limit && !op && limit < 6 * Math.max(...samples.map(pick)) ? [xs.map(() => limit)] : [])] as (number | null)[][];
  }, [n && samples[n - 1].t, op?.id]);
  if (!data) return <Empty>The first figures come in a second.</Empty>;
  const lines = [{ label: op ? 'state, measured' : 'memory, measured', color: '--c1', fill: true }, ...(op ? [] : [{ label: 'of that: state of operators', color: '--c2' }]), { label: 'the bill says', color: '--c3', dash: [2, 3] }, { label: 'if it goes on like this', color: '--c1', dash: [6, 4], width: 1.5 },
    ...(data.length > (op ? 4 : 5) ? [{ label: 'budget', color: '--bad', dash: [8, 3], width: 1.5 }] : [])];
  return <Chart data={data} lines={lines} value={bytes} binary height={260} label={`${op ? 'State of ' + op.title : 'Memory of the job'} over time: now ${bytes(f.last.v)}, ${f.per > 1 ? 'growing by ' + bytes(f.per * 3600) + ' an hour' : 'not growing'}`} />;
}

export function MemoryPane({ s }: { s: Status }) {
  const [chosen, setChosen] = useState(''), op = s.operators.find(o => o.id === chosen) ?? null, b = s.budget, total = s.memory_bytes + b.process_bytes, reach = b.reached_in_us ?? null;
  const kept = s.operators.filter(o => o.bound !== 'stateless' || o.account_bytes > 0), predicted = s.operators.reduce((a, o) => a + (o.predicted_bytes ?? 0), 0), measured = s.operators.reduce((a, o) => a + o.account_bytes, 0);
  const kind = s.running_us < 180e6 ? 'idle' : reach !== null && reach < 86400e6 ? 'bad' : 'warn';
  return (
    <Pane id="memory" title="State and memory" shows="What the job has to remember (groups, open windows, rows waiting for a partner), measured, next to what the bill said before the start." normal="it grows at first, then stays flat near the bill's line, and below the budget.">
      {!b.limit_bytes ? <p class="notice"><Mark kind="idle" /> There is no budget for this job.</p>
        : reach !== null && b.grows ? <p class={'notice ' + kind}><Mark kind={kind} /> {kind === 'idle' && 'The job has just begun and still fills its state. '}At the present rate the budget of {bytes(b.limit_bytes)} is reached on <b><Fig f="budget/reached" v={reach} as={v => when(Date.now() * 1000 + v)} /> UTC</b> (in {span(reach)}). It is {b.grows.title} that grows: {bytes(b.grows.bytes_per_hour)} an hour.</p>
          : <p class="notice ok"><Mark kind="ok" /> The budget of {bytes(b.limit_bytes)} is not going to be reached at the present rate; {percent(total / b.limit_bytes)} of it is in use.{b.throttled_us > 0 && ` Sources were held back for ${span(b.throttled_us)} because memory was short.`}</p>}
      <Card title={op ? op.title : 'Whole job'} note={op ? op.id : undefined} wide>
        {op && <button class="close" onClick={() => setChosen('')} aria-label="Back to the whole job">{'\u2715'}</button>}
        <Growth s={s} op={op} />
      </Card>
      <dl class="tiles">
        <div class="tile"><dt>state, measured</dt><dd><Fig f="state_total" v={measured} as={bytes} /></dd></div>
        <div class="tile"><dt>state, the bill says now</dt><dd><Fig f="predicted_total" v={predicted} as={bytes} /></dd></div>
        <div class="tile"><dt>rows in queues</dt><dd><Fig f="queue_bytes" v={s.queue_bytes} as={bytes} /></dd></div>
        <div class="tile"><dt>process (RSS)</dt><dd><Fig f="rss_bytes" v={b.rss_bytes} as={v => v ? bytes(v) : 'not watched'} /></dd></div>
      </dl>
      <h3>By operator</h3>
      <Table caption="State of each operator" empty="No operator of this job keeps anything." rows={[...kept].sort((x, y) => y.account_bytes - x.account_bytes)} id={o => o.id} columns={[
        { name: 'Operator', cell: o => <button class="link" onClick={() => setChosen(o.id)} aria-pressed={chosen === o.id}>{o.title}</button>, key: o => o.title },
        { name: 'State', num: true, cell: o => <Fig f={`state/${o.id}/account_bytes`} v={o.account_bytes} as={bytes} />, key: o => o.account_bytes },
        { name: 'Bill now', num: true, cell: o => <Fig f={`state/${o.id}/predicted`} v={o.predicted_bytes} as={v => v ? bytes(v) : '\u2013'} />, key: o => o.predicted_bytes ?? -1 },
        { name: 'Bill, long run', num: true, cell: o => o.bound === 'nothing' ? 'no end' : <Fig f={`state/${o.id}/steady`} v={o.predicted_steady_bytes} as={v => v ? bytes(v) : '\u2013'} />, key: o => o.predicted_steady_bytes ?? -1 },
        { name: 'Share of the bill', cell: o => o.predicted_steady_bytes ? <><Meter share={o.account_bytes / o.predicted_steady_bytes} kind={stateKind(o)} label={percent(o.account_bytes / o.predicted_steady_bytes)} /> {stateKind(o) === 'warn' && <Mark kind="warn" word="over" />}</> : '\u2013' },
        { name: 'At most', num: true, cell: o => <Fig f={`state/${o.id}/peak`} v={o.state_peak_bytes} as={bytes} />, key: o => o.state_peak_bytes },
        { name: 'Growth/h', num: true, cell: o => Math.abs(o.state_bytes_per_s ?? 0) < 0.5 ? '0' : bytes(o.state_bytes_per_s! * 3600), key: o => o.state_bytes_per_s ?? 0 },
        { name: 'Keys', num: true, cell: o => <Fig f={`state/${o.id}/keys`} v={o.keys} as={count} />, key: o => o.keys },
        { name: 'Bounded by', cell: o => o.bound === 'nothing' ? <Mark kind="bad" word={BOUNDS.nothing} /> : BOUNDS[o.bound] ?? o.bound },
      ]} />
    </Pane>
  );
}
