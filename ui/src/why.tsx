/* What limits the job, as /api/why tells it: the culprit for the graph, and the card with its evidence. */
import { state, type Json } from './model';
import { Card, Mark } from './parts';
import { percent } from './fmt';

export interface Culprit { operator: string; cls: string; sentence: string }
const WORDS: Record<string, string> = {
  'slow-operator': 'slow step', 'slow-function': 'slow function', 'hot-key': 'hot key', skew: 'uneven workers', 'fan-out': 'fan-out', 'slow-sink': 'slow output', 'slow-lookup': 'slow look-up', memory: 'short of memory', disk: 'slow disk',
  'slow-source': 'slow input', 'future-record': 'a row from the future', 'empty-table': 'empty table', 'idle-partition': 'idle partition', 'late-source': 'late table', 'rate-limit': 'held to a rate', 'no-input': 'no input', nothing: 'nothing', measuring: 'measuring',
};
const words = (c: string) => WORDS[c] ?? c;
const real = (f: Json) => f && f.operator && f.class !== 'nothing' && f.class !== 'measuring' && f.class !== 'no-input';

/* The one that is marked: what limits the throughput, or what holds event time up. */
export function culprit(why: Json): Culprit | null {
  const f = why?.why;
  return real(f) ? { operator: f.operator, cls: words(f.class), sentence: f.sentence } : null;
}

function Finding({ f, label }: { f: Json; label: string }) {
  return (
    <div class="finding">
      <p><b>{label}{words(f.class)}</b>{f.title ? <> at {f.title}</> : ''}{f.key ? <> (key <code>{f.key}</code>)</> : ''}{f.partition ? <> ({f.partition})</> : ''}: {f.sentence}</p>
      {f.evidence?.length > 0 && <ul>{f.evidence.map((e: string) => <li key={e}>{e}</li>)}</ul>}
      {f.change && <p><b>To change:</b> {f.change}</p>}
    </div>
  );
}

export function Limit() {
  const r = state.why, w = r.body as Json;
  if (!w) return null;
  const f = w.why, bad = real(f);
  return (
    <Card title="What limits the job" wide>
      <div data-f="why/class" data-v={f.class}><div data-f="why/operator" data-v={f.operator ?? ''}>
        {bad ? <><Finding f={f} label="" /><p class="soft">Sure to {percent(f.confidence)}, over the last {Math.round(w.span_s)} s; its share of the time is {percent(f.share)}. Sources wait for room {percent(w.sources_blocked)} of the time, for input {percent(w.sources_waiting)}.</p></>
          : <p><Mark kind={f.class === 'nothing' ? 'ok' : 'idle'} /> {f.sentence}</p>}
      </div></div>
      {w.next && <Finding f={w.next} label="Next in line: " />}
      {(w.also ?? []).map((a: Json, i: number) => <Finding key={i} f={a} label="Also: " />)}
    </Card>
  );
}
