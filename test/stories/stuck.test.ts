import { afterEach, beforeEach, expect, test } from 'vitest';
import { stopPurchase } from '../../src/postgres/purchases/purchases.ts';
import { ALL_PASSES, startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp();
});
afterEach(() => t.stop());

const MINUTE = 60_000;
/** Comes to the form, and from there to where it stays. */
const STUCK = [{ state: 'New' }, { state: 'WaitingForIdentityProvider', after: '5s' }];
/** Every one of them is stuck: with the fourth, the page is called broken. */
const fourStuck = () => Promise.all(Array.from({ length: 4 }, () => t.watch({ script: STUCK })));

test('a purchase is called stuck by a poll at the limit, not before, and recovered once when it moves', async () => {
  const purchase = await t.watch({ script: [{ state: 'WaitingForIdentityProvider' }] });
  await t.app.pollOnce();
  const since = (await t.rowOf(purchase)).stateSince!;
  await t.live(10 * MINUTE - 1);
  expect((await t.rowOf(purchase)).stuckSince).toBeNull();
  expect((await t.rowOf(purchase)).nextPollAt).toBe(since + 10 * MINUTE);
  await t.live(1);
  expect((await t.rowOf(purchase)).stuckSince).toBe(since + 10 * MINUTE);
  await t.live(MINUTE);
  t.simulator.control.setState(purchase, 'Completed');
  await t.live(10 * MINUTE);
  expect((await t.rowOf(purchase)).stuckSince).toBeNull();
  expect(t.eventsOf(purchase).map(({ type, data }) => [data.sequence, type])).toEqual([
    [1, 'purchase.state_changed'],
    [2, 'purchase.stuck'],
    [3, 'purchase.state_changed'],
    [4, 'purchase.recovered'],
  ]);
});

test('time in which the site could not be asked never makes a purchase stuck', async () => {
  const purchase = await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
  await t.live(5 * MINUTE);
  await t.simulator.control.down();
  t.clock.advance('40m');
  await t.app.pollOnce();
  expect((await t.rowOf(purchase)).stuckSince).toBeNull();
  const pollsBefore = (await t.rowOf(purchase)).polls;
  await t.simulator.control.up();
  await expect
    .poll(
      async () => {
        t.clock.advance('1s');
        await t.app.pollOnce();
        return (await t.rowOf(purchase)).polls > pollsBefore;
      },
      { interval: 10 },
    )
    .toBe(true);
  expect((await t.rowOf(purchase)).stuckSince).toBeNull();
  // Ten of its fifteen minutes are left, and then it is stuck all the same.
  await t.live(8 * MINUTE);
  expect((await t.rowOf(purchase)).stuckSince).toBeNull();
  await t.live(4 * MINUTE);
  expect((await t.rowOf(purchase)).stuckSince).not.toBeNull();
});

test('forty stuck purchases are one Slack message, and one more when they have moved on', async () => {
  const purchases = await Promise.all(
    Array.from({ length: 40 }, () => t.watch({ script: STUCK, price: '100.10', currency: 'SEK' })),
  );
  await t.app.pollOnce();
  t.clock.advance('1s');
  await t.live(12 * MINUTE, 10_000);
  expect(t.slack.received.map(({ problem }) => problem)).toEqual([null]);
  const text = JSON.stringify(t.slack.received[0]);
  expect(text).toContain('40 customers');
  expect(text).toContain('WaitingForIdentityProvider');
  expect(text).toMatch(/4.004\.00 SEK/);

  for (const purchase of purchases) t.simulator.control.setState(purchase, 'Completed');
  await t.live(38 * MINUTE, 30_000);
  expect(t.slack.received).toHaveLength(1);
  const [quiet] = await t.app.sql<[{ held: number }]>`
    select extract(epoch from ends_at - quiet_since)::integer as held from purchase_watch_internal.incidents`;
  expect(quiet.held).toBe(600);
  // Nobody was stuck for half an hour, and that held for ten minutes.
  await t.live(10 * MINUTE, 10_000);
  expect(t.slack.received).toHaveLength(2);
  expect(t.slack.received[1]!.text).toMatch(/^✅/);
  expect(t.slack.received[1]!.text).toMatch(/^40 customers got stuck with 4 004\.00 SEK: 40 paid late\.$/m);
});

test('an incident is told once over restarts and with two replicas, reminded of after repeatInterval, and its end is told too', async () => {
  await fourStuck();
  await t.app.pollOnce();
  const second = await t.another();
  await t.live(12 * MINUTE);
  expect(t.slack.received).toHaveLength(1);
  for (const app of [second, t.app, second]) {
    await app.judgeOnce();
    await app.deliverOnce();
  }
  await t.app.stop();
  const third = await t.another();
  for (let pass = 0; pass < 3; pass++) {
    t.clock.advance('30s');
    for (const app of [second, third]) {
      await app.pollOnce();
      await app.judgeOnce();
      await app.deliverOnce();
    }
  }
  expect(t.slack.received).toHaveLength(1);
  t.clock.advance('4h');
  for (const app of [second, third]) {
    await app.judgeOnce();
    await app.deliverOnce();
  }
  for (const app of [second, third]) await app.deliverOnce();
  expect(t.slack.received).toHaveLength(2);
});

test('a site that does not answer is told once on Slack and to the webhook, and so is its return', async () => {
  const [purchase] = await Promise.all(Array.from({ length: 3 }, () => t.watch({ script: [{ state: 'New' }] })));
  await t.app.pollOnce();
  t.simulator.control.fail({ kind: '503', for: '60m' });
  const probing = async (until: () => boolean): Promise<void> => {
    await expect
      .poll(
        async () => {
          t.clock.advance('2s');
          await t.app.pollOnce();
          await t.app.judgeOnce();
          await t.app.deliverOnce();
          return until();
        },
        { interval: 10 },
      )
      .toBe(true);
  };
  await probing(() => t.slack.received.length === 1);
  expect(t.slack.received[0]!.text).toContain('no usable answer from the checkout service');
  t.simulator.control.clearFaults();
  await probing(() => t.slack.received.length === 2);
  expect(t.slack.received[1]!.text).toContain('answers again');
  const types = t.receiver.received.map(({ type }) => type);
  expect(types.filter((type) => type.startsWith('site.'))).toEqual(['site.unreachable', 'site.reachable']);
  expect((await t.rowOf(purchase!)).failures).toBe(0);
});

test('stopping stuck purchases ends their incident', async () => {
  const purchases = await fourStuck();
  await t.app.pollOnce();
  await t.live(12 * MINUTE);
  expect(t.slack.received).toHaveLength(1);
  for (const purchase of purchases) await stopPurchase(t.app.sql, await t.rowOf(purchase));
  await t.live(41 * MINUTE);
  expect(t.slack.received).toHaveLength(2);
});

test('purchases that are stuck one here and one there are flagged, told to the shop, and no alarm', async () => {
  const [one, other] = [await t.watch({ script: STUCK }), await t.watch({ script: STUCK })];
  await t.live(12 * MINUTE);
  for (const purchase of [one, other]) expect((await t.rowOf(purchase)).stuckSince).not.toBeNull();
  expect(t.receiver.received.filter(({ type }) => type === 'purchase.stuck')).toHaveLength(2);
  await t.live(30 * MINUTE);
  expect(t.slack.received).toEqual([]);
});

test('who tries again and again for one order is one customer', async () => {
  for (let attempt = 0; attempt < 6; attempt++) await t.watch({ script: STUCK }, { reference: 'ORD-1' });
  await t.live(40 * MINUTE);
  expect(t.slack.received).toEqual([]);
});

test('a reference that a shop gives to everybody makes them no single customer', async () => {
  for (let customer = 0; customer < 60; customer++) await t.watch({ script: STUCK }, { reference: 'web shop' });
  await t.live(12 * MINUTE);
  expect(t.slack.received).toHaveLength(1);
});

test('who was there before us is told in one message, and counts in no incident that comes later', async () => {
  for (let customer = 0; customer < 6; customer++) await t.watch({ script: [{ state: 'WaitingForIdentityProvider' }] });
  await t.live(20 * MINUTE);
  expect(t.slack.received.map(({ text }) => text)).toEqual([expect.stringContaining('First look')]);
  await fourStuck();
  await t.live(12 * MINUTE);
  expect(t.slack.received[1]!.text).toContain('4 customers stuck');
});

test('a limit that is new makes no incident of those who have been there for long', async () => {
  for (let customer = 0; customer < 8; customer++)
    await t.watch({ script: [{ state: 'New' }, { state: 'BeingProcessed', after: '5s' }] });
  await t.app.pollOnce();
  await t.liveInSteps(90 * MINUTE, { step: MINUTE, passes: ALL_PASSES });
  const states = new Map(t.settings.policy.states);
  states.set(1, { ...states.get(1)!, stuckAfter: 60 * MINUTE });
  t.settings.policy = { ...t.settings.policy, states };
  await t.app.stop();
  const next = await t.another();
  for (let minute = 0; minute < 30; minute++) {
    t.clock.advance('1m');
    for (const pass of [next.pollOnce, next.judgeOnce, next.deliverOnce]) await pass();
  }
  const [row] = await next.sql`select count(*)::integer as stuck from purchase_watch.purchases where stuck_since is not null`;
  expect(row).toEqual({ stuck: 8 });
  expect(t.slack.received).toEqual([]);
});

test('a state that the settings made final, or took the limit of, holds nobody who is stuck', async () => {
  await fourStuck();
  await t.live(12 * MINUTE);
  expect(t.slack.received).toHaveLength(1);
  const states = new Map(t.settings.policy.states);
  states.set(4, { ...states.get(4)!, stuckAfter: null });
  t.settings.policy = { ...t.settings.policy, states };
  await t.app.stop();
  const next = await t.another();
  for (let minute = 0; minute < 20; minute++) {
    t.clock.advance('1m');
    for (const pass of [next.pollOnce, next.judgeOnce, next.deliverOnce]) await pass();
  }
  const [row] = await next.sql`select count(*)::integer as stuck from purchase_watch.purchases where stuck_since is not null`;
  expect(row).toEqual({ stuck: 0 });
  expect(t.slack.received).toHaveLength(2);
  expect(t.slack.received[1]!.text).toMatch(/^✅/);
});
