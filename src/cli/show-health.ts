/** Says in a cell how a subscriber is. */
import { afterFailures } from '../core/standing.ts';
import type { healthBody } from '../subscription/body.ts';

interface Shown {
  readonly status: string;
  readonly statusReason: string | null;
  readonly health: ReturnType<typeof healthBody>;
}

/** `active`, `off: …`, or `paused until … after 6 failures in a row: …`. */
export function statusText({ status, statusReason, health }: Shown): string {
  if (health.status === 'off' || health.status === 'ok') return statusReason === null ? status : `${status}: ${statusReason}`;
  const until = health.pausedUntil === null ? '' : ` until ${health.pausedUntil.slice(0, 19)}Z`;
  const error = health.lastError === null ? '' : `: ${health.lastError}`;
  return `${health.status}${until} ${afterFailures(health.failures)}${error}`;
}
