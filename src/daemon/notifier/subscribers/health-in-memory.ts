/**
 * A subscriber's health as this replica knows it, and how much the subscriber may have in flight. Written by the functions of
 * this file alone.
 */
import { FAILURES_TO_PAUSE, type SubscriberHealth, type Unreached } from '../../../domain/deliveries/subscriber-health.ts';
import type { Instant, Milliseconds } from '../../../domain/values/time.ts';

/** Failures on this replica's side (DNS, proxy, sockets) in a row. */
export interface OwnFailures {
  failures: number;
  failedAt: Instant;
  /** Until when this replica waits. */
  until: Instant;
  since: Instant | null;
  error: string | null;
  /** The failures as the database has them. */
  saved: Unreached | null;
}

export interface HealthInMemory {
  /** Null: well. */
  current: SubscriberHealth | null;
  /** The health in the database, as this replica knows it. */
  saved: SubscriberHealth | null;
  /** Deliveries in flight at most: small after a pause, grows with successes, shrinks with failures. */
  allowance: number;
  /** Whether this replica may try a subscriber whose pause is over. */
  trying: 'no' | 'asking' | 'yes';
  readonly own: OwnFailures;
}

/** A subscriber's health as the database has it. */
export interface StoredHealth {
  readonly health: SubscriberHealth | null;
  readonly unreached: Unreached | null;
}

const FIRST_REST: Milliseconds = 5_000;
const LONGEST_REST: Milliseconds = 5 * 60_000;
const NONE: Omit<OwnFailures, 'saved' | 'failedAt'> = { failures: 0, until: Number.NEGATIVE_INFINITY, since: null, error: null };

/** Well; `concurrency`: deliveries in flight at most. */
export function newHealth(concurrency: number): HealthInMemory {
  const own = { ...NONE, failedAt: Number.NEGATIVE_INFINITY, saved: null };
  return { current: null, saved: null, allowance: concurrency, trying: 'no', own };
}

/** The subscriber has a new address, and begins without failures. */
export function beginAgain(health: HealthInMemory, concurrency: number): void {
  const { own, ...rest } = newHealth(concurrency);
  Object.assign(health, rest);
  Object.assign(health.own, own);
}

/** The subscriber was switched off: it has no health, and begins with one delivery when it is switched on. */
export function forget(health: HealthInMemory): void {
  Object.assign(health, { current: null, saved: null, allowance: 1, trying: 'no' });
}

export function storedIn({ saved, own }: HealthInMemory): StoredHealth {
  return { health: saved, unreached: own.saved };
}

/** Until when the subscriber is paused, or this replica waits; null: neither. */
export function pausedUntil({ current, own }: HealthInMemory, now: Instant): Instant | null {
  const until = Math.max(current?.pausedUntil ?? 0, own.until);
  return until > now ? until : null;
}

/** Whether an attempt may start; `ask`: the pause is over, and this replica has to claim the right to try. */
export function mayStart(
  health: HealthInMemory,
  { now, inFlight, concurrency }: { readonly now: Instant; readonly inFlight: number; readonly concurrency: number },
): 'yes' | 'no' | 'ask' {
  if (pausedUntil(health, now) !== null) return 'no';
  if (health.current?.pausedUntil != null) {
    if (inFlight > 0 || health.trying === 'asking') return 'no';
    return health.trying === 'yes' ? 'yes' : 'ask';
  }
  if (health.own.failures >= FAILURES_TO_PAUSE && inFlight > 0) return 'no';
  return inFlight < Math.min(concurrency, health.allowance) ? 'yes' : 'no';
}

export function setTrying(health: HealthInMemory, trying: HealthInMemory['trying']): void {
  health.trying = trying;
}

/** An attempt failed on this replica's side. Answers whether that begins a wait of this replica. */
export function noteOwnFailure(health: HealthInMemory, began: Instant, now: Instant, error: string): boolean {
  const { own } = health;
  health.trying = 'no';
  // Failures at the same time count once, as those of the receiver do.
  if (began < own.failedAt) return false;
  own.failures += 1;
  own.failedAt = now;
  own.since ??= now;
  own.error = error;
  const beyond = own.failures - FAILURES_TO_PAUSE;
  if (beyond < 0) return false;
  own.until = now + Math.min(FIRST_REST * 2 ** Math.min(beyond, 20), LONGEST_REST);
  return beyond === 0;
}

/** An attempt came as far as the receiver, or a person resumed the subscriber. */
export function endOwnFailures({ own }: HealthInMemory): void {
  Object.assign(own, NONE);
}

/** The health after an attempt that the receiver answered. */
export function setHealth(health: HealthInMemory, current: SubscriberHealth | null): void {
  health.current = current;
}

/** A delivery was taken: one more may be in flight. */
export function grow(health: HealthInMemory, concurrency: number): void {
  health.allowance = Math.min(health.allowance + 1, concurrency);
  health.trying = 'no';
}

/** A delivery failed: half as many may be in flight. */
export function shrink(health: HealthInMemory): void {
  health.allowance = Math.max(Math.floor(health.allowance / 2), 1);
}

/** A pause begins: the try after it is one delivery. */
export function pause(health: HealthInMemory): void {
  health.allowance = 1;
  health.trying = 'no';
}

/** The health was written to the database. */
export function noteSaved(health: HealthInMemory, saved: SubscriberHealth | null): void {
  health.saved = saved;
}
export function noteOwnSaved({ own }: HealthInMemory, saved: Unreached | null): void {
  own.saved = saved;
}

/** Takes over the health that another replica or a person wrote to the database. */
export function takeOver(health: HealthInMemory, stored: SubscriberHealth | null, now: Instant): void {
  // Attempts under way here started before that.
  const known = stored === null ? null : { ...stored, failedAt: now };
  Object.assign(health, { saved: known, current: known, allowance: 1, trying: 'no' });
}
