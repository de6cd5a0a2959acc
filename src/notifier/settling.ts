/** What follows from an attempt: for its delivery, in the log, and in the database. */
import { afterOurFailure, nextAttempt } from '../core/delivery-plan.ts';
import type { Ownership } from '../core/ownership.ts';
import type { Instant, Milliseconds } from '../core/purchase.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sql } from '../store/database.ts';
import { type DueDelivery, type Rank, REPLAYED } from '../store/deliveries.ts';
import { type Settlement, settle } from '../store/settle.ts';
import { type SwitchedOff, switchOff } from '../store/subscribers.ts';
import type { SendResult } from './channel.ts';
import type { Ladder } from './ladder.ts';
import type { Outlet, Recipient } from './outlet.ts';

/** An attempt that ended, on its way to the database. */
export interface Job {
  readonly outlet: Outlet;
  readonly delivery: DueDelivery;
  readonly settlement: Settlement;
  /** Of what left with it in the same message: written with it in one statement, or not at all. */
  readonly along: readonly Settlement[];
  readonly epoch: number;
  /** The subscriber is to be told nothing any more, and why. */
  readonly off: SwitchedOff | null;
}

/** Failures on the schedule after which a delivery makes way for what is new. */
const LATE = 2;
/** How long a settlement is tried while the database is away. What is not settled is sent again, with the same id. */
const SETTLE_FOR: Milliseconds = 20_000;

/** What an attempt means for its delivery. `spread` in [0, 1] is how much of the jitter is added. */
export function settlementOf(
  {
    recipient: { schedule },
    standing,
  }: { recipient: Pick<Recipient, 'schedule'>; standing: { ours: { since: Instant | null } } },
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
  const failed = { ...common, outcome: result.reason, error: result.detail };
  if (result.kind === 'gone') return { ...failed, status: 'pending', dueAt: now, fault: 'receiver' };
  // The schedule is for the address that there is now, which has not been tried.
  if (isReplaced) return { ...failed, status: 'pending', dueAt: now, fault: result.fault };
  if (result.fault === 'ours') {
    return {
      ...failed,
      status: 'pending',
      fault: 'ours',
      dueAt: afterOurFailure({ now, since: standing.ours.since ?? now, spread }),
    };
  }
  const again = nextAttempt({ schedule, attempts, now, retryAfter: result.retryAfter, spread });
  const rank: Rank = delivery.rank === REPLAYED ? REPLAYED : attempts >= LATE ? 1 : 0;
  return { ...failed, status: again === null ? 'exhausted' : 'pending', dueAt: again ?? now, rank, fault: 'receiver' };
}

/** Says what became of an attempt: success in detail only, failures as long as they are news. */
export function report(
  log: Logger,
  { recipient }: Outlet,
  { event }: DueDelivery,
  settlement: Settlement,
  off: SwitchedOff | null,
): void {
  // Nearly all are delivered, and nobody reads it: not even the line is made.
  if (settlement.status === 'delivered' && !log.isLevelEnabled('debug')) return;
  const { number: attempt, at, tookMs, httpStatus, outcome: reason, error: detail, status, dueAt } = settlement;
  const about = { subscriber: recipient.name, eventId: event.id, type: event.type, attempt };
  if (status === 'delivered') {
    log.debug({ ...about, httpStatus, tookMs: Math.round(tookMs), sinceEventMs: at - event.createdAt }, 'delivery.delivered');
  } else if (off !== null) log.error({ ...about, reason, detail: off.reason }, 'subscriber.switched_off');
  else if (status === 'exhausted') log.error({ ...about, reason, detail, retryInMs: null }, 'delivery.exhausted');
  else log.warn({ ...about, reason, detail, retryInMs: dueAt - at }, 'delivery.failed');
}

/**
 * Writes what became of attempts and of their subscribers, and tries again while the database is away. Answers the ids
 * written, or null when it was given up.
 */
export async function settleSurely(
  jobs: readonly Job[],
  {
    sql,
    clock,
    log,
    ownership,
    ladder,
    isStopped,
    onTrouble,
  }: {
    sql: Sql;
    clock: Clock;
    log: Logger;
    ownership: Ownership;
    ladder: Ladder;
    isStopped(): boolean;
    /** The database does not take it: what is sent meanwhile could not be settled either. */
    onTrouble(): void;
  },
): Promise<ReadonlySet<number> | null> {
  const epochs = new Map<number, number>();
  for (const { delivery, epoch } of jobs) epochs.set(delivery.shard, epoch);
  const holdings = [...epochs].map(([shard, epoch]) => ({ shard, epoch }));
  const until = clock.monotonic() + SETTLE_FOR;
  for (;;) {
    try {
      for (const { outlet, off } of jobs) if (off !== null) await switchOff(sql, { subscriber: outlet.recipient.id, ...off });
      for (const outlet of new Set(jobs.map((job) => job.outlet))) await ladder.save(outlet);
      return await settle(
        sql,
        jobs.flatMap(({ settlement, along }) => (along.length === 0 ? settlement : [settlement, ...along])),
        { replica: ownership.replica, holdings },
      );
    } catch (error) {
      onTrouble();
      log.error({ error, deliveries: jobs.length }, 'delivery.not_settled');
      if (clock.monotonic() > until || isStopped()) return null;
      await clock.sleep(500, new AbortController().signal);
    }
  }
}
