/** Bodies of many entries are read piece by piece; what comes out must be what parsing the whole body at once would give. */
import fc from 'fast-check';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { type Entry, entriesJson } from '../../../src/api/http/large-body.ts';
import { problemFrom, problemResponse } from '../../../src/api/http/problems.ts';

const MIB = 1024 * 1024;
const app = new Hono();
app.onError((error) => problemResponse(problemFrom(error)));
app.post('/', entriesJson({ limit: 16 * MIB, entries: 10_000 }), async (c) => {
  const body = await c.req.json<Record<string, unknown>>();
  const parsed = Object.entries(body).map(([name, list]) => [
    name,
    Array.isArray(list) ? (list as Entry[]).map((entry) => entry.value()) : list,
  ]);
  return c.json(Object.fromEntries(parsed));
});

/** Sends bytes in pieces of the given sizes, again and again. */
async function send(body: string | Uint8Array, sizes: readonly number[] = [65_536]): Promise<{ status: number; body: unknown }> {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  let at = 0;
  let turn = 0;
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
  return { status: answer.status, body: await answer.json() };
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
const space = fc.constantFrom('', ' ', '\n\t ');

test('any object is read as parsing it at once would read it, however its bytes are cut', async () => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())), { maxKeys: 4 });
  await fc.assert(
    fc.asyncProperty(object, space, pieces, async (value, indent, sizes) => {
      const text = JSON.stringify(value, null, indent);
      expect(await send(text, sizes)).toEqual({ status: 200, body: JSON.parse(text) });
    }),
    { numRuns: 100 },
  );
});

test('what parsing at once would refuse is refused, and nothing else', async () => {
  const whole = '{"purchases": [{"a": "x,]}\\"[{"}, [1, {"b": []}], "s\\\\", 5 , null], "x": [[], {}], "y": 1}';
  const edit = fc.tuple(fc.nat(whole.length), fc.nat(3), fc.constantFrom('', ',', '[', ']', '{', '}', '"', '\\', '1', ' ', ':'));
  await fc.assert(
    fc.asyncProperty(edit, pieces, async ([at, cut, put], sizes) => {
      const text = whole.slice(0, at) + put + whole.slice(at + cut);
      let parsed: unknown;
      try {
        parsed = JSON.parse(text);
      } catch {
        parsed = undefined;
      }
      const answer = await send(text, sizes);
      if (isObject(parsed)) expect(answer).toEqual({ status: 200, body: parsed });
      else expect(answer.status, text).toBe(400);
    }),
    { numRuns: 500 },
  );
});

test.each<[string, string | Uint8Array, number, string, RegExp]>([
  ['a comma at the end', '{"purchases":[1,]}', 400, 'not_json', /around its entries is not JSON/],
  ['nothing between commas', '{"purchases":[1,,2]}', 400, 'not_json', /around its entries is not JSON/],
  [
    'a fault in an entry',
    `{"purchases":[1,{"a":"${'x'.repeat(80)}",}]}`,
    400,
    'not_json',
    /^Entry 1 is not JSON: wrong at position 88 /,
  ],
  ['bytes that are no text', Buffer.from('{"purchases":["\xff"]}', 'latin1'), 400, 'not_json', /not UTF-8/],
  ['a byte order mark within', '{"purchases":[\ufeff{}]}', 400, 'not_json', /^Entry 0 is not JSON/],
  ['a list', '[{}]', 400, 'invalid_request', /must be a JSON object/],
  ['nothing', ' ', 400, 'not_json', /empty/],
  ['101 levels', `{"purchases":[${'['.repeat(99)}${']'.repeat(99)}]}`, 400, 'too_deep', /more than 100 levels/],
  ['10 001 entries', `{"purchases":[${'1,'.repeat(10_000)}1]}`, 413, 'too_large', /more than 10000 entries/],
  ['10 001 entries in two lists', `{"a":[${'1,'.repeat(5_000)}1],"b":[${'1,'.repeat(4_999)}1]}`, 413, 'too_large', /entries/],
  ['an entry above 1 MiB', `{"purchases":[1,"${'x'.repeat(1.1 * MIB)}"]}`, 413, 'too_large', /^Entry 1 is larger than 1024 KiB/],
  ['much besides the entries', `{"x":"${'x'.repeat(140_000)}","purchases":[]}`, 413, 'too_large', /outside of its entries/],
  ['a million values', `{"purchases":[${`[${'1,'.repeat(999)}1],`.repeat(1_000)}1]}`, 413, 'too_large', /1000000 values/],
])('%s: refused', async (_name, body, status, code, detail) => {
  expect(await send(body)).toMatchObject({ status, body: { code, detail: expect.stringMatching(detail) } });
});

test('what is at the limits is read', async () => {
  expect((await send(`\ufeff{"purchases":[${'1,'.repeat(9_999)}1]}`)).status).toBe(200);
  expect((await send(`{"purchases":[${'['.repeat(98)}${']'.repeat(98)}]}`)).status).toBe(200);
  expect((await send(`{"purchases":[${`[${'1,'.repeat(97)}1],`.repeat(9_999)}1]}`)).status).toBe(200);
  expect(await send('{"purchases":[ ],"__proto__":[{"a":1.50}]}')).toEqual({
    status: 200,
    body: JSON.parse('{"purchases":[],"__proto__":[{"a":1.50}]}'),
  });
});
