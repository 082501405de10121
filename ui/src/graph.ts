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

export function layout(s: Status, fold: boolean, open: Set<string>, down: boolean): Graph {
  const of = fold ? runs(s.operators, open) : new Map(s.operators.map(o => [o.id, o.id]));
  const g = new dagre.graphlib.Graph({ multigraph: true });
  g.setGraph({ rankdir: down ? 'TB' : 'LR', nodesep: 26, ranksep: down ? 46 : 62, marginx: 12, marginy: 12 });
  g.setDefaultEdgeLabel(() => ({}));
  const members = new Map<string, Op[]>();
  for (const o of s.operators) { const r = of.get(o.id)!; members.set(r, [...(members.get(r) ?? []), o]); }
  for (const id of members.keys()) g.setNode(id, { width: BOX_W, height: BOX_H });
  const edges: Edge[] = [], byId = new Map(s.operators.map(o => [o.id, o]));
  for (const o of s.operators) o.inputs.forEach((i, port) => {
    const from = of.get(i.operator), to = of.get(o.id)!, sender = byId.get(i.operator);
    if (!from || !sender || from === to) return;
    edges.push({ from, to, exchange: i.exchange, sender, port, receiver: o.id, points: [] });
    g.setEdge(from, to, {}, String(edges.length - 1));
  });
  dagre.layout(g);
  for (const e of g.edges()) edges[Number(e.name)].points = (g.edge(e) as any).points ?? [];
  const nodes = [...members].map(([id, ops]) => { const n = g.node(id) as any; return { id, ops, x: n.x, y: n.y }; });
  const box = g.graph() as any;
  return { nodes, edges, w: box.width || 100, h: box.height || 100, folded: s.operators.length - nodes.length };
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
