/** A migration beside sessions that hold locks: it names them, makes others wait for moments only, and ends with its process. */
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { MIGRATIONS, testDatabase } from '../support/database.ts';
import { startTestApp } from '../support/test-app.ts';

let ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

/** A session with an open transaction that has run a statement; answers its process, and how the session ends. */
async function openTransaction(url: string, statement: string): Promise<{ pid: number; end: () => Promise<void> }> {
  const sql = connect(url, { max: 1, name: 'a report' });
  const begun = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<void>();
  const done = sql
    .begin(async (tx) => {
      await tx.unsafe(statement);
      const [row] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`;
      begun.resolve(row.pid);
      await ended.promise;
    })
    .finally(() => sql.end());
  const end = (): Promise<void> => {
    ended.resolve();
    return done as Promise<never>;
  };
  ends.push(end);
  return { pid: await begun.promise, end };
}

test('behind an open reader a migration names the reader and is tried again, while a daemon goes on recording', async () => {
  const t = await startTestApp({
    realClock: true,
    change: (settings) => {
      const often = { ...settings.policy.fallback, poll: { first: 300, most: 300, growth: 0 } };
      settings.policy = { ...settings.policy, states: new Map([[0, often]]) };
    },
  });
  ends.push(() => t.stop());
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await t.app.start();
  await t.receiver.waitFor(() => t.changesOf(purchase).length === 1);
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-migrations-'));
  ends.push(() => rmSync(folder, { recursive: true }));
  cpSync(MIGRATIONS, folder, { recursive: true });
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  const name = `${`${files.length + 1}`.padStart(4, '0')}_next.sql`;
  writeFileSync(join(folder, name), `-- serves: ${files.length}\nalter table purchase_watch.purchases add column next integer;`);

  const reader = await openTransaction(t.database.url, 'select count(*) from purchase_watch.purchases');
  const steps: string[] = [];
  const migrated = migrate(t.database.sql, folder, (step) => steps.push(step));
  const tries = () => steps.filter((step) => step.includes(`session ${reader.pid} of login`));
  await expect.poll(() => tries().length).toBeGreaterThanOrEqual(2);
  expect(tries()[0]).toMatch(/a report, idle in transaction, in a transaction since .*, last query at .*tried again in 0\.5 s/);
  expect(tries()[0]).toContain(`select pg_terminate_backend(${reader.pid})`);
  // Polls are recorded between two tries.
  const { polls } = await t.rowOf(purchase);
  await expect.poll(async () => (await t.rowOf(purchase)).polls).toBeGreaterThan(polls + 3);
  expect(steps.filter((step) => step.startsWith('migrating')).length).toBeLessThan(8);
  await reader.end();
  expect((await migrated).applied).toEqual([name]);
});

/** Sessions of a command, and whether each waits for a lock. */
const sessionsOf = async (sql: Sql, name: string): Promise<{ waits: boolean }[]> => [
  ...(await sql<{ waits: boolean }[]>`
    select coalesce(wait_event_type = 'Lock', false) as waits from pg_stat_activity
    where datname = current_database() and application_name = ${`purchase-watch ${name}`}`),
];

/** An empty database in which another session makes the schema, and a command that waits for that session. */
async function waiting(args: readonly string[], name: string) {
  const database = await testDatabase({ empty: true });
  ends.push(() => database.drop());
  const other = await openTransaction(database.url, 'create schema purchase_watch');
  const env = { CHECKOUT_BASE_URL: 'http://127.0.0.1:9', CHECKOUT_CLIENT_ID: 'id', CHECKOUT_CLIENT_SECRET: 'secret', PORT: '0' };
  const daemon: Daemon = startDaemon(args, { DATABASE_URL: database.url, ...env });
  ends.push(() => daemon.end('SIGKILL'));
  await expect.poll(async () => (await sessionsOf(database.sql, name)).some(({ waits }) => waits), { interval: 20 }).toBe(true);
  return { database, other, daemon };
}

test.each([
  { args: ['migrate'], name: 'command', code: 143, says: 'the migration was broken off by SIGTERM; it can be run again' },
  { args: ['start'], name: 'migrate', code: 0, says: 'start.broken_off' },
])('after SIGTERM $args leaves nothing on the server that others wait for', async ({ args, name, code, says }) => {
  const { database, daemon } = await waiting(args, name);
  expect(await daemon.end('SIGTERM')).toBe(code);
  expect(daemon.output()).toContain(says);
  expect((await sessionsOf(database.sql, name)).filter(({ waits }) => waits)).toEqual([]);
});

test('a migration that was killed waits on the server for seconds at most', async () => {
  const { database, daemon } = await waiting(['migrate'], 'command');
  await daemon.end('SIGKILL');
  await expect.poll(() => sessionsOf(database.sql, 'command'), { timeout: 6_000 }).toEqual([]);
});

test('a command whose statement runs long ends on the server when the command is killed', async () => {
  const database = await testDatabase();
  ends.push(() => database.drop());
  const other = await openTransaction(database.url, 'lock table purchase_watch.purchases');
  const daemon = startDaemon(['status'], { DATABASE_URL: database.url });
  await expect.poll(async () => (await sessionsOf(database.sql, 'command')).some(({ waits }) => waits)).toBe(true);
  await daemon.end('SIGKILL');
  await expect.poll(() => sessionsOf(database.sql, 'command'), { timeout: 10_000 }).toEqual([]);
  await other.end();
});
