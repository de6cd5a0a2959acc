/** A session of another program that listens and holds a transaction open: what comes is kept for it, and seen to be. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueueWarning } from '../../../src/daemon/shards/notification-queue.ts';
import { createOwnership } from '../../../src/daemon/shards/ownership.ts';
import { queueTrouble } from '../../../src/domain/replicas/notification-queue.ts';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { serverFacts } from '../../../src/postgres/reports/inspect.ts';
import { databaseMoment } from '../../../src/postgres/reports/overview.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
let other: Sql;
beforeAll(async () => {
  database = await testDatabase();
  other = connect(database.url, { max: 1 });
});
afterAll(async () => {
  await other.end();
  await database.drop();
});

test('the queue is worth a warning from a quarter on, with what finds the session', () => {
  expect([queueTrouble(0), queueTrouble(0.249)]).toEqual([null, null]);
  const { found, advice } = queueTrouble(0.256)!;
  expect(found).toBe('the notification queue of the database is 25 % full');
  expect(advice).toContain('select pid');
});

test('what finds the session names the one that listens first', async () => {
  await other`listen purchase_watch_events`;
  const [{ pid } = { pid: 0 }] = await other<{ pid: number }[]>`select pg_backend_pid() as pid`;
  await other`begin`;
  const query = /select pid.*/.exec(queueTrouble(1)!.advice)![0];
  // It lists a few sessions, and those of other tests of the same server may be older for a while.
  const pids = async () => (await database.sql.unsafe<{ pid: number }[]>(query)).map((row) => row.pid);
  await expect.poll(pids, { timeout: 15_000 }).toContain(pid);
  await other`commit`;
});

test('every reading sees the queue fill and empty, and the daemon logs it', async () => {
  const { sql } = database;
  const lines: string[] = [];
  const log = createLogger({ level: 'warn', destination: { write: (line: string) => lines.push(line) } as never });
  const keeper = createOwnership({
    ...{ sql, log, replica: 'rep_1', process: 'n 1 1', ttl: 60_000, renewEvery: 2_000 },
    clock: { monotonic: () => 0 },
    onNotificationQueue: createQueueWarning(log, 0.0005),
  });
  const readings = async () => [(await databaseMoment(sql)).notificationQueue, (await serverFacts(sql)).notificationQueue];
  await other`listen purchase_watch_events`;
  await other`begin`;
  // The queue has room for a million pages of 8 KiB.
  await sql`select pg_notify('purchase_watch_events', repeat('x', 7000) || n) from generate_series(1, 1000) n`;
  for (const used of await readings()) expect(used).toBeGreaterThan(0.0005);
  await keeper.tick();
  await other`commit`;
  const emptied = async () => Math.max(...(await readings()));
  await expect.poll(emptied).toBeLessThan(0.0005);
  await keeper.tick();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { event: 'database.notifications_fill', level: 'warn', detail: 'the notification queue of the database is 0 % full' },
  ]);
});
