import { expect, test } from 'vitest';
import { FINAL_STATES, outcomeOf, PAID_STATES } from '../../../src/domain/purchases/outcome.ts';
import { namedState } from '../../../src/domain/purchases/states.ts';

const [COMPLETED, TIMED_OUT, CARD] = [2, 5, 6];
const a = (differs: Partial<Parameters<typeof outcomeOf>[0]>) =>
  outcomeOf({ status: 'settled', state: COMPLETED, stuckSince: null, wasStuck: false, ...differs });

test.each<[string, Parameters<typeof a>[0], string]>([
  ['stuck now, whatever else it is', { stuckSince: 1, status: 'unreadable' }, 'stuck'],
  ['watched', { status: 'watching', state: CARD }, 'waiting'],
  ['watched, and stuck before', { status: 'watching', state: CARD, wasStuck: true }, 'waiting'],
  ['unreadable', { status: 'unreadable' }, 'unreadable'],
  ['expired', { status: 'expired' }, 'expired'],
  ['stopped in a state of the paid', { status: 'stopped' }, 'stopped'],
  ['paid', {}, 'paid'],
  ['paid after it was stuck', { wasStuck: true }, 'paid_late'],
  ['timed out', { state: TIMED_OUT, wasStuck: true }, 'not_paid'],
  ['settled without a state', { state: null }, 'not_paid'],
])('a purchase that is %s', (_, purchase, outcome) => expect(a(purchase)).toBe(outcome));

test('Completed and PaymentHandledByMerchant are paid', () => expect(PAID_STATES).toEqual([COMPLETED, 13]));

test('a checkout ends in these states, whether paid or not', () =>
  expect(FINAL_STATES.map((state) => namedState(state).name)).toEqual([
    ...['Completed', 'Error', 'SessionTimedOut', 'Cancelled', 'CreditNotApproved', 'PaymentHandledByMerchant'],
  ]));
