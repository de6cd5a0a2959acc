/**
 * When a subscriber may be sent something, by what it answered lately. Four failures in a row pause it; after the pause
 * one replica tries with one delivery; then it is sent more and more at once. Failures of ours make this replica rest
 * for seconds up to minutes, without being held against it.
 */

import type { SendResult } from '../../channels/outgoing/channel.ts';
import {
  FAILURES_TO_PAUSE,
  healthAfter,
  holdAfter,
  type SubscriberHealth,
  type Unreached,
} from '../../domain/deliveries/subscriber-health.ts';
import { isAskedFor } from '../../domain/deliveries/subscriber-state.ts';
import { isAhead } from '../../domain/values/clock-ahead.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { bringForward, type Which } from '../../postgres/deliveries/bring-forward.ts';
import {
  claimTry,
  eraseFailures,
  eraseUnreached,
  hasTaken,
  savePause,
  saveUnreached,
} from '../../postgres/deliveries/subscriber-health.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Known } from './known-subscribers.ts';
import type { SubscriberQueue } from './subscriber-queue.ts';

export interface SubscriberPauses {
  /** Whether something may leave for it now. Asks for the right to try when its pause is over; `go` is called with it. */
  mayBegin(queue: SubscriberQueue, go: () => void): boolean;
  /** Until when it is left alone, or null. */
  pausedUntil(queue: SubscriberQueue): Instant | null;
  /** An attempt ended. Answers why the subscriber is to be switched off, or null. */
  ended(queue: SubscriberQueue, began: Instant, result: SendResult): string | null;
  /** Writes what changed of it. */
  save(queue: SubscriberQueue): Promise<void>;
  /** The database says how it stands with it, read when what was known of that is `was`. */
  heard(queue: SubscriberQueue, is: Known, was: Known): void;
  /** Resolves when no waits are being ended. */
  quiet(): Promise<void>;
}

export interface SubscriberPausesOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  /** This replica's id: what is ours is often one replica's alone. */
  readonly replica: string;
}

const FIRST_REST: Milliseconds = 5_000;
const LONGEST_REST: Milliseconds = 5 * 60_000;
/** A try ends within its time-out; what holds it longer has crashed. */
const TRY_TO_SPARE: Milliseconds = 5_000;
/** When another replica tries, or nobody could say who does. */
const ASK_AGAIN: Milliseconds = 1_000;

export function createSubscriberPauses({ sql, clock, log, replica }: SubscriberPausesOptions): SubscriberPauses {
  /** Whose waits have lost their reason, and which. */
  const freed = new Map<SubscriberQueue, Which>();
  const freeing = new Set<Promise<void>>();

  const pausedUntil = ({ standing: { health, ours } }: SubscriberQueue): Instant | null => {
    const now = clock.now();
    // A rest that was begun before the clock was set back is over.
    const rest = isAhead(ours.until, now + LONGEST_REST) ? 0 : ours.until;
    const until = Math.max(health?.pausedUntil ?? 0, rest);
    return until > now ? until : null;
  };

  const askToTry = (queue: SubscriberQueue, go: () => void): void => {
    const { standing, recipient } = queue;
    standing.trying = 'asking';
    const now = clock.now();
    claimTry(sql, recipient.id, { now, until: now + recipient.timeout + TRY_TO_SPARE }).then(
      (granted) => {
        standing.trying = granted ? 'yes' : 'no';
        if (!granted) queue.notBefore = clock.monotonic() + ASK_AGAIN;
        go();
      },
      (error: unknown) => {
        standing.trying = 'no';
        queue.notBefore = clock.monotonic() + ASK_AGAIN;
        log.warn({ error, subscriber: recipient.name }, 'subscriber.not_tried');
      },
    );
  };

  const pausedNow = (queue: SubscriberQueue): void => {
    const { standing, recipient } = queue;
    standing.allowance = 1;
    standing.trying = 'no';
    // What waits is found in the outbox again: a paused subscriber takes no memory.
    queue.dropWaiting();
    queue.lookFromStart();
    const { failures, pausedUntil: until, lastError: detail } = standing.health!;
    const { name: subscriber } = recipient;
    const pausedForMs = until! - clock.now();
    const advice = isAskedFor(standing.health!)
      ? 'nothing: the receiver asked for this rest, and what is for it goes out in order afterwards'
      : `mend the receiver; what is for it waits and goes out in order, at once with: purchase-watch subscribers resume ${subscriber}`;
    log.warn({ subscriber, failures, pausedForMs, detail, advice }, 'subscriber.paused');
  };

  /** Beside the settling of attempts, which others wait for. What fails is tried again with the next attempt that ends. */
  const free = (queue: SubscriberQueue, which: Which): void => {
    const subscriber = queue.recipient.name;
    const done = bringForward(sql, queue.recipient.id, which, clock.now())
      .then((count) => {
        if (count === 0) return;
        queue.lookFromStart();
        log.info({ subscriber, deliveries: count }, 'delivery.brought_forward');
      })
      .catch((error: unknown) => {
        if (!freed.has(queue)) freed.set(queue, which);
        log.warn({ error, subscriber }, 'delivery.not_brought_forward');
      })
      .finally(() => freeing.delete(done));
    freeing.add(done);
  };

  const failedThroughUs = ({ standing: { ours }, recipient }: SubscriberQueue, began: Instant, detail: string): void => {
    // Many at once are one failure, as those of the receiver are.
    if (began < ours.failedAt) return;
    const now = clock.now();
    ours.failures += 1;
    ours.failedAt = now;
    ours.since ??= now;
    ours.error = detail;
    const beyond = ours.failures - FAILURES_TO_PAUSE;
    if (beyond < 0) return;
    ours.until = now + Math.min(FIRST_REST * 2 ** Math.min(beyond, 20), LONGEST_REST);
    if (beyond === 0) log.warn({ subscriber: recipient.name, failures: ours.failures, detail }, 'subscriber.unreached');
  };
  const reached = ({ standing: { ours } }: SubscriberQueue): void => {
    if (ours.failures === 0) return;
    Object.assign(ours, { failures: 0, until: Number.NEGATIVE_INFINITY, since: null, error: null });
  };

  const saveOurs = async (queue: SubscriberQueue): Promise<void> => {
    const { id } = queue.recipient;
    const { ours, health } = queue.standing;
    const { failures, since, error, saved } = ours;
    if (failures >= FAILURES_TO_PAUSE && since !== null && failures !== saved?.failures) {
      const unreached = { failures, since, error };
      await saveUnreached(sql, id, { ...unreached, replica });
      ours.saved = unreached;
    } else if (failures === 0 && saved !== null) {
      const wasOurs = await eraseUnreached(sql, id, replica);
      ours.saved = null;
      if (wasOurs && health === null && !freed.has(queue)) freed.set(queue, { kind: 'ours' });
    }
  };
  /** Failures are counted here, and successes elsewhere are not heard of: what fails again and again may be one event alone. */
  const onlySome = (queue: SubscriberQueue, health: SubscriberHealth): void => {
    const { standing, recipient } = queue;
    if (standing.health !== health) return;
    standing.health = null;
    queue.lookFromStart();
    const detail = 'Another replica got through meanwhile: only some of its events fail.';
    log.info({ subscriber: recipient.name, failures: health.failures, detail }, 'subscriber.resumed');
  };
  const saveHealth = async (queue: SubscriberQueue): Promise<void> => {
    const { recipient, standing } = queue;
    const { health, saved } = standing;
    if (health === saved) return;
    if (health === null) await eraseFailures(sql, recipient.id);
    else if (isNewPause(health, saved) && (await hasTaken(sql, recipient.id, health.failingSince!)))
      return onlySome(queue, health);
    else if (health.pausedUntil !== null && health.pausedUntil !== saved?.pausedUntil)
      await savePause(sql, recipient.id, health, recipient.allowed ?? null);
    // A failure or two are kept in mind, not in the database.
    else return;
    standing.saved = health;
  };

  const heardOfOurs = (queue: SubscriberQueue, is: Unreached | null, was: Unreached | null): void => {
    const { ours } = queue.standing;
    // Written by us since, or about to be.
    if (ours.saved !== was) return;
    // Somebody mended the way and says so.
    if (is === null && was !== null) {
      reached(queue);
      queue.lookFromStart();
    }
    ours.saved = is;
  };

  return {
    pausedUntil,
    mayBegin: (queue, go) => {
      const { standing, inFlight, recipient } = queue;
      if (pausedUntil(queue) !== null) return false;
      if (standing.health?.pausedUntil != null) {
        if (inFlight > 0) return false;
        if (standing.trying === 'no') askToTry(queue, go);
        return standing.trying === 'yes';
      }
      if (standing.ours.failures >= FAILURES_TO_PAUSE && inFlight > 0) return false;
      return inFlight < Math.min(recipient.concurrency, standing.allowance);
    },
    ended: (queue, began, result) => {
      const { standing, recipient } = queue;
      const { health: before } = standing;
      if (result.kind === 'failed' && result.fault === 'ours') {
        standing.trying = 'no';
        failedThroughUs(queue, began, result.detail);
        return null;
      }
      reached(queue);
      // Nearly every attempt: nothing was wrong, and nothing is.
      if (before === null && result.kind === 'delivered') {
        standing.allowance = Math.min(standing.allowance + 1, recipient.concurrency);
        standing.trying = 'no';
        return null;
      }
      const error = result.kind === 'delivered' ? null : result.detail;
      const { retryAfter = null, isLimit = false } = result.kind === 'failed' ? result : {};
      const cause = result.kind === 'delivered' ? null : result.reason;
      const after = healthAfter(before, [{ at: clock.now(), began, error, cause, retryAfter, isLimit }], recipient.patience);
      standing.health = after;
      if (error === null) {
        // It was sent before the pause and tells nothing of its end.
        if (after !== null) return null;
        standing.allowance = Math.min(standing.allowance + 1, recipient.concurrency);
        standing.trying = 'no';
        if (before?.pausedUntil != null) {
          log.info({ subscriber: recipient.name, failures: before.failures }, 'subscriber.recovered');
          const since = before.failingSince ?? clock.now();
          // A rest that was asked for is over when it said so: what failed waits for its own time.
          if (before.failures >= FAILURES_TO_PAUSE)
            freed.set(queue, { kind: 'explained', since, attempts: recipient.schedule.length + 1 });
        }
        return null;
      }
      standing.allowance = Math.max(Math.floor(standing.allowance / 2), 1);
      if (after === null) return null;
      const { failures, pausedUntil: until } = after;
      if (result.kind === 'gone' || failures >= (recipient.patience.failuresToSwitchOff ?? Number.POSITIVE_INFINITY)) {
        // Whoever is off has no health; switched on again, it begins as one that is well.
        Object.assign(standing, { health: null, saved: null, allowance: 1, trying: 'no' });
        if (result.kind === 'gone') return null;
        const since = new Date(after.failingSince!).toISOString();
        return `${failures} deliveries in a row failed since ${since}, the last so: ${after.lastError}`;
      }
      if (until === null && failures !== before?.failures)
        queue.notBefore = Math.max(queue.notBefore, clock.monotonic() + holdAfter(failures));
      if (until !== null && until !== before?.pausedUntil) pausedNow(queue);
      return null;
    },
    save: async (queue) => {
      await saveHealth(queue);
      await saveOurs(queue);
      const which = freed.get(queue);
      if (which === undefined) return;
      freed.delete(queue);
      free(queue, which);
    },
    heard: (queue, { health, unreached }, was) => {
      heardOfOurs(queue, unreached, was.unreached);
      const { standing } = queue;
      // Written by us since, or about to be.
      if (standing.saved !== was.health) return;
      if (isSame(health, standing.saved)) return;
      if (health === null)
        log.info(
          { subscriber: queue.recipient.name, detail: 'Its pause was ended by hand, or another replica got through.' },
          'subscriber.resumed',
        );
      // What is under way here began before.
      const heard = health === null ? null : { ...health, failedAt: clock.now() };
      Object.assign(standing, { saved: heard, health: heard, trying: 'no' });
      standing.allowance = 1;
      if (health?.pausedUntil != null) {
        queue.dropWaiting();
        queue.lookFromStart();
      }
    },
    quiet: async () => {
      while (freeing.size > 0) await Promise.all(freeing);
    },
  };
}

/** Whether it is paused for its failures, and nobody was told yet. */
function isNewPause(health: SubscriberHealth, saved: SubscriberHealth | null): boolean {
  return saved === null && health.pausedUntil !== null && !isAskedFor(health);
}

function isSame(one: SubscriberHealth | null, other: SubscriberHealth | null): boolean {
  return one?.pausedUntil === other?.pausedUntil && one?.failures === other?.failures;
}
