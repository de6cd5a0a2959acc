/** Waits are what the schedule, the receiver and people say, whatever else goes on at the same time. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { addSubscriber, changeSubscriber } from '../../src/actions/subscribers/subscribers.ts';
import { retryDelivery } from '../../src/postgres/deliveries/deliveries-again.ts';
import { change, statusesOf, watchMany } from '../support/changes.ts';
import { type SteeredReceiver, startSteeredReceiver } from '../support/steered-receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const YES = { status: 200 };
const NO = { status: 500 };

let t: TestApp;
let receiver: SteeredReceiver;
beforeEach(async () => {
  receiver = await startSteeredReceiver();
  t = await startTestApp({ env: { SECRETS_KEY: 'an encryption key of many characters' } });
  receiver.datedBy(t.clock.now);
  await addSubscriber(means(), { name: 'books', url: receiver.url, types: null, sites: null, states: null, description: null });
});
afterEach(async () => {
  await t.stop();
  await receiver.stop();
});

const means = () => ({ sql: t.app.sql, secrets: secretsOf(t.settings) });
async function told(count: number): Promise<string[]> {
  const ids = await watchMany(t, count);
  await t.app.deliverOnce();
  return ids;
}
/** Seconds from the first try of an event to each try. */
function triesOf(purchase: string, sequence: number): number[] {
  const tries = receiver.arrivals.filter((one) => one.purchaseId === purchase && one.sequence === sequence);
  return tries.map(({ at }) => Math.round((at - tries[0]!.at) / SECOND));
}
const paused = (): string[] => t.log.filter((line) => line.includes('"subscriber.paused"'));

test('a rest that was asked for never shortens a wait, however often others get through after it', async () => {
  const [limited, ...others] = await told(3);
  receiver.steer(({ purchaseId, sequence }) =>
    purchaseId === limited && sequence === 2 ? { status: 429, headers: { 'retry-after': '1' } } : YES,
  );
  await change(t, [limited!]);
  await t.app.deliverOnce();
  for (let turn = 0; turn < 40; turn++) {
    await t.liveInSteps(5 * SECOND, { step: SECOND });
    await change(t, others);
  }
  const [first, second, ...later] = triesOf(limited!, 2);
  expect(first).toBe(0);
  expect(second).toBeGreaterThanOrEqual(5);
  expect(later).toEqual([]);
});

test.each(['0', 'Thu, 01 Jan 2015 00:00:00 GMT'])('a rest of no time (%s) is none', async (rest) => {
  const [one, two] = await told(2);
  receiver.steer(({ purchaseId }) => (purchaseId === one ? { status: 503, headers: { 'retry-after': rest } } : YES));
  await change(t, [one!]);
  await t.app.deliverOnce();
  await change(t, [two!]);
  await t.app.deliverOnce();
  expect(paused()).toEqual([]);
  expect(receiver.takenOf(two!)).toEqual([1, 2]);
});

test('who asks for another try while one is under way gets it when that one fails', async () => {
  const [one] = await told(1);
  receiver.steer(() => NO);
  await change(t, [one!]);
  await t.app.deliverOnce();
  const [row] = await t.app.sql<[{ id: number }]>`
    select d.id::float8 as id from purchase_watch_internal.deliveries d where d.status = 'pending'`;
  let asked = false;
  receiver.steer(async () => {
    if (!asked) expect(await retryDelivery(t.app.sql, row.id)).toBe(true);
    const answer = asked ? YES : NO;
    asked = true;
    return answer;
  });
  await t.liveInSteps(30 * SECOND, { step: SECOND });
  expect(triesOf(one!, 2)).toHaveLength(3);
  expect(await statusesOf(t, 'books')).toEqual({ delivered: 2 });
});

test('what an address that was replaced says last makes nothing wait for the new one', async () => {
  const [one] = await told(1);
  const other = await startSteeredReceiver();
  other.datedBy(t.clock.now);
  receiver.steer(() => NO);
  await change(t, [one!]);
  await t.app.deliverOnce();
  receiver.steer(async () => {
    await changeSubscriber(means(), 'books', { url: other.url });
    // The daemon hears of it while the answer is on its way.
    void t.app.deliverOnce();
    await delay(1_000);
    return NO;
  });
  await t.liveInSteps(20 * SECOND, { step: SECOND });
  expect(other.takenOf(one!)).toEqual([2]);
  await other.stop();
});

test.each([
  ['takes the others from another replica, is not paused', true],
  ['takes nothing, is paused', false],
])(
  'a subscriber that refuses one event again and again and %s',
  async (_, isTakingOthers) => {
    const [poisoned] = await told(2);
    receiver.steer(({ purchaseId, sequence }) => (purchaseId === poisoned && sequence === 2 ? NO : YES));
    await change(t, [poisoned!]);
    // What another replica delivers stands in the database, and nothing else tells of it.
    const elsewhere = () => t.app.sql`
    update purchase_watch_internal.deliveries d set settled_at = to_timestamp(${t.clock.now()}::float8 / 1000)
    from purchase_watch_internal.subscribers s where s.id = d.subscriber and s.name = 'books' and d.status = 'delivered'`;
    for (let turn = 0; turn < 30; turn++) {
      await t.liveInSteps(10 * MINUTE, { step: MINUTE });
      if (isTakingOthers) await elsewhere();
    }
    expect(triesOf(poisoned!, 2).length).toBeGreaterThan(4);
    const rows = await t.app.sql`select from purchase_watch_internal.subscriber_health where paused_until is not null`;
    expect(rows).toHaveLength(isTakingOthers ? 0 : 1);
  },
  60_000,
);
