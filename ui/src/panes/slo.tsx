/* Promises of the job and how fast their allowance is used up. */
import { state, type Json } from '../model';
import { Empty, Fig, Mark, Meter, Missing, Pane, Table } from '../parts';
import { count, percent, span } from '../fmt';

const text = (x: Json) => (v: number | null) => v === null || v === undefined ? 'not known yet' : x.unit === 'us' ? span(v) : x.unit === 'share' ? (v * 100).toFixed(v > 0.999 && v < 1 ? 3 : 1) + ' %' : count(v);
const ALERTS: Record<string, [string, string]> = { fine: ['ok', 'kept'], breach: ['bad', 'missed now'], ticket: ['warn', 'burns fast'], page: ['bad', 'burns very fast'] };
const burn = (v: number | null) => v === null || v === undefined ? '\u2013' : v.toFixed(2);

export function SloPane() {
  const list: Json[] = state.slo.body?.slos ?? [], missed = list.filter(x => !x.kept && x.value !== null);
  return (
    <Pane id="slo" title="SLOs" shows="What the job promises (how fresh, how fast, how complete) and how fast the allowed misses are used up." normal="every promise is kept and its burn rate is below 1: at 1 the allowance lasts just as long as its period.">
      {!state.slo.body ? <Missing of="SLOs" report={state.slo} without="This build of weir has no SLOs." /> : !list.length ? <Empty>The job promises nothing yet. A line such as <code>'slo.freshness' = '10 s'</code> in a table's WITH makes a promise.</Empty> : <>
        <p class={'notice ' + (missed.length ? 'bad' : 'ok')}><Mark kind={missed.length ? 'bad' : 'ok'} /> {missed.length ? `${missed.length} of ${list.length} promises ${missed.length === 1 ? 'is' : 'are'} missed now.` : 'All promises are kept now.'}</p>
        <Table caption="SLOs" rows={list} id={x => x.table + x.slo} columns={[
          { name: 'Promise', cell: x => <><b>{x.slo}</b> <span class="soft">of {x.table}</span></> },
          { name: 'Now', num: true, cell: x => <Fig f={`slo/${x.table}/${x.slo}/value`} v={x.value} as={text(x)} /> },
          { name: 'Limit', num: true, cell: x => <Fig f={`slo/${x.table}/${x.slo}/limit`} v={x.limit} as={text(x)} /> },
          { name: 'State', cell: x => { const [k, w] = ALERTS[x.alert] ?? ['warn', x.alert]; return x.value === null ? <Mark kind="idle" word="not known yet" /> : <Mark kind={!x.kept ? 'bad' : k} word={!x.kept ? 'missed now' : w} />; } },
          ...['5m', '30m', '1h', '6h'].filter(w => list.some(x => x.burn && w in x.burn)).map(w => ({ name: 'Burn ' + w, num: true, cell: (x: Json) => <Fig f={`slo/${x.table}/${x.slo}/burn/${w}`} v={x.burn[w]} as={burn} /> })),
          { name: 'Allowance left', cell: x => <><Meter share={x.budget_left} kind={x.budget_left < 0.25 ? 'warn' : ''} label={percent(Math.max(0, x.budget_left))} /> <Fig f={`slo/${x.table}/${x.slo}/budget_left`} v={x.budget_left} as={v => v < 0 ? 'overdrawn' : percent(v)} /> <span class="soft">of {span(x.window_us)}</span></> },
        ]} />
      </>}
    </Pane>
  );
}
