import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { digestOfDetails } from '../../../src/checkout/client.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';
import type { Queries } from '../../../src/postgres/connection/database.ts';
import { FIRST_BULK_SLOT } from '../../../src/postgres/migrations/names.ts';
import {
  type Cursor,
  dropNudges,
  dropNudgesOf,
  dueSlot,
  LAST_SLOT,
  loadDue as loadAllDue,
  loadAttached,
  loadPurchases,
  type QueuedPurchase,
  type QueueRead,
  readNudged,
} from '../../../src/postgres/polling/queue.ts';
import { purchaseToAsk } from '../../../src/postgres/polling/site-reach.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { findPurchases, type PurchaseRow, requestPoll } from '../../../src/postgres/purchases/purchases.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const ALL = Array.from({ length: 64 }, (_, shard) => shard);
const FROM_THE_BEGINNING = ALL.map((shard): Cursor => ({ shard, slot: -1, id: 0 }));
const END = Number.MAX_SAFE_INTEGER;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['default']);
  await database.sql`update purchase_watch_internal.shards set owner = 'owner'`;
});
afterAll(() => database.drop());
beforeEach(() => database.sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges cascade`);

/** Purchases due in the given slots, all in the given shards in turn; answers their row ids. */
async function queue(slots: readonly number[], shards: readonly number[] = [0]): Promise<number[]> {
  const { sql } = database;
  await sql`insert into purchase_watch.purchases (purchase_id, next_poll_at)
    select 'p-' || gen_random_uuid(), to_timestamp(slot * 10 + 3) from unnest(${`{${slots.join()}}`}::integer[]) with ordinality u (slot, place)
    order by place`;
  const rows = await sql<
    { id: number }[]
  >`select id::float8 as id from purchase_watch.purchases order by id desc limit ${slots.length}`;
  const ids = rows.map(({ id }) => id).reverse();
  const placed = ids.map((_, index) => shards[index % shards.length]!);
  await sql`update purchase_watch.purchases p set shard = r.shard
    from unnest(${`{${ids.join()}}`}::bigint[], ${`{${placed.join()}}`}::smallint[]) as r (id, shard) where p.id = r.id`;
  return ids;
}
const loadDue = async (sql: Queries, read: QueueRead) => (await loadAllDue(sql, [read]))[0]!;
const idsOf = (rows: readonly QueuedPurchase[]): number[] => rows.map(({ purchase }) => purchase.id);
const sorted = (ids: readonly number[]): number[] => ids.toSorted((a, b) => a - b);

/** Reads on until every cursor has come through the slot; answers each read. */
async function readThrough(cursors: Cursor[], through: number, limit: number): Promise<{ reads: number[][]; cursors: Cursor[] }> {
  const reads: number[][] = [];
  let at = cursors;
  for (;;) {
    const behind = at.filter(({ slot, id }) => slot < through || (slot === through && id !== END));
    if (behind.length === 0) return { reads, cursors: at };
    const { rows, cursors: moved } = await loadDue(database.sql, { site: 'default', cursors: behind, through, limit });
    reads.push(idsOf(rows));
    at = at.map((cursor) => moved.find(({ shard }) => shard === cursor.shard) ?? cursor);
  }
}

test('a slot is ten seconds, and the same in the database', async () => {
  const instants = [0, 9_999, 10_000, Date.UTC(2026, 10, 20, 9, 15, 9, 999), Date.UTC(2026, 10, 20, 9, 15, 10)];
  const rows = await database.sql<{ slot: number }[]>`
    select purchase_watch_internal.due_slot(to_timestamp(at / 1000)) as slot from unnest(${`{${instants.join()}}`}::float8[]) at`;
  expect(rows.map(({ slot }) => slot)).toEqual(instants.map(dueSlot));
  expect(dueSlot(9_999)).toBe(0);
});

describe('reading what is due', () => {
  test('brings everything an owner must know of a purchase', async () => {
    const { sql } = database;
    const [id] = await queue([100]);
    await sql`update purchase_watch.purchases set purchase_id = 'p-1', state = 6, state_since = to_timestamp(900.123), stuck_since = to_timestamp(901.5), at_risk_since = to_timestamp(901.7),
      polls = 12, seen_at = to_timestamp(902), watched_since = to_timestamp(800), excused_ms = 77, failures = 2, unknowns = 1, sequence = 5, invoice = 'wanted',
      revision = 4, reference = 'ORD-1', metadata = '{"a": 1.50}'`;
    await sql`insert into purchase_watch_internal.purchase_details values (${id!}, '{"Price":249.50}'::text::json)`;
    const { rows } = await loadDue(sql, { site: 'default', cursors: [{ shard: 0, slot: -1, id: 0 }], through: 100, limit: 10 });
    const purchase = {
      id,
      site: 'default',
      purchaseId: 'p-1',
      shard: 0,
      revision: 4,
      polls: 12,
      status: 'watching',
      state: 6,
      stateSince: 900_123,
      excused: 77,
      stuckSince: 901_500,
      atRiskSince: 901_700,
      seenAt: 902_000,
      watchedSince: 800_000,
      failures: 2,
      unknowns: 1,
      invoice: 'wanted',
      sequence: 5,
      detailsDigest: digestOfDetails({ Price: decimal('249.50') }),
      reference: 'ORD-1',
      hasMetadata: true,
    };
    expect(rows).toEqual([{ purchase, nextPollAt: 1_003_000, slot: 100, reason: 'first', isBulk: false }]);
    expect(await loadPurchases(sql, [id!])).toEqual(rows);
    const attached = { reference: 'ORD-1', metadata: '{"a": 1.50}', details: '{"Price":249.50}' };
    expect(await loadAttached(sql, { ids: [id!], details: [id!] })).toEqual(new Map([[id, attached]]));
    expect(await loadAttached(sql, { ids: [id!, id! + 1], details: [] })).toEqual(
      new Map([[id, { ...attached, details: null }]]),
    );
  });

  test('stops at the slot it was told, and leaves out what is not polled any more', async () => {
    const [first, second] = (await queue([10, 11, 12, 11])) as [number, number, number, number];
    await database.sql`update purchase_watch.purchases set next_poll_at = null, due_slot = null where id > ${second + 1}`;
    const { rows } = await loadDue(database.sql, { site: 'default', cursors: FROM_THE_BEGINNING, through: 11, limit: 10 });
    expect(sorted(idsOf(rows))).toEqual([first, second]);
  });

  test('reads only the shards it was asked for', async () => {
    const ids = await queue([1, 1, 1, 1], [3, 4]);
    const { rows } = await loadDue(database.sql, {
      site: 'default',
      cursors: [{ shard: 4, slot: -1, id: 0 }],
      through: 5,
      limit: 10,
    });
    expect(sorted(idsOf(rows))).toEqual([ids[1], ids[3]]);
    expect(await loadDue(database.sql, { site: 'default', cursors: [], through: 5, limit: 10 })).toEqual({
      rows: [],
      cursors: [],
    });
  });

  test("reads one site's queue: others have their own", async () => {
    const [ours, theirs] = (await queue([10, 10])) as [number, number];
    await syncSites(database.sql, ['default', 'se']);
    await database.sql`update purchase_watch.purchases set site = 'se' where id = ${theirs}`;
    const of = async (site: string) =>
      idsOf((await loadDue(database.sql, { site, cursors: FROM_THE_BEGINNING, through: 20, limit: 1 })).rows);
    expect([await of('default'), await of('se'), await of('no')]).toEqual([[ours], [theirs], []]);
  });

  test('reads queues of several sites in one statement, each as far and as much as it is asked to', async () => {
    await syncSites(database.sql, ['default', 'se']);
    const ids = await queue([10, 11, 12, 10, 11, 12]);
    await database.sql`update purchase_watch.purchases set site = 'se' where id >= ${ids[3]!}`;
    const cursors = [{ shard: 0, slot: -1, id: 0 }];
    const [none, ours, theirs] = await loadAllDue(database.sql, [
      { site: 'no', cursors, through: 12, limit: 5 },
      { site: 'default', cursors, through: 11, limit: 5 },
      { site: 'se', cursors, through: 12, limit: 1 },
    ]);
    expect(none).toEqual({ rows: [], cursors: [{ shard: 0, slot: 12, id: END }] });
    expect([idsOf(ours!.rows), ours!.cursors]).toEqual([ids.slice(0, 2), [{ shard: 0, slot: 11, id: END }]]);
    expect([idsOf(theirs!.rows), theirs!.cursors]).toEqual([[ids[3]], [{ shard: 0, slot: 10, id: ids[3] }]]);
  });

  test('takes the oldest slot first, however late it was registered', async () => {
    const ids = await queue([30, 20, 10]);
    const { reads } = await readThrough([{ shard: 0, slot: -1, id: 0 }], 40, 1);
    expect(reads.flat()).toEqual(ids.toReversed());
  });

  test('a full read moves the cursor to its last row, a shorter one to the end of the slot', async () => {
    const ids = await queue([10, 10, 10]);
    const first = await loadDue(database.sql, {
      site: 'default',
      cursors: [{ shard: 0, slot: -1, id: 0 }],
      through: 12,
      limit: 2,
    });
    expect(first.cursors).toEqual([{ shard: 0, slot: 10, id: ids[1] }]);
    const second = await loadDue(database.sql, { site: 'default', cursors: first.cursors, through: 12, limit: 2 });
    expect(idsOf(second.rows)).toEqual([ids[2]]);
    expect(second.cursors).toEqual([{ shard: 0, slot: 12, id: END }]);
  });

  test('skips nothing and repeats nothing, whatever lies where and however little is read at once', async () => {
    const slots = fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(slots, fc.integer({ min: 1, max: 7 }), fc.integer({ min: 0, max: 6 }), async (before, limit, pause) => {
        await database.sql`truncate purchase_watch.purchases cascade`;
        const shards = [0, 1, 2];
        const ids = await queue(before, shards);
        const cursors = shards.map((shard) => ({ shard, slot: -1, id: 0 }));
        const first = await readThrough(cursors, pause, limit);
        const rest = await readThrough(first.cursors, 6, limit);
        expect(sorted(first.reads.flat())).toEqual(ids.filter((_, index) => before[index]! <= pause));
        expect(sorted([...first.reads, ...rest.reads].flat())).toEqual(ids);
        expect(first.reads.every((read) => read.length <= limit * shards.length)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  test('comes again to a row that was put behind the cursor, and to one that arrived there', async () => {
    const [polled] = (await queue([10, 11])) as [number, number];
    const { cursors } = await readThrough([{ shard: 0, slot: -1, id: 0 }], 11, 10);
    await database.sql`update purchase_watch.purchases set next_poll_at = to_timestamp(125), due_slot = 12 where id = ${polled}`;
    const [arrived] = (await queue([12])) as [number];
    const { reads } = await readThrough(cursors, 12, 10);
    expect(reads.flat()).toEqual([polled, arrived]);
  });

  test('reads past what is due later than it was told', async () => {
    const [kept, late] = await queue([100, 101]);
    await database.sql`update purchase_watch.purchases set next_poll_at = to_timestamp(1500) where id = ${kept!}`;
    const read: QueueRead = { site: 'default', cursors: FROM_THE_BEGINNING, through: 101, limit: 1 };
    const idsOf = async (dueBefore: number | null) =>
      (await loadAllDue(database.sql, [read], dueBefore))[0]!.rows.map(({ purchase }) => purchase.id);
    expect([await idsOf(null), await idsOf(1_100_000), await idsOf(1_013_000)]).toEqual([[kept], [late], []]);
  });

  test('costs an index range, whatever waits elsewhere', async () => {
    const { sql } = database;
    await queue(Array.from({ length: 20 }, () => 5));
    await queue(
      Array.from({ length: 4_000 }, (_, index) => 1_000 + index),
      ALL,
    );
    await sql`analyze purchase_watch.purchases`;
    const cost = await rowsRead(sql, 'purchases', async (tx) => {
      const { rows } = await loadDue(tx, { site: 'default', cursors: FROM_THE_BEGINNING, through: 6, limit: 100 });
      expect(rows).toHaveLength(20);
    });
    expect(cost).toEqual({ scanned: 0, fetched: 20 });
  });
});

describe('nudges', () => {
  const nudgeAll = async (): Promise<void> => {
    await database.sql`delete from purchase_watch_internal.nudges`;
    await database.sql`insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from purchase_watch.purchases order by id`;
  };

  const holding = (...shards: number[]) => ({ replica: 'owner', holdings: shards.map((shard) => ({ shard, epoch: 0 })) });
  const read = (shards: number[], limit = 10) => readNudged(database.sql, { shards, limit });

  test('are read newest first, so many at a time, with the purchase as it is now, until they are dropped', async () => {
    const ids = await queue([10, 10, 10]);
    await nudgeAll();
    await database.sql`update purchase_watch.purchases set revision = 9 where id = ${ids[2]!}`;
    const first = await read([0], 2);
    expect([sorted(idsOf(first.rows)), first.more]).toEqual([ids.slice(1), true]);
    expect(first.rows.find(({ purchase }) => purchase.id === ids[2])!.purchase.revision).toBe(9);
    // Nothing is lost when whoever read them is gone.
    expect(idsOf((await read([0])).rows).length).toBe(3);
    await dropNudges(
      database.sql,
      first.rows.flatMap(({ nudges }) => nudges),
      holding(0),
    );
    const rest = await read([0], 2);
    expect([idsOf(rest.rows), rest.more]).toEqual([[ids[0]], false]);
  });

  test('of purchases that were deleted are told apart, so that they do not stand in the way of others', async () => {
    const ids = await queue([10, 10]);
    await nudgeAll();
    await database.sql`delete from purchase_watch.purchases where id = ${ids[1]!}`;
    const first = await read([0], 1);
    expect([first.rows, first.orphans.length, first.more]).toEqual([[], 1, true]);
    await dropNudges(database.sql, first.orphans, holding(0));
    expect(idsOf((await read([0], 1)).rows)).toEqual([ids[0]]);
  });

  test('of other shards are left to their owners', async () => {
    const ids = await queue([10, 10], [3, 4]);
    await nudgeAll();
    expect(idsOf((await read([3])).rows)).toEqual([ids[0]]);
    await dropNudgesOf(database.sql, holding(3));
    expect(idsOf((await read([3, 4])).rows)).toEqual([ids[1]]);
    await dropNudgesOf(database.sql, holding(3, 4));
    expect((await read(ALL)).rows).toEqual([]);
  });

  test('of shards that another replica owns by now stay for it', async () => {
    const ids = await queue([10, 10], [3, 4]);
    await nudgeAll();
    const { rows } = await read([3, 4]);
    const before = holding(3, 4);
    await database.sql`update purchase_watch_internal.shards set owner = 'successor', epoch = epoch + 1 where id = 3`;
    await dropNudges(
      database.sql,
      rows.flatMap(({ nudges }) => nudges),
      before,
    );
    expect(idsOf((await read(ALL)).rows)).toEqual([ids[0]]);
    await dropNudgesOf(database.sql, before);
    expect(idsOf((await read(ALL)).rows)).toEqual([ids[0]]);
    await database.sql`update purchase_watch_internal.shards set owner = 'owner', epoch = 0 where id = 3`;
  });

  test('that say the same bring a purchase once, and are dropped together', async () => {
    const [id] = (await queue([10])) as [number];
    await nudgeAll();
    await database.sql`insert into purchase_watch_internal.nudges (purchase, shard) values (${id}, 0), (${id}, 0)`;
    const { rows, more } = await read([0], 3);
    expect([idsOf(rows), rows[0]!.nudges.length, more]).toEqual([[id], 3, true]);
    await dropNudges(database.sql, rows[0]!.nudges, holding(0));
    expect(await database.sql`select from purchase_watch_internal.nudges`).toHaveLength(0);
  });

  test('that come while others are taken over stay', async () => {
    const [id] = (await queue([10])) as [number];
    await nudgeAll();
    const { rows } = await read([0]);
    await database.sql`insert into purchase_watch_internal.nudges (purchase, shard) values (${id}, 0)`;
    await dropNudges(database.sql, rows[0]!.nudges, holding(0));
    expect(idsOf((await read([0])).rows)).toEqual([id]);
  });

  test('are not seen before what they tell of', async () => {
    const { sql } = database;
    await queue([10]);
    await sql`update purchase_watch.purchases set purchase_id = 'p-1', next_poll_at = now() + interval '1 day'`;
    await sql`delete from purchase_watch_internal.nudges`;
    const [purchase] = (await findPurchases(sql, { purchaseId: 'p-1', site: null })) as [PurchaseRow];
    const committed = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const asking = sql.begin(async (tx) => {
      await requestPoll(tx, purchase);
      asked.resolve();
      await committed.promise;
    });
    await asked.promise;
    expect((await read(ALL)).rows).toEqual([]);
    committed.resolve();
    await asking;
    expect((await read(ALL)).rows[0]!.purchase.revision).toBe(1);
  });
});

describe('first polls of bulk registrations', () => {
  beforeEach(
    () => database.sql`insert into purchase_watch.purchases (purchase_id) select 'p-' || i from generate_series(1, 60) i`,
  );

  test('are met by no reading of other polls, and read to their end in one of their own', async () => {
    const cursors = ALL.map((shard) => ({ shard, slot: FIRST_BULK_SLOT - 1, id: 0 }));
    const others = await loadDue(database.sql, {
      site: 'default',
      cursors: FROM_THE_BEGINNING,
      through: FIRST_BULK_SLOT - 1,
      limit: 100,
    });
    expect(others.rows).toEqual([]);
    const read = await loadDue(database.sql, { site: 'default', cursors, through: LAST_SLOT, limit: 100 });
    expect([read.rows.length, read.rows.every(({ isBulk }) => isBulk)]).toEqual([60, true]);
    expect(new Set(read.cursors.map(({ slot }) => slot))).toEqual(new Set([LAST_SLOT]));
  });

  test('are due: none of these purchases may be asked for in a call beside the queue', async () => {
    expect(await purchaseToAsk(database.sql, { site: 'default', after: 0 })).toBeNull();
    const [later] = await queue([dueSlot(Date.now()) + 100]);
    expect(await purchaseToAsk(database.sql, { site: 'default', after: Date.now() })).toMatchObject({ id: later });
    // A daemon keeps it in memory, so that its row lies where an earlier poll was due.
    await database.sql`update purchase_watch.purchases set due_slot = purchase_watch_internal.due_slot(now() - interval '1 minute') where id = ${later!}`;
    expect(await purchaseToAsk(database.sql, { site: 'default', after: Date.now() })).toMatchObject({ id: later });
    expect(await purchaseToAsk(database.sql, { site: 'default', after: Date.now() + 2_000_000 })).toBeNull();
  });
});
