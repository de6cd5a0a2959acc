/**
 * Looks at every host of DATABASE_URL every so often. An operator may start an old primary again while the daemon is connected
 * to the new one, and no failure of a connection would show that.
 */

import type { TroubleSeen } from '../../domain/replicas/loop-health.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { hostName, rivalry } from '../../postgres/connection/choose-host.ts';
import type { Hosts } from '../../postgres/connection/primary.ts';
import type { Deps } from '../deps.ts';

const EVERY: Milliseconds = 30_000;
/** A second primary is seen twice before it is trouble: in a planned failover both take writes for a moment. */
const CONFIRMED_AFTER: Milliseconds = 5_000;

export function createHostWatch({ hosts, clock, log }: Pick<Deps, 'clock' | 'log'> & { readonly hosts: Hosts }) {
  let used: string | null = null;
  let second: { readonly since: Milliseconds; readonly error: string; readonly isConfirmed: boolean } | null = null;
  return {
    tick: async (): Promise<Milliseconds> => {
      const { primary, rivals } = await hosts.look();
      const host = hostName(primary.host);
      if (used !== null && used !== host)
        log.warn({ primary: host, before: used, timeline: primary.timeline }, 'database.host_changed');
      used = host;
      const since = second?.since ?? clock.monotonic();
      second = rivals.length === 0 ? null : { since, error: rivalry(primary, rivals), isConfirmed: second !== null };
      return second === null ? EVERY : CONFIRMED_AFTER;
    },
    /** The trouble to alert people about: a second primary. */
    troubles: (): readonly TroubleSeen[] =>
      second?.isConfirmed === true
        ? [{ reason: 'two_primaries', for: clock.monotonic() - second.since, error: second.error }]
        : [],
  };
}
