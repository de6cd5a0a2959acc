/** The event feed, page by page. */

import { z } from '@hono/zod-openapi';
import { feedCursor, followFeed } from '../../actions/events/follow-feed.ts';
import { EVENT_TYPES } from '../../domain/events/system-event-types.ts';
import { durationParameter } from '../http/fields.ts';
import { limitParameter } from '../http/page.ts';
import { type Api, type ApiDeps, goneSignal, jsonAnswer, route } from '../http/route.ts';
import { beginFeed } from './begin-feed.ts';
import { afterParameter, typesParameter } from './feed-fields.ts';

const DEFAULT_LIMIT = 100;
const MOST_LIMIT = 1_000;
const PAGE_BYTES = 1024 * 1024;
const MOST_WAIT = 30_000;

export function mountEvents(app: Api, { feed }: ApiDeps): void {
  app.openapi(eventsRoute, async (c) => {
    const { after, types = EVENT_TYPES, limit = DEFAULT_LIMIT, wait = 0 } = c.req.valid('query');
    const place = await beginFeed(feed, after, 'after');
    const page = await followFeed(feed, {
      after: place,
      types,
      limit,
      bytes: PAGE_BYTES,
      within: wait,
      signal: goneSignal(c),
    });
    // The bodies as they are stored: read and written again, a number or a name might come out in another spelling.
    const text = `{"data":[${page.events.map(({ body }) => body).join()}],"nextCursor":"${feedCursor(page.next)}"}`;
    return c.body(text, 200, { 'content-type': 'application/json' }) as never;
  });
}

/** Not parsed and written again, so the schemas of events are only named. */
const eventsSchema = z.array(z.unknown()).openapi({
  type: 'array',
  items: { $ref: '#/components/schemas/Event' },
  description: 'Byte for byte what webhooks bring. `id` is the same everywhere: ignore an event that was seen before.',
});

const eventsRoute = route('GET /v1/events', {
  summary: 'Read the events',
  description:
    'In an order into which nothing is inserted later: a reader who goes on from `nextCursor` misses no event, even one whose transaction commits late. With `wait`, the answer waits for a first event.',
  query: {
    after: afterParameter.optional(),
    types: typesParameter.optional(),
    limit: limitParameter(MOST_LIMIT).openapi({ default: DEFAULT_LIMIT }).optional(),
    wait: durationParameter(MOST_WAIT).describe('How long to wait when there is nothing yet; 30s at most.').optional(),
  },
  answers: {
    200: jsonAnswer(
      'Up to `limit` events, or as many as have 1 MiB. `nextCursor` is always there; an empty page means that there is nothing yet.',
      z.object({ data: eventsSchema, nextCursor: z.string() }),
    ),
  },
  problems: ['unknown_event'],
});
