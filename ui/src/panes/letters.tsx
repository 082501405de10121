/* Dead letters: records that were put aside, with their bytes, and back into the job. */
import { useState } from 'preact/hooks';
import { ask, refresh, state, touch, type Json, type Status } from '../model';
import { Card, Empty, Fig, Mark, Missing, Pane, Table } from '../parts';
import { count, plural } from '../fmt';

interface Letter { id: string; origin: string; table_name: string; partition_name?: string; record_offset?: number; record_line?: number; code?: string; reason?: string; raw?: string; raw_base64?: string; record_key?: string; refused_at?: string }

function hex(base64: string): string {
  const b = atob(base64).slice(0, 512);
  let out = '';
  for (let i = 0; i < b.length; i += 16) {
    const row = [...b.slice(i, i + 16)].map(c => c.charCodeAt(0));
    out += i.toString(16).padStart(4, '0') + '  ' + row.map(c => c.toString(16).padStart(2, '0')).join(' ').padEnd(48) + ' ' + row.map(c => c > 31 && c < 127 ? String.fromCharCode(c) : '.').join('') + '\n';
  }
  return out;
}

const OUTCOMES: Record<string, [string, string]> = { passed: ['ok', 'went in'], refused: ['bad', 'refused again'], late: ['warn', 'would be late'], 'done-before': ['idle', 'had been put back before'], 'not-possible': ['bad', 'cannot be put back'], waits: ['idle', 'waits'] };

export function LettersPane({ s }: { s: Status }) {
  const report = state.letters, body = report.body as Json, list: Letter[] = body?.letters ?? [];
  const [open, setOpen] = useState(''), [chosen, setChosen] = useState(new Set<string>()), [busy, setBusy] = useState(''), [done, setDone] = useState<Json>(null), [failed, setFailed] = useState('');
  const refused = s.operators.filter(o => o.refused || o.dropped.malformed || o.dropped['dead-letter']), shown = list.find(l => l.id === open);
  const replay = async (ids: string[]) => {
    setBusy('asking'), setDone(null), setFailed('');
    const a = await ask('api/replay', { ids });
    if (a.status !== 202) return setBusy(''), setFailed(a.status === 403 ? 'Only an administrator may put letters back: ' + a.error : a.error);
    for (let i = 0; i < 240; i++) {
      setBusy('the job takes them with its next checkpoint');
      await new Promise(r => setTimeout(r, 500));
      const b = await ask('api/replay?name=' + encodeURIComponent(a.body.name));
      if (b.status === 200 && b.body.done) { setDone(b.body), setBusy(''), setChosen(new Set()); state.letters.at = 0; await refresh('letters'); touch(); return; }
      if (b.status && b.status !== 200) return setBusy(''), setFailed(b.error);
    }
    setBusy(''), setFailed('The job has not answered within two minutes; see whether checkpoints complete. Asking again puts nothing in twice.');
  };
  const pick = (id: string) => { const n = new Set(chosen); if (!n.delete(id)) n.add(id); setChosen(n); };
  return (
    <Pane id="letters" title="Dead letters" shows="Records that could not be read or written, put aside with their exact bytes and the reason; when the cause is mended they can go back into the job, each once." normal="none, or a few that somebody looks at.">
      {refused.length > 0 && <Table caption="Refused records by table" rows={refused} id={o => o.id} columns={[
        { name: 'Table', cell: o => o.table ?? o.title },
        { name: 'Put aside', num: true, cell: o => <Fig f={`letters/${o.table}/put_aside`} v={o.dropped['dead-letter'] ?? 0} as={count} /> },
        { name: 'Skipped', num: true, cell: o => <Fig f={`letters/${o.table}/skipped`} v={o.dropped.malformed ?? 0} as={count} /> },
        { name: 'By code', cell: o => Object.entries(o.refused ?? {}).map(([c, n]) => `${c}: ${count(n)}`).join(', ') || '\u2013' },
      ]} />}
      {busy && <p class="notice" role="status"><Mark kind="idle" /> {busy}{'\u2026'}</p>}
      {failed && <p class="notice bad" role="alert"><Mark kind="bad" /> {failed}</p>}
      {done && <div class="notice" role="status" data-f="replay/outcomes" data-v={JSON.stringify(done.outcomes)}>{Object.entries(done.outcomes as Record<string, number>).map(([k, n]) => <p key={k}><Mark kind={OUTCOMES[k]?.[0] ?? 'idle'} /> {plural(n, 'letter')}: {OUTCOMES[k]?.[1] ?? k}</p>)}
        {(done.letters as Json[]).filter(l => l.why).slice(0, 5).map(l => <p key={l.id} class="soft">{l.id}: {l.why}</p>)}</div>}
      {!body || report.absent ? <Missing of="dead letters" report={report} without="This job's dead letters cannot be listed here; weir replay --list shows them." />
        : !list.length ? <Empty>{body.reason ?? 'There are no dead letters.'}</Empty> : <>
          <div class="card-tools"><button class="primary" disabled={!!busy || !body.can_replay} onClick={() => replay(chosen.size ? [...chosen] : list.map(l => l.id))}>Put back {chosen.size ? plural(chosen.size, 'letter') : list.length < body.total ? `the ${count(list.length)} shown` : 'all'}</button>
            {!body.can_replay && <span class="soft">{body.cannot_replay ?? 'The job keeps no state (--state-dir), so nothing can be put back.'}</span>}
            <span class="soft"><Fig f="letters/total" v={body.total} as={count} /> in all{list.length < body.total ? `, the newest ${count(list.length)} are shown` : ''}</span></div>
          <div class="tall"><Table caption="Records that were put aside" rows={list} id={l => l.id} row={l => ({ 'data-letter': l.id })} columns={[
            { name: 'Choose', cell: l => <input type="checkbox" aria-label={'Choose letter ' + l.id} checked={chosen.has(l.id)} onChange={() => pick(l.id)} /> },
            { name: 'Refused (UTC)', cell: l => (l.refused_at ?? '').slice(0, 19), key: l => l.refused_at ?? '' },
            { name: 'Table', cell: l => l.table_name, key: l => l.table_name },
            { name: 'Code', cell: l => <code>{l.code ?? ''}</code>, key: l => l.code ?? '' },
            { name: 'Reason', cell: l => <button class="link" aria-expanded={open === l.id} onClick={() => setOpen(open === l.id ? '' : l.id)}>{l.reason ?? 'no reason given'}</button> },
          ]} /></div>
          {shown && <Card title="The record" note={shown.id} wide><button class="close" onClick={() => setOpen('')} aria-label="Close the record">{'\u2715'}</button>
            <p>{shown.partition_name ? `${shown.partition_name}, ` : ''}{shown.record_line !== undefined ? `line ${shown.record_line}, ` : ''}{shown.record_offset !== undefined ? `offset ${shown.record_offset}` : ''}</p>
            {shown.record_key && <p>Key: <code>{shown.record_key}</code></p>}
            <pre tabIndex={0} aria-label="Bytes of the record" data-f="letter/raw">{shown.raw ?? (shown.raw_base64 ? hex(shown.raw_base64) : '')}</pre>
            <p class="soft">{shown.raw_base64 ? 'It is not text (UTF-8), so its bytes are shown. ' : ''}To change a record before it goes back: weir replay --list, edit, weir replay --from FILE.</p></Card>}
        </>}
    </Pane>
  );
}
