/* The tables that are read: how far, what holds event time back, how far out of order rows come. */
import { type LateBucket, type Source, type Spans, type Status } from '../model';
import { Card, Empty, Fig, Mark, Pane, Table } from '../parts';
import { bytes, count, percent, plural, rate, short, span, when } from '../fmt';

const amount = (s: Source) => (n: number) => s.unit === 'bytes' ? bytes(n) : count(n);
const stateOf = (s: Source) => s.ended ? ['idle', 'at its end'] : s.waiting ? ['ok', 'waiting for new rows'] : s.lag > 0 ? ['ok', 'reading'] : ['ok', 'reading'];

/* The ledger's fine spans in the buckets of the other histogram. */
function regroup(s: Spans, like: LateBucket[]): LateBucket[] {
  const out = like.map(b => ({ up_to_us: b.up_to_us, rows: 0 }));
  for (const [us, n] of s.up_to_us) out.find(b => b.up_to_us === null || us <= b.up_to_us)!.rows += n;
  return out;
}

function Histogram({ buckets, name, label }: { buckets: LateBucket[]; name: string; label: string }) {
  const total = buckets.reduce((a, b) => a + b.rows, 0), most = Math.max(1, ...buckets.map(b => b.rows)), W = 520, H = 168, w = (W - 20) / buckets.length;
  if (!total) return <Empty>{name === 'late_by' ? 'No row came late.' : 'No rows with event time yet.'}</Empty>;
  const scale = (n: number) => n ? Math.max(2, (H - 46) * Math.log1p(n) / Math.log1p(most)) : 0;
  return (
    <>
      <svg class="histogram" viewBox={`0 0 ${W} ${H}`} role="img" aria-label={`${label}: ` + buckets.filter(b => b.rows).map(b => `${b.up_to_us === null ? 'more' : b.up_to_us === 0 ? 'in order' : 'up to ' + span(b.up_to_us)} ${count(b.rows)}`).join(', ')}>
        {buckets.map((b, i) => <g key={i}><rect x={10 + i * w + 1} y={H - 26 - scale(b.rows)} width={Math.max(w - 2, 1)} height={scale(b.rows)} class={name}><title>{count(b.rows)} rows</title></rect>
          {b.rows > 0 && <text x={10 + i * w + w / 2} y={H - 30 - scale(b.rows)} text-anchor="middle" class="tiny">{short(b.rows)}</text>}
          {<text x={10 + i * w + w / 2} y={H - 10} text-anchor="middle" class="tiny soft">{b.up_to_us === 0 ? '0' : b.up_to_us === null ? 'more' : span(b.up_to_us).replace('.0', '').replace('min', 'm').replace(' ', '')}</text>}</g>)}
        <line x1="10" x2={W - 10} y1={H - 26} y2={H - 26} class="base" />
      </svg>
      <details><summary>As a table</summary><Table caption={label} rows={buckets.filter(b => b.rows)} id={b => String(b.up_to_us)} columns={[
        { name: 'By up to', num: true, cell: b => b.up_to_us === null ? 'more' : b.up_to_us === 0 ? 'in order' : span(b.up_to_us) }, { name: 'Rows', num: true, cell: b => count(b.rows) }, { name: 'Share', num: true, cell: b => percent(b.rows / total) }]} /></details>
    </>
  );
}

export function SourcesPane({ s }: { s: Status }) {
  const timed = s.sources.filter(x => x.disorder), holder = s.sources.filter(x => !x.ended && x.watermark_us !== null && x.held_by).sort((a, b) => a.watermark_us! - b.watermark_us!)[0], late = s.operators.reduce((a, o) => a + (o.dropped.late ?? 0), 0);
  return (
    <Pane id="sources" title="Sources and lateness" shows="How far each table has been read, and how far behind the newest row each row came; event time moves on only when the slowest table does." normal="the lag is small or falling, and hardly any rows are late.">
      {holder && s.sources.length > 1 && <p class="notice"><Mark kind="idle" /> Event time of the job is held by <b>{holder.table}</b> ({holder.held_by}) at {when(holder.watermark_us)}.</p>}
      <p class={'notice ' + (late ? 'warn' : 'ok')}><Mark kind={late ? 'warn' : 'ok'} /> <Fig f="late_total" v={late} as={count} /> {late === 1 ? 'row' : 'rows'} came too late and {late === 1 ? 'was' : 'were'} left out by an operator.{late > 0 && ' A longer delay in WATERMARK FOR would keep them, at the price of later results.'}</p>
      <Table caption="Tables that are read" empty="This job reads no tables." rows={s.sources} id={x => x.operator} columns={[
        { name: 'Table', cell: x => <><b>{x.table}</b><small class="block soft">{x.what}{x.partitions > 1 ? `; ${x.partitions_done} of ${x.partitions} partitions done` : ''}</small></> },
        { name: 'Now', cell: x => <Mark kind={stateOf(x)[0]} word={stateOf(x)[1]} /> },
        { name: 'Read', num: true, cell: x => <Fig f={`source/${x.table}/read`} v={x.read} as={amount(x)} />, key: x => x.read },
        { name: 'Per second', num: true, cell: x => x.unit === 'bytes' ? bytes(x.read_per_s) + '/s' : rate(x.read_per_s), key: x => x.read_per_s },
        { name: 'Not read yet', num: true, cell: x => <Fig f={`source/${x.table}/lag`} v={x.lag} as={amount(x)} />, key: x => x.lag },
        { name: 'Event time', num: true, cell: x => <Fig f={`source/${x.table}/watermark_us`} v={x.watermark_us} as={when} />, key: x => x.watermark_us ?? 0 },
        { name: 'Newest row', num: true, cell: x => <Fig f={`source/${x.table}/last_us`} v={x.last_us} as={when} />, key: x => x.last_us ?? 0 },
        { name: 'Behind the clock', num: true, cell: x => x.event_time_lag_us ? span(x.event_time_lag_us) : '\u2013', key: x => x.event_time_lag_us },
        { name: 'Held by', cell: x => x.held_by || '\u2013' },
      ]} />
      <h3>How far out of order rows come</h3>
      <p class="explain">For each row: how much older it is than the newest row before it in its partition (bars are on a logarithmic scale). Choose the delay of the watermark so that nearly all of it is covered.</p>
      {!timed.length ? <Empty>No table of this job has a watermark, or this build does not count lateness.</Empty> : <div class="cards">{timed.map(x => {
        const total = x.disorder!.reduce((a, b) => a + b.rows, 0), ordered = x.disorder!.filter(b => b.up_to_us === 0).reduce((a, b) => a + b.rows, 0), behind = s.operators.find(o => o.id === x.operator)?.late?.behind, late_by = behind && regroup(behind, x.disorder!), lateRows = behind?.rows ?? 0;
        return (
          <Card key={x.operator} title={x.table} note={plural(total, 'row')}>
            <p class="soft"><Fig f={`source/${x.table}/ordered`} v={ordered} as={n => total ? percent(n / total) : '\u2013'} /> in order{behind && <>; <Fig f={`source/${x.table}/late`} v={lateRows} as={count} /> behind the watermark when they came</>}.</p>
            <Histogram buckets={x.disorder!} name="disorder" label={`Rows of ${x.table} by how far out of order they came`} />
            {late_by && lateRows > 0 && <><h4>Late by</h4><Histogram buckets={late_by} name="late_by" label={`Late rows of ${x.table} by how late they were`} /></>}
          </Card>
        );
      })}</div>}
    </Pane>
  );
}
