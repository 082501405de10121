/* Promises of the job and how fast their allowance is used up. */
import { state, type Json } from '../model';
import { Card, Empty, Fig, Mark, Meter, Missing, Pane, Table } from '../parts';
import { percent } from '../fmt';

export function SloPane() {
  const list: Json[] = state.slo.body?.slos ?? [];
  return (
    <Pane id="slo" title="SLOs" shows="What the job promises (how fresh, how fast, how complete) and how fast the allowed misses are used up." normal="every promise is kept and its burn rate is below 1: at 1 the allowance lasts just as long as its period.">
      {!state.slo.body ? <Missing of="SLOs" report={state.slo} without="This build of weir has no SLOs." /> : !list.length ? <Empty>The job has no SLO. They are written in the script; see SLOs in the documentation.</Empty> : <Card wide><Table caption="SLOs" rows={list} id={x => x.name} columns={[
        { name: 'Promise', cell: x => <b>{x.name}</b> },
        { name: 'Now', cell: x => <Mark kind={x.ok ? 'ok' : 'bad'} word={x.ok ? 'kept' : 'missed'} /> },
        { name: 'Burn rate', num: true, cell: x => <Fig f={`slo/${x.name}/burn`} v={x.burn_rate} as={v => Number(v).toFixed(2)} /> },
        { name: 'Left', cell: x => <><Meter share={x.budget_left} label={percent(x.budget_left)} /> {percent(x.budget_left)}</> },
      ]} /></Card>}
    </Pane>
  );
}
