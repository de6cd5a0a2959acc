/** Where the console sends a browser on to: a page of its own, whatever a form or an address asks for. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { below } from '../../src/console/frame/request.ts';
import { KEYS, OPERATOR } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let origin: string;

beforeAll(async () => {
  t = await startTestApp({ realClock: true, env: KEYS });
  await t.app.start();
  origin = t.app.url()!;
});

afterAll(() => t?.stop());

const CONTROLS = [...Array.from({ length: 33 }, (_, code) => code - 1).filter((code) => code >= 0), 0x7f, 0x85, 0x9f]
  .filter((code) => code !== 0x20)
  .map((code) => String.fromCharCode(code));
const HOST = 'shop.example';
const HOSTILE = [
  ...[
    `//${HOST}`,
    `///${HOST}`,
    `https://${HOST}`,
    `https:${HOST}`,
    `javascript:alert(1)`,
    `data:,x`,
    HOST,
    '',
    ' /',
    `.//${HOST}`,
  ],
  ...[`/\\${HOST}`, `\\\\${HOST}`, `/incidents\\..\\..\\${HOST}`, `/\\/${HOST}`, '/incidents?a=\\'],
  ...[`/..//${HOST}`, `/.//${HOST}`, `/a/..//${HOST}`, `/%2e%2e//${HOST}`, `/%2E//${HOST}`, `/a/%2e%2e/%2f${HOST}`],
  ...[
    `/%2f${HOST}`,
    `/%2F${HOST}`,
    `/%5c${HOST}`,
    `/%5C%5C${HOST}`,
    `/%09/${HOST}`,
    `/%0d%0aset-cookie:a=b`,
    '/incidents%00',
    '/incidents%7f',
  ],
  ...CONTROLS.flatMap((sign) => [
    `/${sign}/${HOST}`,
    `${sign}//${HOST}`,
    `/incidents${sign}`,
    `/incidents?a=${sign}b`,
    `/#${sign}`,
  ]),
];
const OWN = [
  ...['/', '/incidents?status=open&site=a%2Fb#first', '/purchases/default/a%5Cb%2F%2Fc%20d', '/rehearse?settings=a%0Ab'],
  ...['/purchases?q=https://shop.example//x', '/purchases/default/..a', '/channels?done=test&channel=%40x#channel-x'],
];

test.each(HOSTILE)('%j leads to the first page', (path) => {
  expect(below(path)).toBe('/');
});

test.each(OWN)('%j is a page of the console', (path) => {
  expect(below(path)).toBe(path);
});

test('a path that is not ASCII is encoded, as a header needs it', () => {
  expect(below('/purchases?q=Größe €')).toBe('/purchases?q=Gr%C3%B6%C3%9Fe%20%E2%82%AC');
});

test('no text leads a browser to another host', () => {
  const part = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '%2f',
    '%5c',
    '%2e',
    '%09',
    '\t',
    '\n',
    '\r',
    ':',
    '@',
    '?',
    '#',
    HOST,
    'https',
    'é',
  );
  const text = fc.oneof(
    fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
    fc.string({ unit: 'binary' }),
  );
  fc.assert(
    fc.property(text, fc.constantFrom('', '/ops'), (path, base) => {
      const location = base + below(path);
      expect(location).toMatch(/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/);
      const read = new URL(location, 'https://console.example');
      expect(read.host).toBe('console.example');
      // A proxy may decode the path once more.
      expect(read.pathname.slice(base.length)).not.toMatch(/^\/(?:\/|%2f|%5c)/i);
    }),
    { numRuns: 1_000 },
  );
});

test('signing in, the choice of colours and forms go on to no other host', async () => {
  const post = (path: string, fields: Record<string, string>, cookie = '') =>
    fetch(origin + path, {
      ...{ method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' },
      headers: { 'sec-fetch-site': 'same-origin', cookie },
    });
  const cookie = (await post('/sign-in', { key: OPERATOR })).headers.getSetCookie()[0]!.split(';')[0]!;
  for (const path of [`//${HOST}`, `/\t/${HOST}`, `/..//${HOST}`, `/\\${HOST}`, '/a\r\nset-cookie: b=c', '/incidents']) {
    const expected = path === '/incidents' ? path : '/';
    expect((await post('/sign-in', { key: OPERATOR, to: path })).headers.get('location')).toBe(expected);
    expect((await post('/theme', { theme: 'dark', back: path }, cookie)).headers.get('location')).toBe(expected);
    expect(await (await fetch(`${origin}/sign-in?to=${encodeURIComponent(path)}`)).text()).toContain(
      `name="to" value="${expected}"`,
    );
  }
});
