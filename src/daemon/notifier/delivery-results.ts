/** Settles attempts: decides the next state of each delivery, logs failures, and writes results to the database. */

import type { SendResult } from '../../channels/outgoing/channel.ts';
import { afterLimit, afterOurFailure, nextAttempt } from '../../domain/deliveries/delivery-plan.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { isAboutData } from '../../postgres/connection/database.ts';
import { type DueDelivery, type Rank, REPLAYED } from '../../postgres/deliveries/deliveries.ts';
import { type Settlement, settle } from '../../postgres/deliveries/settle.ts';
import { type SwitchedOff, switchOff } from '../../postgres/subscribers/subscribers.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Deps } from '../deps.ts';
import { type AttemptResult, settleUnlocked } from './locked-results.ts';
import type { Recipient, Subscriber } from './subscribers/subscriber.ts';
import type { SubscriberPauses } from './subscribers/subscriber-pauses.ts';

/** After so many failures on the schedule a delivery ranks behind new ones. */
const RANKS_BEHIND = 2;
/** Pauses between tries to write results: short after a brief failure, long enough not to load a database that is in trouble. */
const FIRST_REST: Milliseconds = 500;
const LONGEST_REST: Milliseconds = 15_000;
/** Name of this work in the notifier's health. */
const RESULTS = 'results';
const LOCKED = 'deliveries are not settled, because other sessions have locked their rows (55P03)';
const UNWRITABLE_ADVICE = 'It was sent, and is sent once more after a restart; report this with the error.';

/** The next state of a delivery after an attempt. `spread` in [0, 1] is how much of the jitter is added. */
export function settlementOf(
  {
    recipient: { schedule },
    health,
  }: { readonly recipient: Pick<Recipient, 'schedule'>; readonly health: { readonly own: { readonly since: Instant | null } } },
  delivery: DueDelivery,
  result: SendResult,
  { now, spread, isReplaced }: { now: Instant; spread: number; isReplaced: boolean },
): Settlement {
  const number = delivery.attempts + 1;
  const attempts = number - delivery.attemptsBefore;
  const { tookMs, httpStatus } = result;
  const common = { delivery, number, rank: delivery.rank, at: now, tookMs, httpStatus, excerpt: result.excerpt || null };
  if (result.kind === 'delivered') {
    return { ...common, status: 'delivered', dueAt: now, outcome: 'delivered', fault: null, error: null };
  }
  const failed = { ...common, outcome: result.reason, error: result.detail, answer: result.answer ?? null };
  if (result.kind === 'gone') return { ...failed, status: 'pending', dueAt: now, fault: 'receiver' };
  // The address was replaced during the attempt; the schedule begins again for the new one.
  if (isReplaced) return { ...failed, status: 'pending', dueAt: now, fault: result.fault };
  if (result.fault === 'ours') {
    return {
      ...failed,
      status: 'pending',
      fault: 'ours',
      dueAt: afterOurFailure({ now, since: health.own.since ?? now, spread }),
    };
  }
  if (result.isLimit === true && result.retryAfter !== null) {
    const dueAt = afterLimit({ now, retryAfter: result.retryAfter });
    return { ...failed, status: 'pending', fault: 'receiver', isUncounted: true, dueAt };
  }
  const again = nextAttempt({ schedule, attempts, now, retryAfter: result.retryAfter, spread });
  const rank: Rank = delivery.rank === REPLAYED ? REPLAYED : attempts >= RANKS_BEHIND ? 1 : 0;
  return { ...failed, status: again === null ? 'exhausted' : 'pending', dueAt: again ?? now, rank, fault: 'receiver' };
}

/** Logs the result of an attempt: a success at level debug, a failure unless it repeats an earlier one. */
export function report(
  log: Logger,
  { recipient }: Subscriber,
  { event }: DueDelivery,
  settlement: Settlement,
  off: SwitchedOff | null,
): void {
  // Nearly all attempts succeed: without level debug, no line is built for them.
  if (settlement.status === 'delivered' && !log.isVerbose) return;
  const { number: attempt, at, tookMs, httpStatus, outcome: reason, error: detail, status, dueAt } = settlement;
  const about = { subscriber: recipient.name, eventId: event.id, type: event.type, attempt };
  if (status === 'delivered') {
    log.debug({ ...about, httpStatus, tookMs: Math.round(tookMs), sinceEventMs: at - event.createdAt }, 'delivery.delivered');
  } else if (off !== null) log.error({ ...about, reason, detail: off.reason }, 'subscriber.switched_off');
  else if (status === 'exhausted') log.error({ ...about, reason, detail, retryInMs: null }, 'delivery.exhausted');
  else log.warn({ ...about, reason, detail, retryInMs: dueAt - at }, 'delivery.failed');
}

/** The parts that writing results needs. */
interface ResultsContext extends Pick<Deps, 'sql' | 'clock' | 'log' | 'ownership' | 'writes'> {
  readonly subscriberPauses: SubscriberPauses;
  /** Ends the tries. */
  readonly stopped: AbortSignal;
  /** Ends the present pause between two tries: the daemon stops, or the database confirms renewals again. */
  pauseEnd(): AbortSignal;
  /** The database refuses results, so nothing more should be sent. */
  onTrouble(): void;
}

/** Which results were written. */
export interface Settled {
  /** Ids of deliveries whose result was written. */
  readonly written: ReadonlySet<number>;
  /** Ids of deliveries whose result cannot be written: the database refuses the values, or the daemon stops. */
  readonly unwritable: ReadonlySet<number>;
  /** Results that wait, because another session has locked their rows. */
  readonly locked: readonly AttemptResult[];
}

/**
 * Writes results of attempts and the health of their subscribers, and tries again until they are written; until then the
 * deliveries stay in memory and are not sent again. Leaves results out whose rows are locked. Gives up only when the daemon stops: the next daemon then sends the
 * unsettled deliveries again, with the same id.
 */
export async function settleSurely(results: readonly AttemptResult[], context: ResultsContext): Promise<Settled> {
  const { sql, clock, log, writes, stopped, onTrouble } = context;
  for (let rest = FIRST_REST; ; rest = Math.min(2 * rest, LONGEST_REST)) {
    try {
      const { written, locked } = await settleUnlocked(results, { sql, settle: (some) => settleOnce(some, context) });
      // One row that a person has locked is no trouble of the replica. Several, and no result written for long, are.
      if (written.size > 0 || locked.length === 0) writes.done(RESULTS);
      else if (locked.length > 1) writes.failed(RESULTS, new Error(`${locked.length} ${LOCKED}`));
      if (stopped.aborted) return { written, unwritable: idsOf(locked), locked: [] };
      return { written, unwritable: new Set(), locked };
    } catch (error) {
      if (isAboutData(error)) return settleApart(results, context, error);
      onTrouble();
      writes.failed(RESULTS, error);
      log.error({ error, deliveries: results.length, retryInMs: rest }, 'delivery.not_settled');
      if (stopped.aborted) return { written: new Set(), unwritable: idsOf(results), locked: [] };
      await clock.sleep(rest, context.pauseEnd());
    }
  }
}

/** Writes a batch in halves when the database refuses it, so that one refused result does not keep the others from being written. */
async function settleApart(results: readonly AttemptResult[], context: ResultsContext, error: unknown): Promise<Settled> {
  if (results.length === 1) {
    const { subscriber, delivery } = results[0]!;
    const about = { subscriber: subscriber.recipient.name, eventId: delivery.event.id };
    context.log.error({ error, ...about, advice: UNWRITABLE_ADVICE }, 'delivery.unsettleable');
    return { written: new Set(), unwritable: idsOf(results), locked: [] };
  }
  const middle = results.length >> 1;
  const first = await settleSurely(results.slice(0, middle), context);
  const second = await settleSurely(results.slice(middle), context);
  return {
    written: first.written.union(second.written),
    unwritable: first.unwritable.union(second.unwritable),
    locked: [...first.locked, ...second.locked],
  };
}

const idsOf = (results: readonly AttemptResult[]): Set<number> => new Set(results.map(({ delivery }) => delivery.id));

async function settleOnce(results: readonly AttemptResult[], context: ResultsContext): Promise<ReadonlySet<number>> {
  const { sql, ownership, subscriberPauses } = context;
  const epochs = new Map<number, number>();
  for (const { delivery, epoch } of results) epochs.set(delivery.shard, epoch);
  const holdings = [...epochs].map(([shard, epoch]) => ({ shard, epoch }));
  for (const { subscriber, off } of results)
    if (off !== null) await switchOff(sql, { subscriber: subscriber.recipient.id, ...off });
  for (const subscriber of new Set(results.map((result) => result.subscriber))) await subscriberPauses.save(subscriber);
  return settle(
    sql,
    results.flatMap(({ settlement, along }) => [settlement, ...along]),
    { replica: ownership.replica, holdings },
  );
}
