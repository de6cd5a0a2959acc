/** What pauses a subscriber, what does not, and what switches it off. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { addSubscriber, changeSubscriber } from '../../src/actions/subscribers/subscribers.ts';
import { startTestApi, type TestApi } from '../api/api.ts';
import { change, statusesOf, watchMany } from '../support/changes.ts';
import { startTcp } from '../support/not-http.ts';
import { type SteeredReceiver, startSteeredReceiver } from '../support/steered-receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const YES = { status: 200 };
const NO = { status: 500 };
const EVERYTHING = { types: null, sites: null, states: null, description: null };

let t: TestApp;
let api: TestApi;
let receiver: SteeredReceiver;
beforeEach(async () => {
  receiver = await startSteeredReceiver();
  t = await startTestApp({ env: { SECRETS_KEY: 'an encryption key of many characters' } });
  receiver.datedBy(t.clock.now);
  await addSubscriber(means(), { name: 'books', url: receiver.url, ...EVERYTHING });
  api = await startTestApi({ sql: t.app.sql });
});
afterEach(async () => {
  await api.stop();
  await t.stop();
  await receiver.stop();
});

const means = () => ({ sql: t.app.sql, secrets: secretsOf(t.settings) });
/** Purchases of which the first event was told. */
async function told(count: number): Promise<string[]> {
  const ids = await watchMany(t, count);
  await t.app.deliverOnce();
  return ids;
}
const heardOf = async (event: string): Promise<void> =>
  expect.poll(() => t.log.some((line) => line.includes(event)), { interval: 20 }).toBe(true);
const shownAs = async (status: string, subscriber = 'books'): Promise<{ id: string; reason: string | null }[]> =>
  (await api.call('GET', `/v1/deliveries?status=${status}&subscriber=${subscriber}&limit=500`)).body.data;
const subscriber = async (name = 'books') => {
  const [row] = await t.app.sql<{ status: string; reason: string | null; failures: number | null }[]>`
    select s.status, s.status_reason as reason, h.failures from purchase_watch_internal.subscribers s
    left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id where s.name = ${name}`;
  return row!;
};

test('Retry-After pauses the whole subscriber for as long as was asked', async () => {
  const [one, ...others] = await told(8);
  receiver.steer(() => ({ status: 503, headers: { 'retry-after': '120' } }));
  await change(t, [one!]);
  await t.app.deliverOnce();
  const refused = receiver.arrivals.length;
  const at = receiver.arrivals.at(-1)!.at;
  receiver.steer(() => YES);
  await change(t, others);
  await t.app.deliverOnce();
  await t.liveInSteps(at + 119 * SECOND - t.clock.now());
  expect(receiver.arrivals).toHaveLength(refused);
  expect(await shownAs('parked')).toHaveLength(8);
  await t.liveInSteps(30 * SECOND);
  expect(await statusesOf(t, 'books')).toEqual({ delivered: 16 });
});

test('an answer to what was sent before does not end the wait that was asked for', async () => {
  const [one, two, three] = await told(3);
  const both = Promise.withResolvers<void>();
  const refused = Promise.withResolvers<void>();
  receiver.steer(async ({ purchaseId }) => {
    if (receiver.inFlight() === 2) both.resolve();
    await both.promise;
    if (purchaseId === one) {
      t.clock.advance('1s');
      // Its answer is read first; the other one was on its way already.
      void heardOf('subscriber.paused').then(refused.resolve, refused.reject);
      return { status: 429, headers: { 'retry-after': '120' } };
    }
    await refused.promise;
    return YES;
  });
  await change(t, [one!, two!]);
  await t.app.deliverOnce();
  const at = t.clock.now();
  const before = receiver.arrivals.length;
  expect(receiver.takenOf(two!)).toEqual([1, 2]);
  receiver.steer(() => YES);
  await change(t, [three!]);
  await t.app.deliverOnce();
  await t.liveInSteps(at + 119 * SECOND - t.clock.now());
  expect(receiver.arrivals).toHaveLength(before);
  await t.liveInSteps(30 * SECOND);
  expect(await statusesOf(t, 'books')).toEqual({ delivered: 6 });
});

test('faults of ours never pause it, switch it off or use up a schedule', async () => {
  // No route leads to a broadcast address: the connection fails on this machine.
  await addSubscriber(means(), { name: 'far', url: 'http://127.255.255.255:9/hook', ...EVERYTHING });
  await told(6);
  // Longer than the schedule, and more often than would switch it off.
  for (let hour = 0; hour < 100; hour++) await t.liveInSteps(HOUR, { step: 30 * MINUTE });
  expect(await statusesOf(t, 'far')).toEqual({ pending: 6 });
  expect(await subscriber('far')).toEqual({ status: 'active', reason: null, failures: 0 });
  expect(await shownAs('pending', 'far')).toHaveLength(6);
  expect(await shownAs('parked', 'far')).toEqual([]);
  const [waiting] = await shownAs('pending', 'far');
  const { attempts } = (await api.call('GET', `/v1/deliveries/${waiting!.id}`)).body;
  expect(attempts.length).toBeGreaterThan(9);
  expect(new Set(attempts.map(({ outcome, fault }: { outcome: string; fault: string }) => `${outcome} ${fault}`))).toEqual(
    new Set(['no_route ours']),
  );
  const other = await startSteeredReceiver();
  await changeSubscriber(means(), 'far', { url: other.url });
  await t.liveInSteps(2 * HOUR, { step: 10 * MINUTE });
  expect(await statusesOf(t, 'far')).toEqual({ delivered: 6 });
  await other.stop();
});

test('a receiver whose answers are no HTTP is paused like one that refuses', async () => {
  const url = await startTcp((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.2p1\r\n')));
  await addSubscriber(means(), { name: 'odd', url, ...EVERYTHING });
  await told(12);
  await t.liveInSteps(2 * MINUTE);
  const { health } = (await api.call('GET', '/v1/subscribers/odd')).body;
  expect(health).toMatchObject({ status: 'paused', failingSince: expect.any(String), ourFailures: 0, ourFailingSince: null });
  expect(await shownAs('parked', 'odd')).toHaveLength(12);
  const outcomes = await t.app.sql`
    select distinct outcome, fault from purchase_watch_internal.attempts a join purchase_watch_internal.deliveries d on d.id = a.delivery
    join purchase_watch_internal.subscribers s on s.id = d.subscriber where s.name = 'odd'`;
  expect(outcomes).toEqual([{ outcome: 'bad_answer', fault: 'receiver' }]);
});

test('forty failures in a row switch it off and say so; what waits, waits', async () => {
  const ids = await told(12);
  const before = receiver.arrivals.length;
  receiver.steer(() => NO);
  await change(t, ids.slice(0, 1));
  for (let day = 0; day < 60 && (await subscriber()).status === 'active'; day++) {
    // Ever new events: one alone would be given up long before.
    if (day < 6) await change(t, ids.slice(2 * day, 2 * day + 2));
    await t.liveInSteps(25 * HOUR, { step: 25 * HOUR });
    expect(receiver.arrivals.length - before, 'tries before it is switched off').toBeLessThanOrEqual(43);
  }
  const { status, reason } = await subscriber();
  expect(status).toBe('off');
  expect(reason).toMatch(/40/);
  expect(reason).toMatch(/500/);
  const shown = (await api.call('GET', '/v1/subscribers/books')).body;
  expect(shown).toMatchObject({ status: 'off', statusReason: reason });
  const until = receiver.arrivals.length;
  const waiting = (await statusesOf(t, 'books')).pending!;
  await t.liveInSteps(75 * HOUR, { step: 25 * HOUR });
  expect(receiver.arrivals).toHaveLength(until);
  expect((await statusesOf(t, 'books')).pending).toBe(waiting);
  expect(await shownAs('parked')).toHaveLength(waiting);

  receiver.steer(() => YES);
  await changeSubscriber(means(), 'books', { status: 'active' });
  await t.liveInSteps(75 * HOUR, { step: HOUR });
  expect((await statusesOf(t, 'books')).pending).toBeUndefined();
  for (const id of ids) expect(receiver.takenOf(id)).toEqual([...receiver.takenOf(id)].sort((a, b) => a - b));
});

test('success on the very last try of the schedule is a success', async () => {
  const [id] = await told(1);
  let tries = 0;
  receiver.steer(({ sequence }) => {
    if (sequence === 2) tries += 1;
    return sequence === 2 && tries < 10 ? NO : YES;
  });
  await change(t, [id!]);
  for (let pass = 0; pass < 10; pass++) await t.liveInSteps(27 * HOUR, { step: 27 * HOUR });
  expect(tries).toBe(10);
  expect(await statusesOf(t, 'books')).toEqual({ delivered: 2 });
  expect(await subscriber()).toEqual({ status: 'active', reason: null, failures: null });
  await change(t, [id!]);
  await t.app.deliverOnce();
  expect(receiver.takenOf(id!)).toEqual([1, 2, 3]);
});

test('an event that is never taken holds its own purchase alone, and when it is given up the next one goes out', async () => {
  const [poisoned, ...others] = await told(5);
  receiver.steer(({ purchaseId, sequence }) => (purchaseId === poisoned && sequence === 2 ? NO : YES));
  await change(t, [poisoned!]);
  await change(t, [poisoned!]);
  await t.app.deliverOnce();
  let made = others.length;
  for (let hour = 0; hour < 90; hour++) {
    const [busy, quiet] = [others[hour % 4]!, others[(hour + 1) % 4]!];
    await change(t, [busy, quiet]);
    made += 2;
    t.clock.advance('1h');
    await t.app.deliverOnce();
    // Never paused: what others have to tell is told at once.
    const taken = others.reduce((sum, id) => sum + receiver.takenOf(id).length, 0);
    expect(taken, `after ${hour + 1} h`).toBe(made);
    const isGivenUp = (await statusesOf(t, 'books')).exhausted === 1;
    expect(receiver.takenOf(poisoned!)).toEqual(isGivenUp ? [1, 3] : [1]);
  }
  expect(await statusesOf(t, 'books')).toEqual({ delivered: made + 2, exhausted: 1 });
  const tries = receiver.arrivals.filter(({ purchaseId, sequence }) => purchaseId === poisoned && sequence === 2);
  expect(tries).toHaveLength(10);
});

test('one that is never taken does not keep a subscriber paused that takes everything else again', async () => {
  const [poisoned, ...others] = await told(6);
  receiver.steer(() => NO);
  await change(t, [poisoned!]);
  await t.app.deliverOnce();
  t.clock.advance('1s');
  await change(t, others);
  await t.app.deliverOnce();
  expect((await shownAs('parked')).length).toBeGreaterThanOrEqual(others.length);
  const healed = t.clock.now();
  receiver.steer(({ purchaseId, sequence }) => (purchaseId === poisoned && sequence === 2 ? NO : YES));
  // The oldest is tried first, fails, and makes way: two pauses, not a night of them.
  await t.liveInSteps(healed + 4 * MINUTE - t.clock.now());
  for (const id of others) expect(receiver.takenOf(id)).toEqual([1, 2]);
});

test('410 in the middle of a burst: nothing more leaves, what waits stays, and goes out in order when it is switched on again', async () => {
  const ids = await told(100);
  for (const _ of [1, 2]) await change(t, ids);
  const before = receiver.arrivals.length;
  const gate = Promise.withResolvers<void>();
  let gone = false;
  receiver.steer(async () => {
    if (receiver.arrivals.length - before === 20) {
      gone = true;
      return { status: 410 };
    }
    await gate.promise;
    return YES;
  });
  const telling = t.app.deliverOnce();
  await expect.poll(() => gone).toBe(true);
  await heardOf('subscriber.switched_off');
  gate.resolve();
  await telling;
  // What had left before may arrive after the line in the log: no more than are sent at a time.
  const left = receiver.arrivals.length;
  expect(left - before).toBeLessThanOrEqual(t.settings.webhooks.concurrency);
  expect((await subscriber()).status).toBe('off');
  const waiting = 200 - (left - before - 1);
  expect((await statusesOf(t, 'books')).pending).toBe(waiting);
  expect(await shownAs('parked')).toHaveLength(waiting);
  await change(t, ids.slice(0, 5));
  expect((await statusesOf(t, 'books')).suppressed).toBe(5);
  await t.liveInSteps(HOUR, { step: 10 * MINUTE });
  expect(receiver.arrivals).toHaveLength(left);

  receiver.steer(() => YES);
  await changeSubscriber(means(), 'books', { status: 'active' });
  await t.liveInSteps(MINUTE);
  expect(await statusesOf(t, 'books')).toEqual({ delivered: 300, suppressed: 5 });
  for (const id of ids) expect(receiver.takenOf(id)).toEqual([1, 2, 3]);
  expect(receiver.arrivals).toHaveLength(301);
});
