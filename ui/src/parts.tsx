/* Pieces that all panes share.
 *
 * Fig: a figure with its raw value in data-v and its name in data-f: what is shown can be compared with the JSON reports. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { Report } from './model';

type Value = number | string | boolean | null | undefined;
export function Fig({ f, v, as }: { f: string; v: Value; as?: (v: any) => string }) {
  return <span class="fig" data-f={f} data-v={v === null || v === undefined ? '' : String(v)}>{as ? as(v) : String(v ?? '\u2013')}</span>;
}

/* A pane: what it is called, one sentence on what it shows, one on what is normal. */
export function Pane({ id, title, shows, normal, tools, children }: { id: string; title: string; shows: string; normal: string; tools?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section id={'pane-' + id} class="pane" aria-labelledby={'h-' + id}>
      <div class="pane-head"><h2 id={'h-' + id} tabIndex={-1}>{title}</h2>{tools && <div class="tools">{tools}</div>}</div>
      <p class="explain">{shows} <span class="normal"><b>Normal:</b> {normal}</span></p>
      {children}
    </section>
  );
}
export const Card = ({ title, children, wide, note }: { title?: string; children: ComponentChildren; wide?: boolean; note?: string }) =>
  <div class={'card' + (wide ? ' wide' : '')}>{title && <h3>{title}{note && <small>{note}</small>}</h3>}{children}</div>;

export function Empty({ children }: { children: ComponentChildren }) { return <p class="empty">{children}</p>; }

/* In place of what a report would show, if there is none. */
export function Missing({ of, report, without }: { of: string; report: Report<unknown>; without: string }) {
  if (report.absent) return <Empty>{without}</Empty>;
  if (report.error) return <p class="notice bad" role="alert"><Mark kind="bad" /> {of}: {report.error}</p>;
  return <Empty>Waiting for {of}{'\u2026'}</Empty>;
}

/* Never by colour alone: a sign and a word go with it. */
const SIGNS: Record<string, [string, string]> = { ok: ['\u2713', 'fine'], warn: ['\u25b2', 'look at this'], bad: ['\u2715', 'problem'], idle: ['\u2013', 'nothing to do'] };
export const Mark = ({ kind, word }: { kind: string; word?: string }) => <span class={'mark ' + kind}><span aria-hidden="true">{SIGNS[kind]?.[0]}</span>{word ? ' ' + word : <span class="sr">{SIGNS[kind]?.[1]}: </span>}</span>;

export function Tile({ label, f, v, as, sub, kind }: { label: string; f: string; v: Value; as?: (v: any) => string; sub?: ComponentChildren; kind?: string }) {
  return <div class={'tile ' + (kind ?? '')}><dt>{label}</dt><dd><Fig f={f} v={v} as={as} />{kind && kind !== 'ok' && <> <Mark kind={kind} /></>}{sub && <small>{sub}</small>}</dd></div>;
}

export interface Column<T> { name: string; num?: boolean; cell: (row: T) => ComponentChildren; key?: (row: T) => number | string; hide?: boolean }
/* Scrolls sideways inside itself where the screen is narrow; columns with a key sort. */
export function Table<T>({ caption, columns, rows, id, row, empty }: { caption: string; columns: Column<T>[]; rows: T[]; id: (r: T, i: number) => string; row?: (r: T) => Record<string, any>; empty?: string }) {
  const [sort, setSort] = useState<[number, number]>([-1, 1]);
  const shown = columns.filter(c => !c.hide), key = shown[sort[0]]?.key;
  const list = key ? [...rows].sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * sort[1]; }) : rows;
  if (!rows.length && empty) return <Empty>{empty}</Empty>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Table: ${caption}`}>
      <table><caption class="sr">{caption}</caption>
        <thead><tr>{shown.map((c, i) => (
          <th key={c.name} scope="col" class={c.num ? 'num' : ''} aria-sort={sort[0] === i ? (sort[1] > 0 ? 'ascending' : 'descending') : undefined}>
            {c.key ? <button class="sort" onClick={() => setSort(([at, way]) => at === i ? [i, -way] : [i, c.num ? -1 : 1])}>{c.name}<span aria-hidden="true">{sort[0] === i ? (sort[1] > 0 ? ' \u2191' : ' \u2193') : ''}</span></button> : c.name}
          </th>))}</tr></thead>
        <tbody>{list.map((r, i) => <tr key={id(r, i)} {...(row ? row(r) : {})}>{shown.map((c, k) => k === 0 ? <th scope="row" key={c.name} class={c.num ? 'num' : ''}>{c.cell(r)}</th> : <td key={c.name} class={c.num ? 'num' : ''}>{c.cell(r)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

export const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export function useTheme(): number { /* changes when the colours do: charts are drawn anew */
  const [n, set] = useState(0);
  useEffect(() => {
    const f = () => set(x => x + 1), media = matchMedia('(prefers-color-scheme: dark)');
    media.addEventListener('change', f);
    addEventListener('weir-theme', f);
    return () => { media.removeEventListener('change', f); removeEventListener('weir-theme', f); };
  }, []);
  return n;
}

const BINARY = Array.from({ length: 48 }, (_, i) => 2 ** i);
export interface Line { label: string; color: string; dash?: number[]; fill?: boolean; width?: number }
/* A uPlot in the page's colours and width. `label` is what a screen reader hears; the figures stand in a table beside it. */
export function Chart({ data, lines, height = 240, value, label, bars, xText, binary }: { data: (number | null)[][]; lines: Line[]; height?: number; value: (v: number) => string; label: string; bars?: boolean; xText?: (x: number) => string; binary?: boolean }) {
  const box = useRef<HTMLDivElement>(null), plot = useRef<uPlot | null>(null), theme = useTheme();
  const key = lines.map(l => l.label).join() + (bars ?? '');
  useEffect(() => {
    const el = box.current!;
    const ink = css('--ink-2'), grid = css('--line');
    const axis = (side: number, size: number, values: (u: uPlot, v: number[]) => string[]) => ({ side, stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: '11px system-ui', size, values: values as any });
    plot.current = new uPlot({
      width: Math.max(el.clientWidth, 200), height, tzDate: ts => uPlot.tzDate(new Date(ts * 1e3), 'Etc/UTC'), padding: [8, 12, 0, 0],
      legend: { show: false }, cursor: { y: false, points: { size: 6 } },
      scales: { x: { time: !xText }, y: { range: (_u, _a, b) => [0, (b || 1) * 1.08] } },
      axes: [xText ? axis(2, 28, (_u, v) => v.map(xText)) : axis(2, 28, (_u, v) => v.map(t => clockAt(t, v))), { ...axis(3, 64, (_u, v) => v.map(value)), ...(binary ? { incrs: BINARY } : {}) }],
      series: [{}, ...lines.map(l => ({ label: l.label, stroke: css(l.color) || l.color, width: l.width ?? 2, dash: l.dash, fill: l.fill ? fade(css(l.color) || l.color) : undefined, points: { show: false }, spanGaps: true, paths: bars ? uPlot.paths.bars!({ size: [0.8, 60] }) : undefined }))],
    }, data as any, el);
    const see = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(el.clientWidth, 200), height }));
    see.observe(el);
    return () => { see.disconnect(); plot.current?.destroy(); plot.current = null; };
  }, [key, height, theme]);
  useEffect(() => { plot.current?.setData(data as any); }, [data]);
  return (
    <figure class="chart">
      <div ref={box} role="img" aria-label={label} />
      <figcaption class="keys">{lines.map(l => <span key={l.label}><i class={'key' + (l.dash ? ' dash' : '')} style={{ '--c': `var(${l.color}, ${l.color})` } as any} />{l.label}</span>)}</figcaption>
    </figure>
  );
}
function clockAt(t: number, all: number[]) {
  const d = new Date(t * 1000).toISOString(), wide = all.length > 1 && all[all.length - 1] - all[0] > 86400 * 2;
  return wide ? d.slice(5, 10) : all.length > 1 && all[1] - all[0] < 60 ? d.slice(11, 19) : d.slice(11, 16);
}
function fade(c: string) { return c.startsWith('#') && c.length === 7 ? c + '22' : c; }

/* A share of a whole, as a bar with its text beside it. */
export const Meter = ({ share, kind, label }: { share: number; kind?: string; label: string }) =>
  <span class="meter" role="img" aria-label={label}><span class={kind ?? ''} style={{ width: Math.max(0, Math.min(100, share * 100)) + '%' }} /></span>;
