import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDeliveryLoader } from '../../../src/daemon/notifier/delivery-loader.ts';
import { setHealth } from '../../../src/daemon/notifier/subscribers/health-in-memory.ts';
import { createSubscriber, type Subscriber } from '../../../src/daemon/notifier/subscribers/subscriber.ts';
import { createOwnership, type OwnershipKeeper } from '../../../src/daemon/shards/ownership.ts';
import { WITH_SYSTEMS } from '../../../src/domain/deliveries/subscriber-health.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { type DueDelivery, REPLAYED } from '../../../src/postgres/deliveries/deliveries.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { realClock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { aDelivery, aSubscriber, NOW } from './parts.ts';

const NEW = 1_000;
const LATE = 10;

let database: TestDatabase;
let sql: Sql;
let shop: number;
/** A subscriber without deliveries. */
let quiet: number;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await syncSites(sql, ['default']);
  const common = {
    kind: 'webhook',
    audience: 'systems',
    format: 'standard',
    types: null,
    sites: null,
    states: null,
    addressHash: 'x',
  } as const;
  await syncSubscribers(
    sql,
    ['shop', 'quiet'].map((name) => ({ ...common, name })),
  );
  const idOf = async (name: string): Promise<number> => {
    const [row] = await sql<[{ id: number }]>`select id from purchase_watch_internal.subscribers where name = ${name}`;
    return row.id;
  };
  shop = await idOf('shop');
  quiet = await idOf('quiet');
  await sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_' || i, 'site.reachable', 'default', i % 64, now() - interval '1 minute', '{}' from generate_series(1, ${NEW + LATE}::integer) i
      returning position, shard)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, rank)
    select position, position, ${shop}, shard, now() - interval '1 minute', case when position > ${NEW} then 1 else 0 end from event`;
  const log = createLogger({ level: 'silent' });
  const lease = { replica: 'a', process: 'test 1 1', ttl: 60_000, renewEvery: 2_000 };
  ownership = createOwnership({ sql, clock: realClock(), log, ...lease });
  await ownership.tick();
});
afterAll(() => database.drop());

let ownership: OwnershipKeeper;
function loading(asked: Sql, id = shop) {
  const channel = { send: () => Promise.reject(new Error('not sent here')), close: async () => {} };
  const means = { channel, concurrency: 4, spacing: 0, timeout: 1_000, schedule: [], patience: WITH_SYSTEMS };
  const subscriber = createSubscriber({ id, name: 'shop', addressHash: 'x', ...means });
  return { subscriber, loader: createDeliveryLoader({ sql: asked, clock: realClock(), ownership }) };
}

test('a backlog of what is new does not keep what is not new from being read', async () => {
  const { subscriber, loader } = loading(sql);
  const { added } = await loader.load([subscriber], true);
  expect(added).toBeLessThan(NEW);
  const late = await sql<{ id: number }[]>`select id::float8 as id from purchase_watch_internal.deliveries where rank = 1`;
  expect(late.filter(({ id }) => subscriber.queue.get(id))).toHaveLength(LATE);
});

test('what is read a second time goes on from there, unless something happened while it was read', async () => {
  const { subscriber, loader } = loading(sql);
  await loader.load([subscriber], false);
  expect(subscriber.reading.readUntil).toBeGreaterThan(0);
  const interrupted = loading(((...given: Parameters<Sql>) => {
    // A settlement that fails, say, while the reading is under way.
    interrupted.subscriber.reading.restart();
    return sql(...given);
  }) as unknown as Sql);
  await interrupted.loader.load([interrupted.subscriber], false);
  const { readUntil, mayHoldMore } = interrupted.subscriber.reading;
  expect([readUntil, mayHoldMore]).toEqual([0, true]);
});

test('nothing is taken into memory of a shard that was lost and gained again during the read', async () => {
  const changing = loading(((...given: Parameters<Sql>) => {
    const query = sql(...given);
    // Parts of the statement are made in the same way.
    if (!given[0].join('').includes('cross join lateral')) return query;
    return query.then(async (rows: unknown) => {
      await sql`update purchase_watch_internal.shards set epoch = epoch + 1 where id = 7`;
      await ownership.tick();
      return rows;
    });
  }) as unknown as Sql);
  await changing.loader.load([changing.subscriber], true);
  const shards = await sql<
    { id: number; shard: number }[]
  >`select id::float8 as id, shard from purchase_watch_internal.deliveries`;
  const taken = new Set(shards.filter(({ id }) => changing.subscriber.queue.get(id)).map(({ shard }) => shard));
  expect([taken.has(7), taken.size]).toEqual([false, 63]);
  expect(changing.subscriber.reading.mayHoldMore).toBe(true);
});

/** Deliveries as a statement answers them that has just written them, each of a purchase of its own unless `lane` says otherwise. */
const written = (...deliveries: (Pick<DueDelivery, 'id'> & Partial<DueDelivery>)[]) => ({
  isComplete: true,
  rows: deliveries.map((delivery): DueDelivery => {
    const { id } = delivery;
    const event = { id: `evt_${id}`, type: 'purchase.state_changed', body: '{}', createdAt: Date.now() };
    const usual = { subscriber: shop, lane: id, position: id, shard: id % 64, rank: 0, dueAt: Date.now(), behind: null } as const;
    return { ...usual, mark: null, attempts: 0, attemptsBefore: 0, event, ...delivery };
  }),
});
/** A subscriber whose outbox is in memory. */
async function caughtUp(asked: Sql = sql) {
  const { subscriber, loader } = loading(asked);
  while (subscriber.reading.mayHoldMore) await loader.load([subscriber], true);
  return { subscriber, loader };
}
const NEWER = 1_000_000;

test('a delivery that was written just now is taken without a read, once everything older is in memory', async () => {
  const { subscriber, loader } = loading(sql);
  const fresh = written({ id: NEWER }, { id: NEWER + 1, lane: NEWER });
  expect(loader.takeNew(fresh, [subscriber])).toBe(false);
  expect(subscriber.queue.size).toBe(0);
  while (subscriber.reading.mayHoldMore) await loader.load([subscriber], true);
  const before = subscriber.queue.size;
  expect(loader.takeNew(fresh, [subscriber])).toBe(true);
  // The second time it is in memory already.
  expect(loader.takeNew(fresh, [subscriber])).toBe(true);
  expect(subscriber.queue.size).toBe(before + 2);
  expect(subscriber.queue.behind(fresh.rows[0]!)).toEqual([fresh.rows[1]]);
  expect(loader.takeNew({ ...fresh, isComplete: false }, [subscriber])).toBe(false);
});

test('a delivery that a read may have found before is left to the next read: it may have been sent', async () => {
  const { subscriber, loader } = await caughtUp();
  subscriber.queue.dropWaiting();
  expect(loader.takeNew(written({ id: NEW }), [subscriber])).toBe(false);
  expect(subscriber.queue.size).toBe(0);
});

test('a delivery whose forerunner is not in memory stays outside, and what comes after it', async () => {
  const { subscriber, loader } = await caughtUp();
  const before = subscriber.queue.size;
  const behind = { id: NEWER - 1, position: NEWER - 1, dueAt: Date.now() + 60_000, rank: 1 } as const;
  const fresh = written({ id: NEWER, behind }, { id: NEWER + 1, lane: NEWER });
  expect(loader.takeNew(fresh, [subscriber])).toBe(false);
  expect(subscriber.queue.size).toBe(before);
});

test('a delivery that was given the id of one that the database lost is not taken for that one, which leaves memory', async () => {
  const { subscriber, loader } = await caughtUp();
  const { queue, reading } = subscriber;
  const lost = written({ id: NEWER }).rows[0]!;
  queue.add(lost);
  const given = written({ ...lost, lane: NEWER + 1, event: { ...lost.event, id: 'evt_new' } });
  expect(loader.takeNew(given, [subscriber])).toBe(false);
  expect([queue.get(NEWER), reading.mayHoldMore]).toEqual([undefined, true]);
});

test('a delivery does not count one that the database lost as its forerunner', async () => {
  const behind = { id: NEWER, position: NEWER, dueAt: Date.now() - 1_000, rank: 0 } as const;
  for (const differs of [{ lane: NEWER + 5 }, { position: NEWER + 5 }]) {
    const { subscriber, loader } = await caughtUp();
    subscriber.queue.add({ ...written({ id: NEWER }).rows[0]!, ...differs });
    expect(loader.takeNew(written({ id: NEWER + 1, lane: NEWER, behind }), [subscriber])).toBe(false);
  }
  const { subscriber, loader } = await caughtUp();
  subscriber.queue.add(written({ id: NEWER }).rows[0]!);
  expect(loader.takeNew(written({ id: NEWER + 1, lane: NEWER, behind }), [subscriber])).toBe(true);
});

test('a channel whose messages wait for one another takes nothing without a read, and neither does one that is not known', async () => {
  const { subscriber, loader } = await caughtUp();
  const before = subscriber.queue.size;
  expect(loader.takeNew(written({ id: NEWER }), [])).toBe(false);
  const channel = { ...subscriber.recipient.channel, sendAll: () => Promise.reject(new Error('not sent here')) };
  subscriber.recipient = { ...subscriber.recipient, channel };
  expect(loader.takeNew(written({ id: NEWER }), [subscriber])).toBe(false);
  expect(subscriber.queue.size).toBe(before);
});

/** A due delivery of a purchase of its own for the quiet subscriber, of an event that was made so many seconds ago. */
async function addDelivery(secondsAgo: number) {
  const [row] = await sql<[{ id: number; position: number; event: string }]>`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      values ('evt_' || gen_random_uuid(), 'site.reachable', 'default', 5, now(), '{}') returning position, id)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select position, position, ${quiet}, 5, now() - ${secondsAgo}::integer * interval '1 second' from event
    returning id::float8 as id, event::float8 as position, (select id from event) as event`;
  return row;
}

test.each(['is sent', 'waits still'])(
  'a delivery that was taken while a read was under way, and %s, is not taken again from that read',
  async (now) => {
    let late: Awaited<ReturnType<typeof addDelivery>> | null = null;
    const slow = loading(
      ((...given: Parameters<Sql>) => {
        const query = sql(...given);
        if (late === null || !given[0].join('').includes('cross join lateral')) return query;
        const { id, position } = late;
        const event = { id: late.event, type: 'site.reachable', body: '{}', createdAt: Date.now() };
        return query.then((rows) => {
          expect(rows.map((found) => found.id)).toEqual([id]);
          const fresh = written({ id, position, lane: position, subscriber: quiet, shard: 5, event });
          expect(slow.loader.takeNew(fresh, [slow.subscriber])).toBe(true);
          if (now === 'is sent') slow.subscriber.queue.done(fresh.rows[0]!);
          return rows;
        });
      }) as unknown as Sql,
      quiet,
    );
    const { subscriber, loader } = slow;
    const { queue, reading } = subscriber;
    await loader.load([subscriber], true);
    const before = queue.size;
    late = await addDelivery(1);
    await loader.load([subscriber], false);
    // The next read finds out what became of the one that was sent.
    expect([queue.size, reading.mayHoldMore, reading.isCaughtUp]).toEqual(
      now === 'is sent' ? [before, true, false] : [before + 1, false, true],
    );
  },
);

test('a delivery that was committed long after it was due is found by the next read from the beginning', async () => {
  const { subscriber, loader } = loading(sql, quiet);
  await loader.load([subscriber], true);
  const { id } = await addDelivery(60);
  await loader.load([subscriber], false);
  expect(subscriber.queue.get(id)).toBeUndefined();
  await loader.load([subscriber], true);
  expect(subscriber.queue.get(id)).toMatchObject({ id });
});

test('while a backlog is read, and after a read that failed, nothing that is new is taken ahead of it', async () => {
  let isBroken = false;
  const behind = loading(((...given: Parameters<Sql>) => {
    const query = sql(...given);
    if (!given[0].join('').includes('cross join lateral')) return query;
    return query.then((rows) => {
      expect(behind.loader.takeNew(written({ id: NEWER }), [behind.subscriber])).toBe(false);
      if (isBroken) throw new Error('the connection broke');
      return rows;
    });
  }) as unknown as Sql);
  const { subscriber, loader } = behind;
  await loader.load([subscriber], false);
  isBroken = true;
  await expect(loader.load([subscriber], false)).rejects.toThrow('the connection broke');
  expect(loader.takeNew(written({ id: NEWER }), [subscriber])).toBe(false);
  expect(subscriber.queue.get(NEWER)).toBeUndefined();
});

/** Loading from an outbox that a test makes up: the reads that were asked for, and what the next one finds. */
function madeUp({ shards = [0], concurrency = 4 }: { shards?: number[]; concurrency?: number } = {}) {
  const moment = { now: NOW };
  const asked: { subscriber: number; room: number; upTo: number; dueSince: number }[] = [];
  const found: object[] = [];
  const during: (() => void)[] = [];
  const numbers = (text: unknown): number[] => String(text).slice(1, -1).split(',').map(Number);
  const outbox = (strings: readonly string[], ...values: unknown[]) => {
    if (!strings.join('').includes('d.event as position')) return values;
    const [subscriber, room, , upTo, dueSince] = (values[0] as unknown[]).map(numbers);
    asked.push(
      ...subscriber!.map((id, at) => ({ subscriber: id, room: room![at]!, upTo: upTo![at]!, dueSince: dueSince![at]! })),
    );
    for (const each of during.splice(0)) each();
    return Promise.resolve(found.splice(0));
  };
  const loader = createDeliveryLoader({
    sql: outbox as unknown as Sql,
    clock: { ...realClock(), now: () => moment.now },
    ownership: { owned: () => shards, epochOf: () => 1 } as unknown as OwnershipKeeper,
  });
  return {
    ...{ loader, moment, asked },
    /** Each with so many deliveries in memory. */
    subscribers: (...sizes: number[]) =>
      sizes.map((size, at) => {
        const subscriber = aSubscriber({ id: at + 1, concurrency });
        for (let id = 1; id <= size; id++) subscriber.queue.add(aDelivery(id));
        return subscriber;
      }),
    /** What the next read finds, each without one before it unless it says otherwise. */
    finds: (...rows: (Partial<DueDelivery> & { id: number })[]): void => {
      for (const { behind = null, event, ...row } of rows.map(({ id, ...differs }) => aDelivery(id, differs)))
        found.push({
          ...{ ...row, eventId: event.id, type: event.type, body: event.body, createdAt: event.createdAt },
          ...{
            behindId: behind?.id ?? null,
            behindPosition: behind?.position,
            behindDueAt: behind?.dueAt,
            behindRank: behind?.rank,
          },
        });
    },
    /** Happens while the next read is under way. */
    meanwhile: (happens: () => void) => void during.push(happens),
  };
}
const fresh = (id: number, differs: Partial<DueDelivery> = {}) => ({ rows: [aDelivery(id, differs)], isComplete: true });

test.each([
  ['a few for each that may be in flight', { concurrency: 4 }, [0], 256],
  ['a bounded number for one alone', { concurrency: 64 }, [0], 2_048],
  ['fewer beside others, which must not wait for a backlog', { concurrency: 64 }, [0, 0], 512],
  ['what is left of its part of the memory', { concurrency: 64 }, [100, ...Array.from({ length: 63 }, () => 0)], 156],
  ['a little, however many share the memory', { concurrency: 64 }, [0, ...Array.from({ length: 999 }, () => 0)], 32],
])('a read asks for %s', async (_, options, sizes, room) => {
  const { loader, asked, subscribers } = madeUp(options);
  const all = subscribers(...sizes);
  await loader.load(all, true);
  const rooms = asked.filter(({ subscriber }) => subscriber === 1).map((each) => each.room);
  // A part of it for retries and replays.
  expect(rooms).toEqual([Math.ceil((room * 7) / 8), Math.ceil(room / 8)]);
});

test('one whose part of the memory is half full is not read: less than half is not worth a query', async () => {
  const { loader, asked, subscribers } = madeUp();
  const [full, roomy] = subscribers(2_048, 2_047) as [Subscriber, Subscriber];
  full.reading.begin()(NOW, false);
  await loader.load([full, roomy], false);
  expect(new Set(asked.map(({ subscriber }) => subscriber))).toEqual(new Set([2]));
  // Read once it has room again.
  expect([full.reading.mayHoldMore, loader.wants(full, 2), loader.wants(roomy, 2)]).toEqual([true, false, false]);
  roomy.reading.expectMore(true);
  expect([loader.wants(roomy, 2), loader.wants(roomy, 8)]).toEqual([true, false]);
});

test('one that is paused is not read, and drops what a read has found meanwhile', async () => {
  const { loader, asked, subscribers, finds, meanwhile, moment } = madeUp();
  const [shop] = subscribers(0) as [Subscriber];
  finds({ id: 7 });
  const paused = { failures: 4, pauses: 1, failingSince: NOW, pausedUntil: NOW + 60_000, lastError: 'No.' };
  meanwhile(() => setHealth(shop.health, paused));
  expect(await loader.load([shop], true)).toEqual({ blocked: [], added: 0 });
  expect([shop.queue.size, shop.reading.mayHoldMore, shop.reading.readUntil]).toEqual([0, true, 0]);
  asked.length = 0;
  await loader.load([shop], true);
  expect([asked, loader.wants(shop, 1)]).toEqual([[], false]);
  expect(loader.takeNew(fresh(8), [shop])).toBe(false);
  moment.now += 60_000;
  expect(loader.wants(shop, 1)).toBe(true);
});

test('without a shard nothing is read, and nothing is expected until a shard is gained', async () => {
  const { loader, asked, subscribers } = madeUp({ shards: [] });
  const [shop] = subscribers(0) as [Subscriber];
  expect(await loader.load([shop], true)).toEqual({ blocked: [], added: 0 });
  expect(asked).toEqual([]);
  expect(shop.reading).toMatchObject({ mayHoldMore: false, isCaughtUp: false, readUntil: 0 });
});

test('new deliveries are read from where the last read ended, and those that came late now and then', async () => {
  const { loader, asked, subscribers, moment } = madeUp();
  const [shop] = subscribers(0) as [Subscriber];
  await loader.load([shop], false);
  // A commit may show a delivery that was due a moment ago.
  expect(shop.reading).toMatchObject({ readUntil: NOW - 2_001, mayHoldMore: false });
  asked.length = 0;
  moment.now += 5_000;
  await loader.load([shop], false);
  expect(asked).toEqual([{ subscriber: 1, room: 256, upTo: 0, dueSince: NOW - 2_001 }]);
  asked.length = 0;
  await loader.load([shop], true);
  expect(asked.map(({ upTo, dueSince }) => [upTo, dueSince])).toEqual([
    [0, 0],
    [REPLAYED, 0],
  ]);
  asked.length = 0;
  shop.reading.expectMore(true);
  await loader.load([shop], false);
  expect(asked.map(({ upTo, room, dueSince }) => [upTo, room, dueSince])).toEqual([
    [0, 224, NOW + 2_999],
    [REPLAYED, 32, 0],
  ]);
});

test('a read that found as many as it may take goes on from the last of them', async () => {
  const { loader, subscribers, finds } = madeUp();
  const [shop] = subscribers(0) as [Subscriber];
  finds(...Array.from({ length: 224 }, (_, at) => ({ id: at + 1, dueAt: NOW - 10_000 + at })));
  expect(await loader.load([shop], false)).toEqual({ blocked: [], added: 224 });
  expect(shop.reading).toMatchObject({
    readUntil: NOW - 10_000 + 223 - 1,
    mayHoldMore: true,
    isCaughtUp: false,
    highestRead: 224,
  });
});

test.each([
  ['later: it is put off until then', NOW + 60_000, false],
  ['now: it was beyond the read, or was settled just now, so the outbox is read again', NOW, true],
])('a delivery waits for an earlier one that is not in memory and is due %s', async (_, dueAt, mayHoldMore) => {
  const { loader, subscribers, finds } = madeUp();
  const [shop] = subscribers(1) as [Subscriber];
  const waiting = { lane: 40, position: 50, behind: { id: 9, position: 30, dueAt, rank: 1 } } as const;
  finds({ id: 10, ...waiting }, { id: 1 }, { id: 12 }, { id: 11, ...waiting, position: 60, rank: REPLAYED });
  const head = { head: 9, subscriber: 1, lane: 40, dueAt, rank: 1 };
  // Two are put off, one was in memory before, and one is there now.
  expect(await loader.load([shop], false)).toEqual({
    blocked: [
      { ...head, position: 49, isReplayed: false },
      { ...head, position: 59, isReplayed: true },
    ],
    added: 1,
  });
  expect([shop.queue.size, shop.reading.mayHoldMore]).toEqual([2, mayHoldMore]);
});

test('a delivery that was taken as it was written, failed, and is due again is loaded again', async () => {
  const { loader, subscribers, finds } = madeUp();
  const [shop] = subscribers(0) as [Subscriber];
  await loader.load([shop], true);
  expect(loader.takeNew(fresh(7), [shop])).toBe(true);
  shop.queue.done(aDelivery(7));
  finds({ id: 7, attempts: 1 });
  expect(await loader.load([shop], true)).toMatchObject({ added: 1 });
});

test('nothing is taken as it is written that a read has found before, or for which there is no room', async () => {
  const { loader, subscribers, finds } = madeUp();
  const [shop] = subscribers(0) as [Subscriber];
  finds({ id: 7 });
  await loader.load([shop], true);
  shop.queue.done(aDelivery(7));
  expect(loader.takeNew(fresh(7), [shop])).toBe(false);
  expect(shop.queue.size).toBe(0);
  const [full] = subscribers(2_048) as [Subscriber];
  full.reading.begin()(NOW, false);
  expect(loader.takeNew(fresh(5_000), [full])).toBe(false);
  expect([full.queue.size, full.reading.mayHoldMore]).toEqual([2_048, true]);
});
