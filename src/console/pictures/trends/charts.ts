/** The charts of Trends: customers, share paid, time waiting. */
import { HOUR, type Instant, MINUTE, type Milliseconds, SECOND } from '../../../domain/values/time.ts';
import { type Html, html, tied, trusted } from '../../frame/html.ts';
import { length } from '../../parts/time.ts';
import { countAxis, round } from '../scale.ts';
import type { ChartFrame, StackedChart } from './stack.ts';

interface Piece {
  readonly from: Instant;
  readonly to: Instant;
  /** The piece in words. */
  readonly says: string;
}
export interface CountPiece extends Piece {
  readonly customers: number;
  readonly paid: number;
  /** Null: it was not counted. */
  readonly before: number | null;
}
export interface SharePiece extends Piece {
  /** Null: too few customers. */
  readonly share: number | null;
  readonly before: number | null;
  readonly href: string | null;
}
export interface WaitPiece extends Piece {
  /** Null: too few customers. */
  readonly medianMs: Milliseconds | null;
  readonly p95Ms: Milliseconds | null;
}

/** So many pieces have their numbers written beside them. */
const MOST_WRITTEN = 8;

/** Titles of the pieces, written once for all widths of a picture. Shapes are joined as text: a template for each of a thousand takes long. */
const titlesOf = (pieces: readonly Piece[]): string[] => pieces.map(({ says }) => String(html`<title>${says}</title>`));

type Tick = readonly [at: number, word: string];

/** Grid lines behind a chart. */
const grid = (ticks: readonly Tick[], { left, right }: ChartFrame, y: (value: number) => number): Html =>
  html`${ticks.map(([at]) => html`<path class="c-grid" d="M${left} ${round(y(at))}H${right}"/>`)}`;

/** Words of grid lines, at the right end of the gutter, or above the line where there is none. */
const gridWords = (ticks: readonly Tick[], { left, isNarrow }: ChartFrame, y: (value: number) => number): Html =>
  html`${ticks.map(([at, word]) => html`<text class="ax t-halo" x="${isNarrow ? 0 : left - 6}" y="${round(y(at) + (isNarrow ? -3 : 4))}" text-anchor="${isNarrow ? 'start' : 'end'}">${word}</text>`)}`;

/** Customers of each piece, paid and not; the time before dashed. */
export function countChart(pieces: readonly CountPiece[], says: readonly string[]): StackedChart {
  const axis = countAxis(Math.max(...pieces.map(({ customers, before }) => Math.max(customers, before ?? 0)), 1));
  const ticks = axis.ticks.filter(({ at }) => at !== 0).map(({ at, word }): Tick => [at, word]);
  const titles = titlesOf(pieces);
  const draw = (frame: ChartFrame): Html => {
    const { x, top, bottom } = frame;
    const y = (value: number): number => bottom - (value / axis.top) * (bottom - top);
    const bar = ({ from, to, customers, paid }: CountPiece, at: number): string => {
      const wide = x(to) - x(from);
      const width = round(Math.max(wide - (wide > 4 ? 1 : 0.3), 0.6));
      const rect = (kind: string, high: number, low: number): string =>
        `<rect class="${kind}" x="${round(x(from))}" y="${round(y(high))}" width="${width}" height="${round(y(low) - y(high))}"/>`;
      return `<g>${titles[at]}${rect('f-paid', paid, 0)}${rect('f-lost', customers, paid)}</g>`;
    };
    const line = pieces.flatMap(({ from, to, before }, at) => {
      if (before === null) return [];
      const isFirst = (pieces[at - 1]?.before ?? null) === null;
      return `${isFirst ? 'M' : 'L'}${round((x(from) + x(to)) / 2)} ${round(y(before))}`;
    });
    return html`${grid(ticks, frame, y)}${trusted(pieces.map(bar).join(''))}<path class="c-usual thin" d="${line.join('')}"/>${gridWords(ticks, frame, y)}`;
  };
  return { title: 'Customers', says, height: 74, draw };
}

/** The share of each piece as steps, on a scale from 70 to 90 %, or as far as the data go; the time before dashed. */
export function shareChart(pieces: readonly SharePiece[], says: readonly string[]): StackedChart {
  const shares = pieces.flatMap(({ share, before }) => [share, before].filter((each) => each !== null));
  const low = Math.min(0.7, Math.floor(Math.min(...shares, 1) * 10) / 10);
  const high = Math.max(0.9, Math.ceil(Math.max(...shares, 0) * 10) / 10);
  const ticks = [high, (high + low) / 2, low].map((at): Tick => [at, tied(`${Math.round(at * 100)} %`)]);
  const titles = titlesOf(pieces);
  const draw = (frame: ChartFrame): Html => {
    const { x, top, bottom, isNarrow } = frame;
    const y = (value: number): number => bottom - ((value - low) / (high - low)) * (bottom - top);
    const path = (of: (piece: SharePiece) => number | null): string =>
      pieces
        .map((piece, at) => {
          const value = of(piece);
          if (value === null) return '';
          const isOn = at > 0 && of(pieces[at - 1]!) !== null;
          return `${isOn ? 'L' : 'M'}${round(x(piece.from))} ${round(y(value))}L${round(x(piece.to))} ${round(y(value))}`;
        })
        .join('');
    const written = ({ from, to, share, href }: SharePiece): Html | false => {
      if (share === null || isNarrow || pieces.length > MOST_WRITTEN) return false;
      const below = y(share) + 15;
      const text = html`<text class="strong t-halo${href === null ? '' : ' lk'}" x="${round((x(from) + x(to)) / 2)}" y="${round(below > bottom - 3 ? y(share) - 5 : below)}" text-anchor="middle">${(share * 100).toFixed(1)}</text>`;
      return href === null ? text : html`<a href="${href}">${text}</a>`;
    };
    const hover = ({ from, to }: SharePiece, at: number): string =>
      `<rect class="hit" x="${round(x(from))}" y="${top}" width="${round(x(to) - x(from))}" height="${bottom - top}">${titles[at]}</rect>`;
    return html`${grid(ticks, frame, y)}<path class="c-usual thin" d="${path(({ before }) => before)}"/><path class="s-line" d="${path(({ share }) => share)}"/>${gridWords(ticks, frame, y)}${trusted(pieces.map(hover).join(''))}${pieces.map(written)}`;
  };
  return { title: 'Share paid', says, height: 66, draw };
}

const LENGTHS = [1, 10, 60, 600, 3_600, 36_000, 360_000].map((seconds) => seconds * SECOND);
const TICK_WORDS = (ms: Milliseconds): string =>
  tied(ms < MINUTE ? `${ms / SECOND} s` : ms < HOUR ? `${ms / MINUTE} min` : `${ms / HOUR} h`);

/** From the median to the 95th percentile of each piece, logarithmic; the limit dashed, and plum where customers were beyond it. */
export function waitChart(pieces: readonly WaitPiece[], limit: Milliseconds, says: readonly string[]): StackedChart {
  const medians = pieces.flatMap(({ medianMs }) => (medianMs === null ? [] : [medianMs]));
  const slow = pieces.flatMap(({ p95Ms }) => (p95Ms === null ? [] : [p95Ms]));
  // Room below the least and above the most for their words.
  const [low, high] = [Math.min(...medians, limit / 4) / 3, Math.max(...slow, limit) * 2.2];
  const ticks = LENGTHS.filter((each) => each > low * 1.3 && each < high).map((each): Tick => [each, TICK_WORDS(each)]);
  const titles = titlesOf(pieces);
  const draw = (frame: ChartFrame): Html => {
    const { x, top, bottom, left, right, isNarrow } = frame;
    const y = (value: number): number => bottom - (Math.log(value / low) / Math.log(high / low)) * (bottom - top);
    const band = ({ from, to, medianMs, p95Ms }: WaitPiece, place: number): string => {
      const [start, end] = [x(from) + 1, Math.max(x(to) - 1, x(from) + 1.5)];
      if (medianMs === null || p95Ms === null) {
        const words = isNarrow ? 'few' : 'too few to say';
        if (end - start <= words.length * 6) return '';
        return `<text class="ax t-halo" x="${round((start + end) / 2)}" y="${bottom - 8}" text-anchor="middle">${words}</text>`;
      }
      const line = (kind: string, at: number): string =>
        `<path class="${kind}" d="M${round(start)} ${round(y(at))}H${round(end)}"/>`;
      const rect = `<rect class="w-band${p95Ms > limit ? ' over' : ''}" x="${round(start)}" y="${round(y(p95Ms))}" width="${round(end - start)}" height="${round(Math.max(y(medianMs) - y(p95Ms), 1))}"/>`;
      return `<g>${titles[place]}${rect}${line('w-mid', medianMs)}${line('w-top', p95Ms)}</g>`;
    };
    const written = ({ from, to, medianMs, p95Ms }: WaitPiece): Html | false => {
      if (medianMs === null || p95Ms === null || isNarrow || pieces.length > MOST_WRITTEN) return false;
      const text = (at: number, dy: number): Html =>
        html`<text class="t-halo" x="${round((x(from) + x(to)) / 2)}" y="${round(y(at) + dy)}" text-anchor="middle">${length(at)}</text>`;
      return html`${text(medianMs, 13)}${text(p95Ms, -4)}`;
    };
    return html`${grid(ticks, frame, y)}${trusted(pieces.map(band).join(''))}<path class="lim" d="M${left} ${round(y(limit))}H${right}"/>${gridWords(ticks, frame, y)}${pieces.map(written)}`;
  };
  return { title: 'Time waiting', says, height: 108, draw };
}
