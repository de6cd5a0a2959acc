/** One order paid twice: what systems and people get, once, and where it is no news. */
import { afterEach, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

const MINUTE = 60_000;
const PAID = [{ state: 'New' }, { state: 'Completed', after: '5s' }];

const pay = (reference: string, differs: { price?: string; order?: string } = {}): Promise<string> =>
  t.watch(
    { script: PAID, price: differs.price ?? '499.00', currency: 'SEK', reference: differs.order ?? `own ${reference}` },
    { reference },
  );
const texts = (): string[] => t.slack.received.map(({ text }) => text);
const events = () => t.receiver.received.map(({ body }) => JSON.parse(body)).filter(({ type }) => type === 'order.paid_twice');

test('the second payment of an order: one event, one alert with both ids and amounts, and what to do', async () => {
  t = await startTestApp();
  const first = await pay('ORD-7');
  await t.live(2 * MINUTE);
  const other = await pay('ORD-8');
  const second = await pay('ORD-7', { price: '499.50' });
  await t.live(10 * MINUTE);
  expect(events()).toHaveLength(1);
  const [{ data }] = events();
  expect(data.site).toBe('default');
  expect(data.payments.map(({ purchaseId }: { purchaseId: string }) => purchaseId)).toEqual([first, second]);
  expect(texts()).toHaveLength(1);
  expect(texts()[0]!.split('\n')[0]).toBe('🟠 default: an order was paid twice: 499.00 SEK and 499.50 SEK');
  for (const part of [first, second, 'Order: `ORD-7` (at the service', 'refund one of them', 'starts a new checkout'])
    expect(texts()[0]).toContain(part);
  expect(texts()[0]).not.toContain(other);
  expect(t.slack.received[0]!.problem).toBeNull();
});
