/** `purchase.at_risk` from the setting to the webhook and to the rehearsal, on a real database. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rehearse } from '../../src/actions/rehearse/rehearse.ts';
import { numberOf } from '../../src/domain/purchases/states.ts';
import { register, stopPurchase } from '../../src/postgres/purchases/purchases.ts';
import { foldOutcomes } from '../../src/postgres/trends/outcomes.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const MINUTE = 60_000;
const STUCK = [{ state: 'WaitingForCardPayments' }, { state: 'SessionTimedOut', after: '30m' }];
const RULE = { before: 5 * MINUTE, minimumAmount: { SEK: 1_000 } };

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp({ change: (settings) => Object.assign(settings, { policy: { ...settings.policy, atRisk: RULE } }) });
});
afterEach(() => t.stop());

const typesOf = (purchase: string) => t.eventsOf(purchase).map(({ type, data }) => [data.sequence, type]);

test('a stuck purchase of enough money is announced once, five minutes before its session ends, in order', async () => {
  const rich = await t.watch({ script: STUCK, price: '1250.50', currency: 'SEK' });
  const poor = await t.watch({ script: STUCK, price: '999.99', currency: 'SEK' });
  const foreign = await t.watch({ script: STUCK, price: '9999', currency: 'EUR' });
  await t.app.pollOnce();
  const { stateSince: since, registeredAt } = await t.rowOf(rich);
  await t.live(registeredAt + 25 * MINUTE - t.clock.now() - 1_000);
  expect(typesOf(rich)).toEqual([
    [1, 'purchase.state_changed'],
    [2, 'purchase.stuck'],
  ]);
  await t.live(10 * MINUTE);
  expect(typesOf(rich)).toEqual([
    [1, 'purchase.state_changed'],
    [2, 'purchase.stuck'],
    [3, 'purchase.at_risk'],
    [4, 'purchase.state_changed'],
    [5, 'purchase.recovered'],
  ]);
  const { data } = t.eventsOf(rich).find(({ type }) => type === 'purchase.at_risk')!;
  expect(data).toMatchObject({ purchaseId: rich, state: { name: 'WaitingForCardPayments' }, price: 1250.5, currency: 'SEK' });
  expect(Math.abs(Date.parse(`${data.sessionEndsAt}`) - registeredAt - 30 * MINUTE)).toBeLessThan(2);
  for (const other of [poor, foreign]) expect(typesOf(other).flat()).not.toContain('purchase.at_risk');

  while ((await foldOutcomes(t.app.sql)) > 0);
  const { policy, alerts, channels } = { policy: t.settings.policy, alerts: t.settings.slack, channels: [] };
  const span = { from: since! - MINUTE, to: t.clock.now(), site: null, silences: true };
  expect((await rehearse(t.app.sql, { ...span, policy, alerts, channels })).atRisk).toEqual({ announced: 1, lost: 1, paid: 0 });
  const any = { ...policy, atRisk: { ...RULE, minimumAmount: {} } };
  expect((await rehearse(t.app.sql, { ...span, policy: any, alerts, channels })).atRisk).toEqual({
    announced: 3,
    lost: 3,
    paid: 0,
  });
  const off = { ...policy, atRisk: null };
  expect((await rehearse(t.app.sql, { ...span, policy: off, alerts, channels })).atRisk).toBeNull();
});

test('a purchase that is stopped and watched again in the same stay is called stuck again, and not announced again', async () => {
  const purchase = await t.watch({ script: [{ state: 'WaitingForCardPayments' }], price: '5000', currency: 'SEK' });
  await t.live(26 * MINUTE);
  expect(typesOf(purchase).at(-1)).toEqual([3, 'purchase.at_risk']);
  await stopPurchase(t.app.sql, { purchaseId: purchase, site: 'default' });
  await register(t.app.sql, [{ purchaseId: purchase, site: null, reference: null, metadata: null }]);
  await t.live(2 * MINUTE);
  expect(typesOf(purchase)).toEqual([
    [1, 'purchase.state_changed'],
    [2, 'purchase.stuck'],
    [3, 'purchase.at_risk'],
    [4, 'purchase.stuck'],
  ]);
});

test('time in which nobody could ask brings no announcement: neither of who is not stuck, nor after the session', async () => {
  const early = await t.watch({ script: STUCK, price: '5000', currency: 'SEK' });
  await t.live(5 * MINUTE);
  await t.simulator.control.down();
  t.clock.advance('20m');
  await t.app.pollOnce();
  await t.simulator.control.up();
  // Ten of its fifteen minutes are left, and after five the session is over.
  await t.live(12 * MINUTE);
  expect(typesOf(early).flat()).not.toContain('purchase.at_risk');
  expect(t.changesOf(early)).toEqual(['WaitingForCardPayments', 'SessionTimedOut']);
});

test('an answer that is the same to the byte, as polls seconds apart get it, is read for its amount all the same', async () => {
  await t.stop();
  const often = { poll: { first: 10_000, growth: 0, most: 10_000 }, stuckAfter: MINUTE, auto: false, final: false, recheck: [] };
  t = await startTestApp({
    change: (settings) => {
      const states = new Map(settings.policy.states).set(numberOf('WaitingForCardPayments'), often);
      settings.policy = { ...settings.policy, states, sessionLength: 7 * MINUTE, atRisk: RULE };
    },
  });
  const purchase = await t.watch({ script: STUCK, price: '1250.50', currency: 'SEK' });
  await t.live(3 * MINUTE);
  expect(typesOf(purchase).at(-1)).toEqual([3, 'purchase.at_risk']);
});
