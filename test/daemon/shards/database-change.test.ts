import { hostname } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabaseChange } from '../../../src/daemon/shards/database-change.ts';
import { createOwnership } from '../../../src/daemon/shards/ownership.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { takeLease } from '../../../src/postgres/shards/leases.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { aLog } from '../notifier/parts.ts';

let database: TestDatabase;
let lines: string[];
beforeEach(async () => {
  database = await testDatabase();
  lines = [];
});
afterEach(() => database.drop());

/** A replica, and how often its parts were asked to forget and to prepare. */
function replica(id: string, sql: Sql = database.sql) {
  const asked = { forget: 0, prepare: 0 };
  const destination = { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream;
  const keeper = createOwnership({
    ...{ sql, log: createLogger({ level: 'debug', destination }), replica: id, process: `machine-of-${id} 1 1` },
    ...{ clock: { monotonic: () => 0 }, ttl: 30_000, renewEvery: 2_000 },
  });
  keeper.onOtherDatabase({
    forget: () => {
      asked.forget += 1;
    },
    prepare: async () => {
      asked.prepare += 1;
    },
  });
  return Object.assign(keeper, { asked });
}
const changes = () =>
  database.sql<{ kind: string; replica: string }[]>`
    select kind, replica from purchase_watch_internal.database_changes where kind <> 'first' order by id`;
const logged = (event: string): number => lines.filter((line) => line.includes(`"${event}"`)).length;
const highestEpoch = async (): Promise<number> =>
  (await database.sql<[{ epoch: number }]>`select max(epoch)::float8 as epoch from purchase_watch_internal.shards`)[0].epoch;

test('a replica whose renewals are missing takes its shards again, under epochs that none had before', async () => {
  const a = replica('a');
  await a.tick();
  await a.tick();
  await takeLease(database.sql, { name: 'judge', replica: 'a' });
  const before = a.epochOf(0)!;
  // As the database was: the same owner, and an epoch that is about to be handed out again.
  await database.sql`update purchase_watch_internal.renewals set number = number - 1`;
  await database.sql`update purchase_watch_internal.shards set epoch = epoch - 1`;
  await a.tick();
  expect(a.asked).toEqual({ forget: 1, prepare: 1 });
  expect(a.owned()).toHaveLength(64);
  expect(a.epochOf(0)).toBeGreaterThan(before + 1_000);
  expect(await changes()).toEqual([{ kind: 'went_back', replica: 'a' }]);
  expect(await takeLease(database.sql, { name: 'judge', replica: 'a' })).toBeGreaterThan(1_000);
  await a.tick();
  expect(a.asked.forget).toBe(1);
});

test('a backup from before the start of a replica is told from a lease that ended', async () => {
  const a = replica('a');
  await a.tick();
  await database.sql`delete from purchase_watch_internal.replicas`;
  await a.tick();
  expect([await changes(), logged('lease.lost'), a.asked.forget]).toEqual([[], 1, 0]);

  await database.sql`delete from purchase_watch_internal.replicas`;
  await database.sql`delete from purchase_watch_internal.renewals`;
  await a.tick();
  expect([await changes(), logged('lease.lost')]).toEqual([[{ kind: 'went_back', replica: 'a' }], 1]);
  expect(a.owned()).toHaveLength(64);
});

test('what one replica misses empties the memory of all, and is noted once', async () => {
  const [a, b] = [replica('a'), replica('b')];
  for (const each of [a, b, a, b]) await each.tick();
  await database.sql`update purchase_watch_internal.renewals set number = number - 1 where replica = 'b'`;
  const before = await highestEpoch();
  for (const each of [b, a, b, a]) await each.tick();
  expect([a.asked, b.asked]).toEqual([
    { forget: 1, prepare: 1 },
    { forget: 1, prepare: 1 },
  ]);
  expect([await changes(), logged('database.went_back')]).toEqual([[{ kind: 'went_back', replica: 'b' }], 2]);
  expect(await highestEpoch()).toBeLessThan(before + 2_000_000);
  expect(a.owned().length + b.owned().length).toBe(64);
});

test('a replica that misses more than the first one makes a move into a loss', async () => {
  const [a, b] = [replica('a'), replica('b')];
  for (const each of [a, b, a, b]) await each.tick();
  // Another server answers, which lacks only what b wrote last; a finds it first.
  await database.sql`
    insert into purchase_watch_internal.database_changes (id, kind, noticed_at, replica, host, known_until)
    values ('dbz', 'moved', now(), 'a', 'here', now())`;
  await database.sql`update purchase_watch_internal.renewals set number = number - 1 where replica = 'b'`;
  await a.tick();
  expect(await changes()).toEqual([{ kind: 'moved', replica: 'a' }]);
  await b.tick();
  expect(await changes()).toEqual([{ kind: 'went_back', replica: 'a' }]);
});

test('a replica whose renewals are carried out and not answered notices it all the same', async () => {
  let isBroken = false;
  const sql = new Proxy(database.sql, {
    apply: (target, self, given: [TemplateStringsArray, ...unknown[]]) => {
      const answer = Reflect.apply(target, self, given);
      if (!isBroken || !given[0].join('').includes('with counted as')) return answer;
      return answer.then(() => Promise.reject(new Error('the connection broke')));
    },
  });
  const a = replica('a', sql);
  await a.tick();
  await a.tick();
  await database.sql`update purchase_watch_internal.renewals set number = number - 1`;
  isBroken = true;
  for (let turn = 0; turn < 3; turn++) await expect(a.tick()).rejects.toThrow('the connection broke');
  isBroken = false;
  await a.tick();
  expect(await changes()).toEqual([{ kind: 'went_back', replica: 'a' }]);
});

test('a replica takes no shard before the change is noted and the database is prepared', async () => {
  const a = replica('a');
  await a.tick();
  let isFailing = true;
  a.onOtherDatabase({
    forget: () => undefined,
    prepare: async () => {
      if (isFailing) throw new Error('the schema is older');
    },
  });
  await database.sql`update purchase_watch_internal.renewals set number = 0`;
  await expect(a.tick()).rejects.toThrow('the schema is older');
  await expect(a.tick()).rejects.toThrow('the schema is older');
  expect(a.owned()).toEqual([]);
  isFailing = false;
  await a.tick();
  expect([a.owned().length, logged('database.went_back')]).toEqual([64, 1]);
});

test('a backup from before the daemon counted renewals is brought up to date, and called a loss', async () => {
  const a = replica('a');
  await a.tick();
  const { sql } = database;
  await sql`alter table purchase_watch_internal.renewals rename to later`;
  a.onOtherDatabase({
    forget: () => undefined,
    prepare: async () => {
      await sql`create table if not exists purchase_watch_internal.renewals (like purchase_watch_internal.later including all)`;
    },
  });
  await expect(a.tick()).rejects.toThrow('does not exist');
  await a.tick();
  expect(await changes()).toEqual([{ kind: 'went_back', replica: 'a' }]);
});

test('a start notes once that the database was moved while no daemon ran', async () => {
  await replica('a').tick();
  await database.sql`update purchase_watch_internal.database_changes set origin = '7000000000000000000/00000001'`;
  const b = replica('b');
  await b.tick();
  await replica('c').tick();
  expect([await changes(), b.asked.forget]).toEqual([[{ kind: 'moved', replica: 'b' }], 0]);
  expect(lines.find((line) => line.includes('"database.moved"'))).toContain('while no daemon ran');
});

/** Memory of a database that answers renewals as the test says, and what happened in which order. */
function memory() {
  const { log, logged } = aLog();
  const order: string[] = [];
  const meters = { databaseChanged: (kind: string) => void order.push(`counted ${kind}`) };
  const notes = new Proxy(database.sql, {
    get: (target, name) => {
      if (name === 'begin') order.push('noted');
      return Reflect.get(target, name);
    },
  });
  const keeper = createDatabaseChange({
    ...{ sql: notes, log, replica: 'a', meters },
    redial: async () => void order.push('dialled'),
  });
  keeper.onOther({ forget: () => order.push('forgot'), prepare: async () => void order.push('prepared') });
  const first = { id: 'dbc_0', kind: 'first', origin: 'here' } as const;
  const renewal = { number: 1, origin: 'here', change: first, databaseNow: NOW };
  return { ...keeper, renewal, order, logged, take: () => order.splice(0) };
}
const NOW = Date.parse('2026-11-20T09:00:00Z');
const rows = async () => [
  ...(await database.sql`select id, kind, host from purchase_watch_internal.database_changes where replica = 'a' order by id`),
];

test('a loss is counted, logged with what to do, and noted with its host, over sessions that were dialled again before', async () => {
  const { holds, settle, confirmed, renewal, order, logged } = memory();
  expect([holds(renewal), confirmed()]).toEqual([true, 1]);
  expect([holds({ ...renewal, number: null, databaseNow: NOW + 2_000 }), confirmed()]).toEqual([false, 0]);
  await settle();
  expect(order).toEqual(['counted went_back', 'forgot', 'dialled', 'noted', 'prepared']);
  const [row] = await rows();
  expect(row).toEqual({
    ...{ id: expect.stringMatching(/^dbc_\w{26}$/), kind: 'went_back', host: `${hostname()} (process ${process.pid})` },
  });
  const dropped = 'everything that this replica held in memory';
  expect(logged).toMatchObject([
    { level: 'warn', event: 'database.changed', confirmedUntil: '2026-11-20T09:00:00.000Z' },
    { ...{ level: 'error', event: 'database.went_back', change: row!.id, dropped, advice: expect.stringContaining('audit') } },
  ]);
});

test('a move is counted as one, and asks nothing of people', async () => {
  const { holds, settle, renewal, order, logged } = memory();
  holds(renewal);
  expect(holds({ ...renewal, origin: 'elsewhere' })).toBe(false);
  await settle();
  expect(order).toEqual(['counted moved', 'forgot', 'dialled', 'noted', 'prepared']);
  expect(logged.map(({ event, advice }) => [event, advice])).toEqual([
    ['database.changed', undefined],
    ['database.moved', undefined],
  ]);
});

test('what a start finds drops and dials nothing: memory holds nothing yet', async () => {
  const { holds, settle, renewal, take, logged } = memory();
  expect(holds({ ...renewal, origin: 'elsewhere' })).toBe(false);
  await settle();
  expect(take()).toEqual(['noted']);
  expect(logged.map(({ event, dropped }) => [event, dropped])).toEqual([['database.moved', undefined]]);
  // Once.
  await settle();
  expect(take()).toEqual([]);
});

test('a second loss is noted beside the first one', async () => {
  const { holds, settle, renewal } = memory();
  for (const number of [null, null]) {
    const noted = (await rows()).at(-1);
    holds({ ...renewal, change: noted === undefined ? renewal.change : { id: noted.id, kind: 'went_back', origin: 'here' } });
    holds({ ...renewal, number });
    await settle();
  }
  expect((await rows()).map(({ kind }) => kind)).toEqual(['went_back', 'went_back']);
});

test.each([
  ['a table', '42P01', ['prepared']],
  ['a column', '42703', ['prepared']],
  ['a function', '42883', ['prepared']],
  ['a connection', '08006', []],
  ['what has no code', undefined, []],
])('after a renewal that lacked %s only an older schema is brought up to date, and the renewal fails', async (_, code, then) => {
  const { failed, order } = memory();
  const error = code === undefined ? null : Object.assign(new Error('it failed'), { code });
  await expect(failed(error)).rejects.toBe(error);
  expect(order).toEqual(then);
});
