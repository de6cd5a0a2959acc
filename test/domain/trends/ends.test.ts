import { expect, test } from 'vitest';
import { customersOf, endsOf } from '../../../src/domain/trends/ends.ts';

test('a customer of several purchases is counted once', () => {
  const ends = endsOf([
    { outcome: 'paid', customers: 5 },
    { outcome: 'paid', customers: 2 },
    { outcome: 'paid_by_another', customers: 3 },
    { outcome: 'again', customers: 4 },
    { outcome: 'not_paid', customers: 1 },
    { outcome: 'open', customers: 2 },
  ]);
  expect(ends).toEqual({ paid: 7, paidByAnother: 3, notPaid: 1, open: 2 });
  expect(customersOf(ends)).toEqual({ customers: 10, paid: 7 });
});
