/** The driver begins the next answer of a connection behind the rows of a query that failed amid its rows; people and loops get it whole. */
import { expect, onTestFinished, test } from 'vitest';
import { connect, type Queries } from '../../../src/postgres/connection/database.ts';
import { testDatabase } from '../../support/database.ts';

const NUMBERS = [{ n: 1 }, { n: 2 }, { n: 3 }];
const numbers = (sql: Queries) => sql<{ n: number }[]>`select n from generate_series(1, 3) n`;

/** A pool of one connection, so that each query follows the one before on it. */
async function onePool(options: { prepared?: boolean; answerWithin?: number }) {
  const database = await testDatabase({ empty: true });
  const sql = connect(database.url, { max: 1, ...options });
  onTestFinished(async () => {
    await sql.end({ timeout: 1 });
    await database.drop();
  });
  return sql;
}

test.each([{}, { prepared: false }, { answerWithin: 5_000 }])('the answer behind a failed one is whole: %o', async (options) => {
  const sql = await onePool(options);
  // The one is sent before the other failed.
  const [failed, next] = await Promise.allSettled([sql`select 1 / (3 - n) from generate_series(1, 9) n`, numbers(sql)]);
  expect([failed.status, next]).toEqual(['rejected', { status: 'fulfilled', value: NUMBERS }]);
  await expect(sql`select 1 / (3 - n) from generate_series(1, 9) n`).rejects.toThrow('division by zero');
  expect(await sql`select where false`).toEqual([]);
  await expect(sql`select 1 / (3 - n) from generate_series(1, 9) n`).rejects.toThrow('division by zero');
  expect([...(await numbers(sql)).entries()]).toEqual([...NUMBERS.entries()]);
});

test('the first answer of a connection is whole where the one before was lost amid rows', async () => {
  const sql = await onePool({ answerWithin: 5_000 });
  const ended = sql`select n, repeat('x', 100), case when n = 5000 then pg_terminate_backend(pg_backend_pid()) end from generate_series(1, 9000) n`;
  await expect(ended).rejects.toThrow();
  // The first query of the next connection may be given the reason for which the last one ended.
  const answers = [await numbers(sql).catch(() => null), await numbers(sql)];
  expect(answers.filter((rows) => rows !== null)[0]).toEqual(NUMBERS);
});
