/** The database behind a pooler, or with a limit of connections, as operators have it. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Settings } from '../../src/config/settings.ts';
import { agreeOnSession } from '../../src/postgres/connection/agreement.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { startDaemon } from '../support/daemon.ts';
import { testDatabase } from '../support/database.ts';
import { fetchAsMachine } from '../support/machine.ts';
import { noPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp | undefined;
let pooler: PgBouncer | undefined;
afterEach(async () => {
  await t?.stop();
  await pooler?.stop();
  t = undefined;
  pooler = undefined;
});

test('PgBouncer is here', () => {
  expect(noPgBouncer).toBeNull();
});

/** The product through a pooler that stands before a database of its own. */
async function behind(settings: Record<string, string | number>, env: Record<string, string> = {}): Promise<TestApp> {
  const database = await testDatabase();
  pooler = await startPgBouncer(database.url, settings);
  t = await startTestApp({
    realClock: true,
    env: { DATABASE_URL: pooler.url, DATABASE_POOL_MODE: 'auto', ...env },
    database,
    change: quick,
  });
  await t.app.start();
  return t;
}
/** Purchases are polled often, so that no test waits for a plan. */
function quick(settings: Settings): void {
  const often = { ...settings.policy.fallback, poll: { first: 300, most: 300, growth: 0 } };
  settings.policy = { ...settings.policy, states: new Map([0, 1].map((state) => [state, often])) };
}
const told = (app: TestApp, event: string): string[] => app.log.filter((line) => line.includes(`"${event}"`));

async function registeredBySql(app: TestApp): Promise<string> {
  const { purchaseId } = app.simulator.control.add({ script: [{ state: 'New' }] });
  await app.database.sql`insert into purchase_watch.purchases (purchase_id) values (${purchaseId})`;
  return purchaseId;
}

describe.each([
  ['transaction', { pool_mode: 'transaction', default_pool_size: 20 }],
  ['session', { pool_mode: 'session', default_pool_size: 20 }],
] as const)('behind PgBouncer in %s mode', (mode, settings) => {
  test('changes are recorded and delivered, and what shops register by SQL is seen at once or within two seconds', async () => {
    const app = await behind(settings);
    const ids = app.simulator.control.addMany(50, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
    await register(
      app.app.sql,
      ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
    );
    await app.receiver.waitFor((received) => received.length >= 50, 30_000);
    for (const id of ids) app.simulator.control.setState(id, 'Completed');
    await app.receiver.waitFor((received) => received.length >= 100, 60_000);
    for (const id of ids) expect(app.changesOf(id)).toEqual(['New', 'Completed']);
    const began = performance.now();
    const inserted = await registeredBySql(app);
    await expect.poll(() => app.changesOf(inserted), { timeout: 10_000, interval: 20 }).toEqual(['New']);
    expect(performance.now() - began).toBeLessThan(3_000);
    // Statements are prepared in sessions that stay, and only there.
    const [row] = await app.app.sql<[{ count: number }]>`select count(*)::integer as count from pg_prepared_statements`;
    expect(row.count > 0).toBe(mode === 'session');
    expect(told(app, 'listen.asking').length).toBe(mode === 'session' ? 0 : 1);
    expect(told(app, 'database.settings_refused').length).toBe(1);
    expect(app.log.filter((line) => /"level":"(?:error|fatal)"|prepared statement/.test(line))).toEqual([]);
  });

  test('commands work, and doctor says what to set', async () => {
    const app = await behind(settings);
    await registeredBySql(app);
    for (const args of [['status', '--json'], ['audit', '--json'], ['migrate']]) {
      const command = startDaemon(args, { DATABASE_URL: pooler!.url });
      expect([args, await command.end('SIGCONT'), command.output()]).toEqual([args, 0, expect.any(String)]);
    }
    const doctor = startDaemon(['doctor', '--quiet'], {
      DATABASE_URL: pooler!.url,
      CHECKOUT_BASE_URL: app.simulator.url,
      CHECKOUT_CLIENT_ID: 'demo-client',
      CHECKOUT_CLIENT_SECRET: 'demo-secret',
    });
    await doctor.end('SIGCONT');
    const said = doctor.output().replace(/\s+/g, ' ');
    if (mode === 'transaction')
      expect(said).toMatch(/alter role \S+ set lock_timeout = '1s'.* notifications do not arrive → set DATABASE_LISTEN_URL/);
    else expect(said).toMatch(/ignore_startup_parameters = jit,.* notifications arrive/);
  });
});

test('behind a pooler in transaction mode, notifications come by DATABASE_LISTEN_URL', async () => {
  const database = await testDatabase();
  pooler = await startPgBouncer(database.url, { pool_mode: 'transaction' });
  const env = { DATABASE_URL: pooler.url, DATABASE_POOL_MODE: 'auto', DATABASE_LISTEN_URL: database.url };
  t = await startTestApp({ realClock: true, env, database });
  await t.app.start();
  expect(told(t, 'listen.asking')).toEqual([]);
  const first = await registeredBySql(t);
  await t.receiver.waitFor(() => t!.changesOf(first).length === 1);
  const began = performance.now();
  const second = await registeredBySql(t);
  await expect.poll(() => t!.changesOf(second), { timeout: 10_000, interval: 10 }).toEqual(['New']);
  expect(performance.now() - began).toBeLessThan(900);
});

test('doctor finds that a pooler hands out fewer sessions than a daemon opens', async () => {
  const database = await testDatabase();
  pooler = await startPgBouncer(database.url, { pool_mode: 'transaction', default_pool_size: 4 });
  const site = { CHECKOUT_BASE_URL: 'http://127.0.0.1:9', CHECKOUT_CLIENT_ID: 'shop', CHECKOUT_CLIENT_SECRET: 'secret' };
  const doctor = startDaemon(['doctor', '--no-send'], { DATABASE_URL: pooler.url, ...site });
  await doctor.end('SIGCONT');
  const said = doctor.output().replace(/\s+/g, ' ');
  expect(said).toMatch(/4 of 12 sessions could be opened at once.*→ let the pooler before the server hand out 24/);
  await database.drop();
});

test('a pooler in statement mode is refused with what to do', async () => {
  const database = await testDatabase();
  pooler = await startPgBouncer(database.url, { pool_mode: 'statement', ignore_startup_parameters: 'extra_float_digits' });
  await expect(agreeOnSession(pooler.url, { poolMode: 'auto' })).rejects.toThrow(
    /statement mode.*pool_mode = transaction or session/,
  );
  await database.drop();
});

test('behind a limit of 20 connections two replicas watch everything, each with as many as it was given', async () => {
  const database = await testDatabase();
  const login = `${new URL(database.url).pathname.slice(1)}_limited`;
  // A superuser is held to no limit; a member of the owner has the owner's rights to the schema.
  await database.sql.unsafe(`create role "${login}" login password 'x' connection limit 20 in role current_user`);
  await database.sql.unsafe(`grant create on database "${new URL(database.url).pathname.slice(1)}" to "${login}"`);
  const url = new URL(database.url);
  url.username = login;
  url.password = 'x';
  t = await startTestApp({
    realClock: true,
    env: { DATABASE_URL: url.href, DATABASE_CONNECTIONS: '8' },
    database,
    change: quick,
  });
  const other = await t.another();
  await Promise.all([t.app.start(), other.start()]);
  const open = async (): Promise<number> => {
    const [row] = await database.sql<[{ count: number }]>`
      select count(*)::integer as count from pg_stat_activity where usename = ${login} and backend_type = 'client backend'`;
    return row.count;
  };
  const ids = t.simulator.control.addMany(200, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
  await database.sql`insert into purchase_watch.purchases (purchase_id) select unnest(${ids}::text[])`;
  const calls = [t.app, other].flatMap((app) => Array.from({ length: 100 }, () => fetch(`${app.url()}/metrics`)));
  let most = 0;
  while (t.receiver.received.length < ids.length) most = Math.max(most, await open());
  await Promise.all(calls);
  expect(most).toBeGreaterThan(8);
  expect(most).toBeLessThanOrEqual(16);
  for (const id of ids) expect(t.changesOf(id)).toEqual(['New']);
  expect(t.log.filter((line) => line.includes('53300'))).toEqual([]);
  await t.stop();
  t = undefined;
});

test('a daemon with the least connections works', async () => {
  t = await startTestApp({ realClock: true, env: { DATABASE_CONNECTIONS: '5' }, change: quick });
  await t.app.start();
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await t.receiver.waitFor(() => t!.changesOf(purchase).length === 1, 30_000);
  const answers = await Promise.all(Array.from({ length: 30 }, () => fetchAsMachine(`${t!.app.url()}/v1/overview`)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const [row] = await t.database.sql<[{ count: number }]>`
    select count(*)::integer as count from pg_stat_activity where datname = current_database() and application_name like 'purchase-watch %'`;
  expect(row.count).toBeLessThanOrEqual(5);
});
