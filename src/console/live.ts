/** Tells open pages that something changed. A page then asks for itself again; nothing about purchases goes through the stream. */

import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { FeedHub } from '../actions/events/feed-hub.ts';
import { expirySignal } from '../api/access/access.ts';
import type { StreamPlaces } from '../api/events/stream-places.ts';
import type { Caller } from '../api/http/caller.ts';
import { Problem, problemResponse } from '../api/http/problems.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import { delay, startInterval, startTimer } from '../runtime/time.ts';
import type { Sessions } from './access/sessions.ts';
import { createRefreshes, type OpenPage } from './refreshes.ts';

/** However much happens, a stream sends at most one refresh this often. */
const REST: Milliseconds = 1_000;
/** A comment this often keeps proxies from closing the stream, and shows the page that the daemon lives. */
const SILENCE: Milliseconds = 15_000;
const RECONNECT: Milliseconds = 2_000;
/** How often sessions are looked at whose pages are open: they may have been ended at another replica. */
const LOOK_EVERY: Milliseconds = 2_000;

interface LivePage extends OpenPage {
  /** Undefined where no keys are configured. */
  readonly session: number | undefined;
  end(): void;
}

/** One wake-up of the feed, and one look at the sessions, serve all pages of this replica. */
export function createLive({
  feed,
  places,
  sessions,
}: {
  feed: FeedHub;
  places: StreamPlaces;
  sessions: Pick<Sessions, 'openAmong'>;
}) {
  const refreshes = createRefreshes();
  const pages = new Set<LivePage>();
  let looking: NodeJS.Timeout | undefined;
  let following = new AbortController();
  /** Runs while a page is open. */
  const follow = async (signal: AbortSignal): Promise<void> => {
    // A change during the rest shows because the loop keeps the turn that was shown last.
    for (let shown = feed.turn(); !signal.aborted; ) {
      await feed.next(shown, { within: SILENCE, signal });
      if (feed.turn() !== shown && !signal.aborted) {
        shown = feed.turn();
        refreshes.changed();
        await delay(REST, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  };
  /** Ends the pages of sessions that were ended; a database that does not answer ends no page. */
  const look = async (): Promise<void> => {
    const asked = new Set([...pages].flatMap(({ session }) => session ?? []));
    const open = asked.size === 0 ? asked : await sessions.openAmong([...asked]).catch(() => asked);
    for (const { session, end } of pages) if (session !== undefined && asked.has(session) && !open.has(session)) end();
    if (pages.size > 0) lookLater();
  };
  const lookLater = (): void => {
    clearTimeout(looking);
    looking = startTimer(look, LOOK_EVERY).unref();
  };
  const join = (page: LivePage): void => {
    pages.add(page);
    refreshes.add(page);
    if (pages.size > 1) return;
    following = new AbortController();
    void follow(following.signal);
    lookLater();
  };
  const leave = (page: LivePage): void => {
    pages.delete(page);
    refreshes.remove(page);
    if (pages.size > 0) return;
    following.abort();
    clearTimeout(looking);
  };
  return {
    refreshes,
    /** Answers the stream of one page. */
    stream: (c: Context, caller: Caller): Response => {
      // Answered by its headers, which are no reason to keep a stream.
      if (c.req.method === 'HEAD') return c.body(null, 200, { 'content-type': 'text/event-stream' });
      const giveBack = places.take(caller);
      if (giveBack instanceof Problem) return problemResponse(giveBack);
      const gone = AbortSignal.any([...[c.env?.closing].filter((signal) => signal !== undefined), ...expirySignal(caller)]);
      const response = streamSSE(c, async (stream) => {
        const ended = Promise.withResolvers<void>();
        const send = (event: string): void => void stream.writeSSE({ event, data: '', retry: RECONNECT }).catch(ended.resolve);
        const page = { session: caller.session, refresh: () => send('refresh'), end: ended.resolve };
        const beat = startInterval(() => send('beat'), SILENCE);
        stream.onAbort(ended.resolve);
        gone.addEventListener('abort', () => ended.resolve());
        if (gone.aborted) ended.resolve();
        join(page);
        send('beat');
        await ended.promise;
        clearInterval(beat);
        leave(page);
        giveBack();
      });
      response.headers.set('x-accel-buffering', 'no');
      return response;
    },
  };
}
