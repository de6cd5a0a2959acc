import { expect, test } from 'vitest';
import { createIsKnown, sessionTokens } from '../../../src/api/access/known.ts';
import { type ApiKey, hashOfKey } from '../../../src/config/api-keys.ts';

const KEY = 'the-key-of-the-operator-0123456789';
const key: ApiKey = { name: 'API_KEY', scopes: ['read'], hash: hashOfKey(KEY), expires: null };
const expired: ApiKey = { name: 'old', scopes: ['read'], hash: hashOfKey('an-old-key-0123456789'), expires: 1 };
const other: ApiKey = { name: 'other', scopes: ['read'], hash: hashOfKey('another-key-0123456789'), expires: null };
const SOON = Date.now() + 3_600_000;
const isKnown = createIsKnown([key, expired]);
const tokens = sessionTokens([key, expired]);

test('a right key or a signed session is known by the head of the request, under any name of the cookie', () => {
  expect(isKnown({ authorization: `Bearer ${KEY}` })).toBe(true);
  const token = tokens.make(key, SOON);
  expect(tokens.keyOf(token)).toBe(key);
  expect(isKnown({ cookie: `theme=dark; __Host-any_name=${token}` })).toBe(true);
  // Every replica with the same key, also after a restart.
  expect(sessionTokens([{ ...key, name: 'renamed' }]).keyOf(token)?.name).toBe('renamed');
});

test('a session that the database has ended is not known any more', () => {
  const keys = [key];
  const token = sessionTokens(keys).make(key, SOON);
  const isKnownHere = createIsKnown(keys);
  expect(isKnownHere({ cookie: `a=${token}` })).toBe(true);
  sessionTokens(keys).end(token);
  expect(isKnownHere({ cookie: `a=${token}` })).toBe(false);
});

test('nothing else is', () => {
  const token = tokens.make(key, SOON);
  const swapped = `${token.slice(0, -1)}${token.endsWith('A') ? 'E' : 'A'}`;
  const later = token.replace(/\.\w+\./, `.${(SOON + 1).toString(36)}.`);
  const wrong = [swapped, later, tokens.make(key, Date.now() - 1), tokens.make(expired, SOON), 'x'.repeat(96), ''];
  for (const each of wrong) expect([each, tokens.keyOf(each), isKnown({ cookie: `a=${each}` })]).toEqual([each, null, false]);
  expect(sessionTokens([other]).keyOf(token)).toBeNull();
  for (const authorization of ['Bearer an-old-key-0123456789', 'Bearer wrong', `Basic ${KEY}`, ''])
    expect([authorization, isKnown({ authorization })]).toEqual([authorization, false]);
});

test('without keys every caller is', () => {
  expect(createIsKnown([])({})).toBe(true);
});
