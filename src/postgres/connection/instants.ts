/** Times as Postgres writes and reads them, exact to its microseconds. */
import type { Instant } from '../../domain/values/time.ts';

/** Settings of a session under which `parseInstant` can read what the server writes, whatever a role or a server has set. */
export const INSTANTS_AS_READ = { DateStyle: 'ISO', TimeZone: 'UTC' };

/** `2026-11-23 02:05:38.123456+00`; a year has four digits or more. */
const WRITTEN = /^(\d{4,6})(-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/;

/** A `timestamptz` of such a session. Throws for a time before the year 1, which nothing here has. */
export function parseInstant(text: string): Instant {
  const match = WRITTEN.exec(text);
  if (match !== null) {
    const [, year = '', day, time, fraction = ''] = match;
    const whole = Date.parse(`${year.length === 4 ? year : `+${year.padStart(6, '0')}`}${day}T${time}Z`);
    return (whole * 1_000 + Number(fraction.padEnd(6, '0'))) / 1_000;
  }
  if (text === 'infinity') return Number.POSITIVE_INFINITY;
  if (text === '-infinity') return Number.NEGATIVE_INFINITY;
  throw new Error(`cannot read a time from the database: ${text}`);
}

/** The text of a time for the server; what lies outside the years that a Date can hold is an infinity. */
export function writeInstant(at: Instant | Date | string): string {
  if (typeof at === 'string') return at;
  const micros = Math.round(Number(at) * 1_000);
  const whole = new Date(Math.floor(micros / 1_000));
  if (Number.isNaN(whole.getTime())) return Number(at) > 0 ? 'infinity' : '-infinity';
  const rest = micros - whole.getTime() * 1_000;
  // A year beyond 9999 has a sign and perhaps a zero, of which Postgres knows neither.
  return whole
    .toISOString()
    .replace(/^\+0*/, '')
    .replace('Z', `${String(rest).padStart(3, '0')}Z`);
}

/** SQL for a time inside JSON that a statement makes, of which the driver sees only the text: as a number, an Instant. */
export const jsonInstant = (expression: string): string => `(extract(epoch from ${expression}) * 1000)::float8`;
