/**
 * The service's local date-times ("ISO 8601 form without an offset", says the specification) as instants. They are data
 * for people and programs; no timer of ours rests on them.
 */

import { AppError } from '../domain/values/errors.ts';
import type { Instant } from '../domain/values/time.ts';

export interface LocalTime {
  /** As the service sent it: seven fractional digits survive nowhere else. */
  readonly text: string;
  /** Null when the text is no date-time that can be read. */
  readonly instant: Instant | null;
  /** The local clock showed this time twice (the earlier one is taken) or skipped it (moved on by the length of the gap). */
  readonly ambiguous: boolean;
}

// Node 24 has no Temporal of its own.
const time: typeof Temporal = globalThis.Temporal ?? ((await import('temporal-polyfill')).Temporal as unknown as typeof Temporal);

// The form is checked first, because Temporal.PlainDateTime.from drops an offset without a word.
const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?$/;
// The service might begin to send offsets one day; what it then says is more than the configured zone knows.
const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
// The date-time that a .NET service sends for "never set".
const NEVER = /^0001-01-01T00:00:00(\.0+)?(Z|[+-]\d\d:\d\d)?$/;

/**
 * A reader for one site's zone (IANA name). The reader answers null for null and for .NET's smallest date.
 * Throws AppError `configuration` when there is no such zone.
 */
export function localTimeReader(timeZone: string): (text: string | null | undefined) => LocalTime | null {
  try {
    time.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(timeZone);
  } catch (cause) {
    throw new AppError('configuration', `There is no time zone "${timeZone}". Use a name like Europe/Stockholm.`, { cause });
  }
  return (text) => {
    if (text === null || text === undefined || NEVER.test(text)) return null;
    try {
      if (WITH_OFFSET.test(text)) return { text, instant: time.Instant.from(text).epochMilliseconds, ambiguous: false };
      if (LOCAL.test(text)) {
        const local = time.PlainDateTime.from(text);
        const at = (disambiguation: 'earlier' | 'later' | 'compatible') =>
          local.toZonedDateTime(timeZone, { disambiguation }).epochMilliseconds;
        return { text, instant: at('compatible'), ambiguous: at('earlier') !== at('later') };
      }
    } catch {
      // The form is right and the date does not exist (month 13): refused below, like every other text.
    }
    return { text, instant: null, ambiguous: false };
  };
}
