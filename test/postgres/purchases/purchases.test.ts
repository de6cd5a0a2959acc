import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dropNudges, dueSlot, readNudged } from '../../../src/postgres/polling/queue.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { requestInvoice } from '../../../src/postgres/purchases/invoices.ts';
import { listPurchases } from '../../../src/postgres/purchases/list.ts';
import type { Position } from '../../../src/postgres/purchases/list-sources.ts';
import {
  countPolls,
  findPurchases,
  type Registration,
  register,
  requestPoll,
  stopPurchase,
} from '../../../src/postgres/purchases/purchases.ts';
import { countPurchases } from '../../../src/postgres/reports/counts.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const ALL = Array.from({ length: 64 }, (_, shard) => shard);
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges cascade`;
  await syncSites(database.sql, ['default', 'se']);
  await database.sql`update purchase_watch_internal.shards set owner = 'owner'`;
});

const one = async (purchaseId: string, site: string | null = null) =>
  (await findPurchases(database.sql, { purchaseId, site }))[0]!;
const insert = (purchaseId: string | null, site: string | null = null) =>
  database.sql`insert into purchase_watch.purchases (purchase_id, site) values (${purchaseId}, ${site})`;
const registration = (purchaseId: string, differs: Partial<Registration> = {}): Registration => ({
  purchaseId,
  site: 'default',
  reference: null,
  metadata: null,
  ...differs,
});
/** What changed from outside since it was last asked, as the daemon would find it. */
async function changed() {
  const { rows } = await readNudged(database.sql, { shards: ALL, limit: 100 });
  await dropNudges(
    database.sql,
    rows.flatMap(({ nudges }) => nudges),
    { replica: 'owner', holdings: ALL.map((shard) => ({ shard, epoch: 0 })) },
  );
  return rows;
}
const nudged = async () => (await changed()).map(({ purchase }) => purchase.purchaseId);
/** Hears notifications until the work is done. */
async function heard(work: () => Promise<unknown>): Promise<string[]> {
  const said: string[] = [];
  const end = Promise.withResolvers<void>();
  const listening = await database.sql.listen('purchase_watch_wake', (payload) => {
    if (payload === 'end') end.resolve();
    else said.push(payload);
  });
  await work();
  await database.sql`select pg_notify('purchase_watch_wake', 'end')`;
  await end.promise;
  await listening.unlisten();
  return said;
}

describe('a plain insert', () => {
  test('is watched at once, and wakes the daemon', async () => {
    const said = await heard(() => database.sql`insert into purchase_watch.purchases (purchase_id) values ('p-1')`);
    expect(said).toEqual(['purchases']);
    const purchase = await one('p-1');
    expect(purchase).toMatchObject({ site: 'default', status: 'watching', state: null, polls: 0 });
    expect(purchase.nextPollAt).toBe(purchase.registeredAt);
    expect(await nudged()).toEqual(['p-1']);
  });

  test('of a thousand wakes the daemon once', async () => {
    const said = await heard(
      () => database.sql`insert into purchase_watch.purchases (purchase_id) select 'p-' || i from generate_series(1, 1000) i`,
    );
    expect(said).toEqual(['purchases']);
  });

  test('of more than fifty is a bulk registration: first polls in a queue of their own, and a nudge for each site and shard', async () => {
    const { sql } = database;
    const queuedAs = () => sql`
      select count(*)::integer as count, bulk, due_slot = purchase_watch_internal.bulk_slot(next_poll_at) as apart,
        due_slot = purchase_watch_internal.due_slot(next_poll_at) as among, min(revision) as revision
      from purchase_watch.purchases group by 2, 3, 4 order by 1`;
    await sql`insert into purchase_watch.purchases (purchase_id) select 'one-' || i from generate_series(1, 50) i`;
    expect(await queuedAs()).toEqual([{ count: 50, bulk: null, apart: false, among: true, revision: 0 }]);
    await sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges cascade`;
    await sql`insert into purchase_watch.purchases (purchase_id, site, next_poll_at)
      select 'p-' || i, s, case when i = 1 then now() + interval '1 hour' end from generate_series(1, 1000) i, unnest('{default,se}'::text[]) s`;
    expect(await queuedAs()).toEqual([
      { count: 2, bulk: null, apart: false, among: true, revision: 0 },
      { count: 1_998, bulk: true, apart: true, among: false, revision: 0 },
    ]);
    const { bulks, rows, orphans } = await readNudged(sql, { shards: ALL, limit: 1_000 });
    expect([bulks.length, orphans]).toEqual([128, []]);
    const firsts = await sql`
      select p.site, p.shard, min(p.id)::float8 as id, min(p.due_slot) as slot from purchase_watch.purchases p where p.bulk group by 1, 2 order by 1, 2`;
    expect(bulks.toSorted((a, b) => (a.site < b.site ? -1 : a.site > b.site ? 1 : a.shard - b.shard))).toEqual(firsts);
    const planned = rows.filter(({ isBulk }) => !isBulk).map(({ purchase }) => purchase.purchaseId);
    expect(planned).toEqual(['p-1', 'p-1']);
  });

  test('of what is watched already changes nothing and wakes nobody', async () => {
    await insert('p-1');
    await nudged();
    const said = await heard(
      () => database.sql`insert into purchase_watch.purchases (purchase_id) values ('p-1') on conflict do nothing`,
    );
    expect([said, await nudged()]).toEqual([[], []]);
    await expect(insert('p-1')).rejects.toThrow(/duplicate key/);
  });

  test('that is rolled back was never there', async () => {
    const said = await heard(() =>
      database.sql
        .begin(async (tx) => {
          await tx`insert into purchase_watch.purchases (purchase_id) values ('p-1')`;
          throw new Error('no');
        })
        .catch(() => undefined),
    );
    expect([said, await nudged(), await one('p-1')]).toEqual([[], [], undefined]);
  });

  test('belongs to one of 64 shards, by site and id, and all of them are used', async () => {
    await database.sql`insert into purchase_watch.purchases (purchase_id, site)
      select 'p-' || i, s from generate_series(1, 1000) i, unnest('{default,se}'::text[]) s`;
    const rows = await database.sql<{ shard: number; count: number }[]>`
      select shard, count(*)::integer as count from purchase_watch.purchases group by shard order by shard`;
    expect(rows.map(({ shard }) => shard)).toEqual(ALL);
    expect(Math.max(...rows.map(({ count }) => count))).toBeLessThan(70);
    const [both] = await database.sql<{ apart: number }[]>`
      select count(*)::integer as apart from purchase_watch.purchases a join purchase_watch.purchases b using (purchase_id)
      where a.site < b.site and a.shard <> b.shard`;
    expect(both!.apart).toBeGreaterThan(900);
  });

  test('due at a time of its own is queued there', async () => {
    await database.sql`insert into purchase_watch.purchases (purchase_id, next_poll_at) values ('p-1', '2020-01-01T00:00:19Z')`;
    const [row] = await database.sql<{ slot: number }[]>`select due_slot as slot from purchase_watch.purchases`;
    expect(row!.slot).toBe(Date.UTC(2020, 0, 1, 0, 0, 10) / 10_000);
  });
});

describe('a mistaken insert says what is wrong and what to do', () => {
  test.each([
    ['', /purchase_id is empty/, /gave when the purchase was negotiated/],
    ['   ', /purchase_id is empty/, /gave when the purchase was negotiated/],
    [null, /purchase_id is empty/, /gave when the purchase was negotiated/],
    ['x'.repeat(201), /purchase_id has 201 characters; at most 200/, /without a URL/],
    [' p-1', /begins or ends with a space/, /alone/],
    ['p-1 ', /begins or ends with a space/, /alone/],
    ['p-1\n', /control character/, /line break or tab/],
    ['p\t1', /control character/, /line break or tab/],
    ['p\u00001'.replace('\u0000', '\u001b'), /control character/, /line break or tab/],
  ])('%j', async (purchaseId, message, hint) => {
    await expect(insert(purchaseId)).rejects.toMatchObject({
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
      code: '23514',
    });
  });

  test('an id of exactly 200 characters, and one with spaces inside, are fine', async () => {
    await insert('x'.repeat(200));
    await insert('p 1');
  });

  test('a site that is not configured is named, with those that are', async () => {
    await expect(insert('p-1', 'sse')).rejects.toMatchObject({
      message: "site 'sse' is not configured",
      hint: 'Configured sites: default, se.',
      code: '23503',
    });
    await keepOnly(['default']);
    await expect(insert('p-1', 'se')).rejects.toMatchObject({ hint: 'Configured sites: default.' });
  });

  test('one bad row of many leaves none behind', async () => {
    await expect(database.sql`insert into purchase_watch.purchases (purchase_id) values ('p-1'), (''), ('p-2')`).rejects.toThrow(
      /empty/,
    );
    expect((await listPurchases(database.sql, { filter: {}, sort: 'newest', after: null, limit: 10 })).rows).toEqual([]);
  });
});

/** These sites are configured, and no other ones any more. */
async function keepOnly(names: string[]): Promise<void> {
  await syncSites(database.sql, names);
  await database.sql`update purchase_watch_internal.sites set configured = false where name <> all(${names}::text[])`;
}

describe('without a site', () => {
  const siteOf = async (configured: string[]): Promise<string> => {
    await keepOnly(configured);
    await database.sql`insert into purchase_watch.purchases (purchase_id) values ('p-1')`;
    return (await one('p-1')).site;
  };

  test('the one named default is meant, whatever others there are', async () => {
    expect(await siteOf(['aa', 'default', 'se'])).toBe('default');
  });

  test('the only one is meant', async () => {
    expect(await siteOf(['se'])).toBe('se');
  });

  test('of several without a default none is guessed', async () => {
    await expect(siteOf(['no', 'se'])).rejects.toMatchObject({
      message: 'site is missing, and there is no site named default',
      hint: 'Name one of the configured sites: no, se.',
    });
  });

  test('one that no living replica names is not meant while another one is named', async () => {
    await database.sql`update purchase_watch_internal.sites set unnamed_since = now() where name = 'default'`;
    expect(await siteOf(['default', 'se'])).toBe('default');
    await database.sql`update purchase_watch_internal.sites set unnamed_since = now() where name = 'default'`;
    await database.sql`insert into purchase_watch.purchases (purchase_id) values ('p-2')`;
    expect((await one('p-2')).site).toBe('se');
  });

  test('before any is configured, that is said', async () => {
    await expect(siteOf([])).rejects.toMatchObject({ hint: expect.stringContaining('start the daemon once') });
  });
});

describe('the function for SQL', () => {
  test('registers with reference and metadata, and answers what became of it', async () => {
    const watch = () =>
      database.sql<{ answer: string }[]>`
        select purchase_watch.watch('p-1', site => 'se', reference => 'ORD-1', metadata => '{"cart": 7}') as answer`;
    expect((await watch())[0]!.answer).toBe('created');
    expect((await watch())[0]!.answer).toBe('existing');
    expect(await one('p-1')).toMatchObject({ site: 'se', reference: 'ORD-1', metadata: '{"cart": 7}' });
  });

  test.each(['stopped', 'expired'])('watches what is %s again, once', async (status) => {
    const { sql } = database;
    await insert('p-1');
    await sql`update purchase_watch.purchases set status = ${status}, next_poll_at = null, due_slot = null`;
    await nudged();
    const said = await heard(() => sql`select purchase_watch.watch('p-1')`);
    expect([said, await nudged()]).toEqual([['purchases'], ['p-1']]);
    expect(await one('p-1')).toMatchObject({ status: 'watching', nextPollAt: expect.any(Number) });
    expect(await heard(() => sql`select purchase_watch.watch('p-1')`)).toEqual([]);
  });
});

describe('registering', () => {
  test('answers for each in its place whether it is new', async () => {
    await register(database.sql, [registration('p-2')]);
    const answers = await register(
      database.sql,
      ['p-3', 'p-2', 'p-1'].map((id) => registration(id)),
    );
    expect(answers).toEqual(['created', 'existing', 'created']);
    expect(await register(database.sql, [])).toEqual([]);
  });

  test('of an id that comes twice, the first counts', async () => {
    const answers = await register(database.sql, [
      registration('p-1', { reference: 'first' }),
      registration('p-1', { reference: 'second' }),
    ]);
    expect(answers).toEqual(['created', 'existing']);
    expect((await one('p-1')).reference).toBe('first');
  });

  test('tells the same id at two sites apart', async () => {
    await register(database.sql, [registration('p-1')]);
    expect(await register(database.sql, [registration('p-1', { site: 'se' }), registration('p-1')])).toEqual([
      'created',
      'existing',
    ]);
    expect(await findPurchases(database.sql, { purchaseId: 'p-1', site: null })).toHaveLength(2);
    expect(await findPurchases(database.sql, { purchaseId: 'p-1', site: 'se' })).toHaveLength(1);
  });

  test('keeps the digits of metadata', async () => {
    await register(database.sql, [registration('p-1', { metadata: '{"sum": 10.10}' })]);
    expect((await one('p-1')).metadata).toBe('{"sum": 10.10}');
  });

  test('what is watched already leaves it as it is', async () => {
    await register(database.sql, [registration('p-1', { reference: 'first' })]);
    const before = await one('p-1');
    await nudged();
    expect(await register(database.sql, [registration('p-1', { reference: 'second' })])).toEqual(['existing']);
    expect([await one('p-1'), await nudged()]).toEqual([before, []]);
  });

  test.each(['stopped', 'expired'])('what is %s is watched again from now on', async (status) => {
    const { sql } = database;
    await register(sql, [registration('p-1')]);
    await sql`update purchase_watch.purchases set status = ${status}, next_poll_at = null, due_slot = null, failures = 3,
      watched_since = now() - interval '40 days'`;
    await nudged();
    const said = await heard(() => register(sql, [registration('p-1')]));
    expect(said).toEqual(['purchases']);
    expect(await one('p-1')).toMatchObject({ status: 'watching', failures: 0 });
    const [row] = await sql<{ fresh: boolean; reason: string; revision: number }[]>`
      select watched_since > now() - interval '1 minute' and next_poll_at between watched_since and now()
        and due_slot = purchase_watch_internal.due_slot(next_poll_at) as fresh, next_poll_reason as reason, revision
      from purchase_watch.purchases`;
    expect([row, await nudged()]).toEqual([{ fresh: true, reason: 'renewed', revision: 1 }, ['p-1']]);
  });

  test('two lists with the same ids in other orders do not block each other', async () => {
    const ids = Array.from({ length: 2_000 }, (_, index) => `p-${index}`);
    const lists = [ids, ids.toReversed(), ids.toSorted()];
    const answers = await Promise.all(
      lists.map((list) =>
        register(
          database.sql,
          list.map((id) => registration(id)),
        ),
      ),
    );
    expect(answers.flat().filter((answer) => answer === 'created')).toHaveLength(2_000);
  });
});

describe('stopping', () => {
  test('ends polls, shuts out the one under way, and tells whoever polls it', async () => {
    await insert('p-1');
    await nudged();
    const purchase = await one('p-1');
    const said = await heard(() => stopPurchase(database.sql, purchase));
    expect(said.sort()).toEqual(['judge', 'purchases']);
    expect(await one('p-1')).toMatchObject({ status: 'stopped', nextPollAt: null });
    const [queued] = await changed();
    expect(queued).toMatchObject({ purchase: { revision: 1, status: 'stopped' }, nextPollAt: null, slot: null });
  });

  test('does not stop another purchase, which was given its row id', async () => {
    await insert('p-1');
    const purchase = await one('p-1');
    await database.sql`update purchase_watch.purchases set purchase_id = 'p-2'`;
    await stopPurchase(database.sql, purchase);
    expect([await requestPoll(database.sql, purchase), await requestInvoice(database.sql, purchase)]).toEqual([0, null]);
    const [row] = await database.sql`select status, revision from purchase_watch.purchases`;
    expect(row).toEqual({ status: 'watching', revision: 0 });
  });

  test('twice is as good as once', async () => {
    await insert('p-1');
    const purchase = await one('p-1');
    await stopPurchase(database.sql, purchase);
    expect(await heard(() => stopPurchase(database.sql, purchase))).toEqual([]);
    const [row] = await database.sql`select next_poll_reason as reason, revision from purchase_watch.purchases`;
    expect(row).toEqual({ reason: null, revision: 1 });
  });

  test('ends being stuck', async () => {
    const { sql } = database;
    await insert('p-1');
    await sql`update purchase_watch.purchases set state = 6, state_since = now(), stuck_since = now()`;
    await stopPurchase(sql, await one('p-1'));
    expect(await sql`select from purchase_watch.stuck_purchases`).toHaveLength(0);
  });
});

describe('registering many', () => {
  const many = (count: number, from = 0): Registration[] =>
    Array.from({ length: count }, (_, index) => registration(`p-${from + index}`));
  const queued = () => database.sql`
    select bulk, due_slot = purchase_watch_internal.bulk_slot(next_poll_at) as apart, count(*)::integer as count
    from purchase_watch.purchases where due_slot is not null group by 1, 2`;
  const AMONG = { bulk: null, apart: false };
  const APART = { bulk: true, apart: true };

  test('at once is a bulk registration, and so is the small rest of a file', async () => {
    await register(database.sql, many(50));
    expect(await queued()).toEqual([{ ...AMONG, count: 50 }]);
    await database.sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges cascade`;
    await register(database.sql, many(51));
    await register(database.sql, many(3, 100), { by: 'cli', isBulk: true });
    expect(await queued()).toEqual([{ ...APART, count: 54 }]);
    const { bulks } = await readNudged(database.sql, { shards: ALL, limit: 1_000 });
    expect(bulks.length).toBeLessThanOrEqual(54);
  });

  test('again, too, and one that is registered again by itself goes first', async () => {
    const { sql } = database;
    await register(sql, many(60));
    await sql`update purchase_watch.purchases set status = 'stopped', next_poll_at = null, due_slot = null, bulk = null`;
    await sql`truncate purchase_watch_internal.nudges`;
    expect(new Set(await register(sql, many(60)))).toEqual(new Set(['watched again']));
    expect(await queued()).toEqual([{ ...APART, count: 60 }]);
    const { bulks, rows } = await readNudged(sql, { shards: ALL, limit: 1_000 });
    expect([bulks.length, rows.length]).toEqual([new Set(bulks.map(({ shard }) => shard)).size, bulks.length]);
    await sql`update purchase_watch.purchases set status = 'expired', next_poll_at = null, due_slot = null`;
    await register(sql, many(1));
    expect(await queued()).toEqual([{ ...AMONG, count: 1 }]);
  });
});

describe('asking now', () => {
  test('makes a purchase due, and answers how many polls it had', async () => {
    const { sql } = database;
    await insert('p-1');
    await nudged();
    await sql`update purchase_watch.purchases set polls = 4, next_poll_at = now() + interval '1 day',
      due_slot = purchase_watch_internal.due_slot(now() + interval '1 day')`;
    const purchase = await one('p-1');
    expect([await requestPoll(sql, purchase), await countPolls(sql, purchase)]).toEqual([4, 4]);
    const [queued] = await changed();
    expect(queued!.purchase.revision).toBe(1);
    expect(queued!.nextPollAt).toBeLessThan(Date.now() + 5_000);
    expect(queued!.slot).toBe(Math.floor(queued!.nextPollAt! / 10_000));
    expect(await sql`select next_poll_reason as reason from purchase_watch.purchases`).toEqual([{ reason: 'requested' }]);
  });

  test('again and again does not shut out the answer that is on its way', async () => {
    await insert('p-1');
    await nudged();
    const purchase = await one('p-1');
    for (let time = 0; time < 3; time++) await requestPoll(database.sql, purchase);
    const [row] = await database.sql`select next_poll_reason as reason, revision from purchase_watch.purchases`;
    expect([row, await nudged()]).toEqual([{ reason: 'first', revision: 0 }, []]);
  });

  test.each([
    ['of a bulk registration', `bulk = true, due_slot = purchase_watch_internal.bulk_slot(next_poll_at)`],
    ['with a poll by its plan', `next_poll_reason = 'growth'`],
    ['planned by an earlier version', 'next_poll_reason = null'],
  ])('brings one forward that is due and would wait for others: one %s, once', async (_, change) => {
    const { sql } = database;
    await insert('p-1');
    await sql.unsafe(`update purchase_watch.purchases set ${change}`);
    await nudged();
    for (let time = 0; time < 3; time++) await requestPoll(sql, { site: 'default', purchaseId: 'p-1' });
    const [queued, ...more] = await changed();
    expect([queued, more]).toMatchObject([
      { purchase: { revision: 1 }, reason: 'requested', slot: dueSlot(queued!.nextPollAt!) },
      [],
    ]);
  });

  test('works for one that is not polled any more', async () => {
    await insert('p-1');
    const purchase = await one('p-1');
    await stopPurchase(database.sql, purchase);
    await requestPoll(database.sql, purchase);
    expect(await one('p-1')).toMatchObject({ status: 'stopped', nextPollAt: expect.any(Number) });
  });

  test('about nothing does nothing', async () => {
    const unknown = { site: 'default', purchaseId: 'p-2' };
    expect([await requestPoll(database.sql, unknown), await countPolls(database.sql, unknown)]).toEqual([0, 0]);
  });
});

describe('lists and counts', () => {
  beforeEach(async () => {
    const { sql } = database;
    await register(sql, [
      registration('a', { reference: 'ORD-1' }),
      registration('b', { site: 'se' }),
      registration('c'),
      registration('d', { site: 'se', reference: 'ORD-1' }),
    ]);
    await sql`update purchase_watch.purchases set state = 6, state_since = now() where purchase_id in ('c', 'd')`;
    await sql`update purchase_watch.purchases set stuck_since = now() where purchase_id = 'd'`;
    await sql`update purchase_watch.purchases set status = 'settled', state = 2, state_since = now() where purchase_id = 'a'`;
  });
  const ids = async (filter: Parameters<typeof listPurchases>[1]['filter']): Promise<string[]> =>
    (await listPurchases(database.sql, { filter, sort: 'newest', after: null, limit: 10 })).rows
      .map(({ purchaseId }) => purchaseId)
      .sort();

  test.each([
    [{}, ['a', 'b', 'c', 'd']],
    [{ site: 'se' }, ['b', 'd']],
    [{ status: 'settled' }, ['a']],
    [{ state: 6 }, ['c', 'd']],
    [{ stuck: true }, ['d']],
    [{ stuck: false, state: 6 }, ['c']],
    [{ reference: 'ORD-1' }, ['a', 'd']],
    [{ reference: 'ORD-1', site: 'se' }, ['d']],
    [{ state: 99 }, []],
  ])('%j finds %j', async (filter, found) => {
    expect(await ids(filter)).toEqual(found);
  });

  test('pages hold every purchase once, newest first', async () => {
    const pages: number[][] = [];
    for (let after: Position | null = null; ; ) {
      const { rows, next } = await listPurchases(database.sql, { filter: {}, sort: 'newest', after, limit: 3 });
      pages.push(rows.map(({ id }) => id));
      if (next === null) break;
      after = next;
    }
    expect(pages.map(({ length }) => length)).toEqual([3, 1]);
    expect(pages.flat()).toEqual(pages.flat().toSorted((x, y) => y - x));
  });

  test('counts go by site, status and state', async () => {
    const counted = await countPurchases(database.sql);
    expect(counted.map(({ site, status, state, count, stuck }) => [site, status, state, count, stuck])).toEqual([
      ['default', 'settled', 2, 1, 0],
      ['default', 'watching', 6, 1, 0],
      ['se', 'watching', 6, 1, 1],
      ['se', 'watching', null, 1, 0],
    ]);
  });

  test('what is stuck can be read as a view, with its state by name', async () => {
    const rows = await database.sql`select purchase_id, state_name from purchase_watch.stuck_purchases`;
    expect([...rows]).toEqual([{ purchaseId: 'd', stateName: 'WaitingForCardPayments' }]);
  });
});
