/** When a replica doubts that it reaches any receiver; what it does then is tested in stories/one-sided. */
import { expect, test } from 'vitest';
import type { SendResult } from '../../../src/channels/outgoing/channel.ts';
import { createReceiverOutside } from '../../../src/daemon/notifier/receiver-outside.ts';
import type { Subscriber } from '../../../src/daemon/notifier/subscribers/subscriber.ts';
import { CLEARLY_AFTER } from '../../../src/domain/replicas/replica-reach.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { aSubscriber, NOW } from './parts.ts';

const ATTEMPT = { tookMs: 9, excerpt: '', httpStatus: null };
const SILENT: SendResult = {
  ...{ kind: 'failed', retryAfter: null, fault: 'ours', reason: 'no_route', detail: 'There is no route.' },
  ...ATTEMPT,
};
const STOPPED: SendResult = { ...SILENT, reason: 'stopped' };
const ANSWERED: SendResult = { ...SILENT, fault: 'receiver', reason: 'http_503', httpStatus: 503 };
const GONE: SendResult = { kind: 'gone', ...ATTEMPT, reason: 'gone', detail: 'It is gone.' };

/** A replica beside another one that got through to these subscribers. */
function replica(taken: readonly number[] = []) {
  const moment = { now: NOW };
  const asked: unknown[][] = [];
  const sql = (_: readonly string[], ...values: unknown[]) => {
    asked.push([values[0], values.at(-1)]);
    return Promise.resolve(taken.includes(values[0] as number) ? [{}] : []);
  };
  const outside = createReceiverOutside({ sql: sql as unknown as Sql, clock: { now: () => moment.now } });
  const fails = (subscriber: Subscriber, times = 1): void => {
    for (let time = 0; time < times; time++) outside.ended(subscriber, SILENT);
  };
  return { outside, moment, asked, fails };
}
/** A subscriber that can be connected to, or cannot; `people`: each event would be a message to them. */
function subscriber(id: number, { isThere = false, people = false } = {}) {
  const sent: unknown[][] = [];
  const send = async (
    event: { id: string },
    { attempt, now, mayLeave }: { attempt: number; now: number; mayLeave(): boolean },
  ) => {
    sent.push([event.id, attempt, now, isThere ? mayLeave() : null]);
    return SILENT;
  };
  const channel = { send, ...(people && { sendAll: send }) };
  return Object.assign(aSubscriber({ id, name: `shop${id}`, channel: channel as never }), { sent });
}

test('three attempts without an answer, with none that was answered, raise the question', () => {
  const { outside, fails } = replica();
  const [one, other] = [subscriber(1), subscriber(2)];
  fails(one, 2);
  expect(outside.mayFail()).toBe(false);
  fails(other);
  expect(outside.mayFail()).toBe(true);
});

test.each([
  ['an answer, whatever it is', ANSWERED],
  ['a delivery', { kind: 'delivered', ...ATTEMPT } as SendResult],
  ['a receiver that takes nothing any more', GONE],
])('%s shows that somebody is reached', async (_, result) => {
  const { outside, fails, asked } = replica([1]);
  const one = subscriber(1);
  fails(one, 3);
  outside.ended(subscriber(2), result);
  expect([outside.mayFail(), await outside.outdone(), asked, await outside.stillFails()]).toEqual([false, null, [], false]);
  fails(one, 2);
  expect(outside.mayFail()).toBe(false);
});

test('an attempt that ended because the daemon stops says nothing', () => {
  const { outside, fails } = replica();
  const one = subscriber(1);
  fails(one, 2);
  outside.ended(one, STOPPED);
  expect(outside.mayFail()).toBe(false);
});

test('this replica is outdone where another one has clearly got through since to a subscriber that gave no answer here', async () => {
  const { outside, fails, moment, asked } = replica([2]);
  fails(subscriber(1));
  moment.now += 5_000;
  const other = subscriber(2);
  fails(other);
  moment.now += 5_000;
  fails(other);
  expect(await outside.outdone()).toEqual({ since: NOW + 5_000, error: 'Subscriber shop2: There is no route.' });
  expect(asked).toEqual([
    [1, NOW + CLEARLY_AFTER],
    [2, NOW + 5_000 + CLEARLY_AFTER],
  ]);
  expect(await replica().outside.outdone()).toBeNull();
});

test('no more than five subscribers are looked at', async () => {
  const { outside, fails, asked } = replica([6]);
  for (const id of [1, 2, 3, 4, 5, 6]) fails(subscriber(id));
  expect(await outside.outdone()).toBeNull();
  expect(asked).toHaveLength(5);
});

test('a connection shows whether it still fails, and sends nothing', async () => {
  const { outside, fails, moment } = replica();
  const away = subscriber(1);
  fails(away, 3);
  moment.now += 1_000;
  expect([await outside.stillFails(), away.sent, outside.mayFail()]).toEqual([true, [['evt_none', 1, NOW + 1_000, null]], true]);
  const again = replica();
  const there = subscriber(1, { isThere: true });
  again.fails(there, 3);
  expect([await again.outside.stillFails(), there.sent, again.outside.mayFail()]).toEqual([
    false,
    [['evt_none', 1, NOW, false]],
    false,
  ]);
});

test('a channel for people is not tried, as they would read it; the next alert shows whether it is reached', async () => {
  const { outside, fails } = replica();
  const people = subscriber(1, { people: true, isThere: true });
  expect(await outside.stillFails()).toBe(false);
  fails(people, 3);
  expect([await outside.stillFails(), people.sent]).toEqual([true, []]);
  const shop = subscriber(2, { isThere: true });
  fails(shop);
  expect([await outside.stillFails(), people.sent, shop.sent.length]).toEqual([false, [], 1]);
});
