import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import {
  loadDueDeliveries,
  nextDue,
  putOff,
  type Rank,
  REPLAYED,
  type Wanted,
} from '../../../src/postgres/deliveries/deliveries.ts';
import { retryDelivery } from '../../../src/postgres/deliveries/deliveries-again.ts';
import { type Settlement, settle } from '../../../src/postgres/deliveries/settle.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { foldDeliveryHours } from '../../../src/postgres/trends/delivery-hours.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const MINUTE = 60_000;
const T = Date.UTC(2026, 10, 20, 9, 15);
const EPOCH = 3;
const ALL = Array.from({ length: 64 }, (_, shard) => shard);
const holdings = ALL.map((shard) => ({ shard, epoch: EPOCH }));
const me = { replica: 'me', holdings };

let database: TestDatabase;
let sql: Sql;
/** Subscribers' row ids. */
let shop: number;
let books: number;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await syncSites(sql, ['default']);
  const common = {
    kind: 'webhook' as const,
    audience: 'systems' as const,
    format: 'standard' as const,
    types: null,
    sites: null,
    states: null,
    addressHash: 'x',
  };
  const rows = await syncSubscribers(sql, [
    { ...common, name: 'shop' },
    { ...common, name: 'books' },
  ]);
  [shop, books] = rows.map(({ id }) => id) as [number, number];
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.events, purchase_watch_internal.deliveries cascade`;
  await sql`update purchase_watch_internal.shards set owner = 'me', epoch = ${EPOCH}`;
});

interface Waiting {
  readonly dueAt?: number;
  readonly shard?: number;
  readonly subscriber?: number;
}
/** A purchase with events of which one subscriber is to be told; answers the delivery ids. */
async function lane(name: string, waiting: readonly Waiting[]): Promise<number[]> {
  const [purchase] = await sql<[{ id: number }]>`
    insert into purchase_watch.purchases (purchase_id) values (${name}) returning id::float8 as id`;
  const ids: number[] = [];
  for (const [index, { dueAt = T, shard = 0, subscriber = shop }] of waiting.entries()) {
    const sequence = index + 1;
    const [delivery] = await sql<[{ id: number }]>`
      with event as (
        insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, created_at, body)
        values (${`evt_${name}_${sequence}`}, 'purchase.stuck', 'default', ${purchase.id}, ${sequence}, ${index === 0 ? null : index},
          ${shard}, to_timestamp(${T}::float8 / 1000), ${`{"n": "${name}${sequence}"}`})
        returning position)
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
      select position, ${purchase.id}, ${subscriber}, ${shard}, to_timestamp(${dueAt}::float8 / 1000) from event returning id::float8 as id`;
    ids.push(delivery.id);
  }
  return ids;
}
interface Asked {
  now?: number;
  limit?: number;
  except?: number[];
  shards?: number[];
  subscriber?: number;
  upTo?: Rank;
  dueSince?: number;
}
const load = async (differs: Asked = {}) => {
  const { now = T, limit = 100, except = [], shards = ALL, subscriber = shop, upTo = REPLAYED, dueSince = 0 } = differs;
  const { rows, more } = await loadDueDeliveries(
    sql,
    { wanted: [{ subscriber, room: limit, from: 0, upTo, dueSince }], except },
    { shards, now },
  );
  return { rows, more: more.has(subscriber) };
};
const loaded = async (differs: Parameters<typeof load>[0] = {}): Promise<number[]> =>
  (await load(differs)).rows.map(({ id }) => id);

type Outcome = Partial<
  Pick<Settlement, 'status' | 'dueAt' | 'number' | 'at' | 'error' | 'excerpt' | 'httpStatus' | 'fault' | 'rank'>
>;
/** What became of an attempt: delivered unless told otherwise. */
async function attempt(id: number, outcome: Outcome = {}): Promise<Settlement> {
  const [delivery] = await sql<[Settlement['delivery'] & { attempts: number; attemptsBefore: number }]>`
    select id::float8 as id, mark, subscriber, lane::float8 as lane, event::float8 as position, shard, rank, attempts,
      attempts_before as "attemptsBefore"
    from purchase_watch_internal.deliveries where id = ${id}`;
  const { status = 'delivered' } = outcome;
  return {
    delivery,
    number: delivery.attempts + 1,
    rank: delivery.rank,
    status,
    dueAt: T,
    at: T,
    tookMs: 12.6,
    httpStatus: status === 'delivered' ? 204 : 503,
    outcome: status === 'delivered' ? 'delivered' : 'http_503',
    fault: status === 'delivered' ? null : 'receiver',
    error: status === 'delivered' ? null : 'The receiver answers 503.',
    excerpt: null,
    ...outcome,
  };
}
const settled = async (id: number, outcome: Outcome = {}) => settle(sql, [await attempt(id, outcome)], me);
const failed = (id: number, dueAt: number, at = T) => settled(id, { status: 'pending', dueAt, at });
const row = async (id: number) =>
  (
    await sql<[{ status: string; due: number; attempts: number; settledAt: number | null; error: string | null }]>`
      select status, (extract(epoch from due_at) * 1000)::float8 as due, attempts,
        (extract(epoch from settled_at) * 1000)::float8 as "settledAt", last_error as error
      from purchase_watch_internal.deliveries where id = ${id}`
  )[0];
const dues = (ids: readonly number[]): Promise<number[]> => Promise.all(ids.map(async (id) => (await row(id)).due));

describe('what is due', () => {
  test('comes with all that sending needs', async () => {
    const [id] = (await lane('a', [{}])) as [number];
    const [delivery] = (await load()).rows;
    expect(delivery).toMatchObject({ id, subscriber: shop, shard: 0, attempts: 0, behind: null });
    expect(delivery!.event).toEqual({ id: 'evt_a_1', type: 'purchase.stuck', body: '{"n": "a1"}', createdAt: T });
  });

  test("is one subscriber's, of the shards asked for, due by now, and not in memory already", async () => {
    const [first, second, other, later] = (await lane('a', [{}, {}, { subscriber: books }, { dueAt: T + 1 }])) as [
      number,
      number,
      number,
      number,
    ];
    const [elsewhere] = (await lane('b', [{ shard: 5 }])) as [number];
    expect(await loaded({ shards: [0] })).toEqual([first, second]);
    expect(await loaded({ shards: [5] })).toEqual([elsewhere]);
    expect(await loaded({ subscriber: books })).toEqual([other]);
    expect(await loaded({ now: T + 1, shards: [0] })).toEqual([first, second, later]);
    expect(await loaded({ except: [first], shards: [0] })).toEqual([second]);
  });

  test('is the oldest when there is more than fits, over all shards, and comes in the order of events', async () => {
    const [a] = (await lane('a', [{ dueAt: T - 1 * MINUTE, shard: 3 }])) as [number];
    await lane('b', [{ dueAt: T, shard: 4 }]);
    const [c] = (await lane('c', [{ dueAt: T - 2 * MINUTE, shard: 5 }])) as [number];
    expect(await loaded({ limit: 2 })).toEqual([a, c]);
    expect([(await load({ limit: 2 })).more, (await load({ limit: 4 })).more]).toEqual([true, false]);
  });

  test('that lies in one shard is read in parts, and there is said to be more until all is read', async () => {
    const all = await lane(
      'a',
      Array.from({ length: 40 }, () => ({ shard: 7 })),
    );
    const read: number[] = [];
    for (let more = true; more; ) {
      const part = await load({ limit: 30, except: read });
      read.push(...part.rows.map(({ id }) => id));
      more = part.more;
    }
    expect(read).toEqual(all);
  });

  test('is not what is settled', async () => {
    const [first, second] = (await lane('a', [{}, {}])) as [number, number];
    await settled(first);
    expect(await loaded()).toEqual([second]);
  });

  test('names what is right before it in its lane, also when that is not due yet', async () => {
    const [first, second, third] = (await lane('a', [{ dueAt: T + MINUTE }, {}, {}])) as [number, number, number];
    await lane('b', [{ dueAt: T + MINUTE, subscriber: books }]);
    const { rows } = await load();
    const positions = (await Promise.all([first, second].map((id) => attempt(id)))).map(({ delivery }) => delivery.position);
    expect(rows.map(({ id, behind }) => [id, behind])).toEqual([
      [second, { id: first, position: positions[0], dueAt: T + MINUTE, rank: 0 }],
      [third, { id: second, position: positions[1], dueAt: T, rank: 0 }],
    ]);
  });

  test('is what is new first, then what failed often, then what is replayed; and only what is new when asked so', async () => {
    const ids = [];
    for (const [index, rank] of [2, 1, 0].entries()) {
      const [id] = (await lane(`r${rank}`, [{ dueAt: T - (3 - index) * MINUTE }])) as [number];
      await sql`update purchase_watch_internal.deliveries set rank = ${rank} where id = ${id}`;
      ids.push(id);
    }
    const [replayed, late, fresh] = ids as [number, number, number];
    expect(await loaded({ limit: 1 })).toEqual([fresh]);
    expect(await loaded({ limit: 2 })).toEqual([late, fresh]);
    expect(await loaded()).toEqual([late, fresh, replayed]);
    expect(await loaded({ upTo: 0 })).toEqual([fresh]);
  });

  test('puts what is replayed behind all that is not of its lane, and behind earlier replayed ones', async () => {
    const [one, two, three] = (await lane('a', [{}, {}, {}])) as [number, number, number];
    await sql`update purchase_watch_internal.deliveries set rank = 2 where id in (${one}, ${two})`;
    const { rows } = await load();
    expect(rows.map(({ id, behind }) => [id, behind?.id ?? null])).toEqual([
      [three, null],
      [one, three],
      [two, one],
    ]);
  });

  test('of rank 0 is read from a moment on, of the others from the beginning; and it is said how far that came', async () => {
    const [old] = (await lane('a', [{ dueAt: T - 3 * MINUTE }])) as [number];
    const [newer] = (await lane('b', [{ dueAt: T - 2 * MINUTE }])) as [number];
    const [newest] = (await lane('c', [{ dueAt: T - MINUTE }])) as [number];
    expect(await loaded({ dueSince: T - 2 * MINUTE })).toEqual([newer, newest]);
    await sql`update purchase_watch_internal.deliveries set rank = 1 where id = ${old}`;
    expect(await loaded({ dueSince: T - 2 * MINUTE })).toEqual([old, newer, newest]);
    const until = async (room: number) => {
      const wanted: Wanted[] = [{ subscriber: shop, room, from: 0, upTo: REPLAYED, dueSince: 0 }];
      const { more } = await loadDueDeliveries(sql, { wanted, except: [] }, { shards: ALL, now: T });
      return more.get(shop);
    };
    expect([await until(1), await until(2), await until(3), await until(4)]).toEqual([
      T - 2 * MINUTE,
      T - MINUTE,
      Number.POSITIVE_INFINITY,
      undefined,
    ]);
  });

  test('is read for several at once, each within its own room', async () => {
    const [mine, yours] = (await lane('a', [{}, { subscriber: books }])) as [number, number];
    await lane('b', [{}, { subscriber: books }, { subscriber: books }]);
    const wanted: Wanted[] = [
      { subscriber: shop, room: 1, from: 0, upTo: REPLAYED, dueSince: 0 },
      { subscriber: books, room: 10, from: 0, upTo: REPLAYED, dueSince: 0 },
    ];
    const { rows, more } = await loadDueDeliveries(sql, { wanted, except: [mine] }, { shards: ALL, now: T });
    expect(rows.map(({ subscriber }) => subscriber).sort()).toEqual([shop, books, books, books].sort());
    expect(rows.map(({ id }) => id)).toContain(yours);
    expect([...more.keys()]).toEqual([shop]);
  });

  test('costs an index range, whatever waits elsewhere', async () => {
    await lane('a', [{}, {}, {}]);
    await sql`insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_' || i, 'site.reachable', 'default', i % 64, now(), '{}' from generate_series(1, 5000) i`;
    await sql`insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
      select position, 0, ${shop}, shard, to_timestamp(${T + MINUTE}::float8 / 1000) from purchase_watch_internal.events where purchase is null`;
    await sql`analyze purchase_watch_internal.deliveries`;
    const cost = await rowsRead(sql, 'deliveries', (tx) =>
      loadDueDeliveries(
        tx,
        { wanted: [{ subscriber: shop, room: 100, from: 0, upTo: REPLAYED, dueSince: 0 }], except: [] },
        { shards: ALL, now: T },
      ),
    );
    expect(cost.scanned).toBe(0);
    expect(cost.fetched).toBeLessThan(20);
  });
});

describe('the next moment', () => {
  test('is the earliest of these subscribers, after a moment for each, and of these shards', async () => {
    await lane('a', [{ dueAt: T - MINUTE }, { dueAt: T + 3 * MINUTE }, { dueAt: T + 2 * MINUTE, subscriber: books }]);
    await lane('b', [{ dueAt: T + MINUTE, shard: 9 }]);
    const next = (subscribers: number[], shards: number[], after = T) =>
      nextDue(sql, { subscribers: subscribers.map((id) => ({ id, after: id === shop ? after : T })), shards });
    expect(await next([shop, books], ALL)).toBe(T + MINUTE);
    expect(await next([shop, books], [0])).toBe(T + 2 * MINUTE);
    expect(await next([shop], [0])).toBe(T + 3 * MINUTE);
    expect(await next([shop], [1])).toBeNull();
    expect(await next([], ALL)).toBeNull();
    expect(await next([shop, books], ALL, T + MINUTE)).toBe(T + 2 * MINUTE);
    expect(await next([shop], ALL, T + 3 * MINUTE)).toBeNull();
  });
});

describe('an attempt that ended', () => {
  test('well settles its delivery and is kept', async () => {
    const [id] = (await lane('a', [{}])) as [number];
    expect(await settled(id, { at: T + 5, excerpt: 'ok' })).toEqual(new Set([id]));
    expect(await row(id)).toMatchObject({ status: 'delivered', attempts: 1, settledAt: T + 5, error: null });
    const [kept] = await sql`select took_ms, http_status, excerpt from purchase_watch_internal.deliveries where id = ${id}`;
    expect(kept).toEqual({ tookMs: 13, httpStatus: 204, excerpt: 'ok' });
    expect(await sql`select from purchase_watch_internal.attempts`).toHaveLength(0);
  });

  test('badly is due again at its moment, and says why', async () => {
    const [id] = (await lane('a', [{}])) as [number];
    await failed(id, T + 5 * MINUTE);
    expect(await row(id)).toEqual({
      status: 'pending',
      due: T + 5 * MINUTE,
      attempts: 1,
      settledAt: null,
      error: 'The receiver answers 503.',
    });
    expect(await loaded()).toEqual([]);
    expect(await loaded({ now: T + 5 * MINUTE })).toEqual([id]);
    const attempts =
      await sql`select number, took_ms, http_status, outcome, fault, excerpt from purchase_watch_internal.attempts where delivery = ${id}`;
    expect([...attempts]).toEqual([
      { number: 1, tookMs: 13, httpStatus: 503, outcome: 'http_503', fault: 'receiver', excerpt: null },
    ]);
  });

  test('badly through us does not count on its schedule', async () => {
    const [id] = (await lane('a', [{}])) as [number];
    await settled(id, { status: 'pending', dueAt: T + MINUTE, fault: 'ours' });
    const [delivery] = (await load({ now: T + MINUTE })).rows;
    expect(delivery).toMatchObject({ attempts: 1, attemptsBefore: 1 });
  });

  test('for the last time is exhausted', async () => {
    const [id] = (await lane('a', [{}])) as [number];
    await settled(id, { status: 'exhausted' });
    expect(await row(id)).toMatchObject({ status: 'exhausted', settledAt: T });
  });

  test('for the last time, while somebody asked for it to be sent again, is not the end', async () => {
    const [id] = (await lane('a', [{}])) as [number];
    await failed(id, T);
    const last = await attempt(id, { status: 'exhausted' });
    await retryDelivery(sql, id);
    await settle(sql, [last], me);
    expect(await row(id)).toMatchObject({ status: 'pending', attempts: 2, due: T, settledAt: null });
  });

  test('is recorded once, however often it is told', async () => {
    const [id] = (await lane('a', [{}])) as [number];
    const ended = await attempt(id);
    expect(await settle(sql, [ended], me)).toEqual(new Set([id]));
    expect(await settle(sql, [ended], me)).toEqual(new Set());
    const [other] = (await lane('b', [{}])) as [number];
    const bad = await attempt(other, { status: 'exhausted' });
    expect(await settle(sql, [bad], me)).toEqual(new Set([other]));
    expect(await settle(sql, [bad], me)).toEqual(new Set());
    expect(await sql`select from purchase_watch_internal.attempts`).toHaveLength(1);
  });

  test('is refused when it comes after a later one', async () => {
    const [id] = (await lane('a', [{}])) as [number];
    const first = await attempt(id, { status: 'pending', dueAt: T + MINUTE, fault: 'ours' });
    expect(await settle(sql, [first], me)).toEqual(new Set([id]));
    await failed(id, T + 30 * MINUTE);
    expect(await settle(sql, [first], me)).toEqual(new Set());
    expect(await row(id)).toMatchObject({ attempts: 2, due: T + 30 * MINUTE });
    expect((await load({ now: T + 30 * MINUTE })).rows[0]).toMatchObject({ attempts: 2, attemptsBefore: 1 });
  });

  test('does not count for a delivery that is to be sent again since', async () => {
    const [id] = (await lane('a', [{}])) as [number];
    const ended = await attempt(id);
    await settle(sql, [ended], me);
    await retryDelivery(sql, id);
    expect(await settle(sql, [ended], me)).toEqual(new Set());
    expect(await row(id)).toMatchObject({ status: 'pending', attempts: 1 });
  });

  test('on a shard that has another owner or epoch is refused, and changes nothing', async () => {
    const [lost, ours] = [(await lane('a', [{ shard: 1 }]))[0]!, (await lane('b', [{ shard: 2 }]))[0]!];
    const batch = [await attempt(lost), await attempt(ours)];
    await sql`update purchase_watch_internal.shards set epoch = epoch + 1 where id = 1`;
    expect(await settle(sql, batch, me)).toEqual(new Set([ours]));
    expect(await row(lost)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(await sql`select from purchase_watch_internal.attempts where delivery = ${lost}`).toHaveLength(0);
    expect(await settle(sql, [await attempt(lost)], { ...me, replica: 'other' })).toEqual(new Set());
  });

  test.each(['delivered', 'pending', 'exhausted'] as const)(
    '%s: of a delivery whose id was given to another one is refused, also when the row is older than its mark',
    async (status) => {
      const ids = (await Promise.all(['a', 'b', 'c'].map((name) => lane(name, [{}])))).flat();
      await sql`update purchase_watch_internal.deliveries set mark = null where id = ${ids[2]!}`;
      const [another, subscriber, same] = await Promise.all(ids.map((id) => attempt(id, { status, dueAt: T + MINUTE })));
      const lost = [
        { ...another!, delivery: { ...another!.delivery, mark: another!.delivery.mark! + 1 } },
        { ...subscriber!, delivery: { ...subscriber!.delivery, subscriber: books } },
      ];
      // The result of the row itself may come in the same batch.
      expect(await settle(sql, [...lost, same!, { ...lost[0]!, delivery: { ...lost[0]!.delivery, id: ids[2]! } }], me)).toEqual(
        new Set([ids[2]]),
      );
      expect(await Promise.all(ids.map(row))).toMatchObject([
        { status: 'pending', attempts: 0, due: T },
        { status: 'pending', attempts: 0, due: T },
        { status, attempts: 1 },
      ]);
      const kept = await sql<{ delivery: number }[]>`select delivery::float8 as delivery from purchase_watch_internal.attempts`;
      expect(kept.map(({ delivery }) => delivery)).toEqual(status === 'delivered' ? [] : [ids[2]]);
    },
  );

  test('of many settles each in its own way', async () => {
    const [a, b, c] = [(await lane('a', [{}]))[0]!, (await lane('b', [{}]))[0]!, (await lane('c', [{}]))[0]!];
    const batch = [
      await attempt(a),
      await attempt(b, { status: 'pending', dueAt: T + MINUTE }),
      await attempt(c, { status: 'exhausted' }),
    ];
    expect(await settle(sql, batch, me)).toEqual(new Set([a, b, c]));
    expect(await Promise.all([a, b, c].map(async (id) => (await row(id)).status))).toEqual(['delivered', 'pending', 'exhausted']);
  });
});

describe('in a lane', () => {
  test('a failure puts off what waits behind it, and nothing else', async () => {
    const [first, second, third] = (await lane('a', [{}, {}, {}])) as [number, number, number];
    const [told] = (await lane('b', [{ subscriber: books }, {}])) as [number, number];
    const [other] = (await lane('c', [{}])) as [number];
    await failed(first, T + 5 * MINUTE);
    expect(await dues([first, second, third])).toEqual([T + 5 * MINUTE, T + 5 * MINUTE, T + 5 * MINUTE]);
    expect(await dues([told, other])).toEqual([T, T]);
  });

  test('a failure of what is not replayed puts off what is; a replayed one that fails puts off no other', async () => {
    const [replayed, live] = (await lane('a', [{}, {}])) as [number, number];
    await sql`update purchase_watch_internal.deliveries set rank = 2 where id = ${replayed}`;
    await failed(live, T + 5 * MINUTE);
    expect(await dues([replayed])).toEqual([T + 5 * MINUTE]);
    const [again, fresh] = (await lane('b', [{}, {}])) as [number, number];
    await sql`update purchase_watch_internal.deliveries set rank = 2 where id = ${again}`;
    await failed(again, T + 5 * MINUTE);
    expect(await dues([fresh])).toEqual([T]);
  });

  test('the same purchase told to another subscriber does not wait', async () => {
    const [first, others] = (await lane('a', [{}, { subscriber: books }])) as [number, number];
    await failed(first, T + 5 * MINUTE);
    expect(await dues([others])).toEqual([T]);
  });

  test('what is before the failed one, or due later anyway, stays as it is', async () => {
    const [before, failing, later] = (await lane('a', [{}, {}, { dueAt: T + 60 * MINUTE }])) as [number, number, number];
    await failed(failing, T + 5 * MINUTE);
    expect(await dues([before, later])).toEqual([T, T + 60 * MINUTE]);
  });

  test('what was put off is due at once when the first one is through', async () => {
    const [first, second, third] = (await lane('a', [{}, {}, {}])) as [number, number, number];
    await failed(first, T + 5 * MINUTE);
    await settled(first, { at: T + 6 * MINUTE });
    expect(await dues([second, third])).toEqual([T + 5 * MINUTE, T + 5 * MINUTE]);
    await failed(second, T + 30 * MINUTE, T + 6 * MINUTE);
    await settled(second, { at: T + 7 * MINUTE });
    expect(await dues([third])).toEqual([T + 7 * MINUTE]);
  });

  test('and when the first one is given up', async () => {
    const [first, second] = (await lane('a', [{}, {}])) as [number, number];
    await failed(first, T + 24 * 60 * MINUTE);
    await settled(first, { status: 'exhausted', at: T + MINUTE });
    expect(await dues([second])).toEqual([T + MINUTE]);
  });

  test('also when the connection was lost in the midst and the settlement is written again', async () => {
    for (const lost of [1, 2]) {
      const [first, second] = (await lane(`lost-${lost}`, [{}, {}])) as [number, number];
      await failed(first, T + 24 * 60 * MINUTE);
      const through = await attempt(first, { at: T + MINUTE });
      let statement = 0;
      const losing = ((...given: Parameters<Sql>) => {
        statement += 1;
        if (statement === lost) throw new Error('connection lost');
        return sql(...given);
      }) as unknown as Sql;
      await expect(settle(losing, [through], me)).rejects.toThrow('connection lost');
      await settle(sql, [through], me);
      expect(await dues([second])).toEqual([T + MINUTE]);
    }
  });

  test('a first try that succeeds looks at nothing else', async () => {
    const [first, second] = (await lane('a', [{}, { dueAt: T + 60 * MINUTE }])) as [number, number];
    await settled(first);
    expect(await dues([second])).toEqual([T + 60 * MINUTE]);
  });

  test('what waits behind one that failed often is read after it, and is new again when it is freed', async () => {
    const [first, second] = (await lane('a', [{}, {}])) as [number, number];
    const rankOf = async (id: number) =>
      (await sql<[{ rank: number }]>`select rank from purchase_watch_internal.deliveries where id = ${id}`)[0].rank;
    await settled(first, { status: 'pending', dueAt: T + MINUTE, rank: 1 });
    expect([await rankOf(first), await rankOf(second)]).toEqual([1, 1]);
    expect(await loaded({ now: T + MINUTE, limit: 1 })).toEqual([first]);
    await settled(first, { at: T + 2 * MINUTE });
    expect(await rankOf(second)).toBe(0);
  });

  test('one that was tried already is freed like the others', async () => {
    const [first, second] = (await lane('a', [{}, {}])) as [number, number];
    await failed(second, T + 30 * MINUTE);
    await failed(first, T + 60 * MINUTE);
    expect(await dues([second])).toEqual([T + 60 * MINUTE]);
    await settled(first, { at: T + 2 * MINUTE });
    expect(await dues([second])).toEqual([T + 2 * MINUTE]);
  });

  test('what failed on a shard that was lost puts nothing off', async () => {
    const [first, second] = (await lane('a', [{}, {}])) as [number, number];
    const ended = await attempt(first, { status: 'pending', dueAt: T + 5 * MINUTE });
    await sql`update purchase_watch_internal.shards set owner = 'other'`;
    await settle(sql, [ended], me);
    expect(await dues([first, second])).toEqual([T, T]);
  });

  test('putting off several lanes at once keeps them apart, and never brings anything forward', async () => {
    const [a1, a2] = (await lane('a', [{}, {}])) as [number, number];
    const [b1, b2, b3] = (await lane('b', [{}, {}, { dueAt: T + 60 * MINUTE }])) as [number, number, number];
    const [first, second] = [(await attempt(a1)).delivery, (await attempt(b1)).delivery];
    const waits = (id: number, until: number) =>
      sql`update purchase_watch_internal.deliveries set due_at = to_timestamp(${until}::float8 / 1000) where id = ${id}`;
    await waits(a1, T + MINUTE);
    await waits(b1, T + 2 * MINUTE);
    await putOff(sql, [
      { ...first, head: a1, isReplayed: false, dueAt: T + MINUTE },
      { ...second, head: b1, isReplayed: false, dueAt: T + 2 * MINUTE },
    ]);
    expect(await dues([a2, b2, b3])).toEqual([T + MINUTE, T + 2 * MINUTE, T + 60 * MINUTE]);
    await putOff(sql, [{ ...second, head: b1, isReplayed: false, rank: 0, dueAt: T - MINUTE }]);
    expect(await dues([b2])).toEqual([T + 2 * MINUTE]);
    await putOff(sql, []);
  });

  test('nothing is put off late, behind what was sent meanwhile or is due sooner', async () => {
    const [first, second] = (await lane('a', [{}, {}])) as [number, number];
    const { delivery } = await attempt(first);
    const late = { ...delivery, head: first, isReplayed: false, dueAt: T + 60 * MINUTE };
    await putOff(sql, [late]);
    expect(await dues([second])).toEqual([T]);
    await failed(first, T + 60 * MINUTE);
    expect(await dues([second])).toEqual([T + 60 * MINUTE]);
    await settled(first, { at: T + MINUTE });
    await putOff(sql, [late]);
    expect(await dues([second])).toEqual([T + MINUTE]);
  });

  test('nothing is put off behind a delivery of another lane, whose id was handed out again, or behind one that comes later', async () => {
    const [other] = (await lane('a', [{ dueAt: T + 60 * MINUTE }])) as [number];
    const [first, second] = (await lane('b', [{}, {}])) as [number, number];
    const [third] = (await lane('c', [{ dueAt: T + 60 * MINUTE, subscriber: books }])) as [number];
    const { delivery } = await attempt(first);
    const late = { ...delivery, head: other, isReplayed: false, dueAt: T + 60 * MINUTE };
    await putOff(sql, [late]);
    await putOff(sql, [{ ...late, head: third }]);
    await failed(second, T + 60 * MINUTE);
    await putOff(sql, [{ ...late, head: second, position: delivery.position - 1 }]);
    expect(await dues([first])).toEqual([T]);
  });
});

test('attempts are counted by hour, answer and time, once each', async () => {
  await sql`truncate purchase_watch_internal.delivery_hours, purchase_watch_internal.delivery_hour_changes`;
  const [one, two] = (await lane('counted', [{}, {}])) as [number, number];
  await failed(one, T + MINUTE);
  await settled(one, { at: T + 50 * MINUTE });
  const last = await attempt(two);
  await settle(sql, [last], me);
  await settle(sql, [last], me);
  expect(await foldDeliveryHours(sql)).toBe(3);
  expect(await foldDeliveryHours(sql)).toBe(0);
  const rows = await sql`
    select extract(epoch from hour)::float8 * 1000 - ${T} as after, delivered, status_class, bucket, attempts::integer as attempts
    from purchase_watch_internal.delivery_hours order by hour, delivered`;
  const of = { bucket: 2, attempts: 1 };
  expect(rows).toEqual([
    { ...of, after: -15 * MINUTE, delivered: false, statusClass: 5 },
    { ...of, after: -15 * MINUTE, delivered: true, statusClass: 2 },
    { ...of, after: 45 * MINUTE, delivered: true, statusClass: 2 },
  ]);
});
