import { expect, test } from 'vitest';
import { type SlackMessage, slackFolded, slackMessage } from '../../../../src/channels/slack/message.ts';
import { messageProblem } from '../../../support/slack-stand-in.ts';

const NOW = Date.UTC(2026, 10, 20, 9, 30);
const payment = (id: string, differs: object = {}): object => ({
  purchaseId: id,
  reference: 'ORD-1',
  orderReference: null,
  price: '499.00',
  currency: 'SEK',
  completedAt: '2026-11-20T09:15:00.000Z',
  ...differs,
});
const body = (orders: object[][], differs: object = {}): string =>
  JSON.stringify({
    id: 'evt_1',
    type: 'incident.paid_twice',
    timestamp: '2026-11-20T09:16:00.000Z',
    data: {
      kind: 'paid_twice',
      severity: 'warning',
      site: 'se',
      orderCount: orders.length,
      orders: orders.map((payments) => ({ payments })),
      ...differs,
    },
  });
const message = (orders: object[][], differs: object = {}, consoleUrl: string | null = null): SlackMessage => {
  const made = slackMessage(body(orders, differs), { consoleUrl });
  expect(messageProblem(made)).toBeNull();
  return made;
};
const headline = ({ text }: SlackMessage): string => text.split('\n')[0]!;

test('one order: both ids with amounts and times, and what to do', () => {
  const made = message([[payment('p-1'), payment('p-2', { price: '12499.50', orderReference: 'W-9' })]]);
  expect(headline(made)).toBe('🟠 se: an order was paid twice: 499.00 SEK and 12 499.50 SEK');
  expect(made.text).toContain('*Paid by*\n• `p-1`, 499.00 SEK, completed ');
  expect(made.text).toContain('• `p-2`, 12 499.50 SEK, completed ');
  for (const part of ['Order: `ORD-1`', 'refund one of them', '`purchase-watch why p-2`']) expect(made.text).toContain(part);
});

test('a payment whose purchase was erased keeps its place, and names nothing', () => {
  const erased = payment('(erased)', { reference: null, price: null, currency: null });
  const made = message([[erased, payment('p-2')]]);
  expect(made.text).toContain('• `(erased)`, amount not known');
  expect(made.text).toContain('Order: `ORD-1`');
});

test('several orders are listed each with its payments, the rest is counted', () => {
  const orders = Array.from({ length: 12 }, (_, at) => [
    payment(`a-${at}`, { reference: `ORD-${at}` }),
    payment(`b-${at}`, { reference: `ORD-${at}` }),
  ]);
  const made = message(orders, { orderCount: 40 });
  expect(headline(made)).toBe('🟠 se: 40 orders were paid twice');
  expect(made.text).toContain('Order `ORD-0`:\n• `a-0`');
  expect(made.text).toContain('and 28 more orders');
});

test('with the longest ids and a console at a long address it still says what to do', () => {
  const long = (name: string): string => name.padEnd(200, 'x');
  const orders = Array.from({ length: 50 }, (_, at) =>
    ['a', 'b', 'c', 'd', 'e'].map((each) => payment(long(`${each}-${at}`), { reference: long(`${at}`) })),
  );
  const made = message(orders, {}, `https://console.example/${'y'.repeat(300)}`);
  expect(made.text).toContain('refund one of them');
  expect(made.text).toContain('more orders');
});

test('among other messages that waited, ids and amounts are still named', () => {
  const orders = [[payment('p-1'), payment('p-2')]];
  const other = body([[payment('q-1', { price: '10.00' }), payment('q-2', { price: '10.00' })]], { site: 'no' });
  const made = slackFolded([body(orders), other], {
    consoleUrl: null,
    since: NOW - 60_000,
    until: NOW,
    now: NOW,
    reason: 'capped',
    incidents: new Map(),
  });
  expect(messageProblem(made)).toBeNull();
  for (const part of ['se: an order was paid twice: 499.00 SEK', 'p-1', 'p-2', 'no: an order was paid twice: 10.00 SEK', 'q-2'])
    expect(made.text).toContain(part);
});
