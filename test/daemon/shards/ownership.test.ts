import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createOwnership, type OwnershipKeeper, type OwnershipOptions } from '../../../src/daemon/shards/ownership.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { takeLease } from '../../../src/postgres/shards/leases.ts';
import { livingReplicas } from '../../../src/postgres/shards/living-replicas.ts';
import { takeShards } from '../../../src/postgres/shards/replicas.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { processIdentity } from '../../../src/runtime/process/process-identity.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const TTL = 30_000;
const ALL = Array.from({ length: 64 }, (_, shard) => shard);
const log = createLogger({ level: 'silent' });

let database: TestDatabase;
/** Monotonic milliseconds of every replica. */
let elapsed: number;
/** How far wall clocks are ahead of monotonic ones. */
let wallAhead: number;
beforeEach(async () => {
  database = await testDatabase();
  elapsed = 0;
  wallAhead = 0;
});
afterEach(() => database.drop());

interface Replica extends OwnershipKeeper {
  readonly gained: number[];
  readonly lostShards: number[];
  readonly followed: number[];
}
/** A replica on a machine of its own, unless told otherwise: nobody can see whether its process lives. */
function replica(
  id: string,
  { process = `machine-of-${id} 1 1`, sql = database.sql }: Partial<Pick<OwnershipOptions, 'process' | 'sql'>> = {},
): Replica {
  const followed: number[] = [];
  const clock = { monotonic: () => elapsed, wall: () => elapsed + wallAhead, follow: (now: number) => 0 * followed.push(now) };
  const keeper = createOwnership({
    sql,
    clock,
    log,
    replica: id,
    process,
    ttl: TTL,
    renewEvery: 2_000,
  });
  const gained: number[] = [];
  const lostShards: number[] = [];
  keeper.onChange((change) => {
    gained.push(...change.gained);
    lostShards.push(...change.lost);
  });
  return Object.assign(keeper, { gained, lostShards, followed });
}
/** Lets replicas tick in turn until everybody has had the chance to give and to take. */
async function settle(...replicas: Replica[]): Promise<void> {
  for (let round = 0; round < 3; round++) for (const each of replicas) await each.tick();
}
/** Connections on which a statement that contains the text fails: before it is carried out, or after. */
function failing(text: string, when: 'before' | 'after'): { sql: Sql; isOff: boolean } {
  const failure = { isOff: false, sql: database.sql };
  failure.sql = new Proxy(database.sql, {
    apply: (target, self, given: [TemplateStringsArray, ...unknown[]]) => {
      if (failure.isOff || !given[0].join('').includes(text)) return Reflect.apply(target, self, given);
      const lost = new Error('the connection broke');
      return when === 'before' ? Promise.reject(lost) : Reflect.apply(target, self, given).then(() => Promise.reject(lost));
    },
  });
  return failure;
}
/** Connections on which something happens before a statement that contains the text is carried out. */
const before = (text: string, happens: () => Promise<unknown>): Sql =>
  new Proxy(database.sql, {
    apply: (target, self, given: [TemplateStringsArray, ...unknown[]]) => {
      const query = Reflect.apply(target, self, given);
      return given[0].join('').includes(text) ? happens().then(() => query) : query;
    },
  });
const counts = (...replicas: Replica[]): number[] => replicas.map((each) => each.owned().length);
/** The lease of each replica runs out that does not renew it: the others have seen it unchanged for so long. */
async function runOut(...others: Replica[]): Promise<void> {
  for (const each of others) await each.tick();
  elapsed += TTL;
}
const shards = () => database.sql<{ id: number; owner: string | null; epoch: number }[]>`
  select id, owner, epoch::float8 as epoch from purchase_watch_internal.shards order by id`;

describe('one replica', () => {
  test('takes every shard with its first tick, and says so', async () => {
    const a = replica('a');
    expect([a.owned(), a.share()]).toEqual([[], 0]);
    expect(await a.tick()).toBe(2_000);
    expect([a.owned(), a.gained, a.share()]).toEqual([ALL, ALL, 1]);
    expect(a.epochOf(5)).toBe(1);
    expect((await shards()).every(({ owner, epoch }) => owner === 'a' && epoch === 1)).toBe(true);
  });

  test('keeps them under the same epoch from tick to tick', async () => {
    const a = replica('a');
    await settle(a);
    expect([a.gained.length, a.lostShards, a.epochOf(63)]).toEqual([64, [], 1]);
  });

  test("renews its lease by the database's clock, and learns that clock's time", async () => {
    const a = replica('a');
    await a.tick();
    await database.sql`update purchase_watch_internal.replicas set expires_at = clock_timestamp() - interval '1 hour'`;
    await a.tick();
    const [row] = await database.sql<{ left: number; now: number }[]>`
      select (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as left,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as now from purchase_watch_internal.replicas`;
    expect(row!.left).toBeGreaterThan(TTL - 10_000);
    expect(row!.left).toBeLessThanOrEqual(TTL);
    expect(row!.now - a.followed[1]!).toBeGreaterThanOrEqual(0);
    expect(row!.now - a.followed[1]!).toBeLessThan(10_000);
  });
});

describe('several replicas', () => {
  test('share evenly, and every shard has one owner', async () => {
    const [a, b, c] = [replica('a'), replica('b'), replica('c')];
    await settle(a);
    await settle(a, b);
    expect(counts(a, b)).toEqual([32, 32]);
    await settle(a, b, c);
    expect(counts(a, b, c).sort()).toEqual([20, 22, 22]);
    expect([...a.owned(), ...b.owned(), ...c.owned()].sort((x, y) => x - y)).toEqual(ALL);
    expect(a.share() + b.share() + c.share()).toBe(1);
  });

  test('that start at the same moment share as well', async () => {
    const all = [replica('a'), replica('b'), replica('c')];
    for (let round = 0; round < 6; round++) await Promise.all(all.map((each) => each.tick()));
    expect(counts(...all).sort()).toEqual([20, 22, 22]);
    expect(all.flatMap((each) => each.owned()).sort((x, y) => x - y)).toEqual(ALL);
  });

  test('are told which shards they lost', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await settle(a);
    await settle(a, b);
    expect(a.lostShards.sort((x, y) => x - y)).toEqual(b.owned());
    expect(a.epochOf(b.owned()[0]!)).toBeNull();
    expect(b.epochOf(b.owned()[0]!)).toBe(2);
  });

  test('leave alone what a living replica owns, even when they have less than their part', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await a.tick();
    await b.tick();
    await b.tick();
    expect(counts(a, b)).toEqual([64, 0]);
  });
});

describe('a shard that is to be given away', () => {
  test('is kept while work on it is under way: nothing new begins, and it goes when the work ends', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await settle(a);
    for (const shard of ALL) a.begin(shard);
    await settle(b, a, b);
    expect(counts(a, b)).toEqual([32, 0]);
    const leaving = ALL.find((shard) => !a.owned().includes(shard))!;
    expect([a.mayBegin(leaving, 0), a.mayBegin(a.owned()[0]!, 0)]).toEqual([false, true]);
    expect(a.epochOf(leaving)).toBe(1);
    expect(a.share()).toBe(1);
    for (const shard of ALL) a.end(shard, a.epochOf(shard)!);
    await settle(a, b);
    expect(counts(a, b)).toEqual([32, 32]);
  });

  test('wakes whoever may take it', async () => {
    const [a, b] = [replica('a'), replica('b')];
    const heard = Promise.withResolvers<string>();
    const listening = await database.sql.listen('purchase_watch_wake', heard.resolve);
    await settle(a);
    await b.tick();
    await a.tick();
    expect(await heard.promise).toBe('shards');
    await listening.unlisten();
  });
});

describe('a lease that ran out', () => {
  test('lets others take over, each shard under a new epoch', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await settle(a);
    await runOut(b);
    await b.tick();
    expect(b.owned()).toEqual(ALL);
    expect((await shards()).every(({ owner, epoch }) => owner === 'b' && epoch === 2)).toBe(true);
  });

  test('is over for others no sooner than for its replica', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await settle(a);
    await settle(a, b);
    elapsed += TTL - 1;
    await b.tick();
    expect([counts(a, b), a.mayBegin(a.owned()[0]!, 0)]).toEqual([[32, 32], true]);
    elapsed += 1;
    await b.tick();
    expect([counts(b), a.mayBegin(a.owned()[0]!, 0)]).toEqual([[64], false]);
  });

  test('and was renewed after another replica read that it had not been lets nobody take over', async () => {
    const a = replica('a');
    const b = replica('b', { sql: before('delete from purchase_watch_internal.replicas', a.tick) });
    await settle(a);
    await settle(a, b);
    elapsed += TTL;
    await b.tick();
    expect([counts(a, b), a.mayBegin(a.owned()[0]!, 0)]).toEqual([[32, 32], true]);
  });

  test('leaves each of the others its part, and no more', async () => {
    const [a, b, c] = [replica('a'), replica('b'), replica('c')];
    await settle(a);
    await settle(a, b, c);
    await runOut(b, c);
    await Promise.all([b.tick(), c.tick()]);
    await settle(b, c);
    expect(counts(b, c)).toEqual([32, 32]);
  });

  test('is noticed by its replica when it comes back: it lost everything and gets its part again', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await settle(a);
    await runOut(b);
    await b.tick();
    await a.tick();
    expect([a.owned(), a.lostShards]).toEqual([[], ALL]);
    await settle(b, a);
    expect(counts(a, b)).toEqual([32, 32]);
    expect(a.epochOf(a.owned()[0]!)).toBe(3);
  });

  test('that nobody took advantage of costs nothing', async () => {
    const a = replica('a');
    await settle(a);
    await runOut();
    expect(a.mayBegin(0, 0)).toBe(false);
    await a.tick();
    expect([a.owned(), a.lostShards, a.epochOf(0), a.mayBegin(0, 0)]).toEqual([ALL, [], 1, true]);
  });

  test('and a shard that went to another and came back in between counts as lost and gained', async () => {
    const a = replica('a');
    await settle(a);
    await database.sql`update purchase_watch_internal.shards set epoch = epoch + 2 where id = 7`;
    await a.tick();
    expect([a.lostShards, a.gained.slice(64), a.epochOf(7)]).toEqual([[7], [7], 3]);
  });
});

describe('whether work may begin', () => {
  test('depends on whether the lease outlasts it', async () => {
    const a = replica('a');
    expect([a.mayBegin(0, 0), a.outlasts(0)]).toEqual([false, false]);
    await a.tick();
    expect([a.mayBegin(0, TTL - 1), a.mayBegin(0, TTL)]).toEqual([true, false]);
    expect([a.outlasts(TTL - 1), a.outlasts(TTL)]).toEqual([true, false]);
    elapsed = 20_000;
    expect([a.mayBegin(0, 9_999), a.mayBegin(0, 10_000)]).toEqual([true, false]);
    await a.tick();
    expect(a.mayBegin(0, TTL - 1)).toBe(true);
  });

  test('the lease counts from before it was asked for: the answer may have been slow', async () => {
    const slow = replica('a');
    const { sql } = database;
    // The row is locked while the renewal waits, and the time goes by.
    await slow.tick();
    const holding = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holder = sql.begin(async (tx) => {
      await tx`select from purchase_watch_internal.replicas where id = 'a' for update`;
      locked.resolve();
      await holding.promise;
    });
    await locked.promise;
    const renewal = slow.tick();
    elapsed = 25_000;
    holding.resolve();
    await Promise.all([holder, renewal]);
    expect([slow.mayBegin(0, 4_999), slow.mayBegin(0, 5_000)]).toEqual([true, false]);
  });

  test('it may not on a shard that is not ours, or not any more', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await settle(a);
    await settle(a, b);
    expect(a.mayBegin(b.owned()[0]!, 0)).toBe(false);
    a.lost(a.owned()[0]!);
    expect(a.owned()).toHaveLength(31);
    expect(a.lostShards).toHaveLength(33);
  });
});

describe('a row that was deleted', () => {
  const deleteRow = () => database.sql`delete from purchase_watch_internal.replicas`;

  test('and inserted again drops every shard, and those that nobody took are taken under a new epoch', async () => {
    const a = replica('a');
    await settle(a);
    await deleteRow();
    await a.tick();
    expect([a.lostShards, a.gained.slice(64), a.epochOf(0)]).toEqual([ALL, ALL, 2]);
    await a.tick();
    expect([a.lostShards.length, a.epochOf(0)]).toEqual([64, 2]);
  });

  test('lets nothing begin before the shards are known, whatever fails after the renewal', async () => {
    const line = failing('update purchase_watch_internal.shards', 'before');
    line.isOff = true;
    const [a, b] = [replica('a', { sql: line.sql }), replica('b')];
    await settle(a);
    await deleteRow();
    await b.tick();
    expect(b.owned()).toEqual(ALL);
    line.isOff = false;
    await expect(a.tick()).rejects.toThrow('the connection broke');
    expect(ALL.filter((shard) => a.mayBegin(shard, 0) || a.mayGoOn(shard, 1, 0))).toEqual([]);
    line.isOff = true;
    await settle(b, a);
    expect(counts(a, b)).toEqual([32, 32]);
  });

  test('counts as deleted also when the answer to its insertion was lost', async () => {
    const line = failing('insert into purchase_watch_internal.replicas', 'after');
    line.isOff = true;
    const a = replica('a', { sql: line.sql });
    await settle(a);
    await deleteRow();
    line.isOff = false;
    await expect(a.tick()).rejects.toThrow('the connection broke');
    line.isOff = true;
    await a.tick();
    expect([a.lostShards, a.epochOf(0)]).toEqual([ALL, 2]);
  });

  test('takes nothing until it is inserted again', async () => {
    const [a] = [replica('a')];
    await settle(a);
    await deleteRow();
    await database.sql`update purchase_watch_internal.shards set owner = null`;
    expect(await takeShards(database.sql, { replica: 'a', wanted: 64 })).toEqual([]);
    expect(await takeLease(database.sql, { name: 'judge', replica: 'a' })).toBeNull();
  });
});

test('a clock that was set back ends all that memory holds, and the shards are taken again under epochs that refuse what was under way', async () => {
  let step = 0;
  let forgotten = 0;
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream;
  const a = createOwnership({
    ...{ sql: database.sql, replica: 'a', process: 'm 1 1', ttl: TTL, renewEvery: 2_000 },
    log: createLogger({ level: 'info', destination }),
    clock: { monotonic: () => elapsed, follow: () => step },
  });
  a.onOtherDatabase({ forget: () => forgotten++, prepare: async () => undefined });
  await a.tick();
  step = 7_200_000;
  await a.tick();
  expect([forgotten, a.epochOf(0)]).toEqual([0, 1]);
  step = -7_200_000;
  await a.tick();
  step = 0;
  await a.tick();
  expect([forgotten, a.owned(), a.epochOf(0)]).toEqual([1, ALL, 2]);
  expect(lines.join('')).not.toContain('lease.lost');
  expect(lines.join('')).toContain('"byMs":-7200000');
});

describe('a statement whose answer is lost', () => {
  test('renewing: nothing is extended', async () => {
    const line = failing('insert into purchase_watch_internal.replicas', 'after');
    line.isOff = true;
    const a = replica('a', { sql: line.sql });
    await settle(a);
    line.isOff = false;
    elapsed += TTL - 1_000;
    await expect(a.tick()).rejects.toThrow('the connection broke');
    expect([a.outlasts(999), a.outlasts(1_000)]).toEqual([true, false]);
  });

  test('the first renewal that is confirmed afterwards ends pauses, once', async () => {
    const line = failing('insert into purchase_watch_internal.replicas', 'before');
    line.isOff = true;
    const a = replica('a', { sql: line.sql });
    let backs = 0;
    a.onBack(() => backs++);
    await settle(a);
    line.isOff = false;
    for (let times = 0; times < 2; times++) await expect(a.tick()).rejects.toThrow('the connection broke');
    expect(backs).toBe(0);
    line.isOff = true;
    await settle(a);
    expect(backs).toBe(1);
  });

  test('taking: the next renewal shows what was taken', async () => {
    const line = failing('for update of s skip locked', 'after');
    const a = replica('a', { sql: line.sql });
    await expect(a.tick()).rejects.toThrow('the connection broke');
    expect(a.owned()).toEqual([]);
    line.isOff = true;
    await a.tick();
    expect([a.owned(), a.epochOf(0)]).toEqual([ALL, 1]);
  });

  test('releasing: the shards stay unused until the release is confirmed, for it may still be carried out', async () => {
    const line = failing("pg_notify('purchase_watch_wake', 'shards')", 'before');
    const [a, b] = [replica('a', { sql: line.sql }), replica('b')];
    await settle(a);
    await b.tick();
    for (let round = 0; round < 2; round++) {
      await expect(a.tick()).rejects.toThrow('the connection broke');
      expect([a.owned().length, a.share(), a.gained.length]).toEqual([32, 0.5, 64]);
    }
    line.isOff = true;
    await settle(a, b);
    expect(counts(a, b)).toEqual([32, 32]);
  });
});

describe("the database's clock", () => {
  /** What other replicas see when it steps: every lease seems to end so much earlier or later. */
  const step = (by: string) =>
    database.sql`update purchase_watch_internal.replicas set expires_at = expires_at - ${by}::interval`;

  test('stepping forward by hours ends no lease', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await settle(a);
    await settle(a, b);
    await step('5 hours');
    // a stands still for a while, yet not for as long as its lease.
    elapsed += TTL - 1;
    await b.tick();
    expect([counts(a, b), b.epochOf(b.owned()[0]!)]).toEqual([[32, 32], 2]);
    await settle(a, b);
    expect([a.lostShards.length, b.lostShards.length]).toEqual([32, 0]);
  });

  test('stepping back by hours makes no lease longer', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await settle(a);
    await settle(a, b);
    await step('-5 hours');
    await runOut(b);
    await b.tick();
    expect(b.owned().toSorted((x, y) => x - y)).toEqual(ALL);
  });
});

test('while a virtual machine was suspended its monotonic clock stood still: the lease is void until it is renewed', async () => {
  const a = replica('a');
  await settle(a);
  wallAhead = 3_600_000;
  expect([a.mayBegin(0, 0), a.mayGoOn(0, 1, 0)]).toEqual([false, false]);
  await a.tick();
  expect([a.mayBegin(0, 0), a.mayGoOn(0, 1, 0)]).toEqual([true, true]);
  // A clock that is slewed takes nothing away.
  wallAhead += 1_000;
  expect(a.mayBegin(0, 0)).toBe(true);
});

test('work that began goes on only under the epoch it began with, and while the lease outlasts it', async () => {
  const a = replica('a');
  await settle(a);
  expect([a.mayGoOn(0, 1, TTL - 1), a.mayGoOn(0, 1, TTL), a.mayGoOn(0, 2, 0)]).toEqual([true, false, false]);
  a.lost(0);
  expect(a.mayGoOn(0, 1, 0)).toBe(false);
});

describe('a replica that leaves its shards to the others', () => {
  test('gives all of them away, and takes its share again when it takes part', async () => {
    const [a, b, c] = [replica('a'), replica('b'), replica('c')];
    await settle(a);
    await settle(a, b, c);
    a.setAway(true);
    await settle(a, b, c);
    expect(counts(a, b, c)).toEqual([0, 32, 32]);
    a.setAway(false);
    await settle(a, b, c);
    expect(counts(a, b, c).sort()).toEqual([20, 22, 22]);
  });

  test('keeps them while no other replica takes part', async () => {
    const [a, b] = [replica('a'), replica('b')];
    a.setAway(true);
    await settle(a);
    expect(counts(a)).toEqual([64]);
    b.setAway(true);
    await settle(a, b);
    await settle(a, b);
    expect(counts(a, b).reduce((sum, each) => sum + each)).toBe(64);
  });
});

describe('a clean stop', () => {
  test('hands over at once what is idle and the rest when it is, begins nothing, and gives everything up at the end', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await settle(a);
    await takeLease(database.sql, { name: 'judge', replica: 'a' });
    a.begin(3);
    let left = false;
    const leaving = a.handOver().then(() => {
      left = true;
    });
    expect([a.mayBegin(3, 0), a.owned()]).toEqual([false, []]);
    await expect.poll(async () => (await shards()).filter(({ owner }) => owner !== null).length).toBe(1);
    await b.tick();
    expect([left, b.owned()]).toEqual([false, ALL.filter((shard) => shard !== 3)]);
    a.end(3, a.epochOf(3)!);
    await leaving;
    await b.tick();
    expect(b.owned()).toHaveLength(64);
    expect(await takeLease(database.sql, { name: 'judge', replica: 'b' })).toBeNull();
    await a.release();
    expect(await livingReplicas(database.sql)).toMatchObject([{ id: 'b' }]);
    expect(await takeLease(database.sql, { name: 'judge', replica: 'b' })).toBe(2);
  });

  test('ends when the last shard on which something is under way is lost', async () => {
    const a = replica('a');
    await settle(a);
    a.begin(3);
    const leaving = a.handOver();
    await expect.poll(async () => (await shards()).filter(({ owner }) => owner !== null).length).toBe(1);
    // Nothing is free any more, so the stop waits for the work on it.
    await new Promise((resolve) => setTimeout(resolve, 50));
    a.lost(3);
    await leaving;
  });

  test('that cannot wait gives up what is under way, too', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await settle(a);
    a.begin(3);
    await a.release();
    expect([a.epochOf(3), a.lostShards]).toEqual([null, ALL]);
    await b.tick();
    expect(b.owned()).toEqual(ALL);
  });

  test('takes nothing more, whatever tick comes after', async () => {
    const a = replica('a');
    await settle(a);
    await a.release();
    await a.tick();
    expect([a.owned(), await livingReplicas(database.sql)]).toEqual([[], []]);
  });
});

describe('a process that is gone', () => {
  const [machine, pid, start] = processIdentity().split(' ') as [string, string, string];

  test('on this machine is replaced at once', async () => {
    // This pid belonged to an earlier process.
    const killed = replica('killed', { process: `${machine} ${pid} ${Number(start) - 1}` });
    await settle(killed);
    const next = replica('next', { process: processIdentity() });
    await next.tick();
    expect(next.owned()).toEqual(ALL);
    expect((await livingReplicas(database.sql)).map(({ id }) => id)).toEqual(['next']);
  });

  test('elsewhere is waited for until its lease runs out', async () => {
    const far = replica('far', { process: `elsewhere ${pid} ${Number(start) - 1}` });
    await settle(far);
    const next = replica('next', { process: processIdentity() });
    await runOut(next);
    expect(next.owned()).toEqual([]);
    await next.tick();
    expect(next.owned()).toEqual(ALL);
  });
});
