/** Reading on in the feed, and waiting for what comes. */

import type { EventType } from '../../domain/events/system-event-types.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Queries, Sql } from '../../postgres/connection/database.ts';
import { listen } from '../../postgres/connection/listen.ts';
import {
  comparePlaces,
  type FeedPlace,
  type FeedQuery,
  isFeedHeld,
  readFeed,
  readHorizon,
  readLatest,
} from '../../postgres/events/feed.ts';
import { monotonic } from '../../runtime/time.ts';
import { createFeedHub, type FeedHub } from './feed-hub.ts';

export {
  comparePlaces,
  FEED_START,
  type FedEvent,
  type FeedPlace,
  feedCursor,
  placeOfCursor,
  placeOfEvent,
} from '../../postgres/events/feed.ts';

export interface Follow {
  readonly after: FeedPlace;
  readonly types: readonly EventType[];
  readonly limit: number;
  /** Bytes of a page, which ends with the event that passes this number. */
  readonly bytes: number;
  /** How long to wait when there is nothing yet. */
  readonly within: Milliseconds;
  /** Ends the wait at once. */
  readonly signal: AbortSignal;
}

/** The next page, waited for, and where to go on. It is empty when nothing came in time. */
export async function followFeed(
  hub: FeedHub,
  { after, types, limit, bytes, within, signal }: Follow,
): ReturnType<typeof readPage> {
  const until = monotonic() + within;
  for (let place = after; ; ) {
    const turn = hub.turn();
    const horizon = await hub.horizon();
    const page = await readPage(hub, { after: place, types, limit, bytes, horizon });
    const left = until - monotonic();
    if (page.events.length > 0 || left <= 0 || signal.aborted) return page;
    if (await isFeedHeld(hub.sql, { types, horizon })) hub.lookAgainSoon();
    await hub.next(turn, { within: left, signal });
    if (signal.aborted) return page;
    place = page.next;
  }
}

/** Events after a place as the feed gets them, until the signal; notifications on another connection, to the database's address, wake the reader. */
export async function* comingEvents(sql: Sql, url: string, { after, ...wanted }: Follow) {
  const hub = createFeedHub(sql);
  const listener = listen(url, ['purchase_watch_events'], { onNotify: hub.wake, onListening: hub.wake });
  try {
    for (let place = after; !wanted.signal.aborted; ) {
      const page = await followFeed(hub, { ...wanted, after: place });
      yield* page.events;
      place = page.next;
    }
  } finally {
    await listener.stop();
  }
}

/** The latest events, or the next ones after a place, as far as the feed is complete now. */
export async function readEvents(
  sql: Queries,
  { after, ...wanted }: Omit<FeedQuery, 'after' | 'horizon'> & { readonly after: FeedPlace | null },
) {
  const horizon = await readHorizon(sql);
  return after === null ? readLatest(sql, { ...wanted, horizon }) : (await readFeed(sql, { ...wanted, after, horizon })).events;
}

async function readPage({ sql }: FeedHub, query: FeedQuery) {
  const { events, isAll } = await readFeed(sql, query);
  if (!isAll) return { events, next: events.at(-1)!.place };
  // Nothing else comes before the horizon, so no look there is needed again. A horizon may fall back; a reader never does.
  const { place } = query.horizon;
  return { events, next: comparePlaces(place, query.after) > 0 ? place : query.after };
}
