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
});
afterAll(() => t?.stop());

test.each(PASTED)('%s', { timeout: 120_000 }, async (_, lines) => {
  const body = new URLSearchParams({ lines }).toString();
  const turns = watchTurns();
  const answer = await fetch(`${t.app.url()}/purchases/register`, {
    method: 'POST',
    body,
    redirect: 'manual',
    headers: { cookie, origin: t.app.url()!, 'content-type': 'application/x-www-form-urlencoded' },
  });
  await answer.arrayBuffer();
  const longest = await turns.longest();
  expect([200, 400]).toContain(answer.status);
  expect(longest).toBeLessThan(LONGEST_TURN);
});
