import { expect, test } from 'vitest';
import { createPaymentRehearsal, type RecordedPayment } from '../../../src/domain/rehearsal/rehearsed-payments.ts';

const FROM = 1_000_000;
const SLACK = { name: '@slack', sites: null, severity: 'warning' } as const;
const payment = (differs: Partial<RecordedPayment> = {}): RecordedPayment => ({
  site: 'se',
  at: FROM,
  place: 1,
  isOld: false,
  ...differs,
});
function rehearse(payments: readonly RecordedPayment[], channels: readonly (typeof SLACK)[] = [SLACK]) {
  const rehearsal = createPaymentRehearsal({ from: FROM, alerts: { groupWait: 30_000 }, channels });
  rehearsal.take(payments);
  return rehearsal;
}
const LATE = FROM + 1e9;

test('second payments of a look are one message for each site, at the look after the wait', () => {
  const { messages } = rehearse([
    ...[payment(), payment({ place: 2, at: FROM + 1 }), payment({ place: 3, at: FROM + 4_000 })],
    ...[payment({ site: 'no', place: 2 }), payment({ place: 2, at: FROM + 60_000 })],
  ]);
  const message = { site: 'se', channels: ['@slack'] };
  expect(messages(LATE)).toEqual([
    { ...message, at: FROM + 35_000, orders: [2, 3] },
    { ...message, site: 'no', at: FROM + 30_000, orders: [2] },
    { ...message, at: FROM + 90_000, orders: [2] },
  ]);
  expect(messages(FROM + 30_000)).toEqual([]);
  expect(messages(FROM + 30_001).map(({ site }) => site)).toEqual(['no']);
});

test.each<[string, RecordedPayment]>([
  ['the first of its order', payment()],
  ['found paid at the first look at its site', payment({ place: 2, isOld: true })],
  ['more than any order has', payment({ place: 6 })],
  ['alerted of before the time', payment({ place: 2, at: FROM - 40_000 })],
])('no message is about a payment that is %s', (_, each) => expect(rehearse([each]).messages(LATE)).toEqual([]));

test.each<[string, RecordedPayment]>([
  ['as many as an order has at most', payment({ place: 5 })],
  ['alerted of as the time begins', payment({ place: 2, at: FROM - 30_000 })],
])('a message is about a payment that is %s', (_, each) => expect(rehearse([each]).messages(LATE)).toHaveLength(1));

test('without a channel nobody is alerted', () => expect(rehearse([payment({ place: 2 })], []).messages(LATE)).toEqual([]));

test('a site that reuses references by design is named, and alerts nobody from then on', () => {
  const first = Array.from({ length: 48 }, () => payment());
  const again = [1, 2, 3].map((minute) => payment({ place: 2, at: FROM + minute * 60_000 }));
  expect(rehearse(first).reusing()).toEqual([]);
  const { messages, reusing } = rehearse([...first, ...again]);
  expect(messages(LATE)).toHaveLength(1);
  expect(reusing()).toEqual([{ site: 'se', paid: 51, repeated: 3 }]);
});
