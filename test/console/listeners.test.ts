/** What pages that are open for days keep in memory. */
import { getEventListeners } from 'node:events';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import type { FeedHub } from '../../src/actions/events/feed-hub.ts';
import { KEYLESS } from '../../src/api/access/access.ts';
import { createStreamPlaces, placeLimits } from '../../src/api/events/stream-places.ts';
import { createLive } from '../../src/console/live.ts';

test('a page that is refreshed again and again keeps no listener for each refresh', async () => {
  let turn = 0;
  const listeners: number[] = [];
  const third = Promise.withResolvers<void>();
  const next: FeedHub['next'] = async (_shown, { signal }) => {
    listeners.push(getEventListeners(signal!, 'abort').length);
    if (listeners.length === 3) third.resolve();
    if (listeners.length >= 3) return new Promise(() => undefined);
    turn += 1;
  };
  const live = createLive({
    feed: { next, turn: () => turn } as FeedHub,
    places: createStreamPlaces(placeLimits(3)),
    sessions: { openAmong: async (ids) => new Set(ids) },
  });
  const app = new Hono().get('/', (c) => live.stream(c, KEYLESS));
  const response = await app.request('/');
  await third.promise;
  expect(listeners).toEqual([0, 0, 0]);
  await response.body?.cancel();
});
