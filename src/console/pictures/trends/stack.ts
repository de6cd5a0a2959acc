/** Charts below each other on one axis of time, with lanes of what happened through all of them. */
import type { Instant } from '../../../domain/values/time.ts';
import { type Html, html } from '../../frame/html.ts';
import { round } from '../scale.ts';
import { drawLanes, type Plot, type StackLane } from './lanes.ts';

/** A chart of the stack. */
export interface StackedChart {
  readonly title: string;
  /** Lines below the title: how it is read. */
  readonly says: readonly string[];
  readonly height: number;
  readonly draw: (frame: ChartFrame) => Html;
}

export interface ChartFrame extends Plot {
  readonly top: number;
  readonly bottom: number;
}

export interface Stack {
  readonly from: Instant;
  readonly to: Instant;
  readonly lanes: readonly StackLane[];
  readonly charts: readonly StackedChart[];
  /** Moments with words on the axis, and with a line through all charts. */
  readonly ticks: readonly { readonly at: Instant; readonly word: string }[];
  readonly lines: readonly Instant[];
  /** The picture in a sentence. */
  readonly label: string;
}

/** Room for names at the left, where there is some. */
const GUTTER = 178;
/** A width below which names stand above their chart. */
const NARROW = 500;
const LINE = 14;
/** Width of a letter of the axis, at most. */
const LETTER = 6.6;
const WIDTHS = [
  [976, 'only-wide'],
  [700, 'only-mid'],
  [330, 'only-narrow'],
] as const;

/** In three widths: the page shows the one that fits. */
export function stackPicture(stack: Stack): Html {
  return html`<div class="time has-mid">${WIDTHS.map(([width, name]) => html`<div class="${name}">${drawn(stack, width)}</div>`)}</div>`;
}

function drawn({ from, to, lanes, charts, ticks, lines, label }: Stack, width: number): Html {
  const isNarrow = width < NARROW;
  const [left, right] = [isNarrow ? 0 : GUTTER, width - (isNarrow ? 2 : 10)];
  const x = (at: Instant): number => left + ((Math.min(Math.max(at, from), to) - from) / (to - from)) * (right - left);
  const plot: Plot = { left, right, isNarrow, x };
  const happened = drawLanes(lanes, plot, 6);
  const lanesEnd = 6 + happened.height;
  let y = lanesEnd + 8;
  const parts = charts.map((chart) => {
    const { body, bottom } = placed(chart, plot, y);
    y = bottom + 12;
    return body;
  });
  const bottom = y - 4;
  const days = lines.map((at) => html`<path class="l-day" d="M${round(x(at))} ${lanesEnd}V${bottom}"/>`);
  let end = Number.NEGATIVE_INFINITY;
  const words = ticks.flatMap(({ at, word }) => {
    const half = (word.length * LETTER) / 2;
    const middle = Math.min(Math.max(x(at), left + half), right - half);
    // A word that does not fit beside the one before is left out.
    if (middle - half < end + 8) return [];
    end = middle + half;
    return [html`<text x="${round(middle)}" y="${bottom + 16}" text-anchor="middle">${word}</text>`];
  });
  return html`<svg viewBox="0 0 ${width} ${bottom + 24}" role="group" aria-label="${label}">${happened.under(bottom)}${days}${happened.body}${parts}<path class="c-base" d="M${left} ${bottom}H${right}"/>${words}</svg>`;
}

/** A chart at its place, with its name beside it or above it. */
function placed({ title, says, height, draw }: StackedChart, plot: Plot, y: number): { body: Html; bottom: number } {
  const lines = plot.isNarrow ? wrapped(says.join(' '), plot.right / LETTER) : says;
  const first = plot.isNarrow ? y + 12 : y + 16;
  const head = html`<text class="strong" x="0" y="${first}">${title}</text>${lines.map((line, at) => html`<text x="0" y="${first + 2 + (at + 1) * LINE}">${line}</text>`)}`;
  const top = plot.isNarrow ? first + lines.length * LINE + 20 : y + 8;
  const bottom = top + (plot.isNarrow ? height : Math.max(height, (says.length + 1) * LINE));
  return { body: html`${head}${draw({ ...plot, top, bottom })}`, bottom };
}

/** A text in lines of at most so many letters, as far as its words allow. */
export function wrapped(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
