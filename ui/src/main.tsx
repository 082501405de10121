/* The dashboard of a running job. Everything that it shows comes from GET /api/...; nothing from another host. */
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { render } from 'preact';
import { useEffect, useReducer, useState } from 'preact/hooks';
import { onChange, setToken, start, state, want } from './model';
import { Mark } from './parts';
import { clock, span } from './fmt';
import { culprit } from './why';
import { JobPane } from './panes/job';
import { MemoryPane } from './panes/memory';
import { LedgerPane } from './panes/ledger';
import { CheckpointsPane } from './panes/checkpoints';
import { SourcesPane } from './panes/sources';
import { LettersPane } from './panes/letters';
import { SloPane } from './panes/slo';
import { SqlPane } from './panes/sql';
import { BusinessPane } from './panes/business';

const PANES: { id: string; name: string; wants?: ('ledger' | 'slo' | 'views' | 'letters')[] }[] = [
  { id: 'job', name: 'Job' }, { id: 'business', name: 'Results', wants: ['views'] }, { id: 'ledger', name: 'Ledger', wants: ['ledger'] }, { id: 'memory', name: 'State' }, { id: 'sources', name: 'Sources' },
  { id: 'checkpoints', name: 'Checkpoints' }, { id: 'letters', name: 'Dead letters', wants: ['letters'] }, { id: 'slo', name: 'SLOs', wants: ['slo'] }, { id: 'sql', name: 'SQL', wants: ['views'] },
];
const paneOf = () => PANES.find(p => '#' + p.id === location.hash) ?? PANES[0];

function applyTheme(t: string) {
  if (t === 'auto') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = t;
  localStorage.setItem('weir-theme', t);
  dispatchEvent(new Event('weir-theme'));
}

function TokenForm() {
  const [t, set] = useState('');
  return (
    <form class="token" onSubmit={e => { e.preventDefault(); setToken(t.trim()); }}>
      <h2>This job asks who you are</h2>
      <p>Give the token that the job was started with. It is kept until this tab is closed and sent only to this server.</p>
      <label for="token">Token</label><input id="token" type="password" autoComplete="off" value={t} onInput={e => set((e.target as HTMLInputElement).value)} required />
      <button class="primary">Open the dashboard</button>
      {state.status.error && <p class="notice bad" role="alert"><Mark kind="bad" /> {state.status.error}</p>}
    </form>
  );
}

function Link() {
  const s = state.status.body;
  if (state.link === 'live') return s?.finished ? <Mark kind="idle" word="finished" /> : <Mark kind="ok" word="live" />;
  if (state.link === 'ended') return <Mark kind="idle" word="no job runs" />;
  if (state.link === 'lost') return <Mark kind="bad" word="connection lost" />;
  return <span class="soft">connecting{'\u2026'}</span>;
}

function App() {
  const [, again] = useReducer((n: number) => n + 1, 0), [pane, setPane] = useState(paneOf()), [theme, setTheme] = useState(localStorage.getItem('weir-theme') ?? 'auto');
  useEffect(() => {
    onChange(() => again(0));
    want(() => paneOf().wants ?? []);
    const go = () => { setPane(paneOf()); again(0); requestAnimationFrame(() => { document.querySelector<HTMLElement>('main h2')?.focus({ preventScroll: true }); scrollTo(0, 0); }); };
    addEventListener('hashchange', go);
    start();
    return () => removeEventListener('hashchange', go);
  }, []);
  useEffect(() => applyTheme(theme), [theme]);
  const s = state.status.body, c = culprit(state.why.body);
  useEffect(() => { document.title = (s?.job ? s.job + ' \u2013 ' : '') + PANES.find(p => p.id === pane.id)!.name + ' \u2013 weir'; }, [s?.job, pane]);
  return (
    <>
      <a class="skip" href="#main" onClick={e => { e.preventDefault(); document.querySelector<HTMLElement>('main h2')?.focus(); }}>Skip to the content</a>
      <header>
        <div class="brand"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M1 5q2-2 4 0t4 0 6 0M1 9q2-2 4 0t4 0 6 0M1 13h14" /></svg><h1>{s?.job || 'weir'}</h1></div>
        <div class="status" role="status"><Link />{state.status.at > 0 && <span class="soft at">{clock(state.status.at)} UTC</span>}</div>
        <label class="theme"><span class="sr">Colours</span><select value={theme} onChange={e => setTheme((e.target as HTMLSelectElement).value)}><option value="auto">system</option><option value="light">light</option><option value="dark">dark</option></select></label>
      </header>
      <nav aria-label="Parts of the dashboard"><ul>{PANES.map(p => <li key={p.id}><a href={'#' + p.id} aria-current={p.id === pane.id ? 'page' : undefined}>{p.name}</a></li>)}</ul></nav>
      <main id="main">
        {state.link === 'lost' && <p class="notice bad" role="alert"><Mark kind="bad" /> <b>The connection is lost</b>{state.lostSince ? ` for ${span((Date.now() - state.lostSince) * 1000)}` : ''}: the job may have ended, or the network. {s ? `The figures below are of ${clock(state.status.at)} UTC.` : ''} Trying again every second.</p>}
        {state.link === 'ended' && <p class="notice" role="status"><Mark kind="idle" /> <b>No job runs here now</b>{s ? `; the figures below are its last ones, of ${clock(state.status.at)} UTC.` : '. It may be starting, or between two steps of its script.'}</p>}
        {state.link === 'token' ? <TokenForm /> : !s ? state.link === 'starting' && <p class="empty">Asking the job{'\u2026'}</p> : <>
          {c && <p class="notice warn headline"><Mark kind="warn" /> {c.sentence} {pane.id !== 'job' && <a href="#job">See it in the job</a>}</p>}
          {pane.id === 'job' && <JobPane s={s} />}
          {pane.id === 'memory' && <MemoryPane s={s} />}
          {pane.id === 'ledger' && <LedgerPane s={s} />}
          {pane.id === 'checkpoints' && <CheckpointsPane s={s} />}
          {pane.id === 'sources' && <SourcesPane s={s} />}
          {pane.id === 'letters' && <LettersPane s={s} />}
          {pane.id === 'slo' && <SloPane />}
          {pane.id === 'sql' && <SqlPane />}
          {pane.id === 'business' && <BusinessPane />}
        </>}
      </main>
      <footer class="soft">Served by the job itself; nothing is loaded from elsewhere. <a href="licenses.txt">Licences</a></footer>
    </>
  );
}
applyTheme(localStorage.getItem('weir-theme') ?? 'auto');
render(<App />, document.getElementById('app')!);
