/**
 * Pauses, tries and resumes subscribers. Four failures in a row pause a subscriber; after the pause one replica tries with
 * one delivery; then the number of deliveries in flight grows again. Failures on this replica's side (DNS, proxy, sockets)
 * make this replica wait for seconds up to minutes and do not count against the subscriber.
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
  /** Whether an attempt may start now. When the pause is over, claims the right to try; `go` is called once it is granted. */
  mayBegin(queue: SubscriberQueue, go: () => void): boolean;
  /** Until when the subscriber is paused, or null. */
  pausedUntil(queue: SubscriberQueue): Instant | null;
  /** Notes the end of an attempt. Answers why the subscriber is to be switched off, or null. */
  ended(queue: SubscriberQueue, began: Instant, result: SendResult): string | null;
  /** Writes the subscriber's changed health. */
  save(queue: SubscriberQueue): Promise<void>;
  /** Takes over the health that was read from the database; `was` is what memory knew when the read began. */
  heard(queue: SubscriberQueue, is: Known, was: Known): void;
  /** Resolves when no waits of deliveries are being ended. */
  quiet(): Promise<void>;
}

export interface SubscriberPausesOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  /** Failures on our side (DNS, proxy) are counted per replica. */
  readonly replica: string;
}

const FIRST_REST: Milliseconds = 5_000;
const LONGEST_REST: Milliseconds = 5 * 60_000;
/** A try ends within its time-out; a replica that holds the right to try for longer has crashed. */
const TRY_TO_SPARE: Milliseconds = 5_000;
/** Pause while another replica tries, or after the database did not answer which replica does. */
const ASK_AGAIN: Milliseconds = 1_000;

export function createSubscriberPauses({ sql, clock, log, replica }: SubscriberPausesOptions): SubscriberPauses {
  /** Subscribers whose deliveries wait without a reason any more, and which of their waits. */
  const freed = new Map<SubscriberQueue, Which>();
  const freeing = new Set<Promise<void>>();

  const pausedUntil = ({ standing: { health, ours } }: SubscriberQueue): Instant | null => {
    const now = clock.now();
    // A wait that began before the clock was set back is over.
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
    // A paused subscriber takes no memory; its deliveries are loaded from the outbox again.
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

  /** Runs beside the writing of results, which must not wait for it. After a failure the next attempt's end repeats it. */
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
    // Failures at the same time count once, as those of the receiver do.
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
  /** This replica counts its failures but does not see other replicas' successes: the failures may come from one event alone. */
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
    // The first failures are kept in memory only.
    else return;
    standing.saved = health;
  };

  const heardOfOurs = (queue: SubscriberQueue, is: Unreached | null, was: Unreached | null): void => {
    const { ours } = queue.standing;
    // Written by us since, or about to be.
    if (ours.saved !== was) return;
    // An operator resumed the subscriber.
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
      // Nearly every attempt: no failure before, none now.
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
        // The attempt started before the pause, so its result does not end the pause.
        if (after !== null) return null;
        standing.allowance = Math.min(standing.allowance + 1, recipient.concurrency);
        standing.trying = 'no';
        if (before?.pausedUntil != null) {
          log.info({ subscriber: recipient.name, failures: before.failures }, 'subscriber.recovered');
          const since = before.failingSince ?? clock.now();
          // A pause that the receiver asked for (Retry-After) ends at its time; the failed delivery waits for its own.
          if (before.failures >= FAILURES_TO_PAUSE)
            freed.set(queue, { kind: 'explained', since, attempts: recipient.schedule.length + 1 });
        }
        return null;
      }
      standing.allowance = Math.max(Math.floor(standing.allowance / 2), 1);
      if (after === null) return null;
      const { failures, pausedUntil: until } = after;
      if (result.kind === 'gone' || failures >= (recipient.patience.failuresToSwitchOff ?? Number.POSITIVE_INFINITY)) {
        // A subscriber that is off has no health; when it is switched on, it begins without failures.
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
      // Attempts under way here started before that.
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

/** Whether the subscriber is paused for failures and the pause was not alerted yet. */
function isNewPause(health: SubscriberHealth, saved: SubscriberHealth | null): boolean {
  return saved === null && health.pausedUntil !== null && !isAskedFor(health);
}

function isSame(one: SubscriberHealth | null, other: SubscriberHealth | null): boolean {
  return one?.pausedUntil === other?.pausedUntil && one?.failures === other?.failures;
}
