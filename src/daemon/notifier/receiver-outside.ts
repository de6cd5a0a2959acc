/** Whether this replica reaches any receiver of events, compared with the other replicas. */

import type { SendResult } from '../../channels/outgoing/channel.ts';
import { CLEARLY_AFTER, type NothingReached } from '../../domain/replicas/replica-reach.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { hasTaken } from '../../postgres/deliveries/subscriber-health.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Subscriber } from './subscribers/subscriber.ts';

export type ReceiverOutside = ReturnType<typeof createReceiverOutside>;

/** So many attempts without an answer, and none with one, mean that this replica reaches no receiver. */
const FEWEST = 3;
/** Subscribers tried at most. */
const MOST_LOOKED_AT = 5;
/** Never sent: only its connection is tried. */
const NOTHING = { id: 'evt_none', type: 'none', body: '{}' };

/** See `Outside` in daemon/shards/reach.ts. */
export function createReceiverOutside({ sql, clock }: { sql: Sql; clock: Pick<Clock, 'now'> }) {
  /** Subscribers that gave no answer since the last answer of any subscriber. */
  const silent = new Map<Subscriber, { readonly since: Instant; readonly error: string }>();
  let attempts = 0;
  const reached = (): void => {
    silent.clear();
    attempts = 0;
  };

  return {
    reason: 'reaches_no_receiver' as const,
    /** Notes the end of an attempt. */
    ended: (subscriber: Subscriber, result: SendResult): void => {
      const isReached = result.httpStatus !== null || result.kind !== 'failed';
      if (isReached) {
        if (attempts > 0) reached();
      } else if (result.reason !== 'stopped') {
        attempts += 1;
        silent.set(subscriber, { since: silent.get(subscriber)?.since ?? clock.now(), error: result.detail });
      }
    },
    mayFail: (): boolean => attempts >= FEWEST,
    outdone: async (): Promise<NothingReached | null> => {
      for (const [{ recipient }, { since, error }] of [...silent].slice(0, MOST_LOOKED_AT))
        if (await hasTaken(sql, recipient.id, since + CLEARLY_AFTER))
          return { since, error: `Subscriber ${recipient.name}: ${error}` };
      return null;
    },
    stillFails: async (): Promise<boolean> => {
      // Channels for people are left out: they would make a message of the event. After the time away the next alert shows whether they are reached.
      const [subscriber] = [...silent.keys()].filter(({ recipient }) => recipient.channel.sendAll === undefined);
      if (subscriber === undefined) return attempts > 0;
      let isConnected = false;
      const mayLeave = (): boolean => {
        isConnected = true;
        return false;
      };
      await subscriber.recipient.channel.send(NOTHING, { attempt: 1, now: clock.now(), mayLeave });
      if (isConnected) reached();
      return !isConnected;
    },
  };
}
