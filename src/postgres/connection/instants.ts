/** Times as Postgres writes and reads them, exact to its microseconds. */
import type { Instant } from '../../domain/values/time.ts';

/** Settings of a session under which `parseInstant` can read what the server writes, whatever a role or a server has set. */
export const INSTANTS_AS_READ = { DateStyle: 'ISO', TimeZone: 'UTC' };

/** Two digits of a text as a number. */
const two = (text: string, at: number): number => 10 * text.charCodeAt(at) + text.charCodeAt(at + 1) - 11 * 48;

/**
 * Reads a `timestamptz` of a session with these settings, as `2026-11-23 02:05:38.123456+00`. Throws for a time before the
 * year 1, because no stored time is that old.
 */
export function parseInstant(text: string): Instant {
  if (text.endsWith('+00')) {
    const point = text.indexOf('.');
    const micros = point < 0 ? 0 : Number(text.slice(point + 1, -3).padEnd(6, '0'));
    return (wholeSeconds(text) * 1_000 + micros) / 1_000;
  }
  if (text === 'infinity') return Number.POSITIVE_INFINITY;
  if (text === '-infinity') return Number.NEGATIVE_INFINITY;
  throw new Error(`cannot read a time from the database: ${text}`);
}

/** Reads the seconds digit by digit: Date.parse takes four times as long, and each poll reads several times. */
function wholeSeconds(text: string): Instant {
  if (text[4] === '-' && text[0] !== '0')
    return Date.UTC(
      100 * two(text, 0) + two(text, 2),
      two(text, 5) - 1,
      two(text, 8),
      two(text, 11),
      two(text, 14),
      two(text, 17),
    );
  const [, year = '', day, time] = /^(\d+)(-\d\d-\d\d) (\d\d:\d\d:\d\d)/.exec(text) ?? [];
  return Date.parse(`${year.length === 4 ? year : `+${year.padStart(6, '0')}`}${day}T${time}Z`);
}

/** The text of a time for the server; a time outside the years that a Date can hold becomes `infinity` or `-infinity`. */
export function writeInstant(at: Instant | Date | string): string {
  if (typeof at === 'string') return at;
  const micros = Math.round(Number(at) * 1_000);
  const whole = new Date(Math.floor(micros / 1_000));
  if (Number.isNaN(whole.getTime())) return Number(at) > 0 ? 'infinity' : '-infinity';
  const rest = micros - whole.getTime() * 1_000;
  // JavaScript writes a year beyond 9999 with a sign and perhaps a leading zero; Postgres reads neither.
  return whole
    .toISOString()
    .replace(/^\+0*/, '')
    .replace('Z', `${String(rest).padStart(3, '0')}Z`);
}

/** SQL for a time inside JSON that a statement makes: an Instant, because the driver does not convert times inside JSON. */
export const jsonInstant = (expression: string): string => `(extract(epoch from ${expression}) * 1000)::float8`;
