/* Checkpoints and where their time went. */
import { type Checkpoint, type Status } from '../model';
import { Card, Empty, Fig, Mark, Pane, Table } from '../parts';
import { bytes, clock, count, plural, span } from '../fmt';

export const PARTS: [keyof Checkpoint, string, string][] = [
  ['waiting_us', 'waiting for its turn behind rows', '--c4'], ['snapshotting_us', 'copying state', '--c5'], ['writing_us', 'writing files', '--c1'], ['uploading_us', 'uploading', '--c2'], ['committing_us', 'committing outputs', '--c3'],
];

function Bars({ list }: { list: Checkpoint[] }) {
  const most = Math.max(1, ...list.map(c => c.total_us)), W = 760, rowH = 24, x0 = 70, room = W - x0 - 90;
  return (
    <svg class="bars" viewBox={`0 0 ${W} ${list.length * rowH + 4}`} role="img" aria-label={'Duration of the last checkpoints: ' + list.map(c => `number ${c.epoch} ${span(c.total_us)}`).join(', ')}>
      {list.map((c, i) => {
        let x = x0;
        return (
          <g key={c.epoch} transform={`translate(0 ${i * rowH + 2})`}>
            <text x={x0 - 10} y="15" text-anchor="end" class="soft">{c.epoch}</text>
            {PARTS.map(([k, name, color]) => {
              const w = room * (c[k] as number) / most, at = x;
              x += w;
              return w > 0 && <rect key={k} x={at} y="3" width={Math.max(w - 1, 0.6)} height="16" style={{ fill: `var(${color})` }}><title>{name}: {span(c[k] as number)}</title></rect>;
            })}
            <text x={x + 8} y="15" class="num">{span(c.total_us)}</text>
          </g>
        );
      })}
    </svg>
  );
}

export function CheckpointsPane({ s }: { s: Status }) {
  const list = [...s.checkpoints].reverse(), last = list[0], worst = last && PARTS.reduce((a, p) => (last[p[0]] as number) > (last[a[0]] as number) ? p : a);
  return (
    <Pane id="checkpoints" title="Checkpoints" shows="Every few seconds the job writes down where it stands; after a crash it goes on from the newest one." normal="short bars of much the same length, most of it writing. Long waiting means that rows pile up in front of something slow.">
      {s.checkpoints_failed > 0 && <p class="notice bad" role="alert"><Mark kind="bad" /> {plural(s.checkpoints_failed, 'attempt')} to write one failed. The last: {s.checkpoint_error}</p>}
      {!last ? <Empty>There is no checkpoint yet. A job without <code>--state-dir</code> makes none: after a crash it begins anew.</Empty> : <>
        <p class="notice ok"><Mark kind="ok" /> Checkpoint <Fig f="checkpoint_epoch" v={s.checkpoint_epoch} /> is complete{s.restored_epoch ? `; this run went on from number ${s.restored_epoch}` : ''}. The last one took {span(last.total_us)}, most of it {worst[1]}{last.last_task && worst[0] === 'waiting_us' ? ` (${last.last_task})` : ''}.</p>
        <Card title="Where the time went" wide>
          <div class="scroll" tabIndex={0} role="region" aria-label="Checkpoint durations"><Bars list={list} /></div>
          <p class="keys">{PARTS.map(([k, name, color]) => <span key={k}><i class="key" style={{ '--c': `var(${color})` } as any} />{name}</span>)}</p>
        </Card>
        <Table caption="The last checkpoints with their parts" rows={list} id={c => String(c.epoch)} columns={[
          { name: 'Number', num: true, cell: c => c.epoch },
          { name: 'At (UTC)', cell: c => clock(c.at_us / 1000) },
          { name: 'Total', num: true, cell: c => <Fig f={`checkpoint/${c.epoch}/total_us`} v={c.total_us} as={span} />, key: c => c.total_us },
          ...PARTS.map(([k, name]) => ({ name: name.split(' ')[0][0].toUpperCase() + name.split(' ')[0].slice(1), num: true, cell: (c: Checkpoint) => <Fig f={`checkpoint/${c.epoch}/${k}`} v={c[k] as number} as={span} />, key: (c: Checkpoint) => c[k] as number })),
          { name: 'Written', num: true, cell: c => <Fig f={`checkpoint/${c.epoch}/new_bytes`} v={c.new_bytes} as={bytes} />, key: c => c.new_bytes },
          { name: 'Whole', num: true, cell: c => bytes(c.total_bytes), key: c => c.total_bytes },
          { name: 'Kind', cell: c => c.aligned ? 'aligned' : `overtook ${count(c.in_flight_rows)} rows` },
        ]} />
      </>}
    </Pane>
  );
}
