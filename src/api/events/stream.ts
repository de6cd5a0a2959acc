/** The event feed as server-sent events. */

import { z } from '@hono/zod-openapi';
import { type FedEvent, type Follow, feedCursor, followFeed } from '../../actions/events/follow-feed.ts';
import { EVENT_TYPES } from '../../domain/events/system-event-types.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { expirySignal, KEYLESS } from '../access/access.ts';
import type { LineBudget } from '../access/line-budget.ts';
import { Problem, problemFrom } from '../http/problems.ts';
import { type Api, type ApiDeps, route } from '../http/route.ts';
import { beginFeed } from './begin-feed.ts';
import { afterParameter, lastEventIdHeader, typesParameter } from './feed-fields.ts';
import type { StreamPlaces } from './stream-places.ts';

/** A reader that does not read holds one page in memory, and there may be a thousand of them. */
const PAGE = 100;
const PAGE_BYTES = 64 * 1024;
/** When a client connects again. */
const RETRY = 2_000;
const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

type StreamDeps = ApiDeps & { readonly lines: LineBudget; readonly places: StreamPlaces };

export function mountStream(app: Api, { feed, log, lines, places, silence }: StreamDeps): void {
  app.openapi(streamRoute, async (c) => {
    const { after = 'latest', types = EVENT_TYPES } = c.req.valid('query');
    const last = c.req.valid('header')['last-event-id'] ?? null;
    // Answered by its headers, which are no reason to keep a stream.
    if (c.req.method === 'HEAD') return c.body(null, 200, HEADERS);
    const caller = c.get('caller') ?? KEYLESS;
    const onEnd = places.take(caller);
    if (onEnd instanceof Problem) throw onEnd;
    try {
      const place = last === null ? await beginFeed(feed, after, 'after') : await beginFeed(feed, last, 'last-event-id');
      const gone = [c.req.raw.signal, c.env?.closing, ...expirySignal(caller)].filter((signal) => signal !== undefined);
      const stream = eventStream(feed, {
        after: place,
        types,
        silence,
        signal: AbortSignal.any(gone),
        onEnd,
        onTrouble: (error) => {
          // The client connects again, and gets the problem as an answer.
          if (problemFrom(error).code === 'internal') lines.fault(error, { method: 'GET', path: c.req.path });
          else log.debug({ path: c.req.path, error }, 'api.unavailable');
        },
      });
      return c.body(stream, 200, HEADERS);
    } catch (error) {
      onEnd();
      throw error;
    }
  });
}

interface StreamOptions extends Pick<Follow, 'after' | 'types' | 'signal'> {
  readonly silence: Milliseconds;
  /** Called once, however it ends. */
  readonly onEnd: () => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Reads a page when the one before is on its way: a slow reader slows the reading, and nothing piles up. */
function eventStream(
  hub: ApiDeps['feed'],
  { types, silence, signal, onEnd, onTrouble, ...begin }: StreamOptions,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const left = new AbortController();
  const over = AbortSignal.any([signal, left.signal]);
  let { after } = begin;
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const end = (): void => {
          onEnd();
          // A reader that left has closed it already.
          if (!left.signal.aborted) controller.close();
        };
        if (over.aborted) return end();
        over.addEventListener('abort', end);
        // With the place where it begins: a reader that is cut off before the first event loses nothing either.
        controller.enqueue(encoder.encode(`retry: ${RETRY}\nid: ${feedCursor(after)}\n\n`));
      },
      pull: async (controller) => {
        try {
          const page = await followFeed(hub, { after, types, limit: PAGE, bytes: PAGE_BYTES, within: silence, signal: over });
          if (over.aborted) return;
          controller.enqueue(encoder.encode(page.events.length > 0 ? page.events.map(message).join('') : heartbeat(page.next)));
          ({ next: after } = page);
        } catch (error) {
          if (over.aborted) return;
          onTrouble(error);
          left.abort();
          controller.close();
        }
      },
      cancel: () => left.abort(),
    },
    { highWaterMark: 0 },
  );
}

function message({ place, type, body }: FedEvent): string {
  return `id: ${feedCursor(place)}\nevent: ${type}\ndata: ${body}\n\n`;
}

/** A comment keeps proxies from closing; the id says how far there was nothing for the client, and is no event. */
function heartbeat(next: Follow['after']): string {
  return `: nothing new\nid: ${feedCursor(next)}\n\n`;
}

const streamRoute = route('GET /v1/events/stream', {
  operationId: 'streamEvents',
  summary: 'Follow the events',
  description:
    'Server-sent events: `id` is a cursor, `event` the type, `data` the event byte for byte. Begins with what comes from now on, unless `Last-Event-ID` or `after` name a place. A comment every 15 seconds shows that the connection lives.',
  query: { after: afterParameter.optional(), types: typesParameter.optional() },
  headers: { 'last-event-id': lastEventIdHeader.optional() },
  answers: {
    200: {
      description: 'The stream. It ends when the daemon stops; connect again with the last `id` as `Last-Event-ID`.',
      content: {
        'text/event-stream': {
          schema: z.string().openapi({
            example:
              'id: ZjE6MS43NDMuMTI\nevent: purchase.stuck\ndata: {"id":"evt_01KAGZ6C8RQ3T5V7X9Z1B3D5F7","type":"purchase.stuck","timestamp":"2026-11-20T09:15:02.123Z","data":{}}\n\n',
          }),
        },
      },
    },
  },
  problems: ['unknown_event', 'too_many_streams'],
});
