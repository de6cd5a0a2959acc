/** A receiver that is down for an hour while purchases go on changing: few requests, nothing lost, and an orderly return. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../api/api.ts';
import { change, statusesOf, watchMany } from '../support/changes.ts';
import { type SteeredReceiver, startSteeredReceiver } from '../support/steered-receiver.ts';
import { type StepOptions, startTestApp, type TestApp } from '../support/test-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** What the subscriber may be sent at once. */
const LIMIT = 16;

let t: TestApp;
let api: TestApi;
let receiver: SteeredReceiver;
beforeEach(async () => {
  receiver = await startSteeredReceiver();
  t = await startTestApp({
    env: { WEBHOOK_URL: receiver.url },
    change: ({ webhooks }) => Object.assign(webhooks, { concurrency: LIMIT }),
  });
  receiver.datedBy(t.clock.now);
  api = await startTestApi({ sql: t.database.sql });
});
afterEach(async () => {
  await api.stop();
  await t.stop();
  await receiver.stop();
});

const down = (): void => receiver.steer(() => ({ status: 503 }));
const live = (milliseconds: number, options: StepOptions = {}): Promise<void> =>
  t.liveInSteps(milliseconds, { step: 15 * SECOND, ...options });
/** Four failures in a row, one after the other: the subscriber is paused. Answers when. */
async function pause(purchaseIds: readonly string[]): Promise<number> {
  down();
  for (const id of purchaseIds.slice(0, 4)) {
    await change(t, [id]);
    await t.app.deliverOnce();
    t.clock.advance('1s');
  }
  return receiver.arrivals.at(-1)!.at;
}
const parked = async (): Promise<number> =>
  (await api.call('GET', '/v1/deliveries?status=parked&subscriber=default&limit=500')).body.data.length;

test('an hour of outage costs a handful of requests, and the backlog drains in order, ever faster and never beyond the limit', async () => {
  const ids = await watchMany(t, 48);
  await t.app.deliverOnce();
  const before = receiver.arrivals.length;
  expect(before).toBe(48);
  const begin = await pause(ids);
  // Four events of each in the course of the hour, a few purchases at a time.
  for (let minute = 0; minute < 48; minute++) {
    await change(
      t,
      [0, 12, 24, 36].map((offset) => ids[(offset + minute) % 48]!),
    );
    await live(MINUTE);
  }
  await live(begin + 60 * MINUTE - t.clock.now());

  const outage = receiver.arrivals.slice(before);
  // Four failures, then one try at the end of each pause: 1, 2, 4, 8 and 16 minutes. The next one is over after 63.
  expect(outage).toHaveLength(4 + 5);
  const pauses = outage.slice(3).map(({ at }, index, all) => (index === 0 ? 0 : at - all[index - 1]!.at));
  for (const [index, minutes] of [1, 2, 4, 8, 16].entries()) {
    expect(pauses[index + 1]! - minutes * MINUTE, `pause ${index + 1}`).toBeGreaterThanOrEqual(0);
    expect(pauses[index + 1]! - minutes * MINUTE, `pause ${index + 1}`).toBeLessThanOrEqual(16 * SECOND);
  }
  const waiting = 4 + 4 * 48;
  expect(await statusesOf(t, 'default')).toEqual({ delivered: 48, pending: waiting });
  expect(await parked()).toBe(waiting);

  receiver.steer(async () => {
    // Longer than it takes to send as many as may be in flight at once.
    await delay(50);
    return { status: 200 };
  });
  await live(5 * MINUTE);
  const drain = receiver.arrivals.slice(before + outage.length);
  // One tries, alone; each answer makes room for one more.
  const healed = drain[0]!.taken;
  expect(drain[0]!.inFlight).toBe(1);
  for (const [index, { inFlight, taken }] of drain.entries()) {
    expect(inFlight, `in flight at request ${index + 1} of the drain`).toBeLessThanOrEqual(Math.min(1 + taken - healed, LIMIT));
  }
  expect(Math.max(...drain.map(({ inFlight }) => inFlight))).toBe(LIMIT);
  expect(drain).toHaveLength(waiting);
  expect(new Set(drain.map(({ id }) => id)).size).toBe(waiting);
  for (const id of ids) {
    const taken = receiver.takenOf(id);
    expect(taken).toEqual(taken.map((_, index) => index + 1));
  }
  expect(await statusesOf(t, 'default')).toEqual({ delivered: 48 + waiting });
  expect(await parked()).toBe(0);
});

test('a pause outlives the daemon: the next one keeps to what is left of it, and tries once', async () => {
  const ids = await watchMany(t, 12);
  await t.app.deliverOnce();
  const begin = await pause(ids);
  await change(t, ids.slice(4));
  const before = receiver.arrivals.length;
  await t.app.stop();
  const next = await t.another();
  // From the pause on: on a slow machine some of it is over by now.
  await live(begin + 55 * SECOND - t.clock.now(), { by: [next], step: 5 * SECOND });
  expect(receiver.arrivals).toHaveLength(before);
  await live(20 * SECOND, { by: [next], step: 5 * SECOND });
  expect(receiver.arrivals).toHaveLength(before + 1);
  // And how often it was paused: the next pause lasts two minutes.
  await live(100 * SECOND, { by: [next], step: 5 * SECOND });
  expect(receiver.arrivals).toHaveLength(before + 1);
  receiver.steer(() => ({ status: 200 }));
  await live(30 * SECOND, { by: [next], step: 5 * SECOND });
  // Those that were tried twice wait for their third try.
  expect((await statusesOf(t, 'default')).delivered).toBeGreaterThan(20);
  await live(5 * MINUTE, { by: [next] });
  expect(await statusesOf(t, 'default')).toEqual({ delivered: 24 });
});

test('of two replicas one tries, whichever it is, and both go on when that is taken', async () => {
  const ids = await watchMany(t, 40);
  await t.app.deliverOnce();
  const other = await t.another();
  const both = [t.app, other];
  for (const app of [...both, ...both]) await app.deliverOnce();
  const owners = await t.database.sql<{ n: number }[]>`
    select count(*)::integer as n from purchase_watch_internal.shards group by owner`;
  expect(owners.map(({ n }) => n)).toEqual([32, 32]);

  receiver.steer(async () => {
    await delay(30);
    return { status: 503 };
  });
  // Polled by whoever owns them; each purchase waits for both.
  const seen = async (purchaseIds: readonly string[]) => {
    const polling = setInterval(() => void other.pollOnce(), 20);
    await change(t, purchaseIds).finally(() => clearInterval(polling));
  };
  await seen(ids);
  for (let step = 0; step < 4; step++) {
    await Promise.all(both.map((app) => app.deliverOnce()));
    t.clock.advance('6s');
  }
  let paused = receiver.arrivals.length;
  // Each pause ends with one request, not one from each.
  for (const minutes of [1, 2, 4, 8]) {
    await live(minutes * MINUTE + 12 * SECOND, { by: both, step: 12 * SECOND });
    expect(receiver.arrivals.length - paused, `tries after a pause of ${minutes} min`).toBe(1);
    paused = receiver.arrivals.length;
  }
  receiver.steer(() => ({ status: 200 }));
  await live(17 * MINUTE, { by: both, step: 15 * SECOND });
  expect(await statusesOf(t, 'default')).toEqual({ delivered: 80 });
  for (const id of ids) expect(receiver.takenOf(id)).toEqual([1, 2]);
});
