/** Dependencies of the daemon's parts. Each part takes those that it needs, beside its own. */
import type { ChannelRule } from '../domain/incidents/audience.ts';
import type { AlertPolicy } from '../domain/incidents/incident.ts';
import type { PollPolicy } from '../domain/polling/poll-plan.ts';
import type { Ownership } from '../domain/replicas/ownership.ts';
import type { SkippedTime } from '../domain/values/clock-steps.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import type { Sql } from '../postgres/connection/database.ts';
import type { StayLimits } from '../postgres/stays/limits.ts';
import type { Clock, FollowingClock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Writes } from '../runtime/loops/health.ts';
import type { Meters } from '../runtime/meters.ts';
import type { Traces } from '../runtime/traces/traces.ts';

export interface Deps {
  readonly sql: Sql;
  readonly clock: Clock & Partial<FollowingClock>;
  readonly log: Logger;
  /** The id of this replica. */
  readonly replica: string;
  readonly meters: Meters;
  readonly traces: Traces | null;
  readonly ownership: Ownership;
  /** Whether what the loop writes in the background can be written. */
  readonly writes: Writes;
  readonly limits: StayLimits;
  /** The sites that are polled. */
  readonly sites: readonly { readonly name: string; readonly timeZone: string }[];
  /** Which alerts the channels for people want, by the names of their subscribers. */
  readonly channels: readonly ChannelRule[];
  readonly policy: AlertPolicy;
  readonly sessionLength: Milliseconds;
  policyFor(site: string): PollPolicy;
  /** Time that the database's clock skipped: by it, no watch expires and nothing becomes old enough to be deleted. */
  skipped(): SkippedTime;
  /** Jitter: in [-1, 1] for polls, in [0, 1] for deliveries. */
  spread(): number;
}
