import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect } from '../../../src/postgres/connection/database.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { type PostgresWire, startPostgresWire } from '../../support/postgres-wire.ts';

let database: TestDatabase;
let wire: PostgresWire;
beforeAll(async () => {
  database = await testDatabase();
  wire = await startPostgresWire(database.url);
});
afterAll(async () => {
  await wire.stop();
  await database.drop();
});

test('a query that begins just as its idle connection breaks is answered or refused, at the latest when its answer is overdue', async () => {
  let refused = 0;
  for (let round = 0; round < 12; round++) {
    const sql = connect(wire.url, { max: 4, steadyPlans: true, answerWithin: 1_000 });
    // On a machine at its limit even these may be overdue.
    await expect.poll(() => Promise.all(Array.from({ length: 4 }, () => sql`select pg_sleep(0.005)`))).toHaveLength(4);
    let isOver = false;
    const pending: Promise<boolean>[] = [];
    const asking = (async () => {
      // One after the other, in every phase of the event loop, so that some begin between the failure and the end.
      while (!isOver) {
        const query = sql`select 1`.then(
          () => true,
          () => {
            refused += 1;
            return true;
          },
        );
        pending.push(query);
        if (pending.length % 3 === 0) await Promise.race([query, new Promise((resolve) => setTimeout(resolve, 50))]);
        await new Promise((resolve) => (pending.length % 2 === 0 ? setImmediate(resolve) : process.nextTick(resolve)));
      }
    })();
    await new Promise((resolve) => setTimeout(resolve, 2));
    wire.breakNew(0);
    await new Promise((resolve) => setTimeout(resolve, 20));
    isOver = true;
    await asking;
    const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), 30_000).unref());
    expect(await Promise.race([Promise.all(pending).then(() => true), late]), `round ${round}`).toBe(true);
    await sql.end({ timeout: 0 });
  }
  expect(refused).toBeGreaterThan(0);
}, 120_000);
