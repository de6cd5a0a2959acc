/** Tells open pages that something changed. A page then asks for itself again; nothing about purchases goes through the stream. */

import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { expirySignal } from '../api/access/access.ts';
import type { FeedHub } from '../api/events/feed-hub.ts';
import type { Caller } from '../api/http/caller.ts';
import type { Milliseconds } from '../domain/values/time.ts';

/** A page is refreshed at most this often, however much happens. */
const REST: Milliseconds = 1_000;
/**
 * Pages are refreshed one after the other. Between two refreshes lies at least SPACING, or RESTS_FOR times what the last page took:
 * however many pages are open, and however slow the machine is, pages take no more than a small share from polls and deliveries.
 */
const SPACING: Milliseconds = 100;
const RESTS_FOR = 20;
const LONGEST_SPACING: Milliseconds = 2_000;
/** After a change pages look again, because deliveries, alerts and counts follow it within seconds. */
const LOOK_AGAIN: readonly Milliseconds[] = [2_000, 10_000];
/** A comment this often keeps proxies from closing the stream, and shows the page that the daemon lives. */
const SILENCE: Milliseconds = 15_000;
const RECONNECT: Milliseconds = 2_000;
const MOST = 1_000;

export interface Live {
  /** Answers the stream of one page. */
  stream(c: Context, caller: Caller): Response;
  /** Something changed that brings no event, such as an action of a person. */
  changed(): void;
  /** An open page was answered again, which took so long. */
  refreshed(took: Milliseconds): void;
}

interface Follower {
  refresh(): void;
}

/** One wake-up of the feed serves all pages of this replica. */
export function createLive(feed: FeedHub): Live {
  const followers = new Set<Follower>();
  let following = new AbortController();
  let timers: NodeJS.Timeout[] = [];
  let changedAt = Number.NEGATIVE_INFINITY;
  let spacing = SPACING;
  /** For each of the times at which pages look again: when the next page that opens meanwhile may. */
  let free = LOOK_AGAIN.map(() => 0);
  /** How long one refresh of all pages takes. */
  const round = (): Milliseconds => Math.max(REST, followers.size * spacing);
  /** Plans a refresh of all pages; answers when the next one may begin. */
  const refreshAll = (from: Milliseconds): Milliseconds => {
    let at = from;
    for (const follower of followers) {
      timers.push(setTimeout(follower.refresh, at).unref());
      at += spacing;
    }
    return at;
  };
  const changed = (): void => {
    for (const timer of timers) clearTimeout(timer);
    timers = [];
    changedAt = performance.now();
    free = LOOK_AGAIN.map(() => 0);
    let next = 0;
    for (const after of [0, ...LOOK_AGAIN]) next = refreshAll(Math.max(after, next));
  };
  /** Runs while a page is open. */
  const follow = async (signal: AbortSignal): Promise<void> => {
    // What happens while the pages rest is found by the turn that was shown last.
    for (let shown = feed.turn(); !signal.aborted; ) {
      await feed.next(shown, { within: SILENCE, signal });
      if (feed.turn() !== shown && !signal.aborted) {
        shown = feed.turn();
        changed();
        await rest(round(), signal);
      }
    }
  };
  const join = (follower: Follower): void => {
    followers.add(follower);
    // A page that opens just after a change, as the one that follows an action does, looks again with the others.
    const now = performance.now();
    for (const [place, after] of LOOK_AGAIN.entries()) {
      if (changedAt + after <= now) continue;
      const at = Math.max(changedAt + after, free[place]!);
      free[place] = at + spacing;
      timers.push(setTimeout(follower.refresh, at - now).unref());
    }
    if (followers.size > 1) return;
    following = new AbortController();
    void follow(following.signal);
  };
  const leave = (follower: Follower): void => {
    followers.delete(follower);
    if (followers.size > 0) return;
    following.abort();
    for (const timer of timers) clearTimeout(timer);
  };
  return {
    changed,
    refreshed: (took) => {
      spacing = Math.min(Math.max(took * RESTS_FOR, SPACING), LONGEST_SPACING);
    },
    stream: (c, caller) => {
      if (followers.size >= MOST) return c.text('Too many pages are open.', 503, { 'retry-after': '30' });
      const gone = AbortSignal.any([...[c.env?.closing].filter((signal) => signal !== undefined), ...expirySignal(caller)]);
      const response = streamSSE(c, async (stream) => {
        const ended = Promise.withResolvers<void>();
        const send = (event: string): void => void stream.writeSSE({ event, data: '', retry: RECONNECT }).catch(ended.resolve);
        const follower = { refresh: () => send('refresh') };
        const beat = setInterval(() => send('beat'), SILENCE);
        stream.onAbort(ended.resolve);
        gone.addEventListener('abort', () => ended.resolve());
        if (gone.aborted) ended.resolve();
        join(follower);
        send('beat');
        await ended.promise;
        clearInterval(beat);
        leave(follower);
      });
      response.headers.set('x-accel-buffering', 'no');
      return response;
    },
  };
}

function rest(length: Milliseconds, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(end, length).unref();
    signal.addEventListener('abort', end, { once: true });
  });
}
