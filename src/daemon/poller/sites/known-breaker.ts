/** The breaker of a site in memory, with since when it is as it is: for people who look at the site. */
import { type Breaker, CLOSED } from '../../../domain/polling/breaker.ts';
import type { BreakerNow } from '../../../domain/polling/site-calls.ts';
import type { Instant } from '../../../domain/values/time.ts';
import type { Clock } from '../../../runtime/clock.ts';

/** Begins closed. */
export function createKnownBreaker(clock: Pick<Clock, 'now' | 'monotonic'>) {
  let breaker: Breaker = CLOSED;
  let since = clock.now();
  /** Computed once for each change: the database's clock and the monotonic one drift. */
  let nextProbeAt: Instant | null = null;
  return {
    get: (): Breaker => breaker,
    set: (next: Breaker): void => {
      if (next === breaker) return;
      const now = clock.now();
      if (next.kind !== breaker.kind) since = now;
      nextProbeAt = next.kind === 'open' && !next.probing ? Math.round(now + next.probeAt - clock.monotonic()) : null;
      breaker = next;
    },
    now: (): BreakerNow => ({ breaker: breaker.kind, cause: breaker.kind === 'open' ? breaker.cause : null, since, nextProbeAt }),
  };
}
