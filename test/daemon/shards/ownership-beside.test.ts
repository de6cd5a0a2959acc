/** A replica beside others whose settings differ, and the lines that people read of its lease and the database's clock. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createOwnership, type OwnershipOptions } from '../../../src/daemon/shards/ownership.ts';
import { takeLease } from '../../../src/postgres/shards/leases.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { aLog } from '../notifier/parts.ts';

const ALL = Array.from({ length: 64 }, (_, shard) => shard);
const named = (...sites: string[]) => ({ sites: Object.fromEntries(sites.map((site) => [site, []])), subscribers: {} });

let database: TestDatabase;
let step: number;
beforeEach(async () => {
  database = await testDatabase();
  step = 0;
});
afterEach(() => database.drop());

function replica(id: string, differs: Partial<OwnershipOptions> = {}) {
  const { log, logged } = aLog();
  const clock = { monotonic: () => 0, wall: () => 0, follow: () => step };
  const keeper = createOwnership({
    sql: database.sql,
    clock,
    log,
    replica: id,
    process: `machine-of-${id} 1 1`,
    ttl: 30_000,
    renewEvery: 2_000,
    ...differs,
  });
  return Object.assign(keeper, { logged });
}
const rows = () => database.sql<{ id: string; leaving: boolean }[]>`
  select id, leaving from purchase_watch_internal.replicas order by id`;
const sorted = (shards: readonly number[]) => shards.toSorted((a, b) => a - b);

test('a replica that names less than another one leaves its shards and the judge’s lease, until the other one is gone', async () => {
  const [less, more] = [replica('less', { named: named('se') }), replica('more', { named: named('se', 'no') })];
  await less.tick();
  expect(await takeLease(database.sql, { name: 'judge', replica: 'less' })).toBe(1);
  await more.tick();
  await less.tick();
  await more.tick();
  expect([less.owned(), sorted(more.owned())]).toEqual([[], ALL]);
  expect(await rows()).toEqual([
    { id: 'less', leaving: true },
    { id: 'more', leaving: false },
  ]);
  expect(await takeLease(database.sql, { name: 'judge', replica: 'more' })).toBe(2);
  await more.release();
  await less.tick();
  expect([sorted(less.owned()), await rows()]).toEqual([ALL, [{ id: 'less', leaving: false }]]);
});

test('a replica that is not outdone keeps the judge’s lease', async () => {
  const [one, other] = [replica('one', { named: named('se') }), replica('other', { named: named('se') })];
  await one.tick();
  await takeLease(database.sql, { name: 'judge', replica: 'one' });
  await other.tick();
  await one.tick();
  expect(await takeLease(database.sql, { name: 'judge', replica: 'other' })).toBeNull();
});

/** Every twenty seconds their parts change, which may be in the middle of a try. */
const TRIES = { timeout: 10_000 };

test('replicas that each name a site of their own take different shards, which are all shards together', async () => {
  const [se, no] = [replica('se', { named: named('se') }), replica('no', { named: named('no') })];
  const shared = async () => {
    for (let round = 0; round < 3; round++) for (const each of [se, no]) await each.tick();
    return [se.owned().length, no.owned().length, sorted([...se.owned(), ...no.owned()])];
  };
  await expect.poll(shared, TRIES).toEqual([32, 32, ALL]);
});

test('a replica takes free shards of its part alone', async () => {
  const [se, no] = [replica('se', { named: named('se') }), replica('no', { named: named('no') })];
  const takes = async () => {
    for (let round = 0; round < 3; round++) for (const each of [se, no]) await each.tick();
    await database.sql`update purchase_watch_internal.shards set owner = null`;
    await se.tick();
    const taken = se.owned();
    await se.tick();
    return taken.length === 32 && se.owned().join() === taken.join();
  };
  await expect.poll(takes, TRIES).toBe(true);
});

test('a replica takes of the shards that became free what it lacks, and no more', async () => {
  const [a, b, c] = [replica('a'), replica('b'), replica('c')];
  for (let round = 0; round < 3; round++) for (const each of [a, b, c]) await each.tick();
  await c.release();
  await a.tick();
  expect(a.owned()).toHaveLength(32);
});

test('the others, and who had the judge’s lease, are known from the last renewal', async () => {
  const [a, b] = [replica('a'), replica('b')];
  expect(a.fleet()).toEqual({ judge: null, others: [] });
  await b.tick();
  await takeLease(database.sql, { name: 'judge', replica: 'b' });
  await a.tick();
  expect(a.fleet()).toMatchObject({ judge: 'b', others: [{ id: 'b', leaving: false }] });
});

test('a step of the clock and a lost lease are logged with what to do', async () => {
  const a = replica('a');
  await a.tick();
  expect(a.logged.filter(({ event }) => event !== 'shards.changed')).toEqual([]);
  step = 60_000.4;
  await a.tick();
  step = -60_000;
  await a.tick();
  step = 0;
  await a.tick();
  await database.sql`delete from purchase_watch_internal.replicas`;
  await a.tick();
  const said = a.logged.filter(({ event }) => event !== 'shards.changed');
  expect(said).toMatchObject([
    { event: 'clock.stepped', byMs: 60_000, advice: expect.stringMatching(/or this machine was suspended.*polled now/) },
    { event: 'clock.stepped', byMs: -60_000, advice: expect.stringMatching(/due as much earlier$/) },
    {
      event: 'lease.lost',
      leaseMs: 30_000,
      shards: 64,
      advice: expect.stringContaining('takes its share again'),
    },
  ]);
});

test('a replica that hands over takes nothing more', async () => {
  const a = replica('a');
  await a.tick();
  await a.handOver();
  expect(await a.tick()).toBe(2_000);
  expect(a.owned()).toEqual([]);
});
