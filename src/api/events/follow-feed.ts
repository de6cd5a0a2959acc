/** Reading on in the feed, and waiting for what comes. */

import { EVENT_TYPES, type EventType } from '../../domain/events/system-event-types.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import {
  comparePlaces,
  FEED_START,
  type FedEvent,
  type FeedPlace,
  type FeedQuery,
  isFeedHeld,
  placeOfEvent,
  readFeed,
} from '../../postgres/events/feed.ts';
import { Problem } from '../http/problems.ts';
import type { FeedHub } from './feed-hub.ts';

/** Where a caller wants to go on: after a place or an event, or with what comes from now on. */
export type After = { readonly place: FeedPlace } | { readonly event: string } | 'latest';

export interface FeedPage {
  readonly events: readonly FedEvent[];
  /** Where to go on. */
  readonly next: FeedPlace;
}

/** Finds the place that a caller means; the oldest event that is kept follows when nothing is named. */
export async function beginFeed(hub: FeedHub, after: After | undefined, field: string): Promise<FeedPlace> {
  // Asked again: a cursor that another replica gave a moment ago may lie beyond what this one knew of in its turn.
  const horizon = await hub.horizon({ isAgain: true });
  if (after === undefined) return FEED_START;
  if (after === 'latest') return horizon.place;
  if ('place' in after) {
    if (comparePlaces(after.place, horizon.end) <= 0) return after.place;
    throw unknownEvent(field, 'lies beyond the newest event, so the database was set back to an earlier state');
  }
  const place = await placeOfEvent(hub.sql, after.event, EVENT_TYPES);
  if (place === null) throw unknownEvent(field, `names the event ${after.event}, which is not kept here`, after.event);
  // An event may be known from a webhook before the feed has got there; what the feed has before it must not be skipped.
  return comparePlaces(place, horizon.place) < 0 ? place : horizon.place;
}

function unknownEvent(field: string, what: string, value?: string): Problem {
  const detail = `${what}; go on from an event that is kept, begin with the oldest one by leaving it out, or give latest`;
  const error = { field, ...(value === undefined ? {} : { value }), detail };
  return new Problem('unknown_event', `${field}: ${detail}.`, { errors: [error] });
}

export interface Follow {
  readonly after: FeedPlace;
  readonly types: readonly EventType[];
  readonly limit: number;
  /** Of a page, which ends with the event that passes it. */
  readonly bytes: number;
  /** How long to wait when there is nothing yet. */
  readonly within: Milliseconds;
  /** Ends the wait at once. */
  readonly signal: AbortSignal;
}

/** The next page, waited for. It is empty when nothing came in time. */
export async function followFeed(hub: FeedHub, { after, types, limit, bytes, within, signal }: Follow): Promise<FeedPage> {
  const until = performance.now() + within;
  for (let place = after; ; ) {
    const turn = hub.turn();
    const horizon = await hub.horizon();
    const page = await readPage(hub, { after: place, types, limit, bytes, horizon });
    const left = until - performance.now();
    if (page.events.length > 0 || left <= 0 || signal.aborted) return page;
    if (await isFeedHeld(hub.sql, { types, horizon })) hub.lookAgainSoon();
    await hub.next(turn, { within: left, signal });
    if (signal.aborted) return page;
    place = page.next;
  }
}

async function readPage({ sql }: FeedHub, query: FeedQuery): Promise<FeedPage> {
  const { events, isAll } = await readFeed(sql, query);
  if (!isAll) return { events, next: events.at(-1)!.place };
  // Nothing else comes before the horizon, so no look there is needed again. A horizon may fall back; a reader never does.
  const { place } = query.horizon;
  return { events, next: comparePlaces(place, query.after) > 0 ? place : query.after };
}
