/* The job as boxes and lines: who sends to whom, runs of operators folded into one, and where dagre puts them.
 *
 * A layout depends on the plan alone, so it is computed when that changes and not once a second. */
import dagre from '@dagrejs/dagre';
import type { Op, Status } from './model';

export const BOX_W = 204, BOX_H = 104;
export interface Node { id: string; ops: Op[]; x: number; y: number }
export interface Edge { from: string; to: string; exchange: string; sender: Op; port: number; receiver: string; points: { x: number; y: number }[] }
export interface Graph { nodes: Node[]; edges: Edge[]; w: number; h: number; folded: number }

const END = new Set(['source', 'sink', 'values']);
export const isEnd = (o: Op) => END.has(o.kind) || !o.inputs.length;

/* Runs: an operator with one input whose sender has one receiver belongs to its sender's run. */
export function runs(ops: Op[], open: Set<string>): Map<string, string> {
  const receivers = new Map<string, number>(), byId = new Map(ops.map(o => [o.id, o])), of = new Map<string, string>();
  for (const o of ops) for (const i of o.inputs) receivers.set(i.operator, (receivers.get(i.operator) ?? 0) + 1);
  for (const o of ops) { /* plan order: senders come first */
    const sender = o.inputs.length === 1 ? byId.get(o.inputs[0].operator) : undefined;
    const joins = sender && !isEnd(o) && !isEnd(sender) && (receivers.get(o.id) ?? 0) > 0 && receivers.get(sender.id) === 1;
    of.set(o.id, joins ? of.get(sender!.id) ?? sender!.id : o.id);
  }
  const size = new Map<string, number>();
  for (const r of of.values()) size.set(r, (size.get(r) ?? 0) + 1);
  for (const [id, r] of of) if (open.has(r) || (size.get(r) ?? 0) < 2) of.set(id, id);
  return of;
}

/* Parts that have nothing to do with each other are laid out alone and put beside each other, so that forty pipelines fill the page and not a strip of it. */
export function layout(s: Status, fold: boolean, open: Set<string>, down: boolean, aspect: number): Graph {
  const of = fold ? runs(s.operators, open) : new Map(s.operators.map(o => [o.id, o.id]));
  const members = new Map<string, Op[]>(), edges: Edge[] = [], byId = new Map(s.operators.map(o => [o.id, o])), root = new Map<string, string>();
  const find = (id: string): string => { let r = id; while (root.get(r) !== r) r = root.get(r)!; root.set(id, r); return r; };
  for (const o of s.operators) { const r = of.get(o.id)!; members.set(r, [...(members.get(r) ?? []), o]); root.set(r, r); }
  for (const o of s.operators) o.inputs.forEach((i, port) => {
    const from = of.get(i.operator), to = of.get(o.id)!, sender = byId.get(i.operator);
    if (!from || !sender || from === to) return;
    edges.push({ from, to, exchange: i.exchange, sender, port, receiver: o.id, points: [] });
    root.set(find(from), find(to));
  });
  const islands = new Map<string, string[]>();
  for (const id of members.keys()) islands.set(find(id), [...(islands.get(find(id)) ?? []), id]);
  const nodes: Node[] = [], boxes = [...islands.values()].map(ids => island(ids, edges, down)), area = boxes.reduce((a, b) => a + b.w * b.h, 0);
  const row = Math.max(...boxes.map(b => b.w), Math.sqrt(area * aspect)) + 1;
  let x = 0, y = 0, high = 0, w = 0;
  for (const b of boxes) {
    if (x > 0 && x + b.w > row) x = 0, y += high, high = 0;
    for (const n of b.nodes) nodes.push({ id: n.id, ops: members.get(n.id)!, x: n.x + x, y: n.y + y });
    for (const e of b.edges) edges[e.at].points = e.points.map(p => ({ x: p.x + x, y: p.y + y }));
    x += b.w, high = Math.max(high, b.h), w = Math.max(w, x);
  }
  return { nodes, edges, w: w || 100, h: y + high || 100, folded: s.operators.length - nodes.length };
}

function island(ids: string[], edges: Edge[], down: boolean) {
  const g = new dagre.graphlib.Graph({ multigraph: true }), mine = new Set(ids);
  g.setGraph({ rankdir: down ? 'TB' : 'LR', nodesep: 26, ranksep: down ? 46 : 62, marginx: 12, marginy: 12 });
  g.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) g.setNode(id, { width: BOX_W, height: BOX_H });
  edges.forEach((e, i) => { if (mine.has(e.from)) g.setEdge(e.from, e.to, {}, String(i)); });
  dagre.layout(g);
  const box = g.graph() as any;
  return { w: box.width as number, h: box.height as number, nodes: ids.map(id => ({ id, x: (g.node(id) as any).x as number, y: (g.node(id) as any).y as number })), edges: g.edges().map(e => ({ at: Number(e.name), points: ((g.edge(e) as any).points ?? []) as { x: number; y: number }[] })) };
}

export function path(points: { x: number; y: number }[], down: boolean): string {
  if (points.length < 2) return '';
  let d = `M${points[0].x} ${points[0].y}`;
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1], b = points[i];
    d += down ? `C${a.x} ${(a.y + b.y) / 2} ${b.x} ${(a.y + b.y) / 2} ${b.x} ${b.y}` : `C${(a.x + b.x) / 2} ${a.y} ${(a.x + b.x) / 2} ${b.y} ${b.x} ${b.y}`;
  }
  return d;
}
