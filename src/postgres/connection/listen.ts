/** Receives NOTIFY. A notification only wakes a loop; the loop's reading of the tables finds changes that were notified while the connection was lost. */
import { delay } from '../../runtime/time.ts';
import { openSession, type Sql } from './database.ts';

export interface ListenOptions {
  readonly onNotify: (payload: string, channel: string) => void;
  /** Called each time the connection begins to listen (again): read the tables now, because earlier notifications were missed. */
  readonly onListening: () => void;
  /** Called each time the connection is lost or cannot be made, and with the error that `onNotify` or `onListening` threw. */
  readonly onTrouble?: (error: unknown) => void;
}

/** How often the listener sends a query: a connection that a firewall has dropped looks healthy until a side sends data. */
const HEARTBEAT = 30_000;
const ANSWER_WITHIN = 10_000;
const LONGEST_REST = 5_000;

export type Listener = ReturnType<typeof listen>;

/** Listens to channels on a connection of its own, through restarts of the database, until stopped. Never throws. */
export function listen(url: string, channels: readonly string[], options: ListenOptions) {
  const stopping = new AbortController();
  const done = keepListening(url, channels, options, stopping.signal);
  return {
    /** Ends the connection. No callback is called afterwards. */
    stop: (): Promise<void> => {
      stopping.abort();
      return done;
    },
  };
}

async function keepListening(url: string, channels: readonly string[], options: ListenOptions, stop: AbortSignal): Promise<void> {
  for (let failures = 0; !stop.aborted; failures++) {
    try {
      await listenOnce(url, channels, stop, options, () => {
        failures = 0;
      });
    } catch (error) {
      if (stop.aborted) return;
      options.onTrouble?.(error);
      await delay(Math.min(50 * 2 ** failures, LONGEST_REST), undefined, { signal: stop }).catch(() => undefined);
    }
  }
}

/** One connection's life: throws when it is lost, returns when it is stopped. */
async function listenOnce(
  url: string,
  channels: readonly string[],
  stop: AbortSignal,
  { onNotify, onListening, onTrouble }: ListenOptions,
  onSuccess: () => void,
): Promise<void> {
  const over = new AbortController();
  const stopped = new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }));
  const { sql, closed } = openSession(url, 'listen', (channel, payload) => {
    if (stop.aborted) return;
    try {
      onNotify(payload, channel);
    } catch (error) {
      // An error thrown here would make the driver drop the connection and fail another query.
      onTrouble?.(error);
    }
  });
  const lost = closed.then(() => Promise.reject(new Error('the connection to the database was closed')));
  lost.catch(() => undefined);
  const listens = Promise.all(channels.map((channel) => sql`listen ${sql(channel)}`));
  let listening = false;
  try {
    await Promise.race([listens, stopped]);
    if (stop.aborted) return;
    listening = true;
    onSuccess();
    onListening();
    await Promise.race([lost, beat(sql, over.signal), stopped]);
  } finally {
    over.abort();
    // When the driver is ended while it still dials, it forgets the socket, which then connects and keeps the process alive.
    const ended = listens.catch(() => undefined).then(() => sql.end({ timeout: 0 }));
    if (listening) await ended;
  }
}

/** Throws when the connection is silent. */
async function beat(sql: Sql, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await delay(HEARTBEAT, undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return;
    const silence = delay(ANSWER_WITHIN, undefined, { signal: over }).then(
      () => Promise.reject(new Error('the database does not answer')),
      () => undefined,
    );
    await Promise.race([sql`select 1`, silence]);
  }
}
