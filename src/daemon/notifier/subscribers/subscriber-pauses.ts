/**
 * Pauses, tries and resumes subscribers. Four failures in a row pause a subscriber; after the pause one replica tries with
 * one delivery; then the number of deliveries in flight grows again. Failures on this replica's side (DNS, proxy, sockets)
 * make this replica wait for seconds up to minutes and do not count against the subscriber.
 */

import type { SendResult } from '../../../channels/outgoing/channel.ts';
import {
  FAILURES_TO_PAUSE,
  healthAfter,
  holdAfter,
  type SubscriberHealth,
} from '../../../domain/deliveries/subscriber-health.ts';
import { isAskedFor } from '../../../domain/deliveries/subscriber-state.ts';
import { commandLine } from '../../../domain/values/command-line.ts';
import type { Instant, Milliseconds } from '../../../domain/values/time.ts';
import { claimTry } from '../../../postgres/deliveries/subscriber-health.ts';
import { endOwnFailures, forget, grow, noteOwnFailure, pause, setHealth, setTrying, shrink } from './health-in-memory.ts';
import { createHealthWrites, type HealthWritesOptions } from './health-writes.ts';
import { type Subscriber, unload } from './subscriber.ts';

/** The consequences of an attempt's end: for how long nothing is sent, and why the subscriber is to be switched off, or null. */
export interface AfterAttempt {
  readonly hold: Milliseconds;
  readonly switchOff: string | null;
}

export type SubscriberPauses = ReturnType<typeof createSubscriberPauses>;

type Failure = Exclude<SendResult, { kind: 'delivered' }>;

/** A try ends within its time-out; a replica that holds the right to try for longer has crashed. */
const TRY_TO_SPARE: Milliseconds = 5_000;
/** Pause while another replica tries, or after the database did not answer which replica does. */
const ASK_AGAIN: Milliseconds = 1_000;
const GO_ON: AfterAttempt = { hold: 0, switchOff: null };

export function createSubscriberPauses(options: HealthWritesOptions) {
  const { sql, clock, log } = options;
  const writes = createHealthWrites(options);

  const pauseNow = (subscriber: Subscriber, after: SubscriberHealth): void => {
    const { name } = subscriber.recipient;
    pause(subscriber.health);
    // A paused subscriber takes no memory.
    unload(subscriber);
    const { failures, pausedUntil: until, lastError: detail } = after;
    const pausedForMs = until! - clock.now();
    const advice = isAskedFor(after)
      ? 'nothing: the receiver asked for this pause, and its parked deliveries are sent in order afterwards'
      : `mend the receiver; its parked deliveries are then sent in order, at once with: ${commandLine`subscribers resume ${name}`}`;
    log.warn({ subscriber: name, failures, pausedForMs, detail, advice }, 'subscriber.paused');
  };

  const delivered = (subscriber: Subscriber, before: SubscriberHealth | null): void => {
    const { health, recipient } = subscriber;
    grow(health, recipient.concurrency);
    if (before?.pausedUntil == null) return;
    log.info({ subscriber: recipient.name, failures: before.failures }, 'subscriber.recovered');
    const since = before.failingSince ?? clock.now();
    // A pause that the receiver asked for (Retry-After) ends at its time; the failed delivery waits for its own.
    if (before.failures >= FAILURES_TO_PAUSE)
      writes.free(subscriber, { kind: 'explained', since, attempts: recipient.schedule.length + 1 });
  };

  const failed = (subscriber: Subscriber, result: Failure, before: SubscriberHealth | null): AfterAttempt => {
    const { health, recipient } = subscriber;
    // A failure leaves no subscriber well.
    const after = health.current!;
    shrink(health);
    const { failures, pausedUntil: until } = after;
    if (result.kind === 'gone' || failures >= (recipient.patience.failuresToSwitchOff ?? Number.POSITIVE_INFINITY)) {
      forget(health);
      if (result.kind === 'gone') return { hold: 0, switchOff: result.detail };
      const since = new Date(after.failingSince!).toISOString();
      return { hold: 0, switchOff: `${failures} deliveries in a row failed since ${since}, the last so: ${after.lastError}` };
    }
    if (until !== null && until !== before?.pausedUntil) pauseNow(subscriber, after);
    const isHold = until === null && failures !== before?.failures;
    return isHold ? { hold: holdAfter(failures), switchOff: null } : GO_ON;
  };

  return {
    save: writes.save,
    quiet: writes.quiet,
    /** The pause is over: claims the right to try with one delivery. Answers how long to wait before the next attempt. Never rejects. */
    claimTry: async ({ health, recipient }: Subscriber): Promise<Milliseconds> => {
      setTrying(health, 'asking');
      const now = clock.now();
      try {
        const isGranted = await claimTry(sql, recipient.id, { now, until: now + recipient.timeout + TRY_TO_SPARE });
        // Meanwhile this replica learned that another one got through, or how long a new pause is.
        if (!isGranted && health.trying !== 'asking') return 0;
        setTrying(health, isGranted ? 'yes' : 'no');
        return isGranted ? 0 : ASK_AGAIN;
      } catch (error) {
        setTrying(health, 'no');
        log.warn({ error, subscriber: recipient.name }, 'subscriber.not_tried');
        return ASK_AGAIN;
      }
    },
    /** Notes the end of an attempt. */
    ended: (
      subscriber: Subscriber,
      { began, at }: { readonly began: Instant; readonly at: Instant },
      result: SendResult,
    ): AfterAttempt => {
      const { health, recipient } = subscriber;
      const before = health.current;
      if (result.kind === 'failed' && result.fault === 'ours') {
        if (noteOwnFailure(health, began, at, result.detail))
          log.warn({ subscriber: recipient.name, failures: FAILURES_TO_PAUSE, detail: result.detail }, 'subscriber.unreached');
        return GO_ON;
      }
      endOwnFailures(health);
      // Nearly every attempt: no failure before, none now.
      if (before !== null || result.kind !== 'delivered')
        setHealth(health, healthAfter(before, [attemptOf(result, began, at)], recipient.patience));
      if (result.kind !== 'delivered') return failed(subscriber, result, before);
      // While it is paused the attempt started before the pause, so its result does not end the pause.
      if (health.current === null) delivered(subscriber, before);
      return GO_ON;
    },
  };
}

/** An attempt's end, as the rule of subscribers' health takes it. */
function attemptOf(result: SendResult, began: Instant, at: Instant) {
  if (result.kind === 'delivered') return { at, began, error: null, retryAfter: null };
  const { retryAfter = null, isLimit = false } = result.kind === 'failed' ? result : {};
  return { at, began, error: result.detail, cause: result.reason, retryAfter, isLimit };
}
