/* What the job tells (GET /api/...), polled once a second, and what of it is kept over time.
 *
 * Parts that a build of weir may lack answer 404: then `absent` is set and the pane says so.
 * History: samples are thinned by halves when there are too many, so that a page left open for a week stays small. */

export interface Input { operator: string; exchange: string }
export interface Op {
  id: string; kind: string; title: string; table?: string;
  in: [number, number]; out: number; matched?: [number, number]; dropped: Record<string, number>; closes: boolean;
  state_bytes: number; state_peak_bytes: number; keys: number; rows: number; refused?: Record<string, number>;
  inputs: Input[]; watermark_us: number | null; account_bytes: number; bound: string;
  predicted_bytes: number | null; predicted_steady_bytes: number | null;
  in_per_s?: number; out_per_s?: number; state_bytes_per_s?: number;
  busy?: number; load?: number; chained?: boolean; time?: Record<string, number>; queued_bytes?: number; queue_fill?: number; lag_us?: number; watermark_held_by?: { table: string; operator: string; partition: string };
  held?: [number, number]; used?: number; made?: number; in_flight?: number; open?: string; unmatched?: Misses[]; late?: { behind: Spans; delay_more_us: number };
}
/* Rows by how far they were off, as the ledger counts them. */
export interface Spans { rows: number; least_us: number; most_us: number; up_to_us: [number, number][] }
export interface Misses { why: Record<string, number>; beyond_upper: Spans; beyond_lower: Spans; upper_more_us: number; lower_more_us: number }
export interface LateBucket { up_to_us: number | null; rows: number }
export interface Source {
  table: string; operator: string; unit: string; read: number; read_per_s: number; lag: number; event_time_lag_us: number; what: string;
  total: number; partitions: number; partitions_done: number; ended: boolean; waiting: boolean;
  watermark_us: number | null; first_us: number | null; last_us: number | null; held_by: string;
  disorder?: LateBucket[];
}
export interface Checkpoint {
  epoch: number; at_us: number; waiting_us: number; snapshotting_us: number; writing_us: number; uploading_us: number; committing_us: number; total_us: number;
  aligned: boolean; overtaken_tasks: number; in_flight_rows: number; in_flight_bytes: number; new_bytes: number; total_bytes: number; changed_bytes: number; merged_bytes: number;
  new_files: number; total_files: number; uploaded_bytes: number; failed_attempts: number; last_task: string; longest_task: string;
}
export interface HotKey { key: string; operator: string; port: number; share: number; fair_share: number; busiest_share: number; combined: boolean; parts: number; split: string | null }
export interface Exchange { operator: string; port: number; rows: number; busiest: number; mean: number }
export interface Status {
  job: string; workers: number; running_us: number; rows_in: number; rows_out: number; finished: boolean;
  memory_bytes: number; memory_peak_bytes: number; memory_limit_bytes: number; queue_bytes: number;
  operators: Op[]; sources: Source[];
  budget: { limit_bytes: number; process_bytes: number; rss_bytes: number; level: string; throttled_us: number; grows?: { operator: string; title: string; bytes_per_hour: number }; reached_in_us?: number | null };
  checkpoint_epoch: number; restored_epoch: number; checkpoints_failed: number; checkpoint_error: string; checkpoints: Checkpoint[];
  hot_keys: HotKey[]; exchanges: Exchange[];
}

export type Json = any;
/* One report: what it said last, or why there is none. */
export interface Report<T> { body: T | null; absent: boolean; error: string; at: number }
export const nothing = <T>(): Report<T> => ({ body: null, absent: false, error: '', at: 0 });

export interface Sample { t: number; memory: number; state: number; predicted: number; in: number; out: number; ops: number[] }
export interface State {
  status: Report<Status>; why: Report<Json>; ledger: Report<Json>; slo: Report<Json>; views: Report<Json>; letters: Report<Json>;
  link: 'starting' | 'live' | 'lost' | 'token' | 'ended'; lostSince: number; samples: Sample[]; opIds: string[];
}

const KEEP = 1200, TIMEOUT_MS = 8000;
export const state: State = {
  status: nothing(), why: nothing(), ledger: nothing(), slo: nothing(), views: nothing(), letters: nothing(), link: 'starting', lostSince: 0, samples: [], opIds: [],
};
let changed: () => void = () => {};
export const onChange = (f: () => void) => { changed = f; };
export const touch = () => changed();

/* ---- asking ---- */
export const token = () => sessionStorage.getItem('weir-token') ?? '';
export function setToken(t: string) {
  sessionStorage.setItem('weir-token', t);
  for (const r of [state.why, state.ledger, state.slo, state.views, state.letters]) r.absent = false;
  void poll();
}
export interface Answer { status: number; body: Json; error: string }
export async function ask(path: string, body?: unknown): Promise<Answer> {
  const stop = new AbortController(), timer = setTimeout(() => stop.abort(), TIMEOUT_MS);
  try {
    const headers: Record<string, string> = token() ? { Authorization: 'Bearer ' + token() } : {};
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const r = await fetch(path, { method: body === undefined ? 'GET' : 'POST', headers, body: body === undefined ? undefined : JSON.stringify(body), signal: stop.signal, cache: 'no-store' });
    const text = await r.text();
    let value: Json = null;
    try { value = JSON.parse(text); } catch { /* an error page of something between */ }
    const e = value?.error;
    const words = typeof e === 'string' ? e : e?.message ? `${e.message}${e.hint ? ' \u2013 ' + e.hint : ''}` : value?.message;
    return { status: r.status, body: value, error: r.ok ? '' : words ?? `the server answered ${r.status}` };
  } catch {
    return { status: 0, body: null, error: 'no answer' };
  } finally { clearTimeout(timer); }
}

export async function refresh(name: 'why' | 'ledger' | 'slo' | 'views' | 'letters') {
  const r = state[name], now = Date.now();
  if ((r.absent && now - r.at < 30000) || (name === 'letters' && now - r.at < 3000)) return;
  const a = await ask('api/' + name + (name === 'letters' ? '?limit=100' : ''));
  r.at = now;
  r.absent = a.status === 404;
  if (a.status === 200) r.body = a.body, r.error = '';
  else if (a.status) r.error = a.error;
}

/* ---- over time ---- */
function keep(s: Status) {
  const ids = s.operators.map(o => o.id);
  if (ids.join() !== state.opIds.join()) state.opIds = ids, state.samples = [];
  const ops = s.operators.map(o => o.account_bytes), known = s.operators.filter(o => o.predicted_bytes !== null);
  state.samples.push({
    t: Date.now() / 1000, memory: s.memory_bytes + s.budget.process_bytes, state: ops.reduce((a, b) => a + b, 0), predicted: known.reduce((a, o) => a + o.predicted_bytes!, 0),
    in: s.rows_in, out: s.rows_out, ops,
  });
  if (state.samples.length > KEEP) state.samples = state.samples.filter((_, i) => i % 2 === 0 || i > KEEP - 120);
}

/* What there was before the page was opened. */
async function past() {
  const a = await ask('api/history');
  if (a.status !== 200 || !a.body?.samples || !state.status.body) return;
  const first = state.samples.length ? state.samples[0].t : Infinity, ids: string[] = a.body.operators;
  if (ids.join() !== state.opIds.join()) return;
  const older = a.body.samples.map((x: Json): Sample => ({ t: x.at_us / 1e6, memory: x.memory_bytes, state: x.state_bytes.reduce((p: number, q: number) => p + q, 0), predicted: x.predicted_bytes,
    in: x.rows_in, out: x.rows_out, ops: x.state_bytes }));
  state.samples = older.filter((x: Sample) => x.t < first - 0.5).concat(state.samples);
}

let wanted: () => ('ledger' | 'slo' | 'views' | 'letters')[] = () => [], polling = false, asked = false;
export const want = (f: typeof wanted) => { wanted = f; };
export async function poll() {
  if (polling) return;
  polling = true;
  const a = await ask('api/status');
  if (a.status === 200) {
    state.link = 'live', state.lostSince = 0;
    state.status.body = a.body, state.status.at = Date.now(), state.status.error = '';
    keep(a.body);
    if (!asked) asked = true, await past();
    await Promise.all((['why', ...wanted()] as const).map(refresh));
  } else {
    if (state.link !== 'lost' && a.status !== 401) state.lostSince = Date.now();
    state.link = a.status === 401 || a.status === 403 ? 'token' : a.status === 503 ? 'ended' : 'lost';
    state.status.error = a.error;
  }
  polling = false;
  changed();
}
export function start() {
  const again = () => { void poll().finally(() => setTimeout(again, 1000)); };
  again();
}
