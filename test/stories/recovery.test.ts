/** What waits when a subscriber takes events again: it goes out then, not when its own schedule would have had it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resumeSubscriber } from '../../src/actions/subscribers/outlook.ts';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { addSubscriber, changeSubscriber, rotateSecret } from '../../src/actions/subscribers/subscribers.ts';
import { change, keepUp, statusesOf, watchMany } from '../support/changes.ts';
import { type SteeredReceiver, startSteeredReceiver } from '../support/steered-receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const YES = { status: 200 };
const NO = { status: 503 };

let t: TestApp;
let receiver: SteeredReceiver;
beforeEach(async () => {
  receiver = await startSteeredReceiver();
  t = await startTestApp({
    env: { SECRETS_KEY: 'an encryption key of many characters' },
    change: (settings) => Object.assign(settings.webhooks, { schedule: [SECOND, 10 * MINUTE, 10 * MINUTE] }),
  });
  receiver.datedBy(t.clock.now);
  await addSubscriber(means(), { name: 'books', url: receiver.url, types: null, sites: null, states: null, description: null });
});
afterEach(async () => {
  await t.stop();
  await receiver.stop();
});

const means = () => ({ sql: t.app.sql, secrets: secretsOf(t.settings) });
/** Purchases of which two have an event that failed twice and waits for ten minutes; all changed since, and the subscriber is paused. */
async function failedAndPaused(): Promise<string[]> {
  const ids = await watchMany(t, 8);
  await t.app.deliverOnce();
  receiver.steer(() => NO);
  for (const id of ids.slice(0, 2)) {
    await change(t, [id]);
    await t.app.deliverOnce();
    await t.liveInSteps(1_200, { step: 1_200 });
  }
  for (const _ of [1, 2]) await change(t, ids);
  await t.app.deliverOnce();
  const [row] = await t.app.sql<[{ late: number; paused: boolean }]>`
    select count(*) filter (where d.attempts = 2)::float8 as late, bool_or(h.paused_until is not null) as paused
    from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber and s.name = 'books'
    left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id`;
  expect(row).toEqual({ late: 2, paused: true });
  return ids;
}
const ALL = { delivered: 26 };
const allInOrder = (ids: readonly string[]): void => {
  for (const [index, id] of ids.entries()) expect(receiver.takenOf(id)).toEqual(index < 2 ? [1, 2, 3, 4] : [1, 2, 3]);
};

test('a pause that a success ends: everything goes out in order at once', async () => {
  const ids = await failedAndPaused();
  receiver.steer(() => YES);
  await t.liveInSteps(70 * SECOND);
  expect(await statusesOf(t, 'books')).toEqual(ALL);
  allInOrder(ids);
});

test('a pause that is ended by hand: the same, in the same moment', async () => {
  const ids = await failedAndPaused();
  receiver.steer(() => YES);
  await resumeSubscriber(t.app.sql, 'books');
  keepUp(t);
  await t.app.deliverOnce();
  expect(await statusesOf(t, 'books')).toEqual(ALL);
  allInOrder(ids);
});

test('one that fails again and again keeps the later half of each schedule for its own time', async () => {
  const [poisoned, ...others] = await watchMany(t, 2);
  await t.app.deliverOnce();
  receiver.steer(({ purchaseId, sequence }) => (purchaseId === poisoned && sequence === 2 ? NO : YES));
  await change(t, [poisoned!]);
  await t.liveInSteps(2 * SECOND, { step: SECOND });
  for (let minute = 0; minute < 4; minute++) {
    // A pause each minute, which the next event ends.
    await t.app.sql`
      insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
      select id, 4, 1, to_timestamp(${t.clock.now() - SECOND}::float8 / 1000), to_timestamp(${t.clock.now()}::float8 / 1000), 'no'
      from purchase_watch_internal.subscribers where name = 'books' on conflict do nothing`;
    await change(t, others);
    await t.liveInSteps(MINUTE);
  }
  const tries = receiver.arrivals.filter(({ purchaseId, sequence }) => purchaseId === poisoned && sequence === 2);
  expect(tries.length).toBeLessThanOrEqual(3);
  expect((await statusesOf(t, 'books')).exhausted).toBeUndefined();
});

test('other keys, headers or another body end no pause; another address does', async () => {
  await failedAndPaused();
  const paused = async (): Promise<number | null> => {
    const [row] = await t.app.sql<{ until: number | null }[]>`
      select (extract(epoch from h.paused_until) * 1000)::float8 as until from purchase_watch_internal.subscriber_health h
      join purchase_watch_internal.subscribers s on s.id = h.subscriber and s.name = 'books'`;
    return row?.until ?? null;
  };
  const until = await paused();
  expect(until).not.toBeNull();
  const before = receiver.arrivals.length;
  await rotateSecret(means(), 'books', { overlap: MINUTE, now: t.clock.now() });
  await t.app.deliverOnce();
  for (const changes of [
    { headers: { 'x-shop': '7' } },
    { format: 'cloudevents' as const },
    { asymmetric: true },
    { url: receiver.url },
  ]) {
    await changeSubscriber(means(), 'books', changes);
    await t.app.deliverOnce();
  }
  expect(await paused()).toBe(until);
  expect(receiver.arrivals).toHaveLength(before);
  await changeSubscriber(means(), 'books', { format: 'standard', url: `${receiver.url}?elsewhere` });
  expect(await paused()).toBeNull();
  receiver.steer(() => YES);
  keepUp(t);
  await t.app.deliverOnce();
  expect(await statusesOf(t, 'books')).toEqual(ALL);
});
