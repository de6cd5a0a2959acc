/** The usual numbers of each state of each site, read now and then. */

import { type CountedUsual, NOTHING_KNOWN } from '../../domain/stays/usual.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { readUsual, USUAL_WINDOW } from './dwell.ts';

/** The usual numbers are read again after this. */
const READ_AGAIN_AFTER: Milliseconds = 10 * 60_000;
/** Whether single checkouts alert is decided by numbers that are no older than this. */
export const RECENT: Milliseconds = 30_000;

export type UsualReader = ReturnType<typeof createUsualReader>;

export function createUsualReader(sql: Queries) {
  let known: ReadonlyMap<string, CountedUsual> = new Map();
  let readAt = Number.NEGATIVE_INFINITY;
  return {
    /** Reads the numbers when the last reading is older than this. */
    refresh: async (now: Instant, age: Milliseconds = READ_AGAIN_AFTER): Promise<void> => {
      if (now - readAt < age) return;
      const rows = await readUsual(sql, { since: now - USUAL_WINDOW, now });
      known = new Map(rows.map(({ site, state, ...usual }) => [`${site} ${state}`, usual]));
      readAt = now;
    },
    /** The next refresh reads, however young the last reading is. */
    forget: (): void => {
      readAt = Number.NEGATIVE_INFINITY;
    },
    of: (site: string, state: number): CountedUsual => known.get(`${site} ${state}`) ?? NOTHING_KNOWN,
  };
}
