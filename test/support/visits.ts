/**
 * Customers of a simulated page, as polls would show them: lives are drawn like the simulator's, polls are made as planned, and
 * what comes out are the stays that the judge would read, in the order in which they would be recorded.
 */

import type { LifeName } from '../../packages/simulator/src/contract/names.ts';
import { drawLifeName, drawSteps } from '../../packages/simulator/src/purchases/lives.ts';
import { createRandom, type Random } from '../../packages/simulator/src/values/random.ts';
import { clearsAt, type Detection, feed, look, newDetection } from '../../src/domain/incidents/detection.ts';
import { DEFAULT_POLL_POLICY, nextPoll, type PollPolicy, policyOf } from '../../src/domain/polling/poll-plan.ts';
import { stuckMoment } from '../../src/domain/polling/stuck.ts';
import { numberOf } from '../../src/domain/purchases/states.ts';
import { type SiteStay, stayThatBecameStuck, stayThatEnded } from '../../src/domain/stays/stay.ts';
import type { Usual } from '../../src/domain/stays/usual.ts';
import { aPurchase } from './a-purchase.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const SESSION = 30 * MINUTE;
const TIMED_OUT = numberOf('SessionTimedOut');
export const CARD = numberOf('WaitingForCardPayments');

/** The page is broken for so much of those who come back to it in that time. */
export interface Broken {
  readonly from: number;
  readonly until: number;
  readonly share: number;
}

export interface Visits {
  readonly seed: number;
  readonly site?: string;
  /** Customers an hour that get into the state, evenly and independently of each other. */
  readonly perHour: number;
  readonly from?: number;
  readonly until: number;
  readonly broken?: readonly Broken[];
  /** The share that leaves at the bank, instead of the simulator's own mix. */
  readonly abandon?: number;
  /** The share of customers that try again, up to twice, where the page let them down. */
  readonly retry?: number;
  readonly policy?: PollPolicy;
}

/** Stays of card payments, ordered by when they would be recorded. */
export function visits(options: Visits): SiteStay[] {
  const { seed, site = 'se', perHour, from = 0, until, broken = [], retry = 0 } = options;
  const random = createRandom(seed);
  const stays: SiteStay[] = [];
  let customers = 0;
  for (let at = from; ; ) {
    at += (-Math.log(1 - random()) * HOUR) / perHour;
    if (at >= until) break;
    const customer = `${site}-${seed}-${customers++}`;
    for (let begun = at, tries = 0; tries < 3; tries++) {
      const life = drawLife(random, options, begun, broken);
      stays.push(...observed(life, { site, customer, random, policy: options.policy ?? DEFAULT_POLL_POLICY }));
      if (!life.letDown || random() >= retry) break;
      begun = life.letDown + 2 * MINUTE;
    }
  }
  return stays.sort((a, b) => a.at - b.at);
}

interface Life {
  readonly moves: readonly { readonly state: number; readonly at: number }[];
  /** When the customer came back to a broken page. */
  readonly letDown: number | null;
}

function drawLife(random: Random, { abandon }: Visits, begun: number, broken: readonly Broken[]): Life {
  const name = abandon === undefined ? drawCardLife(random) : random() < abandon ? 'abandoned-at-bank' : 'card-paid';
  let at = begun;
  const moves = drawSteps(name, random, 1).map(({ state, after }) => {
    at += after ?? 0;
    return { state, at };
  });
  const last = moves.at(-1)!;
  const letsDown =
    last.state !== TIMED_OUT && broken.some((time) => time.from <= last.at && last.at < time.until && random() < time.share);
  if (!letsDown) return { moves, letDown: null };
  return { moves: [...moves.slice(0, -1), { state: TIMED_OUT, at: begun + SESSION }], letDown: last.at };
}

/** The life of the next customer who gets as far as to the bank. */
function drawCardLife(random: Random): LifeName {
  for (;;) {
    const name = drawLifeName(random, 'SWE');
    if (name === 'card-paid' || name === 'user-cancels' || name === 'abandoned-at-bank') return name;
  }
}

function observed(
  { moves }: Life,
  { site, customer, random, policy }: { site: string; customer: string; random: Random; policy: PollPolicy },
): SiteStay[] {
  const stays: SiteStay[] = [];
  const add = (stay: Omit<SiteStay, 'site' | 'customer' | 'firstSight'> | null): void => {
    if (stay !== null) stays.push({ ...stay, site, customer, firstSight: false });
  };
  let now = moves[0]!.at;
  let [since, seenAt, state, stuckSince, next]: [number, number, number, number | null, number] = [
    now,
    now,
    moves[0]!.state,
    null,
    1,
  ];
  for (;;) {
    const ofState = policyOf(policy, state);
    if (ofState.final) return stays;
    const stuckAt = stuckSince === null ? stuckMoment(ofState, since, 0) : null;
    if (stuckAt !== null && now >= stuckAt) {
      stuckSince = now;
      add(stayThatBecameStuck({ state, since, excused: 0, limit: ofState.stuckAfter ?? 0 }, { askedAt: now, now }));
    }
    seenAt = now;
    now = nextPoll(ofState, { now, since, stuckAt, spread: random() * 2 - 1 }).at;
    let moved = state;
    while (next < moves.length && moves[next]!.at <= now) moved = moves[next++]!.state;
    if (moved === state) continue;
    add(stayThatEnded(aPurchase({ state, stateSince: since, seenAt, stuckSince }), moved, { askedAt: now, now, policy }));
    [since, state, stuckSince] = [now, moved, null];
  }
}

export interface Heard {
  /** As it was at the alarm. */
  readonly detection: Detection;
  /** Null: it was still on at the end. */
  readonly clearedAt: number | null;
}

/**
 * Goes through stays as the judge does, with a look whenever it is due. `usual` may learn: it is asked with each stay, which it
 * then gets as well.
 */
export function alarmsIn(
  stays: readonly SiteStay[],
  usual: Usual | ((stay: SiteStay, before: Detection) => Usual) = { share: null, perDay: null },
): Heard[] {
  const first = stays[0];
  if (first === undefined) return [];
  const heard: Heard[] = [];
  let detection = newDetection(first.site, first.state);
  let overdue = 0;
  const goOn = (after: Detection, at: number): void => {
    if (detection.alarm === null && after.alarm !== null) heard.push({ detection: after, clearedAt: null });
    if (detection.alarm !== null && after.alarm === null) heard.push({ ...heard.pop()!, clearedAt: at });
    detection = after;
  };
  const lookUntil = (until: number): void => {
    for (let at = clearsAt(detection); at !== null && at <= until; at = clearsAt(detection))
      goOn(look(detection, { overdue, now: at }), at);
  };
  for (const stay of stays) {
    lookUntil(stay.at);
    goOn(feed(detection, stay, typeof usual === 'function' ? usual(stay, detection) : usual), stay.at);
    overdue += stay.outcome === 'overdue' ? 1 : stay.outcome === 'late' ? -1 : 0;
    goOn(look(detection, { overdue, now: stay.at }), stay.at);
  }
  lookUntil(Number.POSITIVE_INFINITY);
  return heard;
}

interface Learned {
  readonly usual: (stay: SiteStay, before: Detection) => Usual;
  /** When the share was known first; null: it never was. */
  knownAt(): number | null;
}

/** Learns what is usual from the last 14 days, as the judge does: from at least 100 stays at which no incident was open. */
export function learning(perDay: number): Learned {
  const days = new Map<number, { well: number; overdue: number }>();
  let knownAt: number | null = null;
  let share: number | null = null;
  let calmFrom = 0;
  let wasOn = false;
  let stays = 0;
  const read = (today: number): number | null => {
    const known = [...days].filter(([day]) => day > today - 14).map(([, day]) => day);
    const overdue = known.reduce((sum, day) => sum + day.overdue, 0);
    const all = known.reduce((sum, day) => sum + day.well + day.overdue, 0);
    return all < 100 ? null : overdue / all;
  };
  return {
    usual: ({ at, outcome }, { alarm }) => {
      if (wasOn && alarm === null) calmFrom = at + 10 * MINUTE;
      wasOn = alarm !== null;
      const today = Math.floor(at / DAY);
      // The judge reads it every few minutes.
      if (stays++ % 20 === 0) share = read(today);
      if (alarm === null && at >= calmFrom && (outcome === 'well' || outcome === 'overdue')) {
        const day = days.get(today) ?? { well: 0, overdue: 0 };
        day[outcome] += 1;
        days.set(today, day);
      }
      if (share !== null) knownAt ??= at;
      return { share, perDay };
    },
    knownAt: () => knownAt,
  };
}

/** The middle one, or another part of the way up. */
export function quantile(values: readonly number[], part = 0.5): number {
  return [...values].sort((a, b) => a - b)[Math.min(Math.floor(values.length * part), values.length - 1)]!;
}
