/** Where the states of the map stand and how the ways between them run. No layout library is needed: the columns are fixed. */
import type { FlowEdge, FlowNode, FlowPicture } from './flow-model.ts';
import { round } from './scale.ts';

/** Left edges and widths of the four columns, in units of the picture, which is 1032 wide. */
const LEFT = [0, 176, 404, 794] as const;
const WIDTH = [118, 156, 252, 208] as const;
/** Ribbons are as wide as their count: the busiest so wide, none narrower than the least. */
const WIDEST = 44;
const THINNEST = 1.5;
const WAITING_HEIGHT = 58;
const GAP = 12;
/** Room for the flag above a stuck state. */
const FLAG_ROOM = 18;
const LANE = 15;
const COUNT_HEIGHT = 13;

export interface PlacedNode extends FlowNode {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/**
 * How a way runs: straight to a later column; in a lane above or below what stands between; in an arc within a column; or back to
 * an earlier column, in a lane above the picture.
 */
type Run = 'near' | 'above' | 'below' | 'arc' | 'back';

export interface PlacedEdge extends FlowEdge {
  readonly a: PlacedNode;
  readonly b: PlacedNode;
  readonly run: Run;
  /** Of the ribbon. */
  readonly w: number;
  /** Of the ribbon as it usually is; 0 where it is not missed. */
  readonly usualW: number;
  /** Heights at which it leaves and arrives. */
  y1: number;
  y2: number;
  /** Height of its lane, if it has one. */
  lane: number;
  /** Which of its kind, from 0, so that thin lines lie beside each other. */
  turn: number;
}

type Sized = FlowEdge & Pick<PlacedEdge, 'run' | 'w' | 'usualW'>;

/** Places a picture's states and ways. */
export function layOut({ nodes, edges }: FlowPicture) {
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const busiest = Math.max(1, ...edges.map((edge) => shownMost(edge)));
  const scale = WIDEST / busiest;
  const sized = edges.map((edge): Sized => {
    const run = runOf(byKey.get(edge.from)!, byKey.get(edge.to)!);
    return { ...edge, run, w: Math.max(THINNEST, edge.count * scale), usualW: edge.isMissed ? edge.usual! * scale : 0 };
  });
  const lanes = (run: Run): number => sized.reduce((sum, edge) => sum + (edge.run === run ? Math.max(LANE, edge.w + 6) : 0), 0);
  const backs = sized.filter(({ run }) => run === 'back').length;
  const top = 8 + backs * LANE + lanes('above');
  const { placed, height } = placeNodes(nodes, sized, { top, bottom: lanes('below') });
  const found = sized.map((edge) => ({
    ...edge,
    a: placed.get(edge.from)!,
    b: placed.get(edge.to)!,
    y1: 0,
    y2: 0,
    lane: 0,
    turn: 0,
  }));
  layLanes(found, { backs, height });
  for (const node of placed.values()) for (const side of ['out', 'in'] as const) setPorts(node, side, found);
  return { nodes: [...placed.values()], edges: found, height };
}

function shownMost({ count, usual, isMissed }: FlowEdge): number {
  return Math.max(count, isMissed ? usual! : 0);
}

function runOf(a: FlowNode, b: FlowNode): Run {
  if (a.column === b.column) return 'arc';
  if (b.column < a.column) return 'back';
  if (b.column - a.column === 1) return 'near';
  return b.isPaid || (b.column === 2 && a.column === 0) ? 'above' : 'below';
}

/** How much of a node's side its ribbons take. */
function sideOf(key: number, side: 'out' | 'in', edges: readonly Sized[]): number {
  const here = edges.filter((edge) => hasPort(edge) && (side === 'out' ? edge.from : edge.to) === key);
  return here.reduce((sum, edge) => sum + slotOf(edge, side), 0);
}

const hasPort = ({ run }: Pick<PlacedEdge, 'run'>): boolean => run !== 'arc' && run !== 'back';
const slotOf = ({ w, usualW }: Pick<PlacedEdge, 'w' | 'usualW'>, side: 'out' | 'in'): number =>
  Math.max(Math.max(w, usualW) + 2, side === 'out' ? COUNT_HEIGHT : 5);

function heightOf(node: FlowNode, edges: readonly Sized[]): number {
  const sides = Math.max(sideOf(node.key, 'out', edges), sideOf(node.key, 'in', edges)) + 8;
  if (node.column === 3) return Math.max(node.name === 'Completed' ? 104 : 42, sides);
  return Math.max(node.column === 2 ? WAITING_HEIGHT : 92, sides);
}

function placeNodes(nodes: readonly FlowNode[], edges: readonly Sized[], room: { top: number; bottom: number }) {
  const heights = new Map(nodes.map((node) => [node.key, heightOf(node, edges)]));
  const column = (index: number): FlowNode[] => nodes.filter((node) => node.column === index);
  const gapsOf = (index: number): number[] =>
    column(index).map(({ flag }, place) => (place === 0 ? 0 : GAP) + (flag === null ? 0 : FLAG_ROOM));
  const heightOfColumn = (index: number): number =>
    [...column(index).map(({ key }) => heights.get(key)!), ...gapsOf(index)].reduce((sum, each) => sum + each, 0);
  const middle = Math.max(...[0, 1, 2, 3].map(heightOfColumn), 120);
  const height = room.top + middle + room.bottom + 14;
  const placed = new Map<number, PlacedNode>();
  for (const index of [0, 1, 2, 3] as const) {
    const here = column(index);
    const free = middle - heightOfColumn(index);
    // Final states are spread over the height; the others stand together in its middle.
    const spread = index === 3 && here.length > 1 ? Math.min(14, free / (here.length - 1)) : 0;
    let y = room.top + (free - spread * Math.max(here.length - 1, 0)) / 2;
    const gaps = gapsOf(index);
    for (const [place, node] of here.entries()) {
      y += gaps[place]! + (place === 0 ? 0 : spread);
      const h = heights.get(node.key)!;
      placed.set(node.key, { ...node, x: LEFT[index], y, w: WIDTH[index], h });
      y += h;
    }
  }
  return { placed, height };
}

/** Lanes of ways back are the topmost, then those of ways above; the last of those below is the lowest. */
function layLanes(edges: readonly PlacedEdge[], { backs, height }: { backs: number; height: number }): void {
  let back = 0;
  let above = 4 + backs * LANE;
  let below = height - 4;
  const arcs = new Map<string, number>();
  for (const edge of edges) {
    if (edge.run === 'back') {
      edge.turn = back;
      back += 1;
      edge.lane = back * LANE - 2;
    } else if (edge.run === 'arc') {
      const column = String(edge.a.column);
      edge.turn = arcs.get(column) ?? 0;
      arcs.set(column, edge.turn + 1);
    } else if (edge.run === 'above') {
      const step = Math.max(LANE, edge.w + 6);
      edge.lane = above + step / 2;
      above += step;
    } else if (edge.run === 'below') {
      const step = Math.max(LANE, edge.w + 6);
      edge.lane = below - step / 2;
      below -= step;
    }
  }
}

/** Ports are sorted by where the other end is, so that neighbours do not cross. */
function setPorts(node: PlacedNode, side: 'out' | 'in', edges: readonly PlacedEdge[]): void {
  const here = edges.filter((edge) => hasPort(edge) && (side === 'out' ? edge.a : edge.b) === node);
  const target = (edge: PlacedEdge): number => {
    if (edge.run !== 'near') return edge.run === 'above' ? edge.lane - 10_000 : 10_000 - edge.lane;
    const other = side === 'out' ? edge.b : edge.a;
    return other.y + other.h / 2;
  };
  here.sort((p, q) => target(p) - target(q));
  const slots = here.map((edge) => slotOf(edge, side));
  let y = node.y + node.h / 2 - slots.reduce((sum, slot) => sum + slot, 0) / 2;
  for (const [place, edge] of here.entries()) {
    const centre = y + slots[place]! / 2;
    if (side === 'out') edge.y1 = centre;
    else edge.y2 = centre;
    y += slots[place]!;
  }
}

function curve(xa: number, ya: number, [xb, yb]: readonly [number, number]): string {
  const half = round(xa + (xb - xa) * 0.5);
  return `C${half} ${round(ya)} ${half} ${round(yb)} ${round(xb)} ${round(yb)}`;
}

/** The line of a way as an SVG path, `shift` lower than its middle. */
export function pathOf(edge: PlacedEdge, shift = 0): string {
  const { a, b, run, turn } = edge;
  const [x1, x2] = [a.x + a.w, b.x];
  const [y1, y2, lane] = [edge.y1 + shift, edge.y2 + shift, edge.lane + shift];
  if (run === 'near') return `M${x1} ${round(y1)}${curve(x1, y1, [x2, y2])}`;
  if (run === 'arc') {
    const { from, to } = arcEnds(edge);
    const out = x1 + 24 + (turn % 4) * 6;
    return `M${x1} ${round(from)}C${out} ${round(from)} ${out} ${round(to)} ${x1 + 6} ${round(to)}`;
  }
  if (run === 'back') {
    const gutter = a.x - 8 - (turn % 4) * 4;
    const down = arrowOf(edge).x + (b.column === 2 ? 8 + (turn % 4) * 4 : 0);
    const rise = `M${a.x} ${round(a.y + 10)}H${gutter}V${round(lane)}H${round(down)}`;
    return b.column === 2 ? `${rise}V${round(b.y + 8)}H${b.x + b.w + 6}` : `${rise}V${round(b.y - 6)}`;
  }
  // Past what stands in the columns between: into the lane before the first of them, out of it behind the last.
  const last = b.column - 1;
  const [into, outOf] = [LEFT[a.column + 1]! - 6, LEFT[last]! + WIDTH[last]! + 6];
  return `M${x1} ${round(y1)}${curve(x1, y1, [into, lane])}H${outOf}${curve(outOf, lane, [x2, y2])}`;
}

function arcEnds({ a, b }: PlacedEdge): { from: number; to: number } {
  return { from: a.y + a.h - 9, to: b.y + Math.min(14, b.h / 3) };
}

/** Where a thin line's arrow head is, and where it points. */
export function arrowOf(edge: PlacedEdge): { x: number; y: number; points: 'left' | 'down' } {
  const { a, b, run, turn } = edge;
  if (run === 'arc') return { x: a.x + a.w, y: arcEnds(edge).to, points: 'left' };
  if (b.column === 2) return { x: b.x + b.w, y: b.y + 8, points: 'left' };
  return { x: b.x + b.w / 2 + (turn % 4) * 8, y: b.y, points: 'down' };
}

/** Where the count of a way would stand if it were the only one. */
export function countPlace(edge: PlacedEdge): { x: number; y: number } {
  const { a, b, run, y1, lane, turn } = edge;
  if (run === 'arc') {
    const { from, to } = arcEnds(edge);
    return { x: a.x + a.w + 24 + (turn % 4) * 5, y: (from + to) / 2 + 4 };
  }
  if (run === 'back') return { x: (a.x + b.x + b.w) / 2, y: lane + 4 };
  return { x: a.x + a.w + 7, y: y1 + 3.8 };
}

/** Room between a column and the next one, for words beside a ribbon. */
export function roomBehind({ a }: PlacedEdge): number {
  return a.column === 3 ? 0 : LEFT[a.column + 1]! - a.x - a.w - 10;
}
