/** The state of a subscriber: whether it gets deliveries now, and if not, why. The view `subscriber_status` says the same. */
import { type Instant, isoTime } from '../values/time.ts';
import { FAILURES_TO_PAUSE, type SubscriberHealth, type Unreached } from './subscriber-health.ts';

/** Fields that decide whether a subscriber gets deliveries. */
export interface SubscriberState {
  /** Named by the configuration, or made by the API. */
  readonly configured: boolean;
  readonly status: string;
  readonly statusReason: string | null;
  /** Null while it is well. */
  readonly health: Pick<SubscriberHealth, 'failures' | 'failingSince' | 'pausedUntil' | 'lastError'> | null;
  /** Null while we get through to it. */
  readonly unreached: Unreached | null;
}

export const HEALTH_STATUSES = ['ok', 'failing', 'unreached', 'paused', 'off'] as const;
export type HealthStatus = (typeof HEALTH_STATUSES)[number];

/**
 * In one word. A subscriber stays paused when the time is over, until one delivery got through: before that only one is
 * tried, and all others wait. `unreached` is one to which we do not get through, which is not held against it.
 */
export function healthStatus(state: Pick<SubscriberState, 'status' | 'health' | 'unreached'>): HealthStatus {
  const { status, health, unreached } = state;
  if (status !== 'active') return 'off';
  if (health !== null && health.pausedUntil !== null) return 'paused';
  if (unreached !== null) return 'unreached';
  return health === null ? 'ok' : 'failing';
}

/**
 * Whether a subscriber is left alone because it asked for that (`Retry-After`): it failed too seldom to be paused for
 * it, so nothing is to be mended.
 */
export function isAskedFor({ failures, pausedUntil }: Pick<SubscriberHealth, 'failures' | 'pausedUntil'>): boolean {
  return pausedUntil !== null && failures < FAILURES_TO_PAUSE;
}

/** `after one failure`, `after 4 failures in a row`. */
export function afterFailures(failures: number): string {
  return failures === 1 ? 'after one failure' : `after ${failures} failures in a row`;
}

/** Why nothing is sent to it, as the end of a sentence; null when deliveries are sent. The function `parked_because` says the same. */
export function parkedBecause(
  { configured, status, statusReason, health }: Omit<SubscriberState, 'unreached'>,
  now: Instant,
): string | null {
  if (!configured) return 'not in the configuration any more';
  if (status !== 'active') return `switched off: ${statusReason ?? 'no reason is known'}`;
  if (health === null || health.pausedUntil === null) return null;
  const { pausedUntil, failures, lastError } = health;
  const until = pausedUntil > now ? `until ${isoTime(pausedUntil).slice(0, 19)}Z` : 'until one delivery gets through,';
  return `paused ${until} ${afterFailures(failures)}${lastError === null ? '' : `: ${lastError}`}`;
}
