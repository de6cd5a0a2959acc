import { afterAll, beforeAll, expect, test } from 'vitest';
import { limitedPool } from '../../../src/api/http/limited-pool.ts';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const LOCK = 4_711;
let database: TestDatabase;
let pool: Sql;
beforeAll(async () => {
  database = await testDatabase({ empty: true });
  pool = connect(database.url, { max: 2, name: 'limited' });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** Holds a lock until the work is done. */
async function whileLocked(work: (release: () => void) => Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holding = database.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK})`;
    held.resolve();
    await over.promise;
  });
  await held.promise;
  await work(over.resolve).finally(over.resolve);
  await holding;
}
const codeOf = (query: Promise<unknown>) =>
  query.then(
    () => 'answered',
    (error: { code?: string }) => error.code,
  );

test('as many run as there are connections, some wait, and the next is refused at once; none is lost', async () => {
  const sql = limitedPool(pool, 2, { waiting: 3 });
  const waitForLock = () => sql`select pg_advisory_xact_lock_shared(${LOCK})`;
  await whileLocked(async (release) => {
    const first = [codeOf(waitForLock()), codeOf(sql.begin(async (tx) => tx`select pg_advisory_xact_lock_shared(${LOCK})`))];
    const next = [codeOf(sql`select 1`), codeOf(sql.unsafe('select 1')), codeOf(sql.begin(async (tx) => tx`select 1`))];
    expect(await codeOf(sql`select 1`)).toBe('busy');
    expect(await codeOf(sql.begin(async (tx) => tx`select 1`))).toBe('busy');
    release();
    expect(await Promise.all([...first, ...next])).toEqual(Array.from({ length: 5 }, () => 'answered'));
  });
  // What failed has given its connection back, too.
  for (let round = 0; round < 4; round++) {
    expect(await codeOf(sql`select 1 / 0`)).toBe('22012');
    expect(await codeOf(sql.begin(async () => Promise.reject({ code: 'own' })))).toBe('own');
  }
  expect(await Promise.all(Array.from({ length: 5 }, () => codeOf(sql`select 1`)))).not.toContain('busy');
});

test('who waits too long is refused while the others still run', async () => {
  const sql = limitedPool(pool, 2, { within: 30 });
  await whileLocked(async (release) => {
    const held = [1, 2].map(() => codeOf(sql`select pg_advisory_xact_lock_shared(${LOCK})`));
    expect(await Promise.race([...held, codeOf(sql`select 1`)])).toBe('busy');
    release();
    expect(await Promise.all(held)).toEqual(['answered', 'answered']);
  });
});

test('fragments, lists and names are parts of a query as ever', async () => {
  const sql = limitedPool(pool, 1, { waiting: 0 });
  const [row] = await sql`select ${sql`1 + 1`}::int as two, ${sql('a')}.x from (select 3 as x) a where x in ${sql([3, 4])}`;
  expect(row).toEqual({ two: 2, x: 3 });
});
