/** A daemon on a pair of servers: its settings, what it polls and delivers, and the sessions that it has at each. */
import { onTestFinished } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import type { Daemon } from './daemon.ts';
import { fetchAsMachine } from './machine.ts';
import { SECRET, startTestApp, type TestApp } from './test-app.ts';

export async function testApp(): Promise<TestApp> {
  const t = await startTestApp({ realClock: true });
  onTestFinished(() => t.stop());
  return t;
}
export const pool = (url: string, name: string): Sql => {
  const sql = connect(url, { max: 1, name });
  onTestFinished(() => sql.end({ timeout: 0 }));
  return sql;
};
export const settingsFor = (t: TestApp, databaseUrl: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  CHECKOUT_BASE_URL: t.simulator.url,
  CHECKOUT_CLIENT_ID: 'demo-client',
  CHECKOUT_CLIENT_SECRET: 'demo-secret',
  WEBHOOK_URL: t.receiver.url,
  WEBHOOK_SECRET: SECRET,
  WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
  // Each pool has connections of its own.
  DATABASE_CONNECTIONS: '27',
  PORT: '0',
});
/** A purchase at the simulator, registered by a program of its own. */
export async function registered(t: TestApp, sql: Sql): Promise<string> {
  const { purchaseId } = t.simulator.control.add({ script: [{ state: 'Completed' }] });
  await register(sql, [{ purchaseId, site: null, reference: null, metadata: null }]);
  return purchaseId;
}
export const arrived = (t: TestApp, id: string) => t.receiver.waitFor(() => t.changesOf(id).includes('Completed'), 60_000);

/** Statuses of calls that take each of the API's pools: readers, changes, the feed and operators. */
export async function callAll(daemon: Daemon): Promise<number[]> {
  const origin = /"url":"(http[^"]+)"/.exec(daemon.output())![1]!;
  const purchase = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"purchaseId":"from-the-api"}' };
  const calls = ['/v1/overview', '/v1/purchases', '/v1/events', '/readyz'].map((path) =>
    fetchAsMachine(origin + path, path === '/v1/purchases' ? purchase : {}).then(({ status }) => status),
  );
  return Promise.all(calls);
}
/** Each pool and session of a daemon, as the server names it. */
export const SESSIONS = ['', ' api', ' changes', ' feed', ' listen', ' operators', ' outbox', ' recording'];
export const sessionsAt = async (sql: Sql) => {
  const rows = await sql<{ name: string }[]>`
    select distinct application_name as name from pg_stat_activity where application_name like 'purchase-watch%'`;
  return rows.map(({ name }) => name.slice('purchase-watch'.length));
};
