/** Leaves this replica's shards to the others while it does not reach what another replica reaches, and says so. */

import type { ReplicaTroubleReason } from '../../domain/incidents/replica-trouble.ts';
import { afterLook, type NothingReached, type Participation, TAKING_PART } from '../../domain/replicas/replica-reach.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Deps } from '../deps.ts';

/** Something outside that this replica has to reach: checkout services, or receivers. */
export interface Outside {
  readonly reason: Extract<ReplicaTroubleReason, 'reaches_no_site' | 'reaches_no_receiver'>;
  /** Whether something may be wrong; costs nothing. */
  mayFail(): boolean;
  /** The failures of this replica while another one reaches more; null without failures, or without such a replica. */
  outdone(): Promise<NothingReached | null>;
  /** Whether this replica still reaches nothing; asked while its shards are left to the others. Makes one call at most. */
  stillFails(): Promise<boolean>;
}

interface ReachOptions extends Pick<Deps, 'clock' | 'log'> {
  readonly outsides: readonly Outside[];
  /** Leaves the shards to the others, or takes its share back. */
  setAway(isAway: boolean): void;
}

const EVERY: Milliseconds = 5_000;

interface Watched {
  readonly outside: Outside;
  participation: Participation;
  /** Set from the first time that the shards are left until something is reached again. */
  trouble: NothingReached | null;
}

export function createReach({ clock, log, outsides, setAway }: ReachOptions) {
  const watched = outsides.map((outside): Watched => ({ outside, participation: TAKING_PART, trouble: null }));

  const look = async (each: Watched): Promise<void> => {
    const { outside, participation: before } = each;
    const isAway = before.awayUntil !== null;
    if (isAway ? !(await outside.stillFails()) : !outside.mayFail()) return over(each);
    const unreached = await outside.outdone();
    each.participation = afterLook(before, {
      isUnreached: isAway || unreached !== null,
      othersReach: unreached !== null,
      now: clock.monotonic(),
    });
    const { awayUntil } = each.participation;
    if (awayUntil !== null && !isAway) {
      each.trouble ??= unreached;
      const forAtMostMs = Math.round(awayUntil - clock.monotonic());
      const advice = 'check the network, name server and proxy of this host; the other daemons do its work meanwhile';
      log.error({ reason: outside.reason, detail: unreached!.error, forAtMostMs, advice }, 'replica.away');
    } else if (awayUntil === null && isAway) log.warn({ reason: outside.reason }, 'replica.tries_again');
    // No other replica reaches it either: then it is no trouble of this replica.
    if (unreached === null) each.trouble = null;
  };
  const over = (each: Watched): void => {
    if (each.trouble !== null) log.info({ reason: each.outside.reason }, 'replica.back');
    each.participation = TAKING_PART;
    each.trouble = null;
  };

  return {
    tick: async (): Promise<Milliseconds> => {
      for (const each of watched) await look(each);
      setAway(watched.some(({ participation }) => participation.awayUntil !== null));
      return EVERY;
    },
    /** The trouble to alert people about: why this replica left its shards, until it reaches something again. */
    troubles: (): readonly { readonly reason: Outside['reason']; readonly for: Milliseconds; readonly error: string }[] =>
      watched.flatMap(({ outside: { reason }, trouble }) =>
        trouble === null ? [] : [{ reason, for: Math.max(clock.now() - trouble.since, 0), error: trouble.error }],
      ),
  };
}
