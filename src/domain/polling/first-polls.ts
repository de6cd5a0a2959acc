/** First polls of bulk registrations that are to come, and how long they take. */
import { humanDuration } from '../values/duration.ts';
import { type Milliseconds, SECOND } from '../values/time.ts';

/**
 * First polls with the time `within` which they are made at the ceiling, when nothing else is polled. The ceiling is the calls a second
 * that the daemons may make to the site; both are null while it is not known.
 */
export function sizedFirstPolls(polls: { readonly site: string; readonly waiting: number; readonly ceiling: number | null }) {
  const { waiting, ceiling } = polls;
  return { ...polls, within: ceiling === null || ceiling <= 0 ? null : Math.ceil(waiting / ceiling) * SECOND };
}

export type FirstPolls = ReturnType<typeof sizedFirstPolls>;

/** In how much time they are made, in words. */
export function withinText({ ceiling, within }: Pick<FirstPolls, 'ceiling' | 'within'>): string {
  if (within === null || ceiling === null)
    return 'at a time that is not known, because no daemon has said how many calls a second it makes';
  const rate = Number(ceiling.toPrecision(3));
  return `within about ${humanDuration(within)} at ${rate} ${rate === 1 ? 'call' : 'calls'} a second`;
}

/** The site whose first polls take longest; null when none are to come. */
export function longestFirstPolls(sites: readonly FirstPolls[]): FirstPolls | null {
  const length = ({ within }: FirstPolls): Milliseconds => within ?? Number.POSITIVE_INFINITY;
  return sites.filter(({ waiting }) => waiting > 0).toSorted((a, b) => length(b) - length(a))[0] ?? null;
}

/** Of a count that is only estimated, the two digits that are known. */
export const roughly = (count: number): number => Number(count.toPrecision(2));

export const SINGLES_FIRST = 'purchases that are registered one by one go first';
