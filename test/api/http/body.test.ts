/** Bodies come in pieces; what is read must be what parsing the whole text gives, within the limits. */
import fc from 'fast-check';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { exactJson } from '../../../src/api/http/body.ts';
import { problemFrom, problemResponse } from '../../../src/api/http/problems.ts';

const KIB = 1024;
const app = new Hono();
app.onError((error) => problemResponse(problemFrom(error)));
app.post('/', exactJson(64 * KIB), async (c) => c.body(JSON.stringify(await c.req.json()), 200));
let working: PromiseWithResolvers<void>;
app.post('/work', exactJson(1024 * KIB), async (c) => {
  await working.promise;
  return c.body(null, 204);
});

/** Sends bytes in pieces of the given sizes, again and again. */
async function send(body: string | Uint8Array, sizes: readonly number[] = [10_000]): Promise<{ status: number; text: string }> {
  const bytes = Buffer.from(body as string);
  let [at, turn] = [0, 0];
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (at >= bytes.length) return controller.close();
      const size = sizes[turn++ % sizes.length]!;
      controller.enqueue(bytes.subarray(at, at + size));
      at += size;
    },
  });
  const init = { method: 'POST', body: stream, duplex: 'half', headers: { 'content-type': 'application/json' } };
  const answer = await app.request('/', init as RequestInit);
  return { status: answer.status, text: await answer.text() };
}

const levels = (count: number, inside: string): string => `{"a":${'['.repeat(count - 1)}${inside}${']'.repeat(count - 1)}}`;

test('an object is read as parsing its text would read it, however its bytes are cut', async () => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 20 }), { maxKeys: 4 });
  const pieces = fc.array(fc.integer({ min: 3, max: 40 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(object, fc.constantFrom('', ' ', '\n\t '), pieces, async (value, indent, sizes) => {
      const text = JSON.stringify(value, null, indent);
      expect(await send(text, sizes)).toEqual({ status: 200, text: JSON.stringify(value) });
    }),
    { numRuns: 50 },
  );
});

test.each<[string, string, string]>([
  ['100 levels', levels(100, '1'), levels(100, '1')],
  ['brackets within texts', `{"a":"${'[{'.repeat(200)}\\"["}`, `{"a":"${'[{'.repeat(200)}\\"["}`],
  ['digits', '{"a":[249.50,1e1]}', '{"a":[249.50,1e1]}'],
  ['a byte order mark at the beginning', '\ufeff{"a":1}', '{"a":1}'],
  ['the name __proto__', '{"__proto__":[1]}', '{"__proto__":[1]}'],
])('%s: read', async (_name, body, text) => {
  expect(await send(body)).toEqual({ status: 200, text });
});

test.each<[string, string | Uint8Array, number, string, RegExp]>([
  ['101 levels', levels(101, '1'), 400, 'too_deep', /more than 100 levels/],
  ['20 000 levels', levels(20_000, '1'), 400, 'too_deep', /more than 100 levels/],
  ['20 000 levels around a number that keeps its digits', levels(20_000, '1.50'), 400, 'too_deep', /more than 100 levels/],
  ['20 000 levels that do not end', '['.repeat(20_000), 400, 'not_json', /ends too early/],
  ['a comma at the end', `{"a":"${'x'.repeat(80)}",}`, 400, 'not_json', /wrong at position 88 \(line 1, column 89\)/],
  ['bytes that are no text', Buffer.from('{"a":"\xff"}', 'latin1'), 400, 'not_json', /not UTF-8/],
  ['a byte order mark within', '{"a":[\ufeff1]}', 400, 'not_json', /not JSON/],
  ['a list', '[{}]', 400, 'invalid_request', /must be a JSON object/],
  ['a number that keeps its digits', '1.50', 400, 'invalid_request', /must be a JSON object/],
  ['nothing', ' ', 400, 'not_json', /empty/],
  ['a byte too much', `{"a":"${'x'.repeat(64 * KIB - 7)}"}`, 413, 'too_large', /larger than 64 KiB.*send less at once/],
])('%s: refused', async (_name, body, status, code, detail) => {
  const answer = await send(body);
  expect({ ...JSON.parse(answer.text), status: answer.status }).toMatchObject({
    status,
    code,
    detail: expect.stringMatching(detail),
  });
});

test('while 16 MiB are worked on, a further large body is refused and a small one is not', async () => {
  working = Promise.withResolvers();
  const post = (size: number) =>
    app.request('/work', {
      method: 'POST',
      body: `{"a":"${'x'.repeat(size - 8)}"}`,
      headers: { 'content-type': 'application/json' },
    });
  const large = Array.from({ length: 17 }, () => post(1024 * KIB));
  const refused = await Promise.race(large);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '3']);
  expect(await refused.json()).toMatchObject({ code: 'busy', detail: expect.stringContaining('Other large bodies') });
  const small = post(64 * KIB);
  working.resolve();
  const statuses = (await Promise.all([...large, small])).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([...Array.from({ length: 17 }, () => 204), 503]);
  // What is answered is held no more.
  expect((await post(1024 * KIB)).status).toBe(204);
});
