import { expect, test } from 'vitest';
import { headerNameProblem, headersProblem, isHeaderValue } from '../../../src/config/kinds/headers.ts';

test.each(['Authorization', 'X-Api-Key', 'api_key', 'traceparent', 'webhooks', 'cell', 'X-Webhook-Id'])(
  '%s is a name',
  (name) => {
    expect(headerNameProblem(name)).toBeNull();
  },
);

test.each([
  'Host',
  'content-length',
  'Content-Type',
  'Content-Encoding',
  'Transfer-Encoding',
  'Connection',
  'Keep-Alive',
  'TE',
  'Trailer',
  'Upgrade',
  'Expect',
  'User-Agent',
  'Date',
  'Cookie',
  'X-Forwarded-For',
  'X-Forwarded-Proto',
  'X-Forwarded-Prefix',
  'X-Original-Host',
  'X_Original_Forwarded_For',
  'X-Cluster-Client-IP',
  'Fly-Client-IP',
  'X-Original-URL',
  'X-Rewrite-URL',
  'True-Client-IP',
  'CF-Connecting-IP',
  'X-Client-IP',
  'X-Real-IP',
  'Accept-Encoding',
  'Content-Range',
  'X-HTTP-Method-Override',
  'webhook-id',
  'Webhook-Signature',
  'webhook-anything',
  'ce-id',
  'Proxy-Authorization',
  'Sec-Fetch-Site',
  'X_Forwarded_For',
  'webhook_signature',
  'X-Host',
])('%s cannot be set', (name) => {
  expect(headerNameProblem(name)).toMatch(/^cannot be set: it /);
});

test.each(['', ' ', 'a b', 'a:b', 'a\r\nb', 'Åsa', 'a"b', ':path', 'x'.repeat(101)])('%j is no name', (name) => {
  expect(headerNameProblem(name)).toMatch(/^is not a header name/);
});

test.each(['a', 'Bearer abc.def', 'a\tb', 'Åsa', '!'])('%j is a value', (value) => {
  expect(isHeaderValue(value)).toBe(true);
});

test.each(['', ' a', 'a ', 'a\r\nX-B: c', 'a\nb', 'a\u0000b', '\u007f', 'snow ☃', '\u0085'])('%j is no value', (value) => {
  expect(isHeaderValue(value)).toBe(false);
});

test('names differ in more than case, and all of them together are short', () => {
  expect(headersProblem({ 'X-A': '1', 'X-B': '2' })).toBeNull();
  expect(headersProblem({ 'X-A': '1', 'x-a': '2' })).toEqual({
    name: 'x-a',
    problem: expect.stringContaining('same header as X-A'),
  });
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`X-${index}`, 'a']));
  expect(headersProblem(many)).toEqual({ name: null, problem: 'has 21 headers; at most 20 are sent' });
  expect(headersProblem({ 'X-A': 'a'.repeat(4_093) })).toBeNull();
  expect(headersProblem({ 'X-A': 'a'.repeat(4_094) })?.problem).toContain('takes 4097 bytes');
});
