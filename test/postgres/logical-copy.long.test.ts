/** docs/numbers.md: a copy of the database by logical replication, on a server of its own. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createSimulator } from '../../packages/simulator/src/simulator.ts';
import { connect } from '../../src/postgres/connection/database.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { runCommand } from '../cli/run.ts';
import { startDaemon } from '../support/daemon.ts';
import { MIGRATIONS } from '../support/database.ts';
import { startKillablePostgres } from '../support/killable-postgres.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/numbers.md'), 'utf8');
const [, publish = '', subscribe = ''] = [...PAGE.split('## A copy by')[1]!.matchAll(/```(?:sh|sql)\n([\s\S]*?)```/g)].map(
  ([, code]) => code!,
);
const QUESTIONS = [...PAGE.split('## A copy by')[0]!.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, code]) => code!);
const STAYS =
  'select purchase_id, sequence, state_name, to_name, entered_at, left_at, is_waiting from purchase_watch.stays order by 1, 2';

test('the copy has every stay, follows changes and erasures, and answers the questions of the page', async () => {
  const [primary, copy] = await Promise.all([startKillablePostgres(['wal_level=logical']), startKillablePostgres()]);
  const simulator = createSimulator();
  await simulator.start();
  const [here, there] = [connect(primary.url, { max: 3 }), connect(copy.url, { max: 3 })];
  onTestFinished(async () => {
    await Promise.all([here.end({ timeout: 0 }), there.end({ timeout: 0 }), simulator.stop()]);
    await copy.stop();
    await primary.stop();
  });
  await migrate(there, MIGRATIONS);
  const daemon = startDaemon(['start'], {
    DATABASE_URL: primary.url,
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    PORT: '0',
  });
  onTestFinished(async () => void (await daemon.end('SIGKILL')));
  await daemon.says('"started"');
  const add = async (count: number, { arePaid = true } = {}): Promise<string[]> => {
    const atBank = [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '1s' }];
    const script = arePaid ? [...atBank, { state: 'Completed', after: '2s' }] : atBank;
    const ids = simulator.control.addMany(count, { script }).map(({ purchaseId }) => purchaseId);
    await register(
      here,
      ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
    );
    return ids;
  };
  await add(20);
  // One that is watched for as long as the questions are asked.
  await add(1, { arePaid: false });
  await daemon.says('"purchase.state_changed"');

  await here.unsafe(publish);
  const [truncate, create] = subscribe.split(';\n') as [string, string];
  await there.unsafe(truncate);
  const { hostname, port } = new URL(primary.url);
  const line = `'host=${hostname} port=${port} dbname=postgres user=postgres'`;
  await there.unsafe(create.replace(/'[^']+'/, line));
  const [erased = ''] = await add(20);

  const isOver = async () =>
    (await here`select count(*)::integer as n from purchase_watch.stays where to_name = 'Completed'`)[0]!.n;
  await expect.poll(isOver, { timeout: 60_000 }).toBeGreaterThanOrEqual(30);
  const forgotten = await runCommand(['forget', erased, '--yes'], { DATABASE_URL: primary.url });
  expect(forgotten.exitCode).toBe(0);
  expect(await daemon.end('SIGTERM')).toBe(0);
  const wanted = await here.unsafe(STAYS);
  expect(wanted.length).toBeGreaterThan(60);
  await expect.poll(() => there.unsafe(STAYS), { timeout: 30_000 }).toEqual(wanted);
  expect(wanted.map(({ purchaseId }) => purchaseId)).not.toContain(erased);
  expect(QUESTIONS.length).toBe(8);
  for (const question of QUESTIONS)
    expect((await there.unsafe(question)).length, question).toBeGreaterThanOrEqual(
      // The copy has neither deliveries nor counts of ends.
      /stuck_at::date|delivery_log|purchase_watch\.outcome/.test(question) ? 0 : 1,
    );

  // A copy that lacks a new column stops, and goes on once it has it.
  await here`alter table purchase_watch_internal.sites add column note text`;
  await here`update purchase_watch_internal.sites set note = 'new'`;
  const failures = () => there<{ count: number }[]>`select apply_error_count::integer as count from pg_stat_subscription_stats`;
  await expect.poll(async () => (await failures())[0]!.count, { timeout: 30_000 }).toBeGreaterThan(0);
  await there`alter table purchase_watch_internal.sites add column note text`;
  await expect
    .poll(async () => (await there`select note from purchase_watch_internal.sites`)[0]?.note, { timeout: 30_000 })
    .toBe('new');
  await there`drop subscription purchase_watch_copy`;
}, 240_000);
