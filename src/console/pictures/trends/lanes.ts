/** Lanes of what happened above charts of one axis of time: bars and marks with their words where there is room. */
import type { Instant } from '../../../domain/values/time.ts';
import { type Html, html } from '../../frame/html.ts';
import { round } from '../scale.ts';

/** A thing that happened. */
export interface Happened {
  readonly from: Instant;
  /** The same as `from`: a moment. */
  readonly to: Instant;
  readonly kind: 'critical' | 'warning' | 'silence' | 'mark';
  /** A few words beside it, where there is room. */
  readonly words: string;
  /** All of it. */
  readonly title: string;
  readonly href: string | null;
}

export interface StackLane {
  readonly name: string;
  readonly all: readonly Happened[];
  /** One in place of several that would stand on the same pixels. Without it, all are drawn. */
  readonly together?: (some: readonly [Happened, ...Happened[]]) => Happened;
}

/** The plot of a picture: where its moments are from left to right. */
export interface Plot {
  readonly left: number;
  readonly right: number;
  readonly isNarrow: boolean;
  readonly x: (at: Instant) => number;
}

/** Width of a letter, at most. */
const LETTER = 6.6;
const ROW = 21;
/** Rows that the words of a lane's marks may take. */
const MOST_ROWS = 3;

type Span = readonly [from: number, to: number];

/** Draws the lanes one below the other; `under`: what goes behind all charts down to `bottom`. */
export function drawLanes(
  given: readonly StackLane[],
  plot: Plot,
  top: number,
): { body: Html; height: number; under: (bottom: number) => Html } {
  const lanes = given.map(({ name, all, together }) => ({ name, all: together ? apart(all, plot, together) : all }));
  const { left, right, isNarrow } = plot;
  let y = top;
  const parts = lanes.map(({ name, all }) => {
    const labelAt = isNarrow ? y + 10 : y + 11;
    if (isNarrow) y += 15;
    const { body, rows } = drawLane(all, plot, y);
    const lines = Array.from(
      { length: rows },
      (_, row) => html`<path class="c-grid" d="M${left} ${y + row * ROW + 17}H${right}"/>`,
    );
    y += rows * ROW;
    return html`<text class="lab" x="0" y="${labelAt}">${name}</text>${lines}${body}`;
  });
  const under = (bottom: number): Html =>
    html`${lanes.flatMap(({ all }) => all.map((each) => wash(each, plot, { top, bottom })))}`;
  return { body: html`${parts}`, height: y - top, under };
}

/** A finger needs more room than a bar of a few minutes has. */
const FINGER = 4;

/** Things that would stand on the same pixels, or closer than a finger needs, become one. */
function apart(all: readonly Happened[], plot: Plot, together: NonNullable<StackLane['together']>): Happened[] {
  const groups: [Happened, ...Happened[]][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const each of all.toSorted((a, b) => a.from - b.from)) {
    const [begin, to] = ends(each, plot);
    if (begin < end + FINGER) groups.at(-1)!.push(each);
    else groups.push([each]);
    end = Math.max(end, to);
  }
  return groups.map((group) => (group.length === 1 ? group[0] : together(group)));
}

const ends = ({ from, to }: Happened, { x }: Plot): Span => [x(from), Math.max(x(to), x(from) + 5)];

/** Puts words right or left of their bar, where neither another bar nor other words are; of marks also in a row below. */
function drawLane(all: readonly Happened[], plot: Plot, y: number): { body: Html; rows: number } {
  const spans = all.map((each) => ends(each, plot));
  const isOfMarks = all.some(({ kind }) => kind === 'mark');
  const taken: Span[][] = [[...spans]];
  const isFree = (row: number, [from, to]: Span, own: Span): boolean =>
    from >= plot.left && to <= plot.right && (taken[row] ?? []).every((each) => each === own || to < each[0] || from > each[1]);
  const words = all.map((each, at) => {
    const span = spans[at]!;
    const width = each.words.length * LETTER;
    if (plot.isNarrow || each.words === '') return null;
    for (let row = 0; row < (isOfMarks ? MOST_ROWS : 1); row++)
      for (const [from, to, anchor] of [
        [span[1] + 4, span[1] + 4 + width, 'start'],
        [span[0] - 4 - width, span[0] - 4, 'end'],
      ] as const) {
        if (!isFree(row, [from - 3, to + 3], span)) continue;
        taken[row] = [...(taken[row] ?? []), [from - 3, to + 3]];
        return { row, x: anchor === 'start' ? from : to, anchor };
      }
    return null;
  });
  const body = all.map((each, at) => {
    const place = words[at] ?? null;
    const row = place?.row ?? 0;
    const text =
      place !== null &&
      html`<text class="strong t-halo" x="${round(place.x)}" y="${y + row * ROW + 12}" text-anchor="${place.anchor}">${each.words}</text>`;
    return html`${shape(each, spans[at]!, y + row * ROW)}${text}`;
  });
  return { body: html`${body}`, rows: taken.length };
}

function shape({ kind, title, href }: Happened, [from, to]: Span, y: number): Html {
  const about = html`<title>${title}</title>`;
  if (kind === 'mark')
    return html`<g>${about}<path class="l-mark" d="M${round(from)} ${y + 2}v12"/><circle class="c-fill" cx="${round(from)}" cy="${y + 8}" r="3"/></g>`;
  const bar = html`<rect class="${kind === 'silence' ? 'l-sil' : `l-inc ${kind}`}" x="${round(from)}" y="${y + 2}" width="${round(to - from)}" height="12" rx="2"/>`;
  const hit = html`<rect class="hit" x="${round(from - FINGER)}" y="${y}" width="${round(to - from + 2 * FINGER)}" height="16"/>`;
  return href === null ? html`<g>${about}${bar}</g>` : html`<a href="${href}">${about}${bar}${hit}</a>`;
}

/** An incident stands as a wash behind all charts, a mark as a line through them. */
function wash(each: Happened, plot: Plot, { top, bottom }: { top: number; bottom: number }): Html | false {
  const [from, to] = ends(each, plot);
  if (each.kind === 'mark') return html`<path class="l-stem" d="M${round(from)} ${top + 14}V${bottom}"/>`;
  return (
    each.kind !== 'silence' &&
    html`<rect class="l-wash ${each.kind}" x="${round(from)}" y="${top}" width="${round(to - from)}" height="${bottom - top}"/>`
  );
}
