/**
 * Whether enough purchases of a site are read again after it failed. One lucky answer of a service that is down resumes
 * polling (domain/polling/breaker.ts), and does not end the failure: that takes clearly more purchases that are read than purchases
 * that are not. Each purchase counts once, by the first answer to its last poll: asked often enough, a service that refuses
 * nine calls of ten answers about every purchase. Each answer costs the same, however many purchases there are. No I/O, no
 * clock: times are the caller's monotonic clock.
 */
import type { Milliseconds } from '../values/time.ts';

/** Moment on a monotonic clock, in milliseconds. */
type Moment = number;

interface LastPoll {
  /** Whether its first answer was good. */
  readonly isGood: boolean;
  /** Whether any answer was: the next answer is to another poll. */
  readonly isOver: boolean;
  /** When the last answer came. */
  readonly at: Moment;
}

export interface RecentAnswers {
  /** The last poll of each purchase asked lately, the latest answer last. */
  readonly polls: Map<number, LastPoll>;
  /** Purchases whose poll was answered well at first, less those whose poll was not. */
  lead: number;
  /** Since when the lead has been above zero; null while it is not. */
  leadSince: Moment | null;
}

export function newRecentAnswers(): RecentAnswers {
  return { polls: new Map(), lead: 0, leadSince: null };
}

/** Purchases that count at most: the latest ones. */
const MOST = 100;
/** An answer counts for this long. */
const LATELY: Milliseconds = 5 * 60_000;
/**
 * A lead of so many purchases is enough. Where a poll is answered well at first with a chance p below a half, luck brings
 * the lead there once in ((1 - p) / p)^5 times: at one in twenty in 2.5 million, at one in five in a thousand.
 */
const ENOUGH = 5;
/**
 * A smaller lead is enough once it has lasted for so long with every call answered: a site with few purchases has no five.
 * Failed polls are repeated within two seconds of the first good answer, which shows whether the site still fails. An
 * opening of the breaker by chance is over long before `groupWait` (30 s).
 */
const LONG_ENOUGH: Milliseconds = 5_000;

/** Notes an answer about a purchase. */
export function noteAnswer(recent: RecentAnswers, purchase: number, isGood: boolean, now: Moment): void {
  const before = remove(recent, purchase);
  const poll = { isGood: before?.isOver === false ? before.isGood : isGood, isOver: isGood, at: now };
  recent.polls.set(purchase, poll);
  recent.lead += weightOf(poll);
  if (recent.polls.size > MOST) remove(recent, recent.polls.keys().next().value!);
  settle(recent, now);
}

/** Whether enough purchases are read; `awaited` calls to the site are not answered yet. */
export function areEnoughRead(recent: RecentAnswers, { now, awaited }: { now: Moment; awaited: number }): boolean {
  settle(recent, now);
  const { lead, leadSince } = recent;
  return lead >= ENOUGH || (leadSince !== null && awaited === 0 && now - leadSince >= LONG_ENOUGH);
}

/** Forgets the answers so far: they say nothing about whether the site is well. */
export function forgetAnswers(recent: RecentAnswers): void {
  recent.polls.clear();
  recent.lead = 0;
  recent.leadSince = null;
}

const weightOf = ({ isGood }: LastPoll): number => (isGood ? 1 : -1);

function remove(recent: RecentAnswers, purchase: number): LastPoll | undefined {
  const poll = recent.polls.get(purchase);
  if (poll === undefined) return undefined;
  recent.lead -= weightOf(poll);
  recent.polls.delete(purchase);
  return poll;
}

/** Drops what is too old, and notes since when the lead has been above zero. */
function settle(recent: RecentAnswers, now: Moment): void {
  for (const [purchase, { at }] of recent.polls) {
    if (now - at < LATELY) break;
    remove(recent, purchase);
  }
  recent.leadSince = recent.lead > 0 ? (recent.leadSince ?? now) : null;
}
