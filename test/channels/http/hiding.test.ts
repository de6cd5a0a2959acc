/** What receivers repeat of what they are trusted with. */
import { expect, test } from 'vitest';
import { type Hide, hideNothing, hiding, hidingOf } from '../../../src/channels/http/hiding.ts';

const BYTES = Buffer.from('a secret that somebody chose');
const KEY = `whsec_${BYTES.toString('base64')}`;

function hides({ url = 'https://shop.example/', headers = {} }: { url?: string; headers?: Record<string, string> }): Hide {
  return hidingOf({ keys: [{ key: KEY, until: null }], url: new URL(url), headers });
}

test('a secret that holds another one, or overlaps with one, leaves no rest', () => {
  expect(hiding(['team', 'team-of-shop-42'])('I know team-of-shop-42 and team')).toBe('I know [hidden] and [hidden]');
  expect(hiding(['abcdef', 'defghij'])('<abcdefghij>')).toBe('<[hidden]>');
  expect(hiding(['defghijk', 'abcdef'])('<abcdefghijk>')).toBe('<[hidden]>');
});

test.each([
  ['as it is', (value: string) => value],
  ['as JSON', (value: string) => JSON.stringify(value)],
  ['as JSON with escaped slashes', (value: string) => JSON.stringify(value).replaceAll('/', '\\/')],
  ['as JSON in ASCII', (value: string) => JSON.stringify(value).replaceAll('Å', '\\u00c5')],
  ['in an address', encodeURIComponent],
  ['in a form', (value: string) => encodeURIComponent(value).replaceAll('%20', '+')],
  [
    'as HTML',
    (value: string) => value.replaceAll('&', '&amp;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll('<', '&lt;'),
  ],
  ['in base64', (value: string) => Buffer.from(value).toString('base64')],
  ['in base64 for addresses', (value: string) => Buffer.from(value).toString('base64url')],
])('the value of a header is hidden %s', (_how, written) => {
  const value = 'Å"s\\a/ <&> key';
  const text = hides({ headers: { 'X-Key': value } })(`got ${written(value)} here`);
  expect(text?.replaceAll(/["=]/g, '')).toBe('got [hidden] here');
});

test('the words of a header are hidden, and the scheme before them is not', () => {
  const hide = hides({ headers: { Authorization: 'Bearer s3cr', 'X-Sig': 'id="shop7";mac=f00d,last' } });
  expect(hide('Bearer token s3cr is wrong')).toBe('Bearer token [hidden] is wrong');
  expect(hide('shop7 f00d last')).toBe('[hidden] [hidden] [hidden]');
});

test('what Basic stands for is hidden, too', () => {
  const hide = hides({ headers: { Authorization: `Basic ${Buffer.from('shop:p:w4').toString('base64')}` } });
  expect(hide('shop:p:w4 is no user')).toBe('[hidden] is no user');
  expect(hide('password p:w4')).toBe('password [hidden]');
});

test.each([['abc'], ['7'], [`Basic ${Buffer.from('shop:pw').toString('base64')}`]])(
  'beside a value as short as that in %j nothing is kept',
  (value) => {
    expect(hides({ headers: { 'X-Long': 'long enough', 'X-Short': value } })('whatever it says')).toBeNull();
  },
);

test('parts of the address that may give access are hidden, written either way', () => {
  const hide = hides({ url: 'https://shop.example/hooks/t%C3%B6ken%2Fabc?key=k3y%2B1&format' });
  expect(hide('no /hooks/t%C3%B6ken%2Fabc here')).toBe('no /hooks/[hidden] here');
  expect(hide('no töken/abc here, and no k3y+1')).toBe('no [hidden] here, and no [hidden]');
  expect(hide('the key is k3y%2B1')).toBe('the key is [hidden]');
});

test('a signing secret is hidden as receivers write it out', () => {
  const hide = hides({});
  for (const form of [KEY, BYTES.toString('hex'), BYTES.toString('base64url'), BYTES.toString()]) {
    expect(hide(`(${form})`)).toMatch(/^\((?:whsec_)?\[hidden\]=*\)$/);
  }
});

test('with nothing to hide, a text stays as it is', () => {
  expect(hiding([])).toBe(hideNothing);
  expect(hides({ url: 'https://shop.example/hooks?' })('ok')).toBe('ok');
});
