/** Following the event feed: page after page, then waiting for what comes, over restarts and outages of the server. */
import { setTimeout as delay } from 'node:timers/promises';
import type { WatchEvent } from './contract.ts';
import { eventOf, type WatchEventType } from './events.ts';
import type { ApiAnswer, ApiCaller } from './http.ts';
import type { JsonObject } from './json.ts';
import { ApiProblem } from './problem.ts';

export interface FollowOptions {
  /**
   * Where to go on: the cursor of a page before, the id of an event, or `latest` for what comes from now on. From the
   * oldest event that is kept without one.
   */
  readonly after?: string | null | undefined;
  /** Only these. */
  readonly types?: readonly WatchEventType[] | undefined;
  /** How many events a page has at most; 100, and 1 000 at most. */
  readonly limit?: number | undefined;
  /** Ends the following: the loop ends without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Whether to go on waiting when everything has been read; true by default. */
  readonly follow?: boolean | undefined;
  /** Called for every failure after which the feed tries again, for a log. */
  readonly onTrouble?: ((problem: ApiProblem) => void) | undefined;
}

/** Some events and where they end. */
export interface EventPage {
  readonly events: readonly WatchEvent[];
  /** Keep it once these events have been dealt with, and go on `after` it: nothing is lost and nothing is repeated. */
  readonly cursor: string;
}

/** One long poll, in seconds; proxies often cut at 60. */
const WAIT = 25;
const FIRST_REST = 1_000;
const LONGEST_REST = 30_000;

/** Pages of events, oldest first. Waits out what is temporary; throws ApiProblem for what will not mend itself. */
export async function* follow(call: ApiCaller, options: FollowOptions): AsyncGenerator<EventPage, void, undefined> {
  const { types, limit, signal, follow: isFollowing = true } = options;
  const wait = isFollowing ? `${WAIT}s` : undefined;
  for (let after = options.after ?? undefined; ; ) {
    const query = { after, types: types?.join(','), limit, wait };
    const ask = () => call({ method: 'GET', path: '/v1/events', query, signal, timeout: (WAIT + 15) * 1_000 });
    const answer = await askUntilAnswered(ask, options);
    if (answer === null) return;
    const { data, nextCursor } = answer.body;
    const entries = Array.isArray(data) ? (data as readonly JsonObject[]) : [];
    after = typeof nextCursor === 'string' ? nextCursor : after;
    if (entries.length > 0) yield { events: entries.map(eventOf).filter((event) => event !== null), cursor: after ?? '' };
    else if (!isFollowing) return;
  }
}

/** Asks again after each failure that is temporary, with growing rests; null when the signal ends it. */
async function askUntilAnswered(
  ask: () => Promise<ApiAnswer>,
  { signal, onTrouble }: Pick<FollowOptions, 'signal' | 'onTrouble'>,
): Promise<ApiAnswer | null> {
  for (let rest = FIRST_REST; !signal?.aborted; rest = Math.min(rest * 2, LONGEST_REST)) {
    try {
      return await ask();
    } catch (error) {
      if (signal?.aborted) return null;
      if (!(error instanceof ApiProblem) || !error.isTemporary) throw error;
      onTrouble?.(error);
      await delay(Math.max(rest, (error.retryAfter ?? 0) * 1_000), undefined, { signal }).catch(() => undefined);
    }
  }
  return null;
}
