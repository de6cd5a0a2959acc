import { expect, test } from 'vitest';
import { LONGEST_ANSWER, wholeAnswer } from '../../../src/channels/http/answer.ts';
import { hideNothing, hiding } from '../../../src/channels/http/hiding.ts';

const outcome = (headers: Record<string, string | string[]>, body = 'no') => ({
  ...{ status: 500, statusText: 'Internal Server Error', headers, body, error: null, isSent: true },
});

test('an answer is kept with its status line and its headers, in lines', () => {
  const text = wholeAnswer(
    outcome({ 'content-type': 'text/plain', via: ['1.1 a', '1.1 b'] }, 'first\r\n\tsecond\u0000\u202e'),
    hideNothing,
  );
  expect(text).toBe('HTTP/1.1 500 Internal Server Error\ncontent-type: text/plain\nvia: 1.1 a\nvia: 1.1 b\n\nfirst\n\tsecond');
});

test.each([
  'set-cookie',
  'authorization',
  'www-authenticate',
  'x-api-key',
  'x-auth-token',
  'x-csrf-token',
  'x-amz-security-token',
  'sid',
])('of %s the name alone is kept', (name) => {
  const text = wholeAnswer(outcome({ [name]: ['value-of-it', 'another-of-it'] }), hideNothing);
  expect(text).toContain(`${name}: [not kept]`);
  expect(text).not.toContain('of-it');
});

test('addresses lose their path, and secrets and credentials are hidden in headers and body', () => {
  const hide = hiding(['c2VjcmV0']);
  const headers = { location: '/in/one-time-4711', link: '<https://a.example/key/4711>; rel=next', 'x-echo': 'c2VjcmV0' };
  const text = wholeAnswer(outcome(headers, 'got c2VjcmV0 and Authorization: Bearer abcdefgh.4711'), hide);
  expect(text).not.toMatch(/4711|c2VjcmV0/);
  expect(text).toContain('<https://a.example/…');
  expect(text).toContain('Bearer [hidden]');
});

test('of a long answer 8 kB are kept, whole characters, and the headers leave room for the body', () => {
  const headers = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`x-${at}`, 'y'.repeat(90)]));
  const text = wholeAnswer(outcome(headers, '🦊'.repeat(4_000)), hideNothing)!;
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LONGEST_ANSWER);
  expect(text.isWellFormed()).toBe(true);
  expect(text).not.toContain('\ufffd');
  expect(text.match(/🦊/g)!.length).toBeGreaterThan(1_000);
});

test('nothing is kept where nothing came, or nothing of it may be', () => {
  expect(wholeAnswer({ ...outcome({}), status: null }, hideNothing)).toBeNull();
  expect(wholeAnswer(outcome({}), () => null)).toBeNull();
});
