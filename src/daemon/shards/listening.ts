/** Wakes this replica's loops when the database notifies. */

import { type Listener, listen } from '../../postgres/connection/listen.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Loops } from '../../runtime/loops/loops.ts';
import { createWakeUps } from '../../runtime/loops/wake-ups.ts';

export interface ListeningOptions {
  readonly databaseUrl: string;
  readonly log: Logger;
  readonly loops: Pick<Loops, 'wake' | 'all'>;
  readonly notifier: {
    /** The next load reads the subscribers, too. */
    subscribersChanged(): void;
    /** The next load reads retries and replays, too. */
    replayed(): void;
  };
  /** The feed, which waits for events; null in a worker. */
  readonly feed: { wake(): void } | null;
}

/** Listens until stopped. Wakes every loop when the connection is back, because notifications may have been missed. */
export function wakeOnNotify({ databaseUrl, log, loops, notifier, feed }: ListeningOptions): Listener {
  const wakeUps = createWakeUps((hint, loop) => {
    if (hint === 'subscribers') notifier.subscribersChanged();
    if (hint === 'replays') notifier.replayed();
    loops.wake(loop);
  });
  const channels = feed === null ? ['purchase_watch_wake'] : ['purchase_watch_wake', 'purchase_watch_events'];
  let isLost = false;
  return listen(databaseUrl, channels, {
    onNotify: (payload, channel) => {
      if (channel === 'purchase_watch_events') feed?.wake();
      else wakeUps.take(payload);
    },
    onListening: () => {
      if (isLost) log.info({}, 'listen.resumed');
      isLost = false;
      notifier.subscribersChanged();
      for (const [name] of loops.all()) loops.wake(name);
      feed?.wake();
    },
    // Logged once, not with every try.
    onTrouble: (error) => {
      if (!isLost) log.warn({ error }, 'listen.lost');
      isLost = true;
    },
  });
}
