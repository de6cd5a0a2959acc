/**
 * Whether a page is broken, from what becomes of its customers: of every stay in a state at a site it is counted whether
 * it was left well or became stuck. A cumulative sum of log-likelihood ratios (Page's CUSUM) compares the usual share of
 * stuck stays with that of a broken page; where few customers come, a plain rule takes its place. Pure.
 */

import { numberOf } from '../purchases/states.ts';
import { customersInARow, detectorFor } from '../stays/run-length.ts';
import { isGoodExit, type SiteStay } from '../stays/stay.ts';
import type { Usual } from '../stays/usual.ts';
import { isAhead } from '../values/clock-steps.ts';
import { DAY, earliest, type Instant, type Milliseconds } from '../values/time.ts';

/** Why a page is called broken, as it was when that was noticed. */
export interface Alarm {
  readonly at: Instant;
  /** `share`: the cumulative sum. `sparse`: too few customers for it, so two stuck in a row. */
  readonly rule: 'share' | 'sparse';
  /** When the first customer came that speaks for it. */
  readonly since: Instant;
  /** Stays since then that were counted, and those of them that became stuck. */
  readonly entrants: number;
  readonly overdue: number;
  /** The usual share of stuck stays, as far as it is known; what is assumed while it is not. */
  readonly usualShare: number;
  /** Stays a day, as far as is known. */
  readonly perDay: number | null;
  /** One false alarm in about so many stays is to be expected; null for the plain rule. */
  readonly falseAlarmEvery: number | null;
}

/** How stays that had been stuck ended since the alarm, and others that say something of the cause. */
export interface Exits {
  readonly well: number;
  readonly timedOut: number;
  readonly other: number;
  /** Dwell times at time-out, the latest twenty, in milliseconds. */
  readonly timedOutAfter: readonly number[];
}

/** The judge's memory of a state of a site from one stay to the next. Kept as JSON. */
export interface Detection {
  readonly site: string;
  readonly state: number;
  /** When the first stay was counted; null before. */
  readonly countedFrom: Instant | null;
  readonly score: number;
  /** The stays that the score rests on, since it was last zero; null while it is. Goes on while an alarm is on. */
  readonly run: {
    readonly since: Instant;
    readonly entrants: number;
    /** Each customer once. */
    readonly overdue: number;
    /** Different customers among those stuck, the latest twenty. */
    readonly customers: readonly string[];
    /** After how long at least they were stuck, without time in which no poll could be made. */
    readonly overdueAfter: Milliseconds;
  } | null;
  /** Customers stuck one after the other with none well in between, since when the first of them came. */
  readonly row: { readonly since: Instant; readonly customers: readonly string[] } | null;
  /** When a customer left well last. */
  readonly lastWellAt: Instant | null;
  readonly alarm: Alarm | null;
  /**
   * While an alarm is on: when customers came that left well, none stuck having come after them; of those who came together,
   * one. The earliest first, twenty at most.
   */
  readonly wellSince: readonly Instant[];
  /** The last twenty outcomes of the run, the latest last; true: stuck. */
  readonly lately: readonly boolean[];
  /** While an alarm is on: since when no customer is stuck; null while one is. */
  readonly noneOverdueSince: Instant | null;
  readonly exits: Exits;
}

/** With fewer stays a day the plain rule helps: four in a row would take a day. */
const SPARSE_PER_DAY = 5;
/** So long a state must have been watched before it may count as one where few customers come. */
const KNOWN_AFTER: Milliseconds = DAY;
/** So many that left well end an alarm. */
const WELL_AGAIN = 5;
/** Of those who came within this part of the limit, one is kept. */
const TOGETHER = 1 / 15;
/** As many customers, outcomes and times are remembered. */
const REMEMBERED = 20;
/** So long without a stuck customer ends an alarm, where customers come often enough. */
const NONE_OVERDUE_FOR: Milliseconds = 30 * 60_000;
/** Where they come seldom, a time without a stuck customer means nothing before so many should have come. */
const SHOULD_HAVE_COME = 4;
/** But no longer than this. */
const LONGEST_QUIET: Milliseconds = DAY;

const TIMED_OUT = numberOf('SessionTimedOut');
const NO_EXITS: Exits = { well: 0, timedOut: 0, other: 0, timedOutAfter: [] };

/** A state of a site of which nothing is known. */
export function newDetection(site: string, state: number): Detection {
  const none = { score: 0, run: null, row: null, alarm: null, wellSince: [], lately: [], noneOverdueSince: null };
  return { site, state, countedFrom: null, lastWellAt: null, ...none, exits: NO_EXITS };
}

/**
 * Takes one more stay into account. Stays come in the order in which they were recorded. Of those that were there before us,
 * nothing but a late exit counts.
 */
export function feed(detection: Detection, stay: SiteStay, usual: Usual): Detection {
  if (stay.outcome === 'late') return afterLate(detection, stay);
  if (stay.firstSight || stay.foundLate) return detection;
  if (stay.outcome === 'other') return withExit(detection, stay);
  const counted = { ...detection, countedFrom: detection.countedFrom ?? stay.at };
  return stay.outcome === 'well' ? afterWell(counted, stay, usual) : afterStuck(counted, stay, usual);
}

/** Looks at an alarm without a new stay: `overdue` is how many are stuck there now. Ends it when it is over. */
export function look(detection: Detection, { overdue, now }: { overdue: number; now: Instant }): Detection {
  if (detection.alarm === null) return detection;
  const noneOverdueSince = overdue > 0 ? null : (detection.noneOverdueSince ?? now);
  return cleared(noneOverdueSince === detection.noneOverdueSince ? detection : { ...detection, noneOverdueSince }, now);
}

/** When the alarm ends if no stay says otherwise before and no customer becomes stuck; null: not by itself, or none is on. */
export function clearsAt(detection: Detection): Instant | null {
  const { alarm, run, wellSince, noneOverdueSince } = detection;
  if (alarm === null) return null;
  const last = wellSince[WELL_AGAIN - 1];
  const ends = [
    // A customer who came with them would be stuck by then.
    ...(last === undefined ? [] : [last + (run?.overdueAfter ?? 0)]),
    ...(noneOverdueSince === null ? [] : [noneOverdueSince + quietOf(detection)]),
  ];
  return earliest(ends);
}

/** How bad an alarm is: 1, critical, when at least ten customers were stuck and at least every second one lately. */
export function alarmSeverity({ alarm, run, lately }: Detection): 0 | 1 {
  if (alarm === null || run === null || run.overdue < 10) return 0;
  return lately.filter((overdue) => overdue).length * 2 >= lately.length ? 1 : 0;
}

/** How long no customer may be stuck: where a customer an hour comes, half an hour without one is no good sign. */
function quietOf({ run, noneOverdueSince }: Detection): Milliseconds {
  const apart = run === null || noneOverdueSince === null ? 0 : (noneOverdueSince - run.since) / run.entrants;
  return Math.min(Math.max(SHOULD_HAVE_COME * apart, NONE_OVERDUE_FOR), LONGEST_QUIET);
}

function cleared(detection: Detection, now: Instant): Detection {
  const endsAt = clearsAt(detection);
  return endsAt === null || now < endsAt ? detection : calm(detection);
}

/** The same when the clock was set back: times ahead of the clock move with it. */
export function movedBack(detection: Detection, { now, by }: { now: Instant; by: Milliseconds }): Detection {
  const moved = <T extends Instant | null>(at: T): T | Instant => (at !== null && isAhead(at, now) ? at - by : at);
  const { alarm, run, row } = detection;
  return {
    ...detection,
    countedFrom: moved(detection.countedFrom),
    lastWellAt: moved(detection.lastWellAt),
    run: run === null ? null : { ...run, since: moved(run.since) },
    row: row === null ? null : { ...row, since: moved(row.since) },
    alarm: alarm === null ? null : { ...alarm, at: moved(alarm.at), since: moved(alarm.since) },
    wellSince: detection.wellSince.map(moved),
    noneOverdueSince: moved(detection.noneOverdueSince),
  };
}

/** The same state of a site with nothing that speaks against it. */
export function calm({ site, state, countedFrom, lastWellAt }: Detection): Detection {
  return { ...newDetection(site, state), countedFrom, lastWellAt };
}

function afterWell(before: Detection, stay: SiteStay, usual: Usual): Detection {
  const { alarm, run, lately } = before;
  const is: Detection = { ...before, row: null, lastWellAt: laterOf(before.lastWellAt, stay.at) };
  if (run === null) return is;
  const counted = { ...is, run: { ...run, entrants: run.entrants + 1 }, lately: latest(lately, false) };
  if (alarm !== null) {
    if (stay.enteredAt <= alarm.at) return counted;
    return cleared({ ...counted, wellSince: withWell(before.wellSince, stay.enteredAt, run.overdueAfter * TOGETHER) }, stay.at);
  }
  const score = before.score - detectorFor(usual.share).loss;
  return score > 0 ? { ...counted, score } : { ...is, score: 0, run: null, lately: [] };
}

function afterStuck(before: Detection, stay: SiteStay, usual: Usual): Detection {
  const { customer, enteredAt, at, shortest } = stay;
  const wellSince = before.wellSince.filter((came) => came > enteredAt);
  const waiting: Detection = { ...before, wellSince, noneOverdueSince: null };
  // A customer who tries again on a broken page is still one customer.
  if (before.run?.customers.includes(customer)) return waiting;
  const { gain, threshold, p0, falseAlarmEvery } = detectorFor(usual.share);
  const run = {
    since: Math.min(before.run?.since ?? enteredAt, enteredAt),
    entrants: (before.run?.entrants ?? 0) + 1,
    overdue: (before.run?.overdue ?? 0) + 1,
    customers: latest(before.run?.customers ?? [], customer),
    overdueAfter: Math.min(before.run?.overdueAfter ?? shortest, shortest),
  };
  const is: Detection = { ...waiting, run, row: withCustomer(before, stay), lately: latest(before.lately, true) };
  if (before.alarm !== null) return is;
  const score = before.score + gain;
  const known = { at, usualShare: usual.share ?? p0, perDay: usual.perDay };
  const { since, entrants, overdue } = run;
  if (score >= threshold) return { ...is, score, alarm: { ...known, rule: 'share', since, entrants, overdue, falseAlarmEvery } };
  const { row } = is;
  if (row === null || !isSparse(is, usual, at) || row.customers.length < customersInARow(usual.share)) return { ...is, score };
  const inARow = { since: row.since, entrants: row.customers.length, overdue: row.customers.length };
  return { ...is, score, alarm: { ...known, rule: 'sparse', ...inARow, falseAlarmEvery: null } };
}

/** A late exit that is good ends a row: the page was slow or the customer was, but it let one through. */
function afterLate(before: Detection, stay: SiteStay): Detection {
  const is = withExit(before, stay);
  if (stay.toState === null || !isGoodExit(stay.toState)) return is;
  return { ...is, row: null, lastWellAt: laterOf(before.lastWellAt, stay.at) };
}

function withExit(detection: Detection, { toState, shortest, longest }: SiteStay): Detection {
  if (detection.alarm === null || toState === null) return detection;
  const { exits } = detection;
  if (toState === TIMED_OUT) {
    const timedOutAfter = latest(exits.timedOutAfter, Math.round((shortest + longest) / 2));
    return { ...detection, exits: { ...exits, timedOut: exits.timedOut + 1, timedOutAfter } };
  }
  const kind = isGoodExit(toState) ? 'well' : 'other';
  return { ...detection, exits: { ...exits, [kind]: exits[kind] + 1 } };
}

/** Whether few customers come here. Not before a day has shown it: a busy state begins with few, too. */
function isSparse({ countedFrom }: Detection, { perDay }: Usual, now: Instant): boolean {
  return perDay !== null && perDay < SPARSE_PER_DAY && countedFrom !== null && now - countedFrom >= KNOWN_AFTER;
}

/** A customer who came before another left well is in no row: the page let that other one through. */
function withCustomer({ row, lastWellAt }: Detection, { customer, enteredAt }: SiteStay): Detection['row'] {
  if (lastWellAt !== null && enteredAt <= lastWellAt) return row;
  if (row === null) return { since: enteredAt, customers: [customer] };
  if (row.customers.includes(customer)) return row;
  return { since: Math.min(row.since, enteredAt), customers: latest(row.customers, customer) };
}

/** Adds when a customer came who left well, unless another one came at about that time. */
function withWell(known: readonly Instant[], came: Instant, together: Milliseconds): readonly Instant[] {
  if (known.some((other) => Math.abs(other - came) < together)) return known;
  return [...known, came].sort((a, b) => a - b).slice(-REMEMBERED);
}

function latest<T>(known: readonly T[], one: T): readonly T[] {
  return [...known, one].slice(-REMEMBERED);
}

function laterOf(known: Instant | null, at: Instant): Instant {
  return known === null ? at : Math.max(known, at);
}
