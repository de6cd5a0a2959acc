/** The console's calls of the API for one page. */
import { expect, test } from 'vitest';
import { type ApiCalls, apiCalls } from '../../src/console/frame/api-calls.ts';

/** Calls of an API that answers how often it was called. */
function counted(): ApiCalls {
  let count = 0;
  const fetch = (): Response => Response.json({ count: ++count });
  return apiCalls({ fetch }, { caller: { key: null, scopes: ['read', 'operate'], expires: null } });
}

test('a page reads each fact once, until it changes something', async () => {
  const { get, send } = counted();
  const read = () => Promise.all([get('/v1/a'), get('/v1/a'), get('/v1/a', { of: 'b' })]);
  expect(await read()).toEqual([{ count: 1 }, { count: 1 }, { count: 2 }]);
  expect(await send('POST', '/v1/a')).toEqual({ count: 3 });
  expect(await read()).toEqual([{ count: 4 }, { count: 4 }, { count: 5 }]);
});
