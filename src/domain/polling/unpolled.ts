/** Sites whose purchases are not polled, because no running daemon has the site in its settings: what is wrong and what to do. Pure. */
import { commandLine } from '../values/command-line.ts';
import { counted } from '../values/counts.ts';

/** Purchases of a site, or deliveries of a subscriber, that are counted at most: every page of the console counts them. */
export const MOST_UNPOLLED = 1_000;

/** A site that no running daemon names, and that has purchases to poll. */
export interface UnpolledSite {
  readonly name: string;
  /** Purchases that are not polled; counted up to `MOST_UNPOLLED`. */
  readonly unpolled: number;
  /** The site that has this one as a former name, so that the purchases move there; null where none has. */
  readonly renamedTo: string | null;
  /** The process of a session of the database that has locked rows of these purchases, so that they cannot be moved. */
  readonly lockedBy: number | null;
}

/** Why people are alerted of such a site. */
export const UNPOLLED_REASONS = ['not_configured', 'not_moved'] as const;
export type UnpolledReason = (typeof UNPOLLED_REASONS)[number];

/** Whether a site fails because no running daemon has it in its settings. */
export function isUnpolled(reason: string | null): reason is UnpolledReason {
  return UNPOLLED_REASONS.some((each) => each === reason);
}

/** The trouble of such a site, as a clause. */
export function unpolledText({ name, unpolled, renamedTo, lockedBy }: UnpolledSite): string {
  const are = counted(unpolled, `purchase of site ${name} is`, `purchases of site ${name} are`, MOST_UNPOLLED);
  if (renamedTo === null) return `${are} not polled: no running daemon has the site in its settings`;
  return `${are} not polled yet: ${unpolled === 1 ? 'it moves' : 'they move'} to site ${renamedTo}, which names ${name} in "formerly"${lockText(lockedBy)}`;
}

const lockText = (pid: number | null): string =>
  pid === null ? '' : `, and session ${pid} of the database has locked rows that are to move`;

/** The same about any one purchase of a site, as a clause without a count. */
export function unnamedSiteText({ name, renamedTo, lockedBy }: Omit<UnpolledSite, 'unpolled'>): string {
  return renamedTo === null
    ? `no running daemon has site ${name} in its settings, so its purchases are not polled`
    : `purchases of site ${name} are not polled until they have moved to site ${renamedTo}, which names ${name} in "formerly"${lockText(lockedBy)}`;
}

/** The advice about such a site, as a clause. */
export function unpolledAdvice({ name, renamedTo, lockedBy }: Omit<UnpolledSite, 'unpolled'>): string {
  if (renamedTo === null)
    return `name the site in the settings again; if it has another name now, add "formerly: [${name}]" to that site; if it is over, end its purchases: "${commandLine`unwatch --site ${name}`}"`;
  if (lockedBy !== null) return endSession(lockedBy);
  return `a daemon moves them by itself, 500 at a time; rows that stay are locked by another session of the database (pg_stat_activity shows it): end that session`;
}

/** How to end a session of the database that has locked rows; null: which session it is, is not known. */
export function endSession(pid: number | null): string {
  return pid === null
    ? 'find that session in pg_stat_activity by its age (xact_start), and end it'
    : `let that session end its transaction (pg_stat_activity shows it), or end the session: select pg_terminate_backend(${pid})`;
}
