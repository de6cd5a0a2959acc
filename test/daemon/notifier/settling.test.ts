/** What becomes of an attempt's result in the outbox and in memory, with a real database; tries to write results for long are tested in stories. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { SendResult } from '../../../src/channels/outgoing/channel.ts';
import { createDeliveryLoader } from '../../../src/daemon/notifier/delivery-loader.ts';
import { createReceiverOutside } from '../../../src/daemon/notifier/receiver-outside.ts';
import { createRetryTimes } from '../../../src/daemon/notifier/retry-times.ts';
import type { EndedAttempt } from '../../../src/daemon/notifier/sending/attempts.ts';
import { createStartList } from '../../../src/daemon/notifier/sending/start-list.ts';
import { createSettling } from '../../../src/daemon/notifier/settling.ts';
import { setHealth } from '../../../src/daemon/notifier/subscribers/health-in-memory.ts';
import type { KnownSubscribers } from '../../../src/daemon/notifier/subscribers/known-subscribers.ts';
import type { Subscriber } from '../../../src/daemon/notifier/subscribers/subscriber.ts';
import { createSubscriberPauses } from '../../../src/daemon/notifier/subscribers/subscriber-pauses.ts';
import type { Ownership } from '../../../src/domain/replicas/ownership.ts';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { waitingInLane } from '../../../src/postgres/deliveries/channel-lane.ts';
import type { DueDelivery } from '../../../src/postgres/deliveries/deliveries.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { createHealth } from '../../../src/runtime/loops/health.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { refuseWrites } from '../../support/refused-writes.ts';
import { aLog, aSubscriber, NOW } from './parts.ts';

const EPOCH = 3;
const ATTEMPT = { tookMs: 9, excerpt: '', httpStatus: 503 };
const DELIVERED: SendResult = { kind: 'delivered', ...ATTEMPT, httpStatus: 200 };
const REFUSAL = { ...ATTEMPT, reason: 'http_503', detail: 'The receiver answers 503.' };
const FAILED: SendResult = { kind: 'failed', retryAfter: null, fault: 'receiver', ...REFUSAL };

let database: TestDatabase;
let sql: Sql;
/** A pool whose statements wait for a lock for a moment only. */
let hasty: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  hasty = connect(database.url, { max: 2, sessionLimits: { lock_timeout: 100 } });
  await syncSites(sql, ['default']);
  // Ids 1 and 2.
  await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash)
    values ('shop', 'webhook', 'systems', 'x'), ('books', 'webhook', 'systems', 'x')`;
});
afterAll(async () => {
  await hasty.end();
  await database.drop();
});
beforeEach(async () => {
  await sql`truncate purchase_watch_internal.events, purchase_watch_internal.deliveries cascade`;
  await sql`update purchase_watch_internal.shards set owner = 'me', epoch = ${EPOCH}`;
  await sql`update purchase_watch_internal.subscribers set status = 'active', status_reason = null`;
});

/** The part of the notifier that settles, beside what it writes to. Rests of the clock last until the test ends them. */
function settlingOf(pool = sql) {
  const { log, logged } = aLog();
  const counts = { wakes: 0, underWay: 0, rests: 0 };
  const backs: (() => void)[] = [];
  const stopping = new AbortController();
  const letGo = new AbortController();
  const clock = {
    now: () => NOW,
    monotonic: () => performance.now(),
    sleep: async (_: number, signal: AbortSignal): Promise<void> => {
      counts.rests += 1;
      const over = AbortSignal.any([signal, letGo.signal]);
      if (!over.aborted) await new Promise((resolve) => over.addEventListener('abort', resolve));
      counts.rests -= 1;
    },
  };
  const ownership = {
    replica: 'me',
    onBack: (listener: () => void) => void backs.push(listener),
    end: () => {
      counts.underWay -= 1;
    },
  } as unknown as Ownership;
  const meters = createMeters();
  const startList = createStartList({ wake: () => undefined });
  const retryTimes = createRetryTimes(clock, 5_000);
  const outside = createReceiverOutside({ sql: pool, clock });
  const settling = createSettling({
    ...{ sql: pool, clock, log, ownership, meters, startList, retryTimes, outside, stopped: stopping.signal, spread: () => 0 },
    writes: createHealth(Date.now).writesOf('notifier'),
    knownSubscribers: { count: () => 2 } as unknown as KnownSubscribers,
    subscriberPauses: createSubscriberPauses({ sql: pool, clock, log, replica: 'me' }),
    loader: createDeliveryLoader({ sql: pool, clock, ownership }),
    wake: () => {
      counts.wakes += 1;
    },
  });
  return {
    ...{ settling, logged, counts, meters, startList, retryTimes, outside },
    /** The daemon stops. */
    stop: () => stopping.abort(),
    /** Ends the rests. */
    letGo: () => letGo.abort(),
    /** The database confirms a renewal after one that it did not confirm. */
    comeBack: () => {
      for (const listener of backs) listener();
    },
    /** An attempt ends that began under `EPOCH`. */
    end: (subscriber: Subscriber, delivery: DueDelivery, result: SendResult, differs: Partial<EndedAttempt> = {}): void => {
      counts.underWay += 1;
      settling.add({
        ...{ subscriber, delivery, result, epoch: EPOCH, at: NOW, off: null, along: [], isReplaced: false },
        ...differs,
      });
    },
  };
}

/** A subscriber that has read the whole outbox. */
function caughtUp(id = 1): Subscriber {
  const subscriber = aSubscriber({ id, name: id === 1 ? 'shop' : 'books' });
  subscriber.reading.begin()(NOW, false);
  return subscriber;
}

/** So many events of one purchase, made three seconds ago and tried so often, in a subscriber's memory; the first is being sent. */
async function sending(
  { recipient, queue }: Subscriber,
  { lane = 1, count = 1, attempts = 0 } = {},
): Promise<[DueDelivery, ...DueDelivery[]]> {
  await sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_' || ${recipient.id}::integer || '_' || ${lane}::integer || '_' || i, 'site.reachable', 'default', ${lane}, to_timestamp(${NOW - 3_000}::float8 / 1000), '{}'
      from generate_series(1, ${count}::integer) i returning position)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, attempts)
    select position, ${lane}, ${recipient.id}, ${lane}, to_timestamp(${NOW - 3_000}::float8 / 1000), ${attempts}::integer from event`;
  const waiting = await waitingInLane(sql, { subscriber: recipient.id, lane, shard: lane, most: 100 });
  for (const delivery of waiting) queue.add(delivery);
  expect(queue.next(1)).toBe(waiting[0]);
  return waiting as [DueDelivery, ...DueDelivery[]];
}

/** Status and attempts of each delivery, in the order of events, and in how many milliseconds it is due while it is pending. */
async function outbox(): Promise<string[]> {
  const rows = await sql<{ status: string; attempts: number; dueAt: number }[]>`
    select status, attempts, (extract(epoch from due_at) * 1000)::float8 as due_at
    from purchase_watch_internal.deliveries order by subscriber, event`;
  return rows.map(({ status, attempts, dueAt }) => `${status} ${attempts}${status === 'pending' ? ` due ${dueAt - NOW}` : ''}`);
}
const memoryOf = ({ queue, reading }: Subscriber) => ({
  size: queue.size,
  isReady: queue.isReady,
  mayHoldMore: reading.mayHoldMore,
});

test('a delivery that was taken is settled and leaves memory, and the next one of its purchase goes', async () => {
  const { end, settling, counts, meters, startList, retryTimes } = settlingOf();
  const subscriber = caughtUp();
  const [first, second] = await sending(subscriber, { count: 2 });
  end(subscriber, first, DELIVERED, { at: NOW + 1_000 });
  expect([settling.pending(), counts.underWay]).toEqual([1, 1]);
  await settling.drain();
  expect(await outbox()).toEqual(['delivered 1', 'pending 0 due -3000']);
  expect(memoryOf(subscriber)).toEqual({ size: 1, isReady: true, mayHoldMore: false });
  expect(subscriber.queue.get(second!.id)).toBe(second);
  expect([settling.pending(), counts.underWay, counts.wakes, settling.isStuck()]).toEqual([0, 0, 0, false]);
  expect([startList.take(), retryTimes.next()]).toEqual([subscriber, Number.POSITIVE_INFINITY]);
  expect(subscriber.pace.takenAt).toBe(NOW + 1_000);
  const { attempts, latency } = meters.subscriber('shop');
  expect([attempts, latency.sum()]).toEqual([{ delivered: 1, failed: 0, exhausted: 0, gone: 0 }, 4]);
});

test('a delivery that failed waits in the outbox with those behind it, and the notifier looks for it in time', async () => {
  const { end, settling, counts, meters, retryTimes, logged } = settlingOf();
  const subscriber = caughtUp();
  const [first] = await sending(subscriber, { count: 2 });
  end(subscriber, first, FAILED);
  // The loop rests until the retry.
  expect([counts.wakes, retryTimes.next()]).toEqual([1, NOW + 5_000]);
  await settling.drain();
  expect(await outbox()).toEqual(['pending 1 due 5000', 'pending 0 due 5000']);
  expect(memoryOf(subscriber)).toEqual({ size: 0, isReady: false, mayHoldMore: true });
  expect([subscriber.reading.readUntil, counts.underWay, subscriber.pace.takenAt]).toEqual([0, 0, Number.NEGATIVE_INFINITY]);
  expect(meters.subscriber('shop').attempts).toEqual({ delivered: 0, failed: 1, exhausted: 0, gone: 0 });
  expect(logged).toMatchObject([{ event: 'delivery.failed', retryInMs: 5_000 }]);
  // It wakes the loop for what is sooner than all that is known, not for what is later.
  const other = caughtUp(2);
  const [later] = await sending(other, { lane: 2, attempts: 1 });
  const before = counts.wakes;
  end(other, later, FAILED);
  expect([counts.wakes, retryTimes.next()]).toEqual([before, NOW + 5_000]);
  await settling.drain();
});

test('where the subscriber is paused for less time than the delivery waits, its other deliveries may go when the pause ends', async () => {
  const { end, settling, retryTimes } = settlingOf();
  const subscriber = caughtUp();
  const [delivery] = await sending(subscriber);
  const pausedUntil = NOW + 1_000;
  setHealth(subscriber.health, { failures: 4, pauses: 1, failingSince: NOW, pausedUntil, lastError: 'no' });
  end(subscriber, delivery, FAILED);
  expect(retryTimes.next()).toBe(NOW + 1_000);
  await settling.drain();
});

test('a delivery that was given up leaves its purchase to the next one', async () => {
  const { end, settling, meters, retryTimes } = settlingOf();
  const subscriber = caughtUp();
  const [first] = await sending(subscriber, { count: 2, attempts: 3 });
  end(subscriber, first, FAILED);
  await settling.drain();
  expect((await outbox())[0]).toEqual('exhausted 4');
  // What had been put off behind it became due.
  expect(memoryOf(subscriber)).toEqual({ size: 1, isReady: true, mayHoldMore: true });
  expect(meters.subscriber('shop').attempts).toEqual({ delivered: 0, failed: 0, exhausted: 1, gone: 0 });
  expect(retryTimes.next()).toBe(Number.POSITIVE_INFINITY);
});

test('after a success that took two attempts the outbox is read again: what was put off behind it is due', async () => {
  const { end, settling, counts } = settlingOf();
  const subscriber = caughtUp();
  const [delivery] = await sending(subscriber, { attempts: 1 });
  end(subscriber, delivery, DELIVERED);
  await settling.drain();
  expect(memoryOf(subscriber)).toEqual({ size: 0, isReady: false, mayHoldMore: true });
  expect(counts.wakes).toBe(1);
});

test.each([1, 2])('the loop that reads the outbox is woken where subscriber %d of two has room for more', async (id) => {
  const { end, settling, counts, startList } = settlingOf();
  const subscribers = [caughtUp(1), caughtUp(2)];
  subscribers[id - 1]!.reading.expectMore(true);
  const deliveries = await Promise.all(subscribers.map((each) => sending(each)));
  for (const [at, [delivery]] of deliveries.entries()) end(subscribers[at]!, delivery, DELIVERED);
  await settling.drain();
  expect(counts.wakes).toBe(1);
  expect([startList.take(), startList.take()]).toEqual(subscribers);
});

test('events that left in one message are delivered together; a failure counts for the first of them, and the others wait', async () => {
  const { end, settling, meters, logged } = settlingOf();
  const subscriber = caughtUp();
  const [failing, ...along] = await sending(subscriber, { count: 3 });
  subscriber.queue.takeAlong(failing, 2);
  end(subscriber, failing, FAILED, { along });
  await settling.drain();
  expect(await outbox()).toEqual(['pending 1 due 5000', 'pending 0 due 5000', 'pending 0 due 5000']);
  expect(meters.subscriber('shop').attempts).toMatchObject({ delivered: 0, failed: 1 });
  expect(logged.map(({ event }) => event)).toEqual(['delivery.failed']);

  const [first, ...others] = await waitingInLane(sql, { subscriber: 1, lane: 1, shard: 1, most: 100 });
  for (const delivery of [first!, ...others]) subscriber.queue.add(delivery);
  subscriber.queue.next(1);
  subscriber.queue.takeAlong(first!, 2);
  subscriber.reading.begin()(NOW, false);
  end(subscriber, first!, DELIVERED, { along: others, at: NOW + 5_000 });
  await settling.drain();
  expect(await outbox()).toEqual(['delivered 2', 'delivered 1', 'delivered 1']);
  expect(memoryOf(subscriber)).toMatchObject({ size: 0, mayHoldMore: true });
  const { attempts, latency } = meters.subscriber('shop');
  expect([attempts.delivered, latency.sum()]).toEqual([3, 24]);
  expect(logged.at(1)).toMatchObject({ event: 'delivery.together', subscriber: 'shop', events: 3 });
});

test('after a message of several that came through at once, more of its channel may be due', async () => {
  const { end, settling, logged } = settlingOf();
  const subscriber = caughtUp();
  const [first, ...along] = await sending(subscriber, { count: 2 });
  subscriber.queue.takeAlong(first, 1);
  end(subscriber, first, DELIVERED, { along });
  await settling.drain();
  expect(memoryOf(subscriber)).toEqual({ size: 0, isReady: false, mayHoldMore: true });
  expect(logged.map(({ event }) => event)).toEqual(['delivery.together', 'delivery.delivered']);
});

test('a subscriber that has gone is switched off, and its delivery is not tried again at a time', async () => {
  const { end, settling, meters, retryTimes, counts } = settlingOf();
  const subscriber = caughtUp();
  const [delivery] = await sending(subscriber);
  const off = { reason: 'The receiver answers 410.', addressHash: 'x' };
  end(subscriber, delivery, { kind: 'gone', ...REFUSAL, reason: 'http_410', httpStatus: 410 }, { off });
  expect([retryTimes.next(), counts.wakes]).toEqual([Number.POSITIVE_INFINITY, 0]);
  await settling.drain();
  const [row] = await sql`select status, status_reason as reason from purchase_watch_internal.subscribers where id = 1`;
  expect(row).toEqual({ status: 'off', reason: off.reason });
  expect(await outbox()).toEqual(['pending 1 due 0']);
  expect(meters.subscriber('shop').attempts).toEqual({ delivered: 0, failed: 0, exhausted: 0, gone: 1 });
});

test('the result of a delivery whose shard another replica took meanwhile is not written, and the delivery leaves memory', async () => {
  const { end, settling, counts } = settlingOf();
  const subscriber = caughtUp();
  const [delivery] = await sending(subscriber);
  await sql`update purchase_watch_internal.shards set epoch = epoch + 1, owner = 'other' where id = 1`;
  end(subscriber, delivery, DELIVERED);
  await settling.drain();
  expect(await outbox()).toEqual(['pending 0 due -3000']);
  expect(memoryOf(subscriber)).toEqual({ size: 0, isReady: false, mayHoldMore: true });
  expect(counts.underWay).toBe(0);
});

test('a delivery whose result the database refuses is not sent again, and the others of its batch are settled', async () => {
  const { end, settling, logged, counts } = settlingOf();
  const subscriber = caughtUp();
  const [refused] = await sending(subscriber);
  const [other] = await sending(subscriber, { lane: 2 });
  await sql.unsafe(`
    create or replace function public.refuse_value() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refused before update on purchase_watch_internal.deliveries for each row when (old.id = ${refused.id})
      execute function public.refuse_value()`);
  end(subscriber, refused, DELIVERED);
  end(subscriber, other, DELIVERED);
  await settling.drain();
  await sql`drop trigger refused on purchase_watch_internal.deliveries`;
  expect(await outbox()).toEqual(['pending 0 due -3000', 'delivered 1']);
  expect(memoryOf(subscriber)).toEqual({ size: 1, isReady: false, mayHoldMore: false });
  expect(logged.filter(({ level }) => level === 'error')).toMatchObject([{ event: 'delivery.unsettleable' }]);
  expect([counts.underWay, settling.isStuck()]).toEqual([0, false]);
});

test('while results cannot be written nothing more is to leave; they are written as soon as the database is back, each time', async () => {
  const { end, settling, counts, comeBack } = settlingOf();
  const subscriber = caughtUp();
  for (const lane of [1, 2]) {
    const repair = await refuseWrites(sql, [['purchase_watch_internal.deliveries', 'update']]);
    const [delivery] = await sending(subscriber, { lane });
    end(subscriber, delivery, DELIVERED);
    await expect.poll(() => counts.rests).toBe(1);
    expect([settling.isStuck(), settling.pending(), counts.underWay]).toEqual([true, 1, 1]);
    await repair();
    comeBack();
    await settling.drain();
    // Everybody waited for the database, so the loop begins again though nobody has room for more.
    expect([settling.isStuck(), settling.pending(), counts.wakes]).toEqual([false, 0, lane]);
  }
  expect(await outbox()).toEqual(['delivered 1', 'delivered 1']);
});

test('a daemon that stops while results cannot be written gives them up, and sends nothing more', async () => {
  const repair = await refuseWrites(sql, [['purchase_watch_internal.deliveries', 'update']]);
  const { end, settling, counts, stop } = settlingOf();
  const subscriber = caughtUp();
  const [delivery] = await sending(subscriber);
  end(subscriber, delivery, DELIVERED);
  await expect.poll(() => counts.rests).toBe(1);
  stop();
  await settling.drain();
  await repair();
  expect([settling.isStuck(), settling.pending(), counts.wakes]).toEqual([true, 0, 0]);
  expect(await outbox()).toEqual(['pending 0 due -3000']);
  expect(memoryOf(subscriber)).toMatchObject({ size: 1, isReady: false });
});

test('a result whose row another session has locked waits until the row is free, and keeps no other from being written', async () => {
  const { end, settling, counts, letGo, logged } = settlingOf(hasty);
  const subscriber = caughtUp();
  const [locked] = await sending(subscriber);
  const [free] = await sending(subscriber, { lane: 2 });
  await sql.begin(async (tx) => {
    await tx`select from purchase_watch_internal.deliveries where id = ${locked.id} for update`;
    end(subscriber, locked, DELIVERED);
    end(subscriber, free, DELIVERED);
    await expect.poll(() => counts.rests).toBe(1);
    expect(await outbox()).toEqual(['pending 0 due -3000', 'delivered 1']);
    // It still counts as under way, so that nobody else sends it.
    expect([settling.pending(), counts.underWay]).toEqual([1, 1]);
    expect(memoryOf(subscriber)).toEqual({ size: 1, isReady: false, mayHoldMore: false });
  });
  expect(logged).toContainEqual(expect.objectContaining({ event: 'delivery.row_locked', deliveries: 1 }));
  const drained = settling.drain();
  letGo();
  await drained;
  expect(await outbox()).toEqual(['delivered 1', 'delivered 1']);
  expect([settling.pending(), counts.underWay, subscriber.queue.size]).toEqual([0, 0, 0]);
});

test('three attempts without an answer, and none with one, raise the question whether this replica reaches anybody', async () => {
  const { end, settling, outside } = settlingOf();
  const subscriber = caughtUp();
  for (const lane of [1, 2, 3]) {
    expect(outside.mayFail()).toBe(false);
    const [delivery] = await sending(subscriber, { lane });
    end(subscriber, delivery, { ...FAILED, httpStatus: null, fault: 'ours' });
  }
  expect(outside.mayFail()).toBe(true);
  await settling.drain();
});
