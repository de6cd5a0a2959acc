import { expect, test } from 'vitest';
import { limitedPool } from '../../src/api/http/limited-pool.ts';
import { connect } from '../../src/postgres/connection/database.ts';
import { measured, type PoolUse } from '../../src/postgres/pool-use.ts';
import { testDatabase } from '../support/database.ts';

const LOCK = 4_712;

test.for(['as the driver has it', 'with few waiters'])(
  'a pool says how many of its connections are used, and how long queries wait: %s',
  async (kind) => {
    const database = await testDatabase({ empty: true });
    const pool = connect(database.url, { max: 2, name: 'measured' });
    const pools: PoolUse[] = [];
    const sql = measured(pools, kind === 'with few waiters' ? limitedPool(pool, 2) : pool, { name: 'measured' });
    const [use] = pools as [PoolUse];
    const now = () => [use.name, use.most, use.inUse(), use.waiting()];
    expect(now()).toEqual(['measured', 2, 0, 0]);
    await sql`select 1`;
    expect([...now(), use.waited()]).toEqual(['measured', 2, 0, 0, 0]);

    const holder = connect(database.url, { max: 1, name: 'holder' });
    await holder`select pg_advisory_lock(${LOCK})`;
    const lock = () => sql`select pg_advisory_xact_lock(${LOCK})`.then(() => 'done');
    const work = [lock(), sql.begin(async (tx) => tx`select pg_advisory_xact_lock(${LOCK})`).then(() => 'done')];
    await expect.poll(() => now()).toEqual(['measured', 2, 2, 0]);
    // A fragment is no query of its own.
    const all = sql`where true`;
    work.push(
      sql`select 1 ${all}`.then(() => 'done'),
      sql.unsafe('select 1').then(() => 'done'),
    );
    const failing = sql`select 1 / 0`.catch(() => 'failed');
    await expect.poll(() => now()).toEqual(['measured', 2, 2, 3]);
    const begun = use.waited();
    await expect.poll(() => use.waited() - begun).toBeGreaterThan(30);
    await holder`select pg_advisory_unlock(${LOCK})`;
    expect(await Promise.all([...work, failing])).toEqual(['done', 'done', 'done', 'done', 'failed']);
    expect(now()).toEqual(['measured', 2, 0, 0]);
    const waited = use.waited();
    await sql`select pg_sleep(0.05)`;
    expect(use.waited()).toBe(waited);
    await Promise.all([holder.end(), pool.end()]);
    await database.drop();
  },
);
