import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { runCommand } from '../cli/run.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { fetchAsMachine } from '../support/machine.ts';
import { canPair, startPostgresPair } from '../support/postgres-pair.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

const PATIENCE = { timeout: 60_000, interval: 100 };

const settingsFor = (t: TestApp, databaseUrl: string): Record<string, string> => ({
  ...{ DATABASE_URL: databaseUrl, CHECKOUT_BASE_URL: t.simulator.url, PORT: '0' },
  ...{ CHECKOUT_CLIENT_ID: 'demo-client', CHECKOUT_CLIENT_SECRET: 'demo-secret' },
  ...{ WEBHOOK_URL: t.receiver.url, WEBHOOK_SECRET: SECRET, WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8' },
  SLACK_WEBHOOK_URL: t.slack.url,
});
function pool(url: string): Sql {
  const sql = connect(url, { max: 1, name: 'test' });
  cleanUp.push(() => sql.end({ timeout: 0 }));
  return sql;
}
/** Purchases at the simulator, registered by a program of its own. */
async function registered(t: TestApp, sql: Sql, { count, state }: { count: number; state: string }): Promise<string[]> {
  const ids = Array.from({ length: count }, () => t.simulator.control.add({ script: [{ state }] }).purchaseId);
  await register(
    sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  return ids;
}
const arrived = (t: TestApp, ids: readonly string[], state: string) =>
  expect.poll(() => ids.filter((id) => t.changesOf(id).includes(state)).length, PATIENCE).toBe(ids.length);
function replica(settings: Record<string, string>): Daemon {
  const daemon = startDaemon(['start'], settings);
  cleanUp.push(() => daemon.end('SIGKILL'));
  return daemon;
}
const portOf = (daemon: Daemon): string => /"url":"http:\/\/[^"]*?:(\d+)"/.exec(daemon.output())![1]!;

test.skipIf(!canPair)(
  'a failover that loses the last seconds is noticed, said once, and makes no purchase into another one',
  async () => {
    const t = await startTestApp({ realClock: true });
    cleanUp.push(() => t.stop());
    const pair = await startPostgresPair();
    cleanUp.push(() => pair.stop());
    const settings = settingsFor(t, pair.url);
    const replicas = [replica(settings)];
    await replicas[0]!.says('"started"', 60_000);
    replicas.push(replica(settings));
    await replicas[1]!.says('"started"', 60_000);
    const before = pool(pair.url);
    await expect
      .poll(async () => (await before`select distinct owner from purchase_watch_internal.shards`).length, PATIENCE)
      .toBe(2);
    const kept = await registered(t, before, { count: 20, state: 'Completed' });
    await arrived(t, kept, 'Completed');

    await pair.cutStandby();
    const lost = await registered(t, before, { count: 60, state: 'Cancelled' });
    await arrived(t, lost, 'Cancelled');
    const renewals = async () =>
      Number((await before`select min(number) as least from purchase_watch_internal.renewals`)[0]!.least);
    // Both replicas have renewed twice since, which the standby does not know.
    const known = await renewals();
    await expect.poll(renewals, PATIENCE).toBeGreaterThan(known + 1);
    await pair.failOver();

    const after = pool(pair.standbyUrl);
    for (const each of replicas) await each.says('"database.went_back"', 60_000);
    const added = await registered(t, after, { count: 60, state: 'SessionTimedOut' });
    await arrived(t, added, 'SessionTimedOut');
    for (const id of added) expect(t.changesOf(id), 'nothing of a purchase that was lost').toEqual(['SessionTimedOut']);
    expect(await after`select from purchase_watch_internal.database_changes where kind = 'went_back'`).toHaveLength(1);
    const [{ lostFor }] = await after<[{ lostFor: number }]>`
      select extract(epoch from known_until - came_back_to)::float8 as "lostFor" from purchase_watch_internal.database_changes where kind = 'went_back'`;
    expect(lostFor).toBeGreaterThan(0);
    const page = (path: string) => fetchAsMachine(`http://127.0.0.1:${portOf(replicas[0]!)}${path}`);
    expect(await (await page('/v1/overview')).json()).toMatchObject({ databaseChanges: [{ kind: 'went_back', isOpen: true }] });
    const metrics = await (await page('/metrics')).text();
    expect(metrics).toContain('purchase_watch_database_changes_total{kind="went_back"} 1');

    const said = () =>
      t.slack.received.map(({ text }) => text.split('\n')[0]!).filter((line) => line.includes('without its last writes'));
    await expect.poll(() => said().length, { ...PATIENCE, timeout: 120_000 }).toBe(1);
    expect(await replicas[0]!.end('SIGTERM')).toBe(0);
    const third = replica(settings);
    await third.says('"started"', 60_000);
    // The judge looks every five seconds, and a message leaves at once.
    await expect
      .poll(
        async () =>
          (await after`select from purchase_watch_internal.incidents where kind = 'replica' and ended_at is null`).length,
        PATIENCE,
      )
      .toBe(0);
    expect(said()).toHaveLength(1);

    const log = join(tmpdir(), `received-${process.pid}.log`);
    onTestFinished(() => rmSync(log, { force: true }));
    writeFileSync(log, t.receiver.received.map(({ body }) => body).join('\n'));
    const audit = await runCommand(['audit', '--sent', log, '--json'], { DATABASE_URL: pair.standbyUrl });
    expect(JSON.parse(audit.stdout)).toMatchObject({ whole: false, checks: { known: { gaps: 60 }, arrived: { gaps: 0 } } });
  },
  300_000,
);
