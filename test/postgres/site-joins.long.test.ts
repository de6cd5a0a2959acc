/** The statements that a daemon of two sites runs join no rows of two sites, so that sites may move to databases of their own. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/postgres/connection/database.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { runCommand } from '../cli/run.ts';
import { startDaemon } from '../support/daemon.ts';
import { startKillablePostgres } from '../support/killable-postgres.ts';
import { startReceiver } from '../support/receiver.ts';
import { SECRET } from '../support/test-app.ts';
import { looseJoins, planOf } from './site-joins.ts';

/** Statements that join rows of two sites, by words of their text, with the reason why they may. */
const MAY: readonly (readonly [words: string, reason: string])[] = [];

test('no statement of a daemon joins rows of two sites', async () => {
  const server = await startKillablePostgres([
    'shared_preload_libraries=pg_stat_statements',
    'pg_stat_statements.max=5000',
    'track_activity_query_size=16384',
  ]);
  const simulator = createSimulator();
  await simulator.start();
  const receiver = await startReceiver({ secret: SECRET });
  const sql = connect(server.url, { max: 2 });
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-sites-'));
  const site = (): object => ({ baseUrl: simulator.url, clientId: 'demo-client', clientSecret: 'demo-secret' });
  writeFileSync(
    join(folder, 'settings.yaml'),
    JSON.stringify({
      sites: { fi: site(), se: site() },
      states: { WaitingForCardPayments: { stuckAfter: '3s', first: '1s', most: '1s' } },
      webhooks: { allowAddresses: ['127.0.0.0/8'] },
      subscribers: { shop: { url: receiver.url, secret: SECRET } },
    }),
  );
  const env = { DATABASE_URL: server.url, PURCHASE_WATCH_CONFIG: join(folder, 'settings.yaml'), PORT: '0', DATA_DIR: folder };
  await sql`create extension pg_stat_statements`;
  const daemon = startDaemon(['start'], env);
  onTestFinished(async () => {
    await daemon.end('SIGKILL');
    await sql.end({ timeout: 0 });
    await Promise.all([receiver.stop(), simulator.stop(), server.stop()]);
  });
  await daemon.says('"started"');
  for (const name of ['fi', 'se']) {
    const script = [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '1s' }, { state: 'Completed', after: '15s' }];
    const purchases = simulator.control.addMany(30, { script });
    await register(
      sql,
      purchases.map(({ purchaseId }) => ({ purchaseId, site: name, reference: 'ORD-1', metadata: null })),
    );
  }
  await daemon.says('"incident.opened"');
  await expect
    .poll(async () => (await sql`select count(*)::integer as n from purchase_watch.stays where to_name = 'Completed'`)[0]!.n, {
      timeout: 60_000,
    })
    .toBe(60);
  for (const command of [['status'], ['audit'], ['export', 'stays'], ['flow']]) await runCommand(command, env);
  const statements = await sql<{ query: string }[]>`
    select distinct query from pg_stat_statements where toplevel and query ~* '^\s*(select|with|insert|update|delete)' and query ~ 'purchase_watch'`;
  const loose: string[] = [];
  let planned = 0;
  const failed: string[] = [];
  for (const { query } of statements) {
    const plan = await planOf(sql, query).catch((error: Error) => void failed.push(`${error.message}: ${query.slice(0, 300)}`));
    if (plan == null) continue;
    planned += 1;
    const found = looseJoins(plan);
    if (found.length > 0 && !MAY.some(([words]) => query.includes(words))) loose.push(`${found.join('; ')} in ${query}`);
  }
  console.log(
    statements.length,
    planned,
    failed.join('\n---\n').slice(0, 3000),
    '\n=====LOOSE',
    loose.length,
    loose.map((l) => l.slice(0, 1500)).join('\n-----\n'),
  );
  expect(loose).toEqual([]);
}, 240_000);
