/** How a replica calls a site now, for people who look. */
import type { Instant } from '../values/time.ts';
import type { BreakerCause, BreakerState } from './breaker.ts';

/** The access token of a replica at a site. Never the token itself. */
export interface TokenTimes {
  /** Null before the first token. */
  readonly fetchedAt: Instant | null;
  /** As far as the service's promise is believed. */
  readonly expiresAt: Instant | null;
  /** The last refusal: of a token, or of a call with a token that was new. Null when there was none. */
  readonly refusedAt: Instant | null;
  /** In a sentence, without credentials. */
  readonly refusal: string | null;
}

export interface BreakerNow {
  readonly breaker: BreakerState;
  /** Null when it is not open. */
  readonly cause: BreakerCause | null;
  readonly since: Instant;
  /** Null when the breaker is not open, and while a probe is under way. */
  readonly nextProbeAt: Instant | null;
}

/** Calls of one replica to one site. */
export interface SiteCallsNow extends BreakerNow {
  readonly site: string;
  readonly callsPerSecond: number;
  /** Calls a second: the replica's part of the site's ceiling. */
  readonly ceiling: number;
  /** Null where credentials go with each call. */
  readonly token: TokenTimes | null;
}
