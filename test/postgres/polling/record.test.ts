import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { decide } from '../../../src/domain/deciding/decide.ts';
import type { DecideContext } from '../../../src/domain/deciding/outcome.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import { POLL_REASONS } from '../../../src/domain/polling/poll-reason.ts';
import type { Observation, Purchase } from '../../../src/domain/purchases/purchase.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { dueSlot, loadPurchases } from '../../../src/postgres/polling/queue.ts';
import { type Decided, recordChanged, recordUnchanged } from '../../../src/postgres/polling/record.ts';
import { readHistory, writeRepaired } from '../../../src/postgres/polling/repair.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { findPurchases, stopPurchase, transitionsOf } from '../../../src/postgres/purchases/purchases.ts';
import { renewReplica, takeShards } from '../../../src/postgres/shards/replicas.ts';
import { syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { answer, trouble } from '../../support/a-purchase.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const SECOND = 1_000;
const T = Date.UTC(2026, 10, 20, 9, 15);
const EPOCH = 3;
const context = { replica: 'me', holdings: Array.from({ length: 64 }, (_, shard) => ({ shard, epoch: EPOCH })) };

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await syncSites(sql, ['default', 'se']);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges, purchase_watch_internal.unknown_states, purchase_watch_internal.subscribers cascade`;
  await sql`delete from purchase_watch_internal.events`;
  await sql`update purchase_watch_internal.shards set owner = 'me', epoch = ${EPOCH}`;
});

/** Registers purchases and reads them as their owner does. */
async function watched(...ids: string[]): Promise<Purchase[]> {
  const rows = await sql<{ id: number }[]>`
    insert into purchase_watch.purchases (purchase_id) select unnest(${ids}::text[]) returning id::float8 as id`;
  const loaded = await loadPurchases(
    sql,
    rows.map(({ id }) => id),
  );
  return loaded.map(({ purchase }) => purchase).sort((a, b) => a.id - b.id);
}
const watchedOne = async (): Promise<Purchase> => (await watched('p-1'))[0]!;
const reloaded = async ({ id }: Purchase) => (await loadPurchases(sql, [id]))[0]!;

/** A poll that was answered at the given moment, with the slot its plan asks for unless another is given. */
function polled(
  purchase: Purchase,
  seen: Observation,
  at: number,
  differs: Partial<DecideContext> & { slot?: number } = {},
): Decided {
  const { slot, ...rest } = differs;
  const outcome = decide(purchase, seen, { askedAt: at, now: at, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 0, ...rest });
  const planned = outcome.nextPollAt === null ? null : dueSlot(outcome.nextPollAt);
  return { outcome, askedAt: at, now: at, slot: slot ?? planned };
}
/** Polls and records as the recorder would; answers the purchase as it is then. */
async function live(purchase: Purchase, seen: Observation, at: number): Promise<Purchase> {
  const decided = polled(purchase, seen, at);
  const write = decided.outcome.kind === 'changed' ? recordChanged : recordUnchanged;
  const { ids } = await write(sql, [decided], context);
  expect(ids).toEqual(new Set([purchase.id]));
  return decided.outcome.purchase;
}
const events = () => sql<{ type: string; sequence: number | null; purchase: number | null; site: string; body: string }[]>`
  select type, sequence, purchase::float8 as purchase, site, body from purchase_watch_internal.events order by position`;

test('the database has the words of the domain for why a poll is planned', async () => {
  const [type] = await sql`select enum_range(null::purchase_watch_internal.poll_reason)::text[] as words`;
  expect(type).toEqual({ words: POLL_REASONS });
});

test('a row that is repaired is due at once, and says why', async () => {
  const purchase = await watchedOne();
  const [before] = await sql`
    update purchase_watch.purchases set next_poll_at = now() + interval '1 day', next_poll_reason = 'growth'
    returning next_poll_reason as reason`;
  expect(before).toEqual({ reason: 'growth' });
  const me = { replica: 'me', holding: { shard: purchase.shard, epoch: EPOCH } };
  expect(await writeRepaired(sql, { ...purchase, sequence: 2 }, me)).toBe(true);
  const row = () => sql`select next_poll_at <= now() as due, next_poll_reason as reason from purchase_watch.purchases`;
  expect(await row()).toEqual([{ due: true, reason: 'repaired' }]);
  const { purchase: repaired } = await reloaded(purchase);
  expect(await writeRepaired(sql, { ...repaired, status: 'expired' }, me)).toBe(true);
  expect(await row()).toEqual([{ due: null, reason: null }]);
});

test('a repair never waits for a row that another session has locked', async () => {
  const purchase = await watchedOne();
  const me = { replica: 'me', holding: { shard: purchase.shard, epoch: EPOCH } };
  const hasty = connect(database.url, { max: 1, sessionLimits: { lock_timeout: 500 } });
  await sql.begin(async (tx) => {
    await tx`select from purchase_watch.purchases for update`;
    expect(await writeRepaired(hasty, { ...purchase, sequence: 2 }, me)).toBe(false);
  });
  expect(await writeRepaired(hasty, { ...purchase, sequence: 2 }, me)).toBe(true);
  await hasty.end();
});

describe('what is recorded', () => {
  test('is what was decided: the row, read again, is the purchase in memory', async () => {
    let purchase = await watchedOne();
    let due = T;
    let polls = 0;
    const reasons: (string | null)[] = [];
    const sees = async (seen: Observation, late = 0): Promise<void> => {
      purchase = await live(purchase, seen, due + late);
      const row = await reloaded(purchase);
      expect(row.purchase).toEqual(purchase);
      const [planned] = await sql<{ reason: string | null }[]>`
        select next_poll_reason as reason from purchase_watch.current_purchases where purchase_id = 'p-1'`;
      if (planned!.reason !== reasons.at(-1)) reasons.push(planned!.reason);
      due = row.nextPollAt ?? due;
      polls += 1;
    };
    const atBank = answer(6, { Price: decimal('249.50') });
    await sees(atBank);
    await sees(trouble('malformed'));
    await sees(trouble('unknown'));
    await sees(atBank, 600 * SECOND);
    expect(purchase.excused).toBeGreaterThan(0);
    while (purchase.stuckSince === null) await sees(atBank);
    await sees(answer(6, { Price: decimal('1.00') }));
    await sees(answer(17));
    await sees(answer(2));
    // Moved, stuck, moved, recovered, moved.
    expect(purchase).toMatchObject({ status: 'settled', sequence: 5, state: 2, stuckSince: null });
    expect(reasons).toEqual(['growth', 'failure', 'growth', 'stuck_moment', 'growth', null]);
    const [shown] = await findPurchases(sql, { purchaseId: 'p-1', site: null });
    expect(shown).toMatchObject({ polls, nextPollAt: null, lastPolledAt: due, lastError: null });
    // Two of them came of one poll: positions keep their order all the same.
    const told = (await events()).filter((event) => event.purchase === purchase.id);
    expect(told.map(({ sequence, type }) => [sequence, type])).toEqual([
      [1, 'purchase.state_changed'],
      [2, 'purchase.stuck'],
      [3, 'purchase.state_changed'],
      [4, 'purchase.recovered'],
      [5, 'purchase.state_changed'],
    ]);
  });

  test('is a chain of transitions, each beginning where the last one ended', async () => {
    let purchase = await watchedOne();
    for (const [index, state] of [0, 1, 0, 6, 2].entries()) purchase = await live(purchase, answer(state), T + index * SECOND);
    expect(await transitionsOf(sql, purchase.id)).toEqual([
      { sequence: 1, from: null, to: 0, notBefore: null, notAfter: T },
      { sequence: 2, from: 0, to: 1, notBefore: T, notAfter: T + SECOND },
      { sequence: 3, from: 1, to: 0, notBefore: T + SECOND, notAfter: T + 2 * SECOND },
      { sequence: 4, from: 0, to: 6, notBefore: T + 2 * SECOND, notAfter: T + 3 * SECOND },
      { sequence: 5, from: 6, to: 2, notBefore: T + 3 * SECOND, notAfter: T + 4 * SECOND },
    ]);
    expect((await events()).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
  });

  test('keeps error and schedule of a failed poll, and no later good answer than there was', async () => {
    const seen = await live(await watchedOne(), answer(0), T);
    const failed = await live(seen, trouble('malformed', { reason: 'not_json' }), T + 30 * SECOND);
    const [shown] = await findPurchases(sql, { purchaseId: 'p-1', site: null });
    expect(shown).toMatchObject({ lastError: 'The service answers not_json.', failures: 1, lastPolledAt: T + 30 * SECOND });
    expect((await reloaded(failed)).purchase.seenAt).toBe(T);
    await live(failed, answer(0), T + 60 * SECOND);
    expect((await findPurchases(sql, { purchaseId: 'p-1', site: null }))[0]).toMatchObject({ lastError: null, failures: 0 });
  });

  test('lies in the queue where it was told, with the exact moment beside it', async () => {
    const purchase = await watchedOne();
    const decided = polled(purchase, answer(0), T + 7, { slot: 5 });
    await recordChanged(sql, [decided], context);
    expect(await reloaded(purchase)).toMatchObject({ nextPollAt: T + 10_007, slot: 5 });
  });

  test('tells each matching subscriber once, in the same transaction', async () => {
    const subscriber = {
      kind: 'webhook' as const,
      audience: 'systems' as const,
      format: 'standard' as const,
      types: null,
      sites: null,
      states: null,
      addressHash: 'x',
    };
    await syncSubscribers(sql, [
      { ...subscriber, name: 'all' },
      { ...subscriber, name: 'other site', sites: ['se'] },
      { ...subscriber, name: 'other state', states: [2] },
      { ...subscriber, name: 'other type', types: ['purchase.stuck'] },
      { ...subscriber, name: 'this one', types: ['purchase.state_changed'], sites: ['default'], states: [0] },
      { ...subscriber, name: 'people', kind: 'slack', audience: 'people' },
      { ...subscriber, name: 'off' },
    ]);
    await sql`update purchase_watch_internal.subscribers set status = 'off' where name = 'off'`;
    const purchase = await live(await watchedOne(), answer(0), T);
    const rows = await sql`
      select s.name, d.status, d.lane::float8 as lane, d.shard, (extract(epoch from d.due_at) * 1000)::float8 as due
      from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber order by s.id`;
    const common = { lane: purchase.id, shard: purchase.shard, due: T };
    expect([...rows]).toEqual([
      { name: 'all', status: 'pending', ...common },
      { name: 'this one', status: 'pending', ...common },
      { name: 'off', status: 'suppressed', ...common },
    ]);
  });

  test('wakes those who tell, and names each event, once it is committed', async () => {
    const purchase = await watchedOne();
    const said: string[] = [];
    const over = Promise.withResolvers<void>();
    const hear = (channel: string) => (payload: string) => {
      if (payload === 'end') over.resolve();
      else said.push(`${channel} ${payload}`);
    };
    const listening = await Promise.all(
      ['purchase_watch_events', 'purchase_watch_wake'].map((channel) => sql.listen(channel, hear(channel))),
    );
    await live(purchase, answer(0), T);
    await sql`select pg_notify('purchase_watch_wake', 'end')`;
    await over.promise;
    const [event] = await sql<{ id: string }[]>`select id from purchase_watch_internal.events`;
    expect(said.sort()).toEqual([`purchase_watch_events ${event!.id}`, 'purchase_watch_wake deliveries']);
    for (const { unlisten } of listening) await unlisten();
  });

  test('says what the merchant registered: the reference that memory holds, and metadata of the row', async () => {
    await sql`insert into purchase_watch.purchases (purchase_id, reference, metadata) values ('with', 'ORD-1', '{"a": 1.50}')`;
    await sql`insert into purchase_watch.purchases (purchase_id, reference) values ('without', 'ORD-2')`;
    const rows = await sql<{ id: number }[]>`select id::float8 as id from purchase_watch.purchases order by id`;
    const [first, second] = (
      await loadPurchases(
        sql,
        rows.map(({ id }) => id),
      )
    ).map(({ purchase }) => purchase);
    await live(first!, answer(6), T);
    await live(second!, answer(6), T);
    const bodies = (await events()).map(({ body }) => body);
    expect(bodies[0]).toContain('"reference":"ORD-1","metadata":{"a":1.50},');
    expect(bodies[1]).toContain('"reference":"ORD-2","metadata":null,');
  });

  test.each([
    { reference: 'ORD-2', metadata: null },
    { reference: 'ORD-1', metadata: '{"a": 1.50}' },
  ])('is refused once somebody changed by SQL what events carry: $reference $metadata', async ({ reference, metadata }) => {
    const found = await watchedOne();
    await sql`update purchase_watch.purchases set reference = 'ORD-1'`;
    const { purchase } = await reloaded(found);
    await sql`update purchase_watch.purchases set reference = ${reference}, metadata = ${metadata}::text::jsonb`;
    const { ids } = await recordChanged(sql, [polled(purchase, answer(6), T)], context);
    expect(ids.size).toBe(0);
    await live((await reloaded(found)).purchase, answer(6), T);
    expect((await events()).map(({ body }) => body)).toEqual([expect.stringContaining(`"reference":"${reference}"`)]);
  });

  test('stores the body as it was made, byte for byte, with its own id', async () => {
    await live(await watchedOne(), answer(0, { Price: decimal('249.50'), CurrencyCode: 'SEK' }), T);
    const [event] = await sql<{ id: string; body: string }[]>`select id, body from purchase_watch_internal.events`;
    expect(event!.id).toMatch(/^evt_[0-9A-Z]{26}$/);
    expect(event!.body).toMatch(
      new RegExp(`^\\{"id":"${event!.id}","type":"purchase.state_changed","timestamp":"2026-11-20T09:15:00.000Z"`),
    );
    expect(event!.body).toContain('"price":249.50,"currency":"SEK"');
  });
});

describe('a number nobody knows', () => {
  const unknown = async () => (await events()).filter(({ type }) => type === 'site.unknown_state');

  test('is announced once per site, however many purchases are in it', async () => {
    const [a, b, c] = (await watched('a', 'b', 'c')) as [Purchase, Purchase, Purchase];
    await recordChanged(
      sql,
      [a, b].map((purchase) => polled(purchase, answer(17), T)),
      context,
    );
    await live(c, answer(17), T + SECOND);
    expect(await unknown()).toMatchObject([{ sequence: null, purchase: null, site: 'default' }]);
    expect(JSON.parse((await unknown())[0]!.body).data).toMatchObject({
      site: 'default',
      state: { value: 17, name: 'Unknown(17)' },
    });
  });

  test('is announced again for another site and for another number', async () => {
    const [a, b] = (await watched('a', 'b')) as [Purchase, Purchase];
    await live(await live(a, answer(17), T), answer(18), T + SECOND);
    await sql`update purchase_watch.purchases set site = 'se' where id = ${b.id}`;
    await live({ ...b, site: 'se' }, answer(17), T);
    expect((await unknown()).map(({ site }) => site)).toEqual(['default', 'default', 'se']);
  });
});

describe('what came too late', () => {
  const writers = { unchanged: recordUnchanged, changed: recordChanged };
  const nothingIsKnownOf = async (purchase: Purchase): Promise<void> => {
    expect(await transitionsOf(sql, purchase.id)).toEqual([]);
    expect((await reloaded(purchase)).purchase.detailsDigest).toBeNull();
    expect((await events()).filter((event) => event.purchase === purchase.id)).toEqual([]);
  };

  test.each(['unchanged', 'changed'] as const)(
    '%s: a purchase that was changed from outside is refused, the others are not',
    async (kind) => {
      const [stopped, other] = (await watched('a', 'b')) as [Purchase, Purchase];
      const seen = kind === 'changed' ? answer(6, { Price: 1 }) : trouble('malformed');
      await stopPurchase(sql, stopped);
      const result = await writers[kind](
        sql,
        [stopped, other].map((purchase) => polled(purchase, seen, T)),
        context,
      );
      expect(result).toMatchObject({ ids: new Set([other.id]), lostShards: [], events: kind === 'changed' ? 1 : 0 });
      expect(await reloaded(stopped)).toMatchObject({
        purchase: { status: 'stopped', state: null, failures: 0 },
        nextPollAt: null,
      });
      await nothingIsKnownOf(stopped);
      expect((await events()).map(({ purchase }) => purchase)).toEqual(kind === 'changed' ? [other.id] : []);
    },
  );

  test.each(['unchanged', 'changed'] as const)('%s: under an older epoch it is refused, and its shard named', async (kind) => {
    const [lost, ours] = (await watched('a', 'b', 'c', 'd')).slice(0, 2) as [Purchase, Purchase];
    await sql`update purchase_watch.purchases set shard = 1 where id = ${lost.id}`;
    await sql`update purchase_watch.purchases set shard = 2 where id = ${ours.id}`;
    await sql`update purchase_watch_internal.shards set epoch = epoch + 1 where id = 1`;
    const seen = kind === 'changed' ? answer(6, { Price: 1 }) : trouble('malformed');
    const holdings = [1, 2].map((shard) => ({ shard, epoch: EPOCH }));
    const batch = [polled({ ...lost, shard: 1 }, seen, T), polled({ ...ours, shard: 2 }, seen, T)];
    expect(await writers[kind](sql, batch, { replica: 'me', holdings })).toMatchObject({
      ids: new Set([ours.id]),
      lostShards: [1],
    });
    expect((await reloaded(lost)).purchase).toMatchObject({ state: null, failures: 0 });
    await nothingIsKnownOf(lost);
  });

  test.each(['unchanged', 'changed'] as const)('%s: under the right epoch but by another replica it is refused', async (kind) => {
    const purchase = await watchedOne();
    await sql`update purchase_watch_internal.shards set owner = 'other'`;
    const { ids, lostShards } = await writers[kind](sql, [polled(purchase, answer(6), T)], context);
    expect([ids.size, lostShards.length]).toEqual([0, 64]);
  });

  test.each(['unchanged', 'changed'] as const)(
    '%s: a record that another one of the same purchase overtook is refused, whatever it decided',
    async (kind) => {
      const before = await live(await watchedOne(), answer(0), T);
      // No change of state: nothing in the chain of transitions and events would refuse it.
      const late = polled(before, kind === 'changed' ? answer(0, { Price: 1 }) : trouble('malformed'), T + SECOND);
      const settled = await live(before, answer(2), T + 2 * SECOND);
      expect(await writers[kind](sql, [late], context)).toMatchObject({ ids: new Set(), lostShards: [], events: 0 });
      expect(await reloaded(before)).toEqual({ purchase: settled, nextPollAt: null, slot: null, reason: null, isBulk: false });
      expect((await events()).map(({ sequence }) => sequence)).toEqual([1, 2]);
    },
  );

  test.each(['unchanged', 'changed'] as const)(
    '%s: a record of a purchase whose row id was given to another one is refused',
    async (kind) => {
      const [lost, elsewhere, other] = (await watched('a', 'b', 'c')) as [Purchase, Purchase, Purchase];
      // As after a database that went back: the same id, version and place in the queue.
      await sql`update purchase_watch.purchases set purchase_id = 'new' where id = ${lost.id}`;
      await sql`update purchase_watch.purchases set site = 'se' where id = ${elsewhere.id}`;
      const seen = kind === 'changed' ? answer(2, { Price: 1 }) : trouble('malformed');
      const batch = [lost, elsewhere, other].map((purchase) => polled(purchase, seen, T));
      expect(await writers[kind](sql, batch, context)).toMatchObject({ ids: new Set([other.id]), lostShards: [] });
      for (const purchase of [lost, elsewhere]) {
        expect((await reloaded(purchase)).purchase).toMatchObject({ polls: 0, state: null, failures: 0, status: 'watching' });
        await nothingIsKnownOf(purchase);
      }
      expect((await events()).map(({ purchase }) => purchase)).toEqual(kind === 'changed' ? [other.id] : []);
    },
  );

  test('a repair of a purchase whose row id was given to another one is refused, and reads no history of the other', async () => {
    const purchase = await live(await watchedOne(), answer(0), T);
    const me = { replica: 'me', holding: { shard: purchase.shard, epoch: EPOCH } };
    for (const renamed of [sql`purchase_id = 'new'`, sql`site = 'se', purchase_id = 'p-1'`]) {
      await sql`update purchase_watch.purchases set ${renamed}`;
      expect(await readHistory(sql, purchase)).toBeNull();
      expect(await writeRepaired(sql, { ...purchase, sequence: 2 }, me)).toBe(false);
    }
    expect((await reloaded(purchase)).purchase).toMatchObject({ sequence: 1, revision: 0 });
  });

  test.each(['unchanged', 'changed'] as const)(
    '%s: a record whose answer was lost is refused when it is written once more',
    async (kind) => {
      const before = await live(await watchedOne(), answer(0), T);
      const decided = polled(before, kind === 'changed' ? answer(1) : answer(0), T + SECOND);
      expect((await writers[kind](sql, [decided], context)).ids).toEqual(new Set([before.id]));
      expect((await writers[kind](sql, [decided], context)).ids).toEqual(new Set());
      expect((await reloaded(before)).purchase).toEqual(decided.outcome.purchase);
      expect(await events()).toHaveLength(kind === 'changed' ? 2 : 1);
    },
  );

  test('of two records of one purchase that wait for one lock the first to get it is written, and the other refused', async () => {
    const before = await live(await watchedOne(), answer(0), T);
    const records = [answer(0, { Price: 1 }), answer(2)].map((seen, index) => polled(before, seen, T + (index + 1) * SECOND));
    const locked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const holding = sql.begin(async (tx) => {
      await tx`lock table purchase_watch.purchases in access exclusive mode`;
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const writing = records.map((record) => recordChanged(sql, [record], context));
    const waiting = async () =>
      (await sql`select from pg_locks where not granted and relation = 'purchase_watch.purchases'::regclass`).length;
    await expect.poll(waiting).toBe(2);
    release.resolve();
    await holding;
    const written = (await Promise.all(writing)).map(({ ids }) => ids.size);
    expect(written.toSorted()).toEqual([0, 1]);
    expect((await reloaded(before)).purchase).toEqual(records[written.indexOf(1)]!.outcome.purchase);
    expect((await events()).map(({ sequence }) => sequence)).toEqual(written[1] === 1 ? [1, 2] : [1]);
  });

  test('a takeover waits for a recording that is under way, and the next recording is refused', async () => {
    const purchase = await watchedOne();
    await sql`update purchase_watch_internal.shards set owner = 'gone' where id <> ${purchase.shard}`;
    await renewReplica(sql, { id: 'successor', process: 'elsewhere 1 1', ttl: 60_000 });
    const holdings = [{ shard: purchase.shard, epoch: EPOCH }];
    const recorded = Promise.withResolvers<void>();
    const commit = Promise.withResolvers<void>();
    const recording = sql.begin(async (tx) => {
      await recordUnchanged(tx, [polled(purchase, trouble('malformed'), T)], { replica: 'me', holdings });
      recorded.resolve();
      await commit.promise;
    });
    await recorded.promise;
    // The lease of this replica ran out: all shards are free, and the one that is being recorded on is passed over.
    expect(await takeShards(sql, { replica: 'successor', wanted: 64 })).toHaveLength(63);
    commit.resolve();
    await recording;
    expect(await takeShards(sql, { replica: 'successor', wanted: 64 })).toHaveLength(1);
    const late = await recordUnchanged(sql, [polled(purchase, trouble('malformed'), T)], { replica: 'me', holdings });
    expect(late).toMatchObject({ ids: new Set(), lostShards: [purchase.shard] });
  });

  test('a belief that is wrong about the last state is refused by the database, and nothing of the batch is written', async () => {
    const [a, b] = (await watched('a', 'b')) as [Purchase, Purchase];
    const moved = await live(a, answer(0), T);
    const mistaken = polled({ ...moved, state: 6 }, answer(2), T + SECOND);
    await expect(recordChanged(sql, [polled(b, answer(0), T), mistaken], context)).rejects.toMatchObject({ code: '23503' });
    expect((await reloaded(a)).purchase.state).toBe(0);
    expect((await reloaded(b)).purchase.state).toBeNull();
    expect(await events()).toHaveLength(1);
  });
});

describe('a poll that changed nothing', () => {
  /** The only connection, so that its counts are there as soon as they are asked for. */
  let alone: Sql;
  beforeEach(() => {
    alone = connect(database.url, { max: 1 });
  });
  afterEach(() => alone.end());
  const updates = async (): Promise<{ all: number; heapOnly: number }> => {
    await alone`select pg_stat_force_next_flush()`;
    const [row] = await alone<[{ all: number; heapOnly: number }]>`
      select n_tup_upd::float8 as "all", n_tup_hot_upd::float8 as "heapOnly" from pg_stat_user_tables
      where schemaname = 'purchase_watch' and relname = 'purchases'`;
    return row;
  };
  /** Registered and seen once, two thousand of them, in pages as a vacuum leaves them. */
  async function seenOnce(): Promise<Purchase[]> {
    const registered = await watched(...Array.from({ length: 2_000 }, (_, index) => `p-${index}`));
    const first = registered.map((purchase) => polled(purchase, answer(0), T, { slot: 1 }));
    await recordChanged(alone, first, context);
    await alone`vacuum full purchase_watch.purchases`;
    return first.map(({ outcome }) => outcome.purchase);
  }

  test('leaves every index alone: all its updates are heap-only', async () => {
    const purchases = await seenOnce();
    const before = await updates();
    // One in a hundred, others each time, as they fall due in a large table: few enough for the room that each page keeps
    // even if nothing may be cleaned up meanwhile, as when an autovacuum of the whole cluster holds an old snapshot.
    for (const turn of [0, 1, 2]) {
      const due = purchases.filter((_, index) => index % 100 === 33 * turn);
      const batch = due.map((purchase) => polled(purchase, answer(0), T + 5 * SECOND, { slot: 1 }));
      await recordUnchanged(alone, batch, context);
    }
    const after = await updates();
    expect([after.all - before.all, after.heapOnly - before.heapOnly]).toEqual([60, 60]);
  });

  test('is another matter when it moves to another slot of the queue', async () => {
    const [purchase] = await seenOnce();
    const before = await updates();
    await recordUnchanged(alone, [polled(purchase!, answer(0), T + 5 * SECOND, { slot: 2 })], context);
    const after = await updates();
    expect([after.all - before.all, after.heapOnly - before.heapOnly]).toEqual([1, 0]);
  });

  test('reads no more rows than it writes', async () => {
    const purchases = await seenOnce();
    await alone`analyze purchase_watch.purchases`;
    const batch = purchases.slice(0, 50).map((purchase) => polled(purchase, answer(0), T + 5 * SECOND, { slot: 1 }));
    const cost = await rowsRead(alone, 'purchases', (tx) => recordUnchanged(tx, batch, context));
    expect(cost).toEqual({ scanned: 0, fetched: 50 });
  });
});
