/* Questions to the materialized views of the running job. */
import { useEffect, useState } from 'preact/hooks';
import { ask, refresh, state, touch, type Json } from '../model';
import { Empty, Fig, Mark, Missing, Pane, Table } from '../parts';
import { count, plural, when } from '../fmt';

export interface Result { columns: { name: string; type: string }[]; rows: Json[][]; truncated?: boolean; ms: number; watermark?: string; error?: string }
/* The answer of POST /api/query, rows as arrays or as objects. */
export async function query(sql: string): Promise<Result> {
  const began = performance.now(), a = await ask('api/query', { sql });
  const ms = performance.now() - began;
  if (a.status === 404) return { columns: [], rows: [], ms, error: 'this build of weir answers no queries' };
  if (a.status !== 200) return { columns: [], rows: [], ms, error: a.error };
  const b = a.body, columns = (b.columns ?? []).map((c: Json) => typeof c === 'string' ? { name: c, type: '' } : { name: c.name, type: c.type ?? '' });
  const rows = (b.rows ?? []).map((r: Json) => Array.isArray(r) ? r : columns.map((c: Json) => r[c.name]));
  return { columns, rows, truncated: !!b.truncated, ms, watermark: b.views?.[0]?.watermark_us ? when(b.views[0].watermark_us) : undefined };
}
export const views = (): { name: string; rows?: number; columns?: Json[]; watermark?: string }[] => state.views.body?.views ?? (Array.isArray(state.views.body) ? state.views.body : []);

export function Rows({ r, caption }: { r: Result; caption: string }) {
  return <Table caption={caption} empty="No rows." rows={r.rows} id={(_, i) => String(i)} columns={r.columns.map((c, i) => ({
    name: c.name, num: r.rows.length > 0 && r.rows.every(x => x[i] === null || typeof x[i] === 'number' || /^-?\d+(\.\d+)?$/.test(String(x[i]))),
    cell: (x: Json[]) => x[i] === null ? <span class="soft">NULL</span> : typeof x[i] === 'object' ? JSON.stringify(x[i]) : String(x[i]),
  }))} />;
}

export function SqlPane() {
  const [text, setText] = useState(sessionStorage.getItem('weir-sql') ?? ''), [r, setR] = useState<Result | null>(null), [busy, setBusy] = useState(false), list = views();
  useEffect(() => { if (!text && list[0]) setText(`SELECT * FROM ${list[0].name} LIMIT 20`); }, [list.length]);
  const run = async (sql: string) => {
    if (!sql.trim() || busy) return;
    sessionStorage.setItem('weir-sql', sql);
    setBusy(true);
    setR(await query(sql));
    setBusy(false);
    void refresh('views').then(touch);
  };
  return (
    <Pane id="sql" title="SQL" shows="Questions to the materialized views of the job while it runs; an answer is one moment of all rows." normal="answers within milliseconds; reading does not slow the job down.">
      <div class="split">
        <div>
          <label for="sql-text">Query</label>
          <textarea id="sql-text" rows={5} spellcheck={false} value={text} onInput={e => setText((e.target as HTMLTextAreaElement).value)} onKeyDown={e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) e.preventDefault(), void run(text); }} />
          <div class="card-tools"><button class="primary" onClick={() => run(text)} disabled={busy}>{busy ? 'Running\u2026' : 'Run'}</button><span class="soft">Ctrl and Enter runs it too</span></div>
        </div>
        <div>
          <h3>Views</h3>
          {list.length ? <ul class="views">{list.map(v => <li key={v.name}><button class="link" onClick={() => { const q = `SELECT * FROM ${v.name} LIMIT 20`; setText(q); void run(q); }}>{v.name}</button>{v.rows !== undefined && <span class="soft"> <Fig f={`view/${v.name}/rows`} v={v.rows} as={n => plural(n, 'row')} /></span>}</li>)}</ul>
            : state.views.body ? <Empty>The job has no materialized view. Write <code>CREATE MATERIALIZED VIEW name AS SELECT ...</code> in its script.</Empty> : <Missing of="views" report={state.views} without="This build of weir has no materialized views." />}
        </div>
      </div>
      <div aria-live="polite">
        {r?.error && <p class="notice bad" role="alert"><Mark kind="bad" /> <span data-f="sql/error">{r.error}</span></p>}
        {r && !r.error && <><p class="soft"><span data-f="sql/rows" data-v={r.rows.length}>{plural(r.rows.length, 'row')}</span> in {count(r.ms)} ms{r.truncated ? '; there are more' : ''}{r.watermark ? `; as of event time ${r.watermark}` : ''}</p><div class="result"><Rows r={r} caption="Result of the query" /></div></>}
      </div>
    </Pane>
  );
}
