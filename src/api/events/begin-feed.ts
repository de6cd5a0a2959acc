/** Where a caller begins to read the feed. */

import type { FeedHub } from '../../actions/events/feed-hub.ts';
import { comparePlaces, FEED_START, type FeedPlace, placeOfEvent } from '../../actions/events/follow-feed.ts';
import { EVENT_TYPES } from '../../domain/events/system-event-types.ts';
import { fieldProblem, type Problem } from '../http/problems.ts';

/** Where a caller wants to go on: after a place or an event, or with what comes from now on. */
export type After = { readonly place: FeedPlace } | { readonly event: string } | 'latest';

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
  return fieldProblem(field, detail, { ...(value !== undefined && { value }), code: 'unknown_event' });
}
