/** Scales with round numbers: where an axis ends, and how its numbers are written in the room that they have. */
import { DAY, HOUR, MINUTE, SECOND } from '../../domain/values/time.ts';
import { number } from '../frame/html.ts';

export interface Axis {
  /** The value at the top. */
  readonly top: number;
  /** Values with a line and a number, from 0 on; two or three. */
  readonly ticks: readonly { readonly at: number; readonly word: string }[];
}

/** With one decimal: more is not seen, and only makes the page longer. */
export const round = (value: number): number => Math.round(value * 10) / 10;

const ROUND = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];
/** Lengths of time at which an axis may end; each half has a word without a fraction. */
const LENGTHS = [
  ...[0.1, 0.2, 0.4, 1, 2, 4, 10, 20, 30].map((count) => count * SECOND),
  ...[1, 2, 4, 10, 20, 30].map((count) => count * MINUTE),
  ...[1, 2, 4, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 4, 10, 20, 40, 100].map((count) => count * DAY),
];

/** An axis of whole things that holds all values. */
export function countAxis(most: number): Axis {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  const top = Math.max(1, (ROUND.find((step) => step * power >= most) ?? 10) * power);
  return axisOf(top, shortNumber, (middle) => Number.isInteger(middle));
}

/** An axis of lengths of time in milliseconds that holds all values. */
export function lengthAxis(most: number): Axis {
  const top = LENGTHS.find((length) => length >= most) ?? Math.ceil(most / (100 * DAY)) * 100 * DAY;
  return axisOf(top, shortLength, () => true);
}

function axisOf(top: number, word: (value: number) => string, isShown: (middle: number) => boolean): Axis {
  const values = isShown(top / 2) ? [0, top / 2, top] : [0, top];
  return { top, ticks: values.map((at) => ({ at, word: at === 0 ? '0' : word(at) })) };
}

/** `7 500`, `25 k`, `1.5 M`: at most five signs. */
export function shortNumber(value: number): string {
  if (value < 10_000) return number(value);
  const [size, sign] = value < 1_000_000 ? [1_000, 'k'] : value < 1_000_000_000 ? [1_000_000, 'M'] : [1_000_000_000, 'G'];
  const share = value / size;
  const digits = share < 100 ? Math.round(share * 10) / 10 : Math.round(share);
  return `${number(digits)}\u00a0${sign}`;
}

function shortLength(ms: number): string {
  if (ms < MINUTE) return `${ms / SECOND}\u00a0s`;
  if (ms < HOUR) return `${ms / MINUTE}\u00a0min`;
  return ms < DAY ? `${ms / HOUR}\u00a0h` : `${ms / DAY}\u00a0d`;
}
