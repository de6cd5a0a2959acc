import { describe, expect, test } from 'vitest';
import type { PurchaseView } from '../../packages/simulator/src/contract/purchases.ts';
import { startCaller } from './caller.ts';

const states = ({ history }: PurchaseView): number[] => history.map(({ state }) => state);

describe('a negotiated purchase', () => {
  test('has the price, currency, site and reference of the shop, and is New until its customer acts', async () => {
    const t = await startCaller();
    const { purchaseId, pageUrl } = t.control.negotiate({
      ...{ price: '249.50', currency: 'EUR', site: 'demo-fi', reference: 'ORD-1', description: 'A hat' },
    });
    expect(JSON.parse((await t.status(purchaseId)).text)).toMatchObject({
      ...{ State: 0, Price: 249.5, CurrencyCode: 'EUR', SiteCode: 'demo-fi', OrderReference: 'ORD-1', Description: 'A hat' },
    });
    expect(pageUrl).toBe(`${t.simulator.url}/control/checkout/${purchaseId}`);
    t.pass(3_599);
    expect(t.control.get(purchaseId)!.state.value).toBe(0);
    t.pass(1);
    expect(t.control.get(purchaseId)!.state.value).toBe(5);
  });

  test('is at the first site and paid by card unless the shop says otherwise', async () => {
    const t = await startCaller();
    const made = Array.from({ length: 8 }, () => t.control.negotiate({ site: undefined }));
    expect(new Set(made.map(({ site, life }) => `${site} ${life}`))).toEqual(new Set(['demo-se waits-for-customer']));
    expect(states(t.control.customer(made[0]!.purchaseId, 'pays'))).toEqual([0, 1, 6, 2]);
  });

  test('is negotiated over HTTP, with a page at the address that the caller used', async () => {
    const t = await startCaller();
    const answer = await t.steer('/negotiate', { price: '10.00', returnUrl: 'https://shop.example/thanks' });
    expect(answer.status).toBe(201);
    const { purchaseId, pageUrl, returnUrl } = JSON.parse(answer.text);
    expect(returnUrl).toBe('https://shop.example/thanks');
    expect(await (await fetch(pageUrl)).text()).toContain('data-return="https://shop.example/thanks"');
    expect(await t.state(purchaseId)).toBe(1);
    const paid = await t.steer(`/purchases/${purchaseId}/customer`, { does: 'pays' });
    expect(JSON.parse(paid.text).state.name).toBe('Completed');
    const over = await t.steer(`/purchases/${purchaseId}/customer`, { does: 'cancels' });
    expect([over.status, JSON.parse(over.text).code]).toEqual([409, 'purchase_ended']);
    expect((await fetch(`${t.simulator.url}/control/checkout/nobody`)).status).toBe(404);
    const mapped = await t.call('/control/negotiate', {
      ...{ method: 'POST', body: '{}', headers: { 'content-type': 'application/json', host: 'checkout.test:8090' } },
    });
    expect(JSON.parse(mapped.text).pageUrl).toMatch(/^http:\/\/checkout\.test:8090\/control\/checkout\//);
  });

  test('refuses what it does not know, also from programs without types', async () => {
    const { control } = await startCaller();
    const { purchaseId } = control.negotiate();
    const wrong: readonly (readonly [call: () => unknown, message: string])[] = [
      [() => control.negotiate({ amount: 5 } as never), 'amount: is not known here; known: purchaseId, site, script'],
      [() => control.negotiate({ price: null } as never), 'price: null must be text or a number, or left out'],
      [() => control.add({ reference: 7 } as never), 'reference: 7 must be text, or left out'],
      [() => control.add({ purchaseId: '' }), 'purchaseId: "" must be text, or left out'],
      [
        () => control.customer(purchaseId, 'sleeps' as never),
        'does: "sleeps" is nothing that a customer does; give one of opens',
      ],
    ];
    for (const [call, message] of wrong) expect(call).toThrow(message);
    expect(control.list()).toHaveLength(1);
  });

  test('refuses a return address that no browser should go to', async () => {
    const t = await startCaller();
    for (const returnUrl of ['javascript:alert(1)', '/thanks']) {
      expect(() => t.control.negotiate({ returnUrl })).toThrow(`returnUrl: ${JSON.stringify(returnUrl)} is not a complete http`);
    }
  });
});

describe('a customer', () => {
  test.each([
    ['card', 'pays', [0, 1, 6, 2]],
    ['mobile-payment', 'pays', [0, 1, 12, 2]],
    ['direct-payment', 'pays', [0, 1, 9, 2]],
    ['invoice', 'pays', [0, 1, 4, 2]],
    ['external', 'pays', [0, 1, 13]],
    ['card', 'leaves', [0, 1, 6, 5]],
    ['card', 'cancels', [0, 1, 3]],
    ['card', 'opens', [0, 1, 5]],
  ] as const)('who takes %s and then %s leads through the states of both', async (paymentMethod, act, expected) => {
    const t = await startCaller();
    const { purchaseId } = t.control.negotiate({ paymentMethod });
    t.control.customer(purchaseId, act);
    t.pass(1_800);
    expect(states(t.control.get(purchaseId)!)).toEqual(expected);
  });

  test('who comes back pays now, and not at the time of leaving', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.negotiate();
    t.control.customer(purchaseId, 'leaves');
    t.pass(600);
    const { history } = t.control.customer(purchaseId, 'pays');
    expect(history.map(({ state, at }) => [state, at - history[0]!.at])).toEqual([
      [0, 0],
      [1, 0],
      [6, 0],
      [2, 600_000],
    ]);
  });

  test('is kept by a broken page until it is fixed', async () => {
    const t = await startCaller();
    t.control.breakPage({ states: ['WaitingForCardPayments'] });
    const { purchaseId } = t.control.negotiate();
    expect(t.control.customer(purchaseId, 'pays').state.name).toBe('WaitingForCardPayments');
    t.control.fixPage();
    t.pass(20);
    expect(await t.state(purchaseId)).toBe(2);
  });

  test('of a purchase with a life of its own does not change that life by looking at its page', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add({ script: 'never-opened' });
    expect(states(t.control.customer(purchaseId, 'opens'))).toEqual([0]);
    expect(() => t.control.customer('made-up', 'pays')).toThrow('there is no purchase "made-up" here');
  });
});
