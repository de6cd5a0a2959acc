import { expect, test } from 'vitest';
import { checked, offsetInWords } from '../../../src/actions/overview/finding.ts';

test('a check that hangs is a failure, in time', async () => {
  expect(await checked('database', 20, () => new Promise(() => undefined))).toEqual([
    {
      about: 'database',
      verdict: 'failed',
      found: 'no answer within 20 ms',
      todo: 'see whether it is slow or hangs, and run doctor again',
    },
  ]);
});

test('a check that throws is a failure, and the others go on', async () => {
  const [finding] = await checked('database', 1_000, () => Promise.reject(new Error('relation is missing')));
  expect(finding).toMatchObject({ verdict: 'failed', found: 'could not be checked: relation is missing' });
});

test.each([
  [10, 'the same'],
  [340, '0.3 s ahead'],
  [-7_200_000, '2 h behind'],
])('clocks that differ by %i ms: %s', (offset, words) => {
  expect(offsetInWords(offset)).toBe(words);
});
