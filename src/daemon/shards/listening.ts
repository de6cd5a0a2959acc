/** Wakes this replica's loops when the database notifies. */

import type { Milliseconds } from '../../domain/values/time.ts';
import { type Listener, listen } from '../../postgres/connection/listen.ts';
import type { Loops } from '../../runtime/loops/loops.ts';
import { createWakeUps } from '../../runtime/loops/wake-ups.ts';
import { startInterval } from '../../runtime/time.ts';
import type { Deps } from '../deps.ts';

interface ListeningOptions extends Pick<Deps, 'log'> {
  /** The address at which Postgres passes notifications on; null where a pooler passes none on. */
  readonly url: string | null;
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

/** Without notifications: how often the loops look for what shops register and for what is to be sent. Other loops rest as long as ever. */
const ASK_EVERY: Milliseconds = 1_000;
const ASKED_FOR = ['purchases', 'deliveries', 'replays'];

/** Listens until stopped. Wakes every loop when the connection is back, because notifications may have been missed. */
export function wakeOnNotify({ url, log, loops, notifier, feed }: ListeningOptions): Listener {
  const wakeUps = createWakeUps((hint, loop) => {
    if (hint === 'subscribers') notifier.subscribersChanged();
    if (hint === 'replays') notifier.replayed();
    loops.wake(loop);
  });
  const channels = feed === null ? ['purchase_watch_wake'] : ['purchase_watch_wake', 'purchase_watch_events'];
  if (url === null) {
    const ask = (): void => {
      for (const hint of ASKED_FOR) wakeUps.take(hint);
      feed?.wake();
    };
    const timer = startInterval(ask, ASK_EVERY);
    return { stop: async () => clearInterval(timer) };
  }
  let isLost = false;
  return listen(url, channels, {
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
