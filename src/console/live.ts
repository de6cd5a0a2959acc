/** Tells open pages that something changed. A page then asks for itself again; nothing about purchases goes through the stream. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { FeedHub } from '../actions/events/feed-hub.ts';
import { expirySignal } from '../api/access/access.ts';
import type { Caller } from '../api/http/caller.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import { createRefreshes, type OpenPage, type Refreshes } from './refreshes.ts';

/** However much happens, a stream sends at most one refresh this often. */
const REST: Milliseconds = 1_000;
/** A comment this often keeps proxies from closing the stream, and shows the page that the daemon lives. */
const SILENCE: Milliseconds = 15_000;
const RECONNECT: Milliseconds = 2_000;
const MOST = 1_000;

export interface Live {
  /** Answers the stream of one page. */
  stream(c: Context, caller: Caller): Response;
  readonly refreshes: Pick<Refreshes, 'changed' | 'forget' | 'answer'>;
}

/** One wake-up of the feed serves all pages of this replica. */
export function createLive(feed: FeedHub): Live {
  const refreshes = createRefreshes();
  let following = new AbortController();
  /** Runs while a page is open. */
  const follow = async (signal: AbortSignal): Promise<void> => {
    // What happens during the rest is found by the turn that was shown last.
    for (let shown = feed.turn(); !signal.aborted; ) {
      await feed.next(shown, { within: SILENCE, signal });
      if (feed.turn() !== shown && !signal.aborted) {
        shown = feed.turn();
        refreshes.changed();
        await delay(REST, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  };
  const join = (page: OpenPage): void => {
    refreshes.add(page);
    if (refreshes.count > 1) return;
    following = new AbortController();
    void follow(following.signal);
  };
  const leave = (page: OpenPage): void => {
    refreshes.remove(page);
    if (refreshes.count === 0) following.abort();
  };
  return {
    refreshes,
    stream: (c, caller) => {
      if (refreshes.count >= MOST) return c.text('Too many pages are open.', 503, { 'retry-after': '30' });
      const gone = AbortSignal.any([...[c.env?.closing].filter((signal) => signal !== undefined), ...expirySignal(caller)]);
      const response = streamSSE(c, async (stream) => {
        const ended = Promise.withResolvers<void>();
        const send = (event: string): void => void stream.writeSSE({ event, data: '', retry: RECONNECT }).catch(ended.resolve);
        const page = { refresh: () => send('refresh') };
        const beat = setInterval(() => send('beat'), SILENCE);
        stream.onAbort(ended.resolve);
        gone.addEventListener('abort', () => ended.resolve());
        if (gone.aborted) ended.resolve();
        join(page);
        send('beat');
        await ended.promise;
        clearInterval(beat);
        leave(page);
      });
      response.headers.set('x-accel-buffering', 'no');
      return response;
    },
  };
}
