/** Following the event feed: page after page, then waiting for what comes, over restarts and outages of the server. */
import { setTimeout as delay } from 'node:timers/promises';
import type { WatchEvent } from './contract.ts';
import { eventOf, type WatchEventType } from './events.ts';
import type { ApiCaller } from './http.ts';
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
  /** Whether to go on waiting when everything has been read; true unless told. */
  readonly follow?: boolean | undefined;
  /** Told of every failure that is tried again, for a log. */
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
  const { types, limit, signal, follow: goOn = true, onTrouble } = options;
  let after = options.after ?? undefined;
  let rest = FIRST_REST;
  while (!signal?.aborted) {
    let body: JsonObject;
    try {
      const query = { after, types: types?.join(','), limit, wait: goOn ? `${WAIT}s` : undefined };
      ({ body } = await call({ method: 'GET', path: '/v1/events', query, signal, timeout: (WAIT + 15) * 1_000 }));
      rest = FIRST_REST;
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof ApiProblem) || !error.isTemporary) throw error;
      onTrouble?.(error);
      await delay(Math.max(rest, (error.retryAfter ?? 0) * 1_000), undefined, { signal }).catch(() => undefined);
      rest = Math.min(rest * 2, LONGEST_REST);
      continue;
    }
    const data = Array.isArray(body.data) ? (body.data as readonly JsonObject[]) : [];
    const next = typeof body.nextCursor === 'string' ? body.nextCursor : undefined;
    if (data.length > 0) {
      const events = data.map(eventOf).filter((event) => event !== null);
      yield { events, cursor: next ?? after ?? '' };
    }
    after = next ?? after;
    if (!goOn && data.length === 0) return;
  }
}
