/** Lengths of time as people write them in settings: a whole number and a unit (`250ms`, `5s`, `10m`, `24h`, `30d`). */
import { DAY, HOUR, type Milliseconds } from './time.ts';

/** Largest first. */
const UNITS = [
  { sign: 'd', length: DAY, spoken: 'd' },
  { sign: 'h', length: HOUR, spoken: 'h' },
  { sign: 'm', length: 60_000, spoken: 'min' },
  { sign: 's', length: 1_000, spoken: 's' },
  { sign: 'ms', length: 1, spoken: 'ms' },
] as const;

/** A duration's length, or null when the text is not one. There are no fractions: 1500ms, not 1.5s. */
export function parseDuration(text: string): Milliseconds | null {
  const [, count, sign] = /^(\d{1,15})(ms|s|m|h|d)$/.exec(text) ?? [];
  const unit = UNITS.find((each) => each.sign === sign);
  if (unit === undefined) return null;
  const length = Number(count) * unit.length;
  return Number.isSafeInteger(length) ? length : null;
}

/** The text that `parseDuration` reads back, in the largest unit that is exact: 600000 is `10m`, 90000 is `90s`. */
export function formatDuration(length: Milliseconds): string {
  const whole = Math.round(length);
  const unit = UNITS.find((each) => whole !== 0 && whole % each.length === 0);
  return unit === undefined ? '0s' : `${whole / unit.length}${unit.sign}`;
}

/** For people: the two largest units that matter, as in `2 min 10 s`, `3 d 4 h`, `250 ms`. */
export function humanDuration(length: Milliseconds): string {
  const sign = length < 0 ? '-' : '';
  // From a second on, milliseconds are noise; beside a day, minutes are.
  const whole = Math.abs(length) < 1_000 ? Math.round(Math.abs(length)) : Math.round(Math.abs(length) / 1_000) * 1_000;
  const largest = UNITS.findIndex((unit) => whole >= unit.length);
  if (largest < 0) return '0 s';
  const second = UNITS[largest + 1] ?? { length: 1, spoken: 'ms' };
  const rounded = Math.round(whole / second.length) * second.length;
  const first = UNITS.find((unit) => rounded >= unit.length)!;
  const rest = (rounded % first.length) / second.length;
  const head = `${sign}${Math.floor(rounded / first.length)} ${first.spoken}`;
  return rest === 0 ? head : `${head} ${rest} ${second.spoken}`;
}
