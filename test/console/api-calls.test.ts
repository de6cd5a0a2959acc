/** The console's calls of the API for one page. */
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { answerWithin } from '../../src/api/http/answer-within.ts';
import { type ApiCalls, apiCalls } from '../../src/console/frame/api-calls.ts';

/** Calls of an API that answers how often it was called. */
function counted(): ApiCalls {
  let count = 0;
  const fetch = (): Response => Response.json({ count: ++count });
  return apiCalls({ fetch }, { caller: CALLER });
}
const CALLER = { key: null, scopes: ['read', 'operate'], expires: null } as const;

test('a page reads each fact once, until it changes something', async () => {
  const { get, send } = counted();
  const read = () => Promise.all([get('/v1/a'), get('/v1/a'), get('/v1/a', { of: 'b' })]);
  expect(await read()).toEqual([{ count: 1 }, { count: 1 }, { count: 2 }]);
  expect(await send('POST', '/v1/a')).toEqual({ count: 3 });
  expect(await read()).toEqual([{ count: 4 }, { count: 4 }, { count: 5 }]);
});

test('a page gets what the API would write, and not by way of its text', async () => {
  const [told, refused] = [{ price: 10.5 }, { code: 'purchase_not_found', detail: 'there is none' }];
  const api = new Hono()
    .use(answerWithin as never)
    .get('/told', (c) => c.json(told, 200))
    .get('/refused', () => Response.json(refused, { status: 404 }))
    .post('/told', (c) => c.json(told));
  const { get, send } = apiCalls(api, { caller: CALLER });
  expect(await get('/told')).toBe(told);
  await expect(get('/refused')).rejects.toMatchObject({ code: refused.code });
  const sent = await send('POST', '/told');
  expect(sent).toEqual(told);
  expect(sent).not.toBe(told);
});
