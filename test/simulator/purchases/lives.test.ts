import { describe, expect, test } from 'vitest';
import { LIFE_NAMES } from '../../../packages/simulator/src/contract/names.ts';
import type { PurchaseSpec } from '../../../packages/simulator/src/contract/purchases.ts';
import { createSimulator } from '../../../packages/simulator/src/simulator.ts';
import { START, startCaller } from '../caller.ts';

const DAY = 86_400;

function atRest(options: Parameters<typeof createSimulator>[0] = {}) {
  let now = START;
  const { control } = createSimulator({ now: () => now, ...options });
  return {
    control,
    pass: (seconds: number) => {
      now += seconds * 1_000;
    },
  };
}

/** The states a purchase has gone through, by name. */
const path = (t: ReturnType<typeof atRest>, id: string) => t.control.get(id)?.history.map(({ state }) => state);

test('the named lives together pass through all fifteen states, and all end unless a broken page keeps them', () => {
  const t = atRest();
  const purchases = LIFE_NAMES.map((script) => t.control.add({ script }));
  t.pass(4 * DAY);
  const seen = new Set(purchases.flatMap(({ purchaseId }) => path(t, purchaseId)));
  for (let state = 0; state < 15; state++) expect(seen).toContain(state);
  const unfinished = t.control.list({ finished: false }).map(({ life }) => life);
  expect(unfinished.toSorted()).toEqual(['paid-at-second-poll', 'stuck-at-card-payments', 'stuck-at-identity-provider']);
});

test.each([
  ['card-paid', [0, 1, 6, 2]],
  ['invoice-eid-app', [0, 1, 7, 2]],
  ['mobile-payment', [0, 1, 12, 2]],
  ['finnish-direct-payment', [0, 1, 9, 2]],
  ['strong-authentication', [0, 1, 14, 2]],
  ['abandoned-at-bank', [0, 1, 6, 5]],
  ['never-opened', [0, 5]],
  ['user-cancels', [0, 1, 6, 3]],
  ['external-payment', [0, 1, 13]],
  ['credit-not-approved', [0, 1, 10, 11]],
  ['cancelled-after-completion', [0, 1, 7, 2, 8]],
] as const)('%s goes its way', (script, states) => {
  const t = atRest();
  const { purchaseId } = t.control.add({ script });
  t.pass(4 * DAY);
  expect(path(t, purchaseId)).toEqual(states);
});

test('credit approval takes about a day, and at a time scale of 60 about 24 minutes', () => {
  for (const timeScale of [1, 60]) {
    const t = atRest({ timeScale });
    const { purchaseId } = t.control.add({ script: 'credit-approved' });
    t.pass((0.7 * DAY) / timeScale);
    expect(path(t, purchaseId)).toEqual([0, 1, 10]);
    t.pass((0.6 * DAY) / timeScale);
    expect(path(t, purchaseId)).toEqual([0, 1, 10, 2]);
  }
});

test('who leaves the bank without a word times out at the end of the session', () => {
  const t = atRest();
  const { purchaseId, createdAt } = t.control.add({ script: 'abandoned-at-bank' });
  t.pass(DAY);
  expect(t.control.get(purchaseId)?.stateSince).toBe(createdAt + 1_800_000);
});

describe('scripts of a test', () => {
  test('change at their times, also when nobody looked in between', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add({
      script: [{ state: 'New' }, { state: 6, after: '5s' }, { state: 'Completed', after: 2_500 }],
    });
    expect(await t.state(purchaseId)).toBe(0);
    t.pass(4.999);
    expect(await t.state(purchaseId)).toBe(0);
    t.pass(60);
    expect(await t.state(purchaseId)).toBe(2);
    expect(t.control.get(purchaseId)?.history.map(({ at }) => at - START)).toEqual([0, 5_000, 7_500]);
  });

  test('a purchase paid at the second poll is New at the first, whatever the clock says', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add({ script: 'paid-at-second-poll' });
    t.control.fail({ kind: '500', only: 'status' });
    expect((await t.status(purchaseId)).status).toBe(500);
    expect(await t.state(purchaseId)).toBe(0);
    expect(await t.state(purchaseId)).toBe(2);
  });

  test('mistakes are named', () => {
    const { control } = atRest();
    control.add({ purchaseId: 'taken' });
    for (const [spec, message] of [
      [{ purchaseId: 'taken' }, /purchaseId: "taken" exists/],
      [{ script: 'card-payed' }, /script: "card-payed" is not a life.*card-paid/],
      [{ script: [{ state: 'Nowhere' }] }, /script\[0\]\.state: "Nowhere"/],
      [{ script: [{ state: 0 }, { state: 2 }] }, /script\[1\]: /],
      [{ script: [{ state: 0 }, { state: 2, after: 'soon' }] }, /script\[1\]\.after: "soon"/],
      [{ price: '1,50' }, /1,50/],
      [{ site: 'nowhere' }, /nowhere.*demo-se/],
    ] as const) {
      expect(() => control.add(spec as PurchaseSpec)).toThrow(message);
    }
    expect(control.list()).toHaveLength(1);
  });
});

describe('a broken page', () => {
  test('keeps those who are away and those who leave later, until shortly after it is fixed', () => {
    const t = atRest();
    const waiting = t.control.add({ site: 'demo-se', script: [{ state: 6 }, { state: 2, after: '1m' }] });
    const later = t.control.add({
      site: 'demo-se',
      script: [{ state: 1 }, { state: 4, after: '1h' }, { state: 2, after: '1m' }],
    });
    const elsewhere = t.control.add({ site: 'demo-fi', script: [{ state: 6 }, { state: 2, after: '1m' }] });
    t.control.breakPage({ site: 'demo-se' });
    t.pass(3 * 3_600);
    const states = () => [waiting, later, elsewhere].map(({ purchaseId }) => t.control.get(purchaseId)?.state.value);
    expect(states()).toEqual([6, 4, 2]);
    t.control.fixPage({ site: 'demo-se' });
    expect(states()).toEqual([6, 4, 2]);
    t.pass(20);
    expect(states()).toEqual([2, 2, 2]);
  });

  test('may be one of the two pages', () => {
    const t = atRest();
    const card = t.control.add({ script: [{ state: 6 }, { state: 2, after: '1m' }] });
    const identity = t.control.add({ script: [{ state: 4 }, { state: 2, after: '1m' }] });
    t.control.breakPage({ states: ['WaitingForIdentityProvider'] });
    t.pass(3_600);
    expect([card, identity].map(({ purchaseId }) => t.control.get(purchaseId)?.state.name)).toEqual([
      'Completed',
      'WaitingForIdentityProvider',
    ]);
  });

  test('does not reach into the past, and does not stop a session from timing out', () => {
    const t = atRest();
    const inTime = t.control.add({ script: [{ state: 6 }, { state: 2, after: '1m' }] });
    const abandoned = t.control.add({ script: 'abandoned-at-bank' });
    t.pass(600);
    t.control.breakPage();
    t.pass(3_600);
    expect([inTime, abandoned].map(({ purchaseId }) => t.control.get(purchaseId)?.state.name)).toEqual([
      'Completed',
      'SessionTimedOut',
    ]);
  });

  test('lives that are stuck from the start are freed by a fix', () => {
    const t = atRest();
    const stuck = (['stuck-at-card-payments', 'stuck-at-identity-provider'] as const).map(
      (script) => t.control.add({ script }).purchaseId,
    );
    t.pass(DAY);
    expect(stuck.map((id) => t.control.get(id)?.state.value)).toEqual([6, 4]);
    t.control.fixPage();
    t.pass(20);
    expect(stuck.map((id) => t.control.get(id)?.state.value)).toEqual([2, 2]);
  });
});

describe('the load', () => {
  test('brings about as many customers as asked, spread over the time, and announces each once', () => {
    const t = atRest({ seed: 7 });
    const announced: string[] = [];
    t.control.onPurchase(({ purchaseId }) => announced.push(purchaseId));
    t.control.setLoad(60);
    t.pass(600);
    const first = t.control.recent();
    expect(first.purchases.length).toBeGreaterThan(500);
    expect(first.purchases.length).toBeLessThan(700);
    expect(new Set(first.purchases.map(({ createdAt }) => Math.floor((createdAt - START) / 60_000))).size).toBe(10);
    t.pass(60);
    const second = t.control.recent({ after: first.last });
    expect(second.purchases.length).toBeGreaterThan(20);
    expect(announced).toEqual([...first.purchases, ...second.purchases].map(({ purchaseId }) => purchaseId));
    t.control.setLoad(0);
    t.pass(600);
    expect(t.control.recent({ after: second.last })).toEqual({ purchases: [], last: second.last });
  });

  test('forgets the oldest finished purchases and keeps those under way', () => {
    const t = atRest({ keep: 200 });
    const waiting = t.control.add({ script: 'stuck-at-card-payments' });
    t.control.addMany(1_000, { script: [{ state: 'Completed' }] });
    expect(t.control.settings().purchases).toBeLessThanOrEqual(200);
    expect(t.control.get(waiting.purchaseId)).not.toBeNull();
    expect(t.control.list({ limit: 1 })[0]?.number).toBe(1_001);
  });
});

test('the same seed makes the same purchases, another seed others', () => {
  const ids = (seed: number) => {
    const t = atRest({ seed, load: 0 });
    t.control.setLoad(100);
    t.pass(60);
    return t.control.list().map(({ purchaseId, life, price }) => `${purchaseId} ${life} ${price}`);
  };
  expect(ids(1)).toEqual(ids(1));
  expect(ids(1)).not.toEqual(ids(2));
});
