/** Another database behind the same address, in words for people: which writes it lost, and what to do. Pure. */

import { type Instant, isoTime } from '../values/time.ts';

/** The kinds of change that daemons find; see the table `database_changes`. */
export type ChangeKind = 'first' | 'moved' | 'went_back';

/** A change as people are shown it. */
export interface DatabaseChange {
  readonly id: string;
  readonly kind: ChangeKind;
  readonly noticedAt: Instant;
  readonly replica: string;
  readonly host: string;
  /** The latest moment from before of which the database knows anything. */
  readonly cameBackTo: Instant | null;
  /** Up to when the database had confirmed writes to daemons; null when no daemon ran. */
  readonly knownUntil: Instant | null;
}

/** The moment from which on something may be missing. */
export function lostSince({ cameBackTo, knownUntil, noticedAt }: DatabaseChange): Instant {
  return cameBackTo ?? knownUntil ?? noticedAt;
}

const second = (moment: Instant): string => isoTime(moment).replace(/\.\d+Z$/, 'Z');

const HOW_FAR = 'the times in it do not show from when on they are missing';

/** Whether it is known from when on writes are missing, by the text of a loss. */
export const isStartKnown = (text: string): boolean => !text.includes(HOW_FAR);

/** The change of the database, as a clause. */
export function changeText({ kind, noticedAt, cameBackTo, knownUntil }: DatabaseChange): string {
  if (kind === 'went_back') {
    const back =
      cameBackTo === null
        ? `the database came back without its last writes (noticed at ${second(noticedAt)}), and ${HOW_FAR}`
        : `the database came back as of ${second(cameBackTo)} (noticed at ${second(noticedAt)})`;
    const gone = knownUntil === null ? '' : `; what daemons wrote up to ${second(knownUntil)}, at least, is gone`;
    return `${back}${gone}`;
  }
  return knownUntil === null
    ? `the database was moved, restored or taken over by a standby while no daemon ran (noticed at ${second(noticedAt)}): whether it lost writes is not known`
    : `another server or timeline answers as the database since ${second(noticedAt)}; no daemon misses a renewal of its lease, so what is lost, if anything, is younger than the last renewals (every two seconds)`;
}

/** Whether a person has to compare what the shop and the receivers know with the database. */
export function asksForComparison({ kind, knownUntil }: Pick<DatabaseChange, 'kind' | 'knownUntil'>): boolean {
  return kind === 'went_back' || (kind === 'moved' && knownUntil === null);
}

/** The steps after a loss, as a clause. */
export const COMPARE =
  'register the purchases of that time again from your shop\'s side: "purchase-watch watch --file FILE" (to register one twice is harmless); compare what receivers got: "purchase-watch audit --sent FILE"; then note that it is done: "purchase-watch audit --compared" (docs/troubleshooting.md#the-database-went-back)';
