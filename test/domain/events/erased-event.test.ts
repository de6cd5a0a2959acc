import { expect, test } from 'vitest';
import { withoutPurchase } from '../../../src/domain/events/erased-event.ts';

const payment = (purchaseId: string) => ({
  purchaseId,
  reference: 'R',
  orderReference: 'O',
  price: '10.50',
  currency: 'SEK',
  completedAt: 'T',
});
const ERASED = { ...payment('(erased)'), reference: null, orderReference: null, price: null, currency: null };
const erased = (data: object, site = 'se') =>
  (JSON.parse(withoutPurchase(JSON.stringify({ id: 'evt_1', data }), { site, purchaseId: 'p-1' })) as { data: object }).data;

test('the id goes wherever an event names it', () => {
  expect(erased({ purchaseId: 'p-1', purchases: ['p-0', 'p-1'], site: 'se' })).toEqual({
    ...{ purchaseId: '(erased)', purchases: ['p-0', '(erased)'], site: 'se' },
  });
  const incident = { site: 'se', parts: [{ site: 'se', count: 1 }], waiting: [{ amount: '10.50', currency: 'SEK' }] };
  expect(erased(incident)).toEqual(incident);
  expect(erased({ purchaseId: 'p-10', purchases: ['p-10'] })).toEqual({ purchaseId: 'p-10', purchases: ['p-10'] });
});

test('of stuck checkouts, order and money go with it, and at another site nothing does', () => {
  const [ours, other] = [
    { site: 'se', ...payment('p-1') },
    { site: 'no', ...payment('p-1') },
  ];
  expect(erased({ stuck: [ours, other], over: [ours] })).toEqual({
    stuck: [{ site: 'se', ...ERASED }, other],
    over: [{ site: 'se', ...ERASED }],
  });
});

test('of payments of an order, too, at the site of the event', () => {
  const orders = [{ payments: [payment('p-0'), payment('p-1')] }];
  expect(erased({ site: 'se', orders, payments: orders[0]!.payments })).toEqual({
    ...{ site: 'se', orders: [{ payments: [payment('p-0'), ERASED] }], payments: [payment('p-0'), ERASED] },
  });
  const elsewhere = { site: 'no', orders, payments: orders[0]!.payments };
  expect(erased(elsewhere)).toEqual(elsewhere);
});

test('all else stays digit for digit', () => {
  const body = '{"id":"evt_1","data":{"purchaseId":"p-1","rate":1.50,"stuckCount":1}}';
  expect(withoutPurchase(body, { site: 'se', purchaseId: 'p-1' })).toBe(body.replace('p-1', '(erased)'));
});
