/** What pages that are open for days keep in memory. */
import { getEventListeners } from 'node:events';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import type { FeedHub } from '../../src/actions/events/feed-hub.ts';
import type { Caller } from '../../src/api/http/caller.ts';
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
  const live = createLive({ next, turn: () => turn } as FeedHub);
  const app = new Hono().get('/', (c) => live.stream(c, { expires: null } as unknown as Caller));
  const response = await app.request('/');
  await third.promise;
  expect(listeners).toEqual([0, 0, 0]);
  await response.body?.cancel();
});
