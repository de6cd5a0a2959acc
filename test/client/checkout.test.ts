/** The checkout client as the package exports it. */
import { afterAll, beforeAll, expect, expectTypeOf, test } from 'vitest';
import { createCheckoutClient, type Decimal, type PaymentStatus } from '../../packages/client/src/index.ts';
import { createSimulator, type Simulator } from '../../packages/simulator/src/simulator.ts';
import type { PaymentStatus as WirePaymentStatus } from '../../src/checkout/payment-status.ts';
import type { Decimal as ExactNumber } from '../../src/domain/values/exact-json.ts';

let simulator: Simulator;
let client: ReturnType<typeof createCheckoutClient>;
beforeAll(async () => {
  simulator = createSimulator();
  await simulator.start();
  client = createCheckoutClient({ baseUrl: simulator.url, clientId: 'demo-client', clientSecret: 'demo-secret' });
});
afterAll(async () => {
  await client.close();
  await simulator.stop();
});

test('a status has its state by name, its price as text and its times as instants', async () => {
  const { purchaseId } = simulator.control.add({ script: [{ state: 'Completed' }], price: '249.50' });
  const answer = await client.paymentStatus(purchaseId);
  if (answer.kind !== 'status') throw new Error(answer.detail);
  expect([answer.state, answer.status.Price, answer.status.PurchaseId]).toEqual([
    { value: 2, name: 'Completed' },
    '249.50',
    purchaseId,
  ]);
  expect(answer.times.Created?.instant).toBeInstanceOf(Date);
  expect(answer.times.Created?.text).toBe(answer.status.Created);
  expect(answer.times.Cancelled).toBeNull();
});

test('an invoice has its amounts as text, and where there is none it is said why', async () => {
  const paid = simulator.control.add({ script: [{ state: 'Completed' }], price: '249.50', paymentMethod: 'invoice' });
  const card = simulator.control.add({ script: [{ state: 'Completed' }], paymentMethod: 'card' });
  const open = simulator.control.add({ script: [{ state: 'New' }] });
  const answer = await client.invoiceDetails(paid.purchaseId);
  if (answer.kind !== 'invoice') throw new Error(answer.kind);
  expect([answer.invoice.TotalAmount, answer.invoice.State.name]).toEqual(['249.50', 'Completed']);
  expect(answer.invoice.DebitItems.every(({ Amount }) => typeof Amount === 'string')).toBe(true);
  expect(await client.invoiceDetails(card.purchaseId)).toMatchObject({ kind: 'not_eligible', state: { name: 'Completed' } });
  expect(await client.invoiceDetails(open.purchaseId)).toMatchObject({ kind: 'not_completed', state: { name: 'New' } });
});

test('nothing is thrown for what the service does', async () => {
  expect(await client.paymentStatus('nobody')).toMatchObject({ kind: 'unknown' });
  const away = createCheckoutClient({ baseUrl: 'http://127.0.0.1:1', auth: 'basic', clientId: 'a', clientSecret: 'b' });
  expect(await away.paymentStatus('p')).toMatchObject({ kind: 'unreachable', reason: 'connection_refused' });
  await away.close();
  const wrong = createCheckoutClient({ baseUrl: simulator.url, clientId: 'demo-client', clientSecret: 'wrong' });
  expect(await wrong.paymentStatus('p')).toMatchObject({ kind: 'refused' });
  await wrong.close();
});

test('the exported status lists the fields that are read, no more and no fewer', () => {
  type Told = {
    [Name in keyof WirePaymentStatus]: WirePaymentStatus[Name] extends ExactNumber | null
      ? Decimal | null
      : WirePaymentStatus[Name];
  };
  expectTypeOf<PaymentStatus>().toEqualTypeOf<Told>();
});
