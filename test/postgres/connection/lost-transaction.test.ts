/** A transaction whose connection is lost fails, whatever it does then, and the process goes on: an uncaught exception would fail this file. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect, openAside, type Queries, type Sql } from '../../../src/postgres/connection/database.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { startWire, type Wire } from '../../support/wire.ts';

let database: TestDatabase;
let wire: Wire;
beforeAll(async () => {
  database = await testDatabase();
  wire = await startWire(database.url);
});
afterAll(async () => {
  await wire.stop();
  await database.drop();
});

/** Ways in which a connection goes away. */
const LOSSES: Record<string, (pid: number) => unknown> = {
  'is reset': () => wire.reset(),
  'ends without an error': () => wire.end(),
  'is ended by the server': (pid) => database.sql`select pg_terminate_backend(${pid})`,
};

/** What a transaction does when its connection is lost. */
const WORKS: Record<string, (tx: Queries, lose: () => unknown) => Promise<unknown>> = {
  'waits for a statement': (tx, lose) => {
    setTimeout(async () => lose(), 50);
    return tx`select pg_sleep(60)`;
  },
  'waits for a statement, and begins another one when that fails': async (tx, lose) => {
    setTimeout(async () => lose(), 50);
    await tx`select pg_sleep(60)`.catch(() => undefined);
    await tx`select 1`;
  },
  'waits for something else, and then begins a statement': async (tx, lose) => {
    await lose();
    await settled();
    await tx`select 1`;
  },
  'waits for something else, and then is done': async (_, lose) => {
    await lose();
    await settled();
  },
  'waits for something else, and then fails': async (_, lose) => {
    await lose();
    await settled();
    throw new Error('its own fault');
  },
};

/** Resolves when everything that follows from a loss has been done. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 200));
const pidOf = async (sql: Queries): Promise<number> => (await sql<[{ pid: number }]>`select pg_backend_pid() as pid`)[0].pid;

function pool(): Sql {
  const sql = connect(wire.url, { max: 1 });
  onTestFinished(() => sql.end({ timeout: 0 }));
  return sql;
}

describe.each(Object.entries(LOSSES))('a connection that %s', (_, lose) => {
  test.each(Object.entries(WORKS))('while its transaction %s', async (_name, work) => {
    const sql = pool();
    const transaction = sql.begin(async (tx) => {
      const pid = await pidOf(tx);
      await work(tx, () => lose(pid));
    });
    await expect(transaction).rejects.toThrow();
    await settled();
    // The driver gives the server's last word to the next statement once more.
    await expect.poll(() => sql`select 2 as two`.catch(() => [])).toEqual([{ two: 2 }]);
  });

  test('that a pool of its own has: the next statement finds another one', async () => {
    const aside = openAside(pool());
    onTestFinished(() => aside.end({ timeout: 0 }));
    const pid = await pidOf(aside);
    await lose(pid);
    await settled();
    expect(await pidOf(aside)).not.toBe(pid);
  });
});
