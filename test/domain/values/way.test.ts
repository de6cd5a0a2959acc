import { expect, test } from 'vitest';
import { DIRECT, isOfProxy, proxySentence, wayText } from '../../../src/domain/values/way.ts';

const PROXY = { proxy: 'http://user:secret@proxy.example:3128', by: 'HTTPS_PROXY' };

test('a way is named without credentials, with what says so', () => {
  expect([DIRECT, { proxy: null, by: 'NO_PROXY' }, PROXY, { ...PROXY, by: null }].map(wayText)).toEqual([
    'directly',
    'directly (NO_PROXY)',
    'through the proxy proxy.example:3128 (HTTPS_PROXY)',
    'through the proxy proxy.example:3128',
  ]);
});

test('the failure of a proxy is known again, also behind words about a token, and no other error is one', () => {
  const failed = proxySentence(PROXY, 'refuses the connection');
  expect(failed).toBe('The proxy proxy.example:3128 (HTTPS_PROXY) refuses the connection.');
  expect([failed, `No token: ${failed}`, 'The service answers "The proxy is down".'].map(isOfProxy)).toEqual([true, true, false]);
});
