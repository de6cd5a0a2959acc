import { expect, test } from 'vitest';
import { apart } from '../../../src/domain/values/counts.ts';

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
