import { expect, test } from 'vitest';
import { readRetryAfter, restAsked } from '../../../src/domain/deliveries/retry-after.ts';

const NOW = Date.UTC(2026, 10, 20, 10, 0, 0);
const DATE = 'Fri, 20 Nov 2026 12:00:00 GMT'; // the service's clock is two hours off

test.each([
  ['0', undefined, 0],
  ['30', undefined, 30_000],
  [' 30 ', undefined, 30_000],
  ['86400', undefined, 86_400_000],
  ['12 monkeys', undefined, null],
  ['1.5', undefined, null],
  ['Fri, never', undefined, null],
  ['Fri, 20 Nov 2026 12:01:00 GMT', DATE, 60_000],
  ['Fri, 20 Nov 2026 10:01:00 GMT', undefined, 60_000],
  ['Fri, 20 Nov 2026 10:01:00 GMT', 'yesterday', 60_000],
  ['Friday, 20-Nov-26 10:01:00 GMT', undefined, 60_000],
  ['Fri Nov 20 10:01:00 2026', undefined, 60_000],
  ['Fri, 20 Nov 2026 09:00:00 GMT', undefined, 0],
  ['-5', undefined, null],
  ['soon', undefined, null],
  ['by Fri, 20 Nov 2026 10:01:00 GMT', undefined, null],
  ['', undefined, null],
  ['2026-11-20', undefined, null],
  [undefined, undefined, null],
])('%s', (asked, date, wait) => {
  expect(readRetryAfter(asked, { date, now: NOW })).toBe(wait);
});

test.each([
  [null, 0],
  [0, 0],
  [-1, 0],
  [0.5, 101],
  [2_000, 2_100],
])('a rest of %j ms that was asked for is one of %i', (asked, rest) => expect(restAsked(asked)).toBe(rest));
