/** Sends what is due: to each subscriber, each purchase's events in order, one after the other. */
import { nextAttempt } from '../core/delivery-plan.ts';
import type { Ownership } from '../core/ownership.ts';
import type { Milliseconds } from '../core/purchase.ts';
import { createBatcher } from '../runtime/batch.ts';
import type { Clock } from '../runtime/clock.ts';
import { createIdle } from '../runtime/idle.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Meters } from '../runtime/meters.ts';
import type { Sql } from '../store/database.ts';
import { type DueDelivery, loadDueDeliveries, nextDue, putOff, type Settlement, settle } from '../store/deliveries.ts';
import { switchOff } from '../store/subscribers.ts';
import type { SendResult } from './channel.ts';
import type { Outlet, Recipient } from './outlet.ts';
import type { Roster } from './roster.ts';

export interface NotifierOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ownership: Ownership;
  readonly meters: Meters;
  readonly roster: Roster;
  /** Jitter in [0, 1]. */
  spread(): number;
  /** Asks for a tick soon. */
  wake(): void;
}

export interface Notifier {
  /** Reads what is due and starts sending; answers how long to rest. */
  tick(): Promise<Milliseconds>;
  /** Somebody changed who is told: the next tick looks. */
  subscribersChanged(): void;
  /** A purchase was erased: what waits of it in memory is not sent. */
  forget(purchase: number): void;
  /** Sends everything that is due now and waits until it is settled. For tests. */
  deliverDue(): Promise<void>;
  /** Starts nothing any more, and waits for what is under way. */
  stop(): Promise<void>;
}

/** Without a wake-up, look this often. */
const SWEEP: Milliseconds = 5_000;
/** While more is to be read, look again after this. */
const SOON: Milliseconds = 20;
/** Deliveries of one subscriber in memory. */
const MOST_IN_MEMORY = 2_048;
/** Time to settle after an attempt's end: an attempt begins only if the lease outlasts both. */
const TIME_TO_SETTLE: Milliseconds = 2_000;
/** When a lease is too short for an attempt. */
const RENEWAL_REST: Milliseconds = 250;
/** How long a settlement is tried while the database is away. What is not settled is sent again, with the same id. */
const SETTLE_FOR: Milliseconds = 20_000;

interface Job {
  readonly outlet: Outlet;
  readonly delivery: DueDelivery;
  readonly settlement: Settlement;
  readonly epoch: number;
  /** The receiver wants nothing any more, and why. */
  readonly gone: string | null;
}

export function createNotifier({ sql, clock, log, ownership, meters, roster, spread, wake }: NotifierOptions): Notifier {
  /** When the next retry is due as far as is known, and when to find out again (on the monotonic clock). */
  let nextRetryAt = Number.POSITIVE_INFINITY;
  let lookAgainAt = Number.NEGATIVE_INFINITY;
  /** Who is told has to be looked up before anything is loaded; so it has at the start. */
  let changed = true;
  /** Attempts on their way, to whomever. */
  let underWay = 0;
  let stopped = false;
  const idle = createIdle(() => underWay);

  ownership.onChange(({ gained, lost }) => {
    for (const outlet of roster.all()) {
      outlet.dropShards(new Set(lost));
      if (gained.length > 0) outlet.mayHoldMore = true;
    }
    if (gained.length > 0) wake();
  });

  // Sending ---------------------------------------------------------------------------------------------------------

  const pump = (outlet: Outlet): void => {
    const { recipient } = outlet;
    while (!stopped && roster.mayTell(outlet) && outlet.inFlight < recipient.concurrency) {
      const wait = outlet.notBefore - clock.monotonic();
      if (wait > 0) {
        if (outlet.size > 0 && outlet.inFlight === 0) setTimeout(() => pump(outlet), wait);
        return;
      }
      const delivery = outlet.next();
      if (!delivery) return;
      const epoch = ownership.epochOf(delivery.shard);
      if (epoch === null) {
        outlet.dropLane(delivery.lane);
        continue;
      }
      if (!ownership.mayBegin(delivery.shard, recipient.timeout + TIME_TO_SETTLE)) {
        // The lease is too short, or the shard is being given away: the next renewal tells which.
        outlet.putBack(delivery);
        outlet.notBefore = clock.monotonic() + RENEWAL_REST;
        setTimeout(() => pump(outlet), RENEWAL_REST);
        return;
      }
      outlet.notBefore = clock.monotonic() + recipient.spacing;
      void send(outlet, delivery, epoch);
    }
  };

  const send = async (outlet: Outlet, delivery: DueDelivery, epoch: number): Promise<void> => {
    const { recipient } = outlet;
    outlet.inFlight += 1;
    underWay += 1;
    ownership.begin(delivery.shard);
    const answer = await recipient.channel.send(delivery.event, { attempt: delivery.attempts + 1, now: clock.now() });
    // An address that was replaced meanwhile speaks for nobody any more: the next attempt goes to the new one.
    const isReplaced = answer.kind === 'gone' && outlet.recipient !== recipient;
    const result = isReplaced ? { ...answer, kind: 'failed' as const, retryAfter: null, fault: 'receiver' as const } : answer;
    outlet.inFlight -= 1;
    underWay -= 1;
    const gone = result.kind === 'gone' ? result.detail : null;
    // At once, so that nothing else leaves for somebody who wants nothing any more.
    if (gone !== null) roster.switchedOff(outlet);
    const settlement = settlementOf(recipient, delivery, result);
    const outcome = result.kind === 'failed' && settlement.status === 'exhausted' ? 'exhausted' : result.kind;
    meters.subscriber(recipient.name).attempted(outcome, settlement.at - delivery.event.createdAt);
    settlements.add({ outlet, delivery, epoch, gone, settlement });
    pump(outlet);
    idle.rouse();
  };

  const settlementOf = (recipient: Recipient, delivery: DueDelivery, result: SendResult): Settlement => {
    const now = clock.now();
    const number = delivery.attempts + 1;
    const attempts = number - delivery.attemptsBefore;
    const common = {
      delivery,
      number,
      isFirst: number === 1,
      at: now,
      tookMs: result.tookMs,
      httpStatus: result.httpStatus,
      excerpt: result.excerpt || null,
    };
    const about = { subscriber: recipient.name, eventId: delivery.event.id, type: delivery.event.type, attempt: number };
    if (result.kind === 'delivered') {
      const latency = now - delivery.event.createdAt;
      log.info(
        { ...about, httpStatus: result.httpStatus, tookMs: Math.round(result.tookMs), sinceEventMs: latency },
        'delivery.delivered',
      );
      return { ...common, status: 'delivered', dueAt: now, outcome: 'delivered', error: null };
    }
    if (result.kind === 'gone') {
      log.error({ ...about, reason: result.reason, detail: result.detail }, 'subscriber.switched_off');
      return { ...common, status: 'pending', dueAt: now, outcome: result.reason, error: result.detail };
    }
    const { schedule } = recipient;
    const again = nextAttempt({ schedule, attempts, now, retryAfter: result.retryAfter, spread: spread() });
    const [level, event] = again === null ? (['error', 'delivery.exhausted'] as const) : (['warn', 'delivery.failed'] as const);
    const retryInMs = again === null ? null : again - now;
    if (again !== null) nextRetryAt = Math.min(nextRetryAt, again);
    log[level]({ ...about, reason: result.reason, detail: result.detail, retryInMs }, event);
    return {
      ...common,
      status: again === null ? 'exhausted' : 'pending',
      dueAt: again ?? now,
      outcome: result.reason,
      error: result.detail,
    };
  };

  // Settling --------------------------------------------------------------------------------------------------------

  const flush = async (jobs: readonly Job[]): Promise<void> => {
    const written = await settleSurely(jobs);
    for (const { outlet, delivery, settlement, epoch } of jobs) {
      ownership.end(delivery.shard, epoch);
      const isSettled = written?.has(delivery.id) && settlement.status !== 'pending';
      if (isSettled) outlet.done(delivery);
      else outlet.giveUp(delivery);
      // It waits for its next attempt, is not ours any more, or freed what it had put off: the outbox knows more than memory.
      if (!isSettled || !settlement.isFirst) outlet.mayHoldMore = true;
    }
    for (const outlet of new Set(jobs.map((job) => job.outlet))) {
      pump(outlet);
      if (outlet.mayHoldMore && outlet.size < MOST_IN_MEMORY / 2) wake();
    }
  };

  const settleSurely = async (jobs: readonly Job[]): Promise<ReadonlySet<number> | null> => {
    const epochs = new Map(jobs.map((job) => [job.delivery.shard, job.epoch]));
    const holdings = [...epochs].map(([shard, epoch]) => ({ shard, epoch }));
    const until = clock.monotonic() + SETTLE_FOR;
    for (;;) {
      try {
        for (const { outlet, gone } of jobs)
          if (gone !== null) await switchOff(sql, { subscriber: outlet.recipient.id, reason: gone });
        return await settle(
          sql,
          jobs.map((job) => job.settlement),
          { replica: ownership.replica, holdings },
        );
      } catch (error) {
        log.error({ error, deliveries: jobs.length }, 'delivery.not_settled');
        if (clock.monotonic() > until || stopped) return null;
        await clock.sleep(500, new AbortController().signal);
      }
    }
  };
  const settlements = createBatcher<Job>(flush, { most: 500, linger: 0, parallel: 1 });

  // Loading ---------------------------------------------------------------------------------------------------------

  const load = async (outlet: Outlet): Promise<void> => {
    const shards = ownership.owned();
    const limit = MOST_IN_MEMORY - outlet.size;
    // Whoever makes room looks again; gaining a shard does too.
    outlet.mayHoldMore = shards.length > 0 && limit < MOST_IN_MEMORY / 2;
    // One that was off until now goes on with what memory holds, which no end of an attempt would start.
    if (shards.length === 0 || outlet.mayHoldMore) return pump(outlet);
    const wanted = { subscriber: outlet.recipient.id, limit, except: outlet.ids() };
    const { rows, more } = await loadDueDeliveries(sql, { wanted, shards, now: clock.now() });
    if (more) outlet.mayHoldMore = true;
    const blocked = [];
    for (const row of rows) {
      if (outlet.has(row.id)) continue;
      if (row.behind === null || outlet.has(row.behind.id)) outlet.add(row);
      else {
        // Its blocker was settled just now, or is due itself and was beyond the limit.
        if (row.behind.dueAt <= clock.now()) outlet.mayHoldMore = true;
        blocked.push({ subscriber: row.subscriber, lane: row.lane, position: row.position - 1, dueAt: row.behind.dueAt });
      }
    }
    await putOff(sql, blocked);
    pump(outlet);
  };

  /** Resolves when nothing is being sent or settled. */
  const quiet = async (): Promise<void> => {
    while (underWay > 0 || settlements.pending() > 0) {
      await idle.wait();
      await settlements.drain();
    }
  };

  /** Who is told, and when the next retry is due: looked up now and then, not with every wake-up. */
  const lookAround = async (): Promise<void> => {
    await lookWhoIsTold();
    const now = clock.now();
    nextRetryAt =
      (await nextDue(sql, {
        subscribers: roster.active().map(({ recipient }) => recipient.id),
        shards: ownership.owned(),
        now,
      })) ?? now + SWEEP;
    lookAgainAt = clock.monotonic() + SWEEP;
  };
  const lookWhoIsTold = async (): Promise<void> => {
    changed = false;
    await roster.refresh();
  };

  return {
    tick: async () => {
      if (changed) await lookWhoIsTold();
      for (const outlet of roster.active()) await load(outlet);
      if (roster.active().some((outlet) => outlet.mayHoldMore && outlet.size < MOST_IN_MEMORY / 2)) return SOON;
      if (clock.monotonic() >= lookAgainAt || clock.now() >= nextRetryAt) await lookAround();
      return Math.min(Math.max(nextRetryAt - clock.now(), SOON), SWEEP);
    },
    forget: (purchase) => {
      for (const outlet of roster.all()) outlet.dropLane(purchase);
    },
    subscribersChanged: () => {
      changed = true;
    },
    deliverDue: async () => {
      for (;;) {
        await lookAround();
        for (const outlet of roster.active()) await load(outlet);
        await quiet();
        if (roster.active().every((outlet) => outlet.size === 0)) break;
        // Whoever wants deliveries spaced out is waited for.
        await clock.sleep(20, new AbortController().signal);
      }
    },
    stop: async () => {
      stopped = true;
      await quiet();
    },
  };
}
