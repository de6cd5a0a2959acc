/** The receivers of events, as something that this replica may not reach while another one does. */

import type { SendResult } from '../../channels/outgoing/channel.ts';
import { CLEARLY_AFTER, type Unreached } from '../../domain/replicas/replica-reach.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { hasTaken } from '../../postgres/deliveries/subscriber-health.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { SubscriberQueue } from './subscriber-queue.ts';

/** See `Outside` in daemon/shards/reach.ts. */
export interface ReceiverOutside {
  readonly reason: 'reaches_no_receiver';
  /** An attempt ended. */
  ended(queue: SubscriberQueue, result: SendResult): void;
  mayFail(): boolean;
  outdone(): Promise<Unreached | null>;
  stillFails(): Promise<boolean>;
}

/** Attempts without an answer, and none with one: fewer say nothing. */
const FEWEST = 3;
/** Subscribers looked up at most. */
const MOST_LOOKED_AT = 5;
/** Never sent: its connection is all that is wanted. */
const NOTHING = { id: 'evt_none', type: 'none', body: '{}' };

export function createReceiverOutside({ sql, clock }: { sql: Sql; clock: Pick<Clock, 'now'> }): ReceiverOutside {
  /** Those that gave no answer since any of them gave one. */
  const silent = new Map<SubscriberQueue, { readonly since: Instant; readonly error: string }>();
  let attempts = 0;
  const reached = (): void => {
    silent.clear();
    attempts = 0;
  };

  return {
    reason: 'reaches_no_receiver',
    ended: (queue, result) => {
      const isReached = result.httpStatus !== null || result.kind !== 'failed';
      if (isReached) {
        if (attempts > 0) reached();
      } else if (result.reason !== 'stopped') {
        attempts += 1;
        silent.set(queue, { since: silent.get(queue)?.since ?? clock.now(), error: result.detail });
      }
    },
    mayFail: () => attempts >= FEWEST,
    outdone: async () => {
      for (const [{ recipient }, { since, error }] of [...silent].slice(0, MOST_LOOKED_AT))
        if (await hasTaken(sql, recipient.id, since + CLEARLY_AFTER))
          return { since, error: `Subscriber ${recipient.name}: ${error}` };
      return null;
    },
    stillFails: async () => {
      // A channel for people makes a message of an event, and this is none; the end of the time away shows whether it is reached.
      const [queue] = [...silent.keys()].filter(({ recipient }) => recipient.channel.sendAll === undefined);
      if (queue === undefined) return attempts > 0;
      let isConnected = false;
      const mayLeave = (): boolean => {
        isConnected = true;
        return false;
      };
      await queue.recipient.channel.send(NOTHING, { attempt: 1, now: clock.now(), mayLeave });
      if (isConnected) reached();
      return !isConnected;
    },
  };
}
