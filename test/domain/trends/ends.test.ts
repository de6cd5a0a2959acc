import { expect, test } from 'vitest';
import { customersOf, endsOf } from '../../../src/domain/trends/ends.ts';

test('a customer of several purchases is counted once', () => {
  const ends = endsOf([
    { outcome: 'paid', customers: 5, gone: 1, wasStuck: false },
    { outcome: 'paid', customers: 2, gone: 0, wasStuck: true },
    { outcome: 'paid_by_another', customers: 3, gone: 2, wasStuck: true },
    { outcome: 'again', customers: 4, gone: 0 },
    { outcome: 'not_paid', customers: 1, gone: 1, wasStuck: true },
    { outcome: 'open', customers: 2, gone: 0 },
  ]);
  expect(ends).toEqual({ paid: 7, paidLate: 2, paidByAnother: 3, notPaid: 1, open: 2, stuck: 3, gone: 2 });
  expect(customersOf(ends)).toEqual({ customers: 10, paid: 7 });
});
