/**
 * When a subscriber may be sent something, by what it answered lately. Four failures in a row pause it; after the pause
 * one replica tries with one delivery; then it is sent more and more at once. Failures of ours pause it here for
 * seconds, without being held against it.
 */
import { FAILURES_TO_PAUSE, healthAfter, holdAfter, type SubscriberHealth } from '../core/health.ts';
import type { Instant, Milliseconds } from '../core/purchase.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sql } from '../store/database.ts';
import { claimTry, eraseHealth, savePause } from '../store/health.ts';
import type { SendResult } from './channel.ts';
import type { Outlet } from './outlet.ts';

export interface Ladder {
  /** Whether something may leave for it now. Asks for the right to try when its pause is over; `go` is called with it. */
  mayBegin(outlet: Outlet, go: () => void): boolean;
  /** Until when it is left alone, or null. */
  pausedUntil(outlet: Outlet): Instant | null;
  /** An attempt ended. Answers why the subscriber is to be switched off, or null. */
  ended(outlet: Outlet, began: Instant, result: SendResult): string | null;
  /** Writes what changed of it. */
  save(outlet: Outlet): Promise<void>;
  /** The database says how it stands with it, read when `standing.saved` was what is given. */
  heard(outlet: Outlet, health: SubscriberHealth | null, wasSaved: SubscriberHealth | null): void;
}

const FIRST_REST: Milliseconds = 5_000;
const LONGEST_REST: Milliseconds = 5 * 60_000;
/** A try ends within its time-out; what holds it longer has crashed. */
const TRY_TO_SPARE: Milliseconds = 5_000;
/** When another replica tries, or nobody could say who does. */
const ASK_AGAIN: Milliseconds = 1_000;

export function createLadder({ sql, clock, log }: { sql: Sql; clock: Clock; log: Logger }): Ladder {
  const pausedUntil = ({ standing: { health, ours } }: Outlet): Instant | null => {
    const until = Math.max(health?.pausedUntil ?? 0, ours.until);
    return until > clock.now() ? until : null;
  };

  const askToTry = (outlet: Outlet, go: () => void): void => {
    const { standing, recipient } = outlet;
    standing.trying = 'asking';
    const now = clock.now();
    claimTry(sql, recipient.id, { now, until: now + recipient.timeout + TRY_TO_SPARE }).then(
      (granted) => {
        standing.trying = granted ? 'yes' : 'no';
        if (!granted) outlet.notBefore = clock.monotonic() + ASK_AGAIN;
        go();
      },
      (error: unknown) => {
        standing.trying = 'no';
        outlet.notBefore = clock.monotonic() + ASK_AGAIN;
        log.warn({ error, subscriber: recipient.name }, 'subscriber.not_tried');
      },
    );
  };

  const pausedNow = (outlet: Outlet): void => {
    const { standing, recipient } = outlet;
    standing.allowance = 1;
    standing.trying = 'no';
    // What waits is found in the outbox again: a paused subscriber takes no memory.
    outlet.dropWaiting();
    outlet.lookFromStart();
    const { failures, pausedUntil: until, lastError } = standing.health!;
    const forMs = until! - clock.now();
    log.warn({ subscriber: recipient.name, failures, pausedForMs: forMs, detail: lastError }, 'subscriber.paused');
  };

  return {
    pausedUntil,
    mayBegin: (outlet, go) => {
      const { standing, inFlight, recipient } = outlet;
      if (pausedUntil(outlet) !== null) return false;
      if (standing.health?.pausedUntil != null) {
        if (inFlight > 0) return false;
        if (standing.trying === 'no') askToTry(outlet, go);
        return standing.trying === 'yes';
      }
      if (standing.ours.failures >= FAILURES_TO_PAUSE && inFlight > 0) return false;
      return inFlight < Math.min(recipient.concurrency, standing.allowance);
    },
    ended: (outlet, began, result) => {
      const { standing, recipient } = outlet;
      const { health: before, ours } = standing;
      if (result.kind === 'failed' && result.fault === 'ours') {
        standing.trying = 'no';
        // Many at once are one failure, as those of the receiver are.
        if (began < ours.failedAt) return null;
        ours.failures += 1;
        ours.failedAt = clock.now();
        const beyond = ours.failures - FAILURES_TO_PAUSE;
        if (beyond >= 0) ours.until = clock.now() + Math.min(FIRST_REST * 2 ** Math.min(beyond, 20), LONGEST_REST);
        return null;
      }
      ours.failures = 0;
      ours.until = Number.NEGATIVE_INFINITY;
      const error = result.kind === 'delivered' ? null : result.detail;
      const retryAfter = result.kind === 'failed' ? result.retryAfter : null;
      const after = healthAfter(before, [{ at: clock.now(), began, error, retryAfter }], recipient.patience);
      standing.health = after;
      if (error === null) {
        // It was sent before the pause and tells nothing of its end.
        if (after !== null) return null;
        standing.allowance = Math.min(standing.allowance + 1, recipient.concurrency);
        standing.trying = 'no';
        if (before?.pausedUntil != null)
          log.info({ subscriber: recipient.name, failures: before.failures }, 'subscriber.recovered');
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
        outlet.notBefore = Math.max(outlet.notBefore, clock.monotonic() + holdAfter(failures));
      if (until !== null && until !== before?.pausedUntil) pausedNow(outlet);
      return null;
    },
    save: async ({ recipient, standing }) => {
      const { health, saved } = standing;
      if (health === saved) return;
      if (health === null) await eraseHealth(sql, recipient.id);
      else if (health.pausedUntil !== null && health.pausedUntil !== saved?.pausedUntil)
        await savePause(sql, recipient.id, health);
      // A failure or two are kept in mind, not in the database.
      else return;
      standing.saved = health;
    },
    heard: (outlet, health, wasSaved) => {
      const { standing } = outlet;
      // Written by us since, or about to be.
      if (standing.saved !== wasSaved) return;
      if (isSame(health, standing.saved)) return;
      // What is under way here began before.
      const heard = health === null ? null : { ...health, failedAt: clock.now() };
      Object.assign(standing, { saved: heard, health: heard, trying: 'no' });
      standing.allowance = 1;
      if (health?.pausedUntil != null) {
        outlet.dropWaiting();
        outlet.lookFromStart();
      }
    },
  };
}

function isSame(one: SubscriberHealth | null, other: SubscriberHealth | null): boolean {
  return one?.pausedUntil === other?.pausedUntil && one?.failures === other?.failures;
}
