/**
 * Whose fault failed calls are: the site's, or that of single purchases. Decided by the share of purchases whose calls
 * fail, each purchase counted once until it has answered well again. One record for each site, changed with each answer;
 * no I/O, no clock: times are the caller's monotonic clock.
 */
import type { Milliseconds } from '../values/time.ts';

/** Moment on a monotonic clock, in milliseconds. */
type Moment = number;

export interface SiteAnswers {
  /** Purchases whose last answer was good, and when it came; the latest last, and only the latest few. */
  readonly well: Map<number, Moment>;
  /** Purchases whose failures were counted already: they have not answered since. Only the latest. */
  readonly failing: Set<number>;
  /** The failures since the last usable answer, and how many of the failing purchases had not failed before. */
  row: { failures: number; fresh: number; readonly purchases: Set<number> };
  /** Share of failures among the answers about purchases that had not failed before, without those of the row. */
  usual: number;
  /** How many answers that share rests on. */
  counted: number;
  /** When the last usable answer came; null before the first one. */
  answeredAt: Moment | null;
  /** Answers of the last minute or so. */
  late: LateAnswers;
}

/** Counts that fade: an answer counts as 1 when it comes, and as 0.37 a minute later. */
interface LateAnswers {
  readonly at: Moment;
  readonly usable: number;
  readonly failures: number;
  /** Purchases that were answered well, and whose last answer before was another. */
  readonly answered: number;
  /** Purchases that began to fail. */
  readonly fresh: number;
}

export function newSiteAnswers(): SiteAnswers {
  const row = newRow();
  return {
    well: new Map(),
    failing: new Set(),
    row,
    usual: FIRST_USUAL,
    counted: FIRST_COUNTED,
    answeredAt: null,
    late: NONE_LATE,
  };
}

const NONE_LATE: LateAnswers = { at: 0, usable: 0, failures: 0, answered: 0, fresh: 0 };

const newRow = (): SiteAnswers['row'] => ({ failures: 0, fresh: 0, purchases: new Set() });

/** Purchases remembered as having answered well, and as failing. */
const MOST_WELL = 64;
const MOST_FAILING = 1_000;

/** Fewer failures in a row never say that the site is at fault: of one that has answered nothing, and of one that answers. */
const FAILURES_OF_SILENT = 5;
const FAILURES_OF_ANSWERING = 7;
/** The failures must be of several purchases: a purchase whose calls always fail says nothing about the site. */
const PURCHASES_AT_LEAST = 3;
/** Then a row without a usable answer for so long is enough: most that answered before may be settled, and are not asked again. */
const SILENT_FOR: Milliseconds = 60_000;
/** Failing purchases for each one that answered well lately, from which on the site is at fault: two of three fail. */
const FAILING_FOR_EACH_WELL = 2;
/**
 * A few usable answers break every row. The site is at fault, too, when within about a minute so many purchases began to
 * fail, not fewer than were answered, and three of four calls failed.
 */
const FRESH_OF_FAILING = 10;
const FAILURES_FOR_EACH_USABLE = 3;
const LATE_FOR: Milliseconds = 60_000;
/** A good answer, and a time without any, count for this long. */
const LATELY: Milliseconds = 5 * 60_000;

/**
 * A row of failures is the site's when single purchases at fault would make it once in ten million times: at a site where a
 * tenth or less fails usually, seven purchases in a row; where a quarter does, twelve.
 */
const CHANCE = 1.000_001e-7; // As a double, 0.1 ** 7 is a little more than 1e-7.
const LEAST_USUAL = 0.1;
const MOST_USUAL = 0.5;
/** Before the site is known, a quarter of the answers may be odd, as if eight answers had shown that. */
const FIRST_USUAL = 0.25;
const FIRST_COUNTED = 8;
/** The usual share is that of about this many answers, the latest ones weighing most. */
const MOST_COUNTED = 100;

/** Notes a usable answer about a purchase; `good` when it showed the purchase's status. */
export function noteUsable(answers: SiteAnswers, purchase: number, { good, now }: { good: boolean; now: Moment }): void {
  const { well, failing, row } = answers;
  if (row.failures > 0) {
    // A longer row may have been the site's, and says nothing about what fails usually.
    for (let each = 0; each < Math.min(row.fresh, FAILURES_OF_ANSWERING); each++) count(answers, 1);
    answers.row = newRow();
  }
  if (!failing.delete(purchase)) count(answers, 0);
  answers.answeredAt = now;
  answers.late = fade(answers.late, now, { usable: 1, failures: 0, answered: well.has(purchase) ? 0 : 1, fresh: 0 });
  well.delete(purchase);
  if (!good) return;
  well.set(purchase, now);
  if (well.size > MOST_WELL) well.delete(well.keys().next().value!);
}

/** Notes a call about a purchase that brought no usable answer. */
export function noteFailure(answers: SiteAnswers, purchase: number, now: Moment): void {
  const { well, failing, row } = answers;
  const fresh = failing.has(purchase) ? 0 : 1;
  answers.late = fade(answers.late, now, { usable: 0, failures: 1, answered: 0, fresh });
  row.failures += 1;
  row.fresh += fresh;
  well.delete(purchase);
  // A purchase that fails again counts as the latest.
  failing.delete(purchase);
  failing.add(purchase);
  if (failing.size > MOST_FAILING) failing.delete(failing.keys().next().value!);
  if (row.purchases.size < MOST_FAILING) row.purchases.add(purchase);
}

/** Whether the row may be the site's fault, so that purchases that answered well lately are asked first: their answers show it. */
export function isSiteDoubtful({ row }: SiteAnswers): boolean {
  return row.failures >= FAILURES_OF_SILENT && row.purchases.size >= PURCHASES_AT_LEAST && row.fresh > 0;
}

/** Whether the latest failures are the site's. */
export function isSiteAtFault(answers: SiteAnswers, now: Moment): boolean {
  const { well, row, usual, answeredAt } = answers;
  // Where few purchases are all there is to ask about, only time shows it.
  if (answeredAt === null || now - answeredAt >= LATELY) return row.failures >= FAILURES_OF_SILENT;
  if (areMostLateFailures(answers)) return true;
  if (row.failures < FAILURES_OF_ANSWERING || row.purchases.size < PURCHASES_AT_LEAST || row.fresh === 0) return false;
  if (now - answeredAt >= SILENT_FOR) return true;
  if (Math.min(Math.max(usual, LEAST_USUAL), MOST_USUAL) ** row.fresh <= CHANCE) return true;
  let answering = 0;
  for (const at of well.values()) if (now - at < LATELY) answering += 1;
  return row.purchases.size >= answering * FAILING_FOR_EACH_WELL;
}

/**
 * The site was at fault and answers again: what went before says nothing more. Only the purchases of the row stay counted,
 * so that few purchases that always fail do not make the site look at fault again and again.
 */
export function forgetOutage(answers: SiteAnswers): void {
  answers.well.clear();
  answers.failing.clear();
  for (const purchase of answers.row.purchases) answers.failing.add(purchase);
  answers.row = newRow();
  answers.late = NONE_LATE;
}

function areMostLateFailures({ late: { usable, failures, answered, fresh } }: SiteAnswers): boolean {
  return fresh >= FRESH_OF_FAILING && fresh >= answered && failures >= usable * FAILURES_FOR_EACH_USABLE;
}

function fade(late: LateAnswers, now: Moment, more: Omit<LateAnswers, 'at'>): LateAnswers {
  const left = Math.exp((late.at - now) / LATE_FOR);
  return {
    at: now,
    usable: late.usable * left + more.usable,
    failures: late.failures * left + more.failures,
    answered: late.answered * left + more.answered,
    fresh: late.fresh * left + more.fresh,
  };
}

function count(answers: SiteAnswers, failed: 0 | 1): void {
  answers.counted = Math.min(answers.counted + 1, MOST_COUNTED);
  answers.usual += (failed - answers.usual) / answers.counted;
}
