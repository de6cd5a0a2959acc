/** Whatever a person pasted into the Register page, 1 MB of it keeps no other work of the daemon waiting. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEYS, OPERATOR } from '../support/browser.ts';
import { watchTurns } from '../support/stalls.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** What the form takes, but for the fields around it. */
const SIZE = 990_000;
/** Seconds. */
const LONGEST_TURN = 0.05;
/** Browsers end lines by two characters. */
const sent = (lines: string): string => lines.replaceAll('\n', '\r\n');
const filled = (lines: string, size = SIZE): string =>
  sent(lines)
    .repeat(Math.ceil(size / sent(lines).length))
    .slice(0, size);
/** As many lines as are taken. */
const many = (line: string): string => sent(line).repeat(49_000);
const PASTED: [name: string, text: string][] = [
  ['quoted cells that stay open over 200 lines', filled(`"\n${'x""x\n'.repeat(199)}`)],
  ['quoted cells that stay open over long lines', filled(`"\n${`${'""'.repeat(2_000)}\n`.repeat(15)}`)],
  ['an open quote a line', many('a,"\n')],
  ['a quote that is broken, a line', many('a"b\n')],
  ['one line', filled('"x')],
  ['lines of 64 KB of cells', filled(`${'"a",'.repeat(12_000)}\n`)],
  ['a header of 64 KB', `purchase_id${',"b"'.repeat(15_000)}\n${many('1\n')}`],
  ['a first line of 64 KB that may be a header', `${'purchase_i;,'.repeat(5_000)}\n${many('1\n')}`],
  ['the shortest lines', many('a\n')],
  ['no line', filled('\n')],
  ['empty cells', many(',\n')],
  ['JSON of 60 KB a line', filled(`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}\n`)],
  ['JSON of many fields', filled(`{"purchaseId":"a",${Array.from({ length: 4_000 }, (_, n) => `"k${n}":1`).join(',')}}\n`)],
];

let t: TestApp;
let cookie: string;
beforeAll(async () => {
  t = await startTestApp({ realClock: true, env: KEYS });
  await t.app.start();
  const body = new URLSearchParams({ key: OPERATOR });
  const signedIn = await fetch(`${t.app.url()}/sign-in`, {
    method: 'POST',
    body,
    headers: { origin: t.app.url()! },
    redirect: 'manual',
  });
  cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!;
  // The first form compiles what reads it.
  await (await paste(encoded('warm'))).arrayBuffer();
});
afterAll(() => t?.stop());

/** Encoded by itself: the turn in which the test does that is none of the daemon's. */
const encoded = (lines: string): Buffer => Buffer.from(new URLSearchParams({ lines }).toString());
const paste = (body: Buffer): Promise<Response> =>
  fetch(`${t.app.url()}/purchases/register`, {
    method: 'POST',
    body,
    redirect: 'manual',
    headers: { cookie, origin: t.app.url()!, 'content-type': 'application/x-www-form-urlencoded' },
  });

test.each(PASTED)('%s', { timeout: 120_000 }, async (_, lines) => {
  const body = encoded(lines);
  const turns = watchTurns();
  const answer = await paste(body);
  await answer.arrayBuffer();
  const longest = await turns.longest();
  expect([200, 400]).toContain(answer.status);
  expect(longest).toBeLessThan(LONGEST_TURN);
});

test('1 MB of few lines is split as the API takes it', async () => {
  const line = (index: number) =>
    `{"purchaseId":"wide-${index}","reference":"ORD-${index}","metadata":{"text":"${'x'.repeat(930)}"}}`;
  const answer = await paste(encoded(Array.from({ length: 980 }, (_, index) => line(index)).join('\n')));
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('980 new, 0 known already')]);
});

test('lines of which a later part cannot be registered: the page says up to which line all were taken', async () => {
  const held = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  const holder = t.database.sql.begin(async (tx) => {
    await tx`insert into purchase_watch.purchases (purchase_id, site) values ('held-700', 'default')`;
    isHeld.resolve();
    await held.promise;
  });
  await isHeld.promise;
  const answer = await paste(encoded(Array.from({ length: 800 }, (_, index) => `held-${index}`).join('\n')));
  held.resolve();
  await holder;
  expect(answer.status).toBe(503);
  expect(await answer.text()).toContain('The lines above line 501 were taken; send all lines again for the rest.');
  const [row] = await t.database.sql`select count(*)::int as count from purchase_watch.purchases where purchase_id like 'held-%'`;
  expect(row!.count).toBe(501);
});
