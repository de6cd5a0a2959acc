/** The statements that a daemon of two sites runs join no rows of two sites, so that sites may move to databases of their own. */
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createSimulator } from '../../packages/simulator/src/simulator.ts';
import { connect } from '../../src/postgres/connection/database.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { runCommand } from '../cli/run.ts';
import { startDaemon } from '../support/daemon.ts';
import { startKillablePostgres } from '../support/killable-postgres.ts';
import { startReceiver } from '../support/receiver.ts';
import { SECRET } from '../support/test-app.ts';
import { looseJoins, type Node, shapeOf } from './site-joins.ts';

/** Statements that may join rows of two sites, by words of their text, with the reason. */
const MAY: readonly (readonly [words: RegExp, reason: string])[] = [
  [/\bparent\b/, 'an incident over several sites stands for those of single sites; within a cell that stays so'],
  [/\bsubscribers s\b/, 'counts of one subscriber, who gets events of several sites; each cell has its own subscribers'],
];

test('no statement of a daemon joins rows of two sites', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-sites-'));
  chmodSync(folder, 0o777);
  const server = await startKillablePostgres([
    ...['shared_preload_libraries=auto_explain', 'auto_explain.log_min_duration=0', 'auto_explain.log_verbose=on'],
    ...['auto_explain.log_format=json', 'auto_explain.log_nested_statements=on'],
    ...[
      'logging_collector=on',
      'log_destination=jsonlog',
      `log_directory=${folder}`,
      'log_filename=plans',
      'log_rotation_size=0',
    ],
  ]);
  const simulator = createSimulator();
  await simulator.start();
  const receiver = await startReceiver({ secret: SECRET });
  const sql = connect(server.url, { max: 2 });
  const site = (): object => ({ baseUrl: simulator.url, clientId: 'demo-client', clientSecret: 'demo-secret' });
  writeFileSync(
    join(folder, 'settings.yaml'),
    JSON.stringify({
      sites: { fi: site(), se: site() },
      states: { WaitingForCardPayments: { stuckAfter: '3s', poll: { first: '1s', most: '1s' } } },
      webhooks: { allowAddresses: ['127.0.0.0/8'] },
      subscribers: { shop: { url: receiver.url, secret: SECRET } },
    }),
  );
  const env = { DATABASE_URL: server.url, PURCHASE_WATCH_CONFIG: join(folder, 'settings.yaml'), PORT: '0', DATA_DIR: folder };
  const daemon = startDaemon(['start'], env);
  onTestFinished(async () => {
    await daemon.end('SIGKILL');
    await sql.end({ timeout: 0 });
    await Promise.all([receiver.stop(), simulator.stop(), server.stop()]);
  });
  await daemon.says('"started"');
  for (const name of ['fi', 'se']) {
    for (const end of ['WaitingForCardPayments', 'Completed']) {
      const purchases = simulator.control.addMany(8, { script: [{ state: 'New' }, { state: end, after: '4s' }] });
      await register(
        sql,
        purchases.map(({ purchaseId }) => ({ purchaseId, site: name, reference: `ORD-${purchaseId}`, metadata: null })),
      );
    }
  }
  await daemon.says('"incident.opened"', 90_000);
  for (const command of [['status'], ['audit'], ['export', 'stays'], ['flow']]) await runCommand(command, env);
  const plans = new Map<string, Node>();
  for (const line of readFileSync(join(folder, 'plans.json'), 'utf8').split('\n')) {
    const { message = '' } = (line === '' ? {} : JSON.parse(line)) as { message?: string };
    const found = /^duration: .* plan:\n(\{[\s\S]*\})$/.exec(message)?.[1];
    if (found === undefined) continue;
    const { 'Query Text': text, Plan: plan } = JSON.parse(found) as { 'Query Text': string; Plan: Node };
    plans.set(`${text} ${shapeOf(plan)}`, plan);
  }
  const loose = [...plans].flatMap(([text, plan]) => looseJoins(plan).map((pair) => `${pair} in ${text}`));
  const without = loose.filter((text) => !MAY.some(([words]) => words.test(text)));
  expect(plans.size).toBeGreaterThan(150);
  expect(without).toEqual([]);
  // An exception that nothing needs goes.
  for (const [words, reason] of MAY)
    expect(
      loose.some((text) => words.test(text)),
      reason,
    ).toBe(true);
}, 240_000);
