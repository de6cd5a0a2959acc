import { expect, test } from 'vitest';
import { apart, counted, grouped } from '../../../src/domain/values/counts.ts';

test.each([
  ['1929.5', '1 929.50'],
  ['-1234567890123.45', '-1 234 567 890 123.45'],
  ['12000', '12 000'],
  ['0.125', '0.125'],
  ['1.5e3', '1.5e3'],
  ['n/a', 'n/a'],
])('%s is shown as %s', (amount, shown) => {
  expect(apart(amount)).toBe(shown);
});

test('a count that ended at a number is at least that', () => {
  expect([grouped(999, 1_000), grouped(1_000, 1_000), grouped(12_000)]).toEqual(['999', 'at least 1 000', '12 000']);
});

test('a noun has its plural, but for one', () => {
  expect([counted(0, 'purchase'), counted(1, 'purchase'), counted(12_000, 'purchase')]).toEqual([
    '0 purchases',
    '1 purchase',
    '12 000 purchases',
  ]);
  expect(counted(10_000, 'purchase is', 'purchases are', 10_000)).toBe('at least 10 000 purchases are');
});
