import { afterEach, beforeEach, expect, test } from 'vitest';
import { requestPoll, stopPurchase, transitionsOf } from '../../src/postgres/purchases/purchases.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp();
});
afterEach(() => t.stop());

test('a purchase paid between two polls is announced once', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }, { state: 'Completed', after: '30s' }] });
  await t.app.pollOnce();
  t.clock.advance('1m');
  await t.app.pollOnce();
  await t.app.pollOnce();
  await t.app.deliverOnce();

  expect(t.changesOf(purchase)).toEqual(['New', 'Completed']);
  expect(t.receiver.received.every((event) => event.verified)).toBe(true);
});

test('the first observation is a transition from nothing, and a body says what the contract says, digit for digit', async () => {
  const purchase = await t.watch(
    { script: [{ state: 'WaitingForCardPayments' }, { state: 'Completed', after: '20s' }], price: '249.50', currency: 'SEK' },
    { reference: 'ORD-1', metadata: '{"cart": 7, "weight": 1.10}' },
  );
  await t.app.pollOnce();
  t.clock.advance('1m');
  await t.app.pollOnce();
  await t.app.deliverOnce();

  const [first, second] = t.receiver.received;
  expect(JSON.parse(first!.body)).toMatchObject({
    type: 'purchase.state_changed',
    data: { from: null, notBefore: null, sequence: 1, final: false },
  });
  expect(second!.body).toMatch(
    new RegExp(
      `^\\{"id":"evt_[0-9A-Z]{26}","type":"purchase.state_changed","timestamp":"[^"]+Z","data":\\{"site":"default","purchaseId":"${purchase}","sequence":2,` +
        '"from":\\{"value":6,"name":"WaitingForCardPayments"\\},"to":\\{"value":2,"name":"Completed"\\},' +
        '"notBefore":"[^"]+Z","notAfter":"[^"]+Z","final":true,"reference":"ORD-1","metadata":\\{"cart":7,"weight":1.10\\},' +
        '"price":249.50,"currency":"SEK","orderReference":"[^"]+"\\}\\}$',
    ),
  );
  expect(second!.id).toBe(JSON.parse(second!.body).id);
});

test('a final state is not polled any more, however long one waits', async () => {
  const purchase = await t.watch({ script: [{ state: 'Completed' }] });
  await t.app.pollOnce();
  t.clock.advance('20d');
  await t.app.pollOnce();
  expect(t.simulator.control.callsOf(purchase)).toBe(1);
  expect(await t.rowOf(purchase)).toMatchObject({ status: 'settled', nextPollAt: null, polls: 1 });
});

test('the wait grows with the time in the state, and each poll is where the plan says', async () => {
  const purchase = await t.watch({ script: [{ state: 'BeingProcessed' }] });
  await t.app.pollOnce();
  const first = await t.rowOf(purchase);
  expect(first.nextPollAt! - first.lastPolledAt!).toBe(5_000);
  t.clock.advance('100s');
  await t.app.pollOnce();
  const later = await t.rowOf(purchase);
  expect(later.nextPollAt! - later.lastPolledAt!).toBe(10_000);
});

/** Starts again with rechecks of Completed. */
async function restartWithRechecks(...recheck: number[]): Promise<void> {
  await t.stop();
  t = await startTestApp({
    change: (settings) => {
      const completed = settings.policy.states.get(2)!;
      settings.policy = { ...settings.policy, states: new Map([...settings.policy.states, [2, { ...completed, recheck }]]) };
    },
  });
}

test('rechecks after a final state find a cancellation and announce it', async () => {
  await restartWithRechecks(3_600_000);
  const purchase = await t.watch({ script: [{ state: 'Completed' }, { state: 'Cancelled', after: '30m' }] });
  await t.app.pollOnce();
  t.clock.advance('59m');
  await t.app.pollOnce();
  expect(t.simulator.control.callsOf(purchase)).toBe(1);
  t.clock.advance('1m');
  await t.app.pollOnce();
  await t.app.deliverOnce();
  expect(t.changesOf(purchase)).toEqual(['Completed', 'Cancelled']);
});

test('a settled purchase that the service has forgotten is rechecked as planned, stays settled, and is deleted in its time', async () => {
  await restartWithRechecks(3_600_000, 86_400_000);
  const purchase = await t.watch({ script: [{ state: 'Completed' }] });
  await t.app.pollOnce();
  await t.app.deliverOnce();
  t.simulator.control.fail({ kind: '404', times: 1_000, purchaseId: purchase });
  // Ten days, in steps that no wait after a failure can pass over.
  for (let hours = 0; hours < 240; hours += 6) {
    t.clock.advance('6h');
    await t.app.pollOnce();
  }
  expect(t.simulator.control.callsOf(purchase)).toBe(3);
  expect(await t.rowOf(purchase)).toMatchObject({ status: 'settled', state: 2, nextPollAt: null });
  t.clock.advance('1000d');
  await t.app.keepOnce();
  expect(await t.database.sql`select from purchase_watch.purchases`).toHaveLength(0);
});

test('a stopped purchase is not polled, and what was under way when it was stopped is not recorded', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }, { state: 'Completed', after: '1s' }] });
  await t.app.pollOnce();
  t.simulator.control.setLatency(4_000);
  t.clock.advance('1m');
  const polling = t.app.pollOnce();
  await expect.poll(() => t.simulator.control.callsOf(purchase)).toBe(2);
  await stopPurchase(t.app.sql, await t.rowOf(purchase));
  await polling;
  await t.app.deliverOnce();
  expect(await t.rowOf(purchase)).toMatchObject({ status: 'stopped', state: 0, nextPollAt: null });
  expect(t.changesOf(purchase)).toEqual(['New']);
  t.clock.advance('1d');
  await t.app.pollOnce();
  expect(t.simulator.control.callsOf(purchase)).toBe(2);
});

test('asking now polls at once, whatever the plan says, and the plan goes on', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  await requestPoll(t.app.sql, await t.rowOf(purchase));
  await t.app.pollOnce();
  expect(await t.rowOf(purchase)).toMatchObject({ polls: 2, status: 'watching' });
  expect((await t.rowOf(purchase)).nextPollAt).toBeGreaterThan(t.clock.now());
});

test('a number nobody knows is stored, polled on, and announced once for the site', async () => {
  const purchases = [await t.watch(), await t.watch()];
  for (const purchase of purchases) t.simulator.control.setState(purchase, 17);
  await t.app.pollOnce();
  await t.app.deliverOnce();
  expect(purchases.map((purchase) => t.changesOf(purchase))).toEqual([['Unknown(17)'], ['Unknown(17)']]);
  const types = t.receiver.received.map(({ type }) => type);
  expect(types.filter((type) => type === 'site.unknown_state')).toHaveLength(1);
  expect((await t.rowOf(purchases[0]!)).nextPollAt).not.toBeNull();
});

test('transitions bracket the change between two polls', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }, { state: 'BeingProcessed', after: '10s' }] });
  await t.app.pollOnce();
  const between = t.clock.now();
  t.clock.advance('30s');
  await t.app.pollOnce();
  const [first, second] = await transitionsOf(t.app.sql, (await t.rowOf(purchase)).id);
  expect(first).toMatchObject({ sequence: 1, from: null, to: 0, notBefore: null, notAfter: between });
  expect(second).toMatchObject({ sequence: 2, from: 0, to: 1, notBefore: between, notAfter: t.clock.now() });
});
