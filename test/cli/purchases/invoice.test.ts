import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSimulator, type Simulator } from '../../../packages/simulator/src/simulator.ts';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

let simulator: Simulator;
/** Of two sites, where `twice` is registered at both and `at-fi` at one. */
let database: TestDatabase;
beforeAll(async () => {
  simulator = createSimulator();
  await simulator.start();
  database = await databaseOf('se', 'fi');
  await database.sql`
    insert into purchase_watch.purchases (purchase_id, site) values ('twice', 'se'), ('twice', 'fi'), ('at-fi', 'fi')`;
  for (const purchaseId of ['twice', 'at-fi']) simulator.control.add({ purchaseId, ...PAID });
});
afterAll(async () => {
  await simulator.stop();
  await database.drop();
});

const PAID = { script: [{ state: 'Completed' }], paymentMethod: 'invoice', price: '1249.50' } as const;
const credentials = { clientId: 'demo-client', clientSecret: 'demo-secret' };
const one = (argv: readonly string[], env: Record<string, string> = {}) =>
  runCommand(['invoice', ...argv], {
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: credentials.clientId,
    CHECKOUT_CLIENT_SECRET: credentials.clientSecret,
    // There is nothing: whoever needs no database must not look for one.
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    ...env,
  });
const two = (argv: readonly string[], databaseUrl: string) => {
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'settings.yaml');
  const site = { baseUrl: simulator.url, ...credentials };
  writeFileSync(file, JSON.stringify({ sites: { se: site, fi: site } }));
  return runCommand(['invoice', ...argv], { PURCHASE_WATCH_CONFIG: file, DATABASE_URL: databaseUrl });
};
const added = (differs: Partial<Parameters<Simulator['control']['add']>[0]> = {}): string =>
  simulator.control.add({ ...PAID, ...differs }).purchaseId;

test('shows totals, dates and items with the digits they came with, without a database', async () => {
  // Every third customer used a voucher.
  const ids = [added(), added(), added()];
  const shown = await Promise.all(ids.map((id) => one([id])));
  expect(shown.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(ids.map(() => [0, '']));
  const { stdout } = shown.find((each) => each.stdout.includes('Voucher'))!;
  expect(stdout).toMatch(/^state +completed$/m);
  expect(stdout).toMatch(/^total +1249\.50$/m);
  expect(stdout).toMatch(/^due +\d{4}-\d\d-\d\d$/m);
  expect(stdout).toMatch(
    /^Items\ndescription +notes +amount +tax in it +tax code\nGoods of order \d+ +- +1305\.73 +261\.14 +1\nShipping +Delivered to the door +68\.72 +13\.74 +-\n\nCredits\n/m,
  );
  expect(stdout).toMatch(/^Voucher +- +124\.95 +24\.99 +-$/m);
});

test('writes JSON as the API does', async () => {
  const id = added();
  const { exitCode, stdout } = await one([id, '--json']);
  expect(exitCode).toBe(0);
  expect(stdout).toContain('"totalAmount": 1249.50,');
  expect(JSON.parse(stdout)).toMatchObject({ purchaseId: id, site: 'default', state: { name: 'Completed' } });
});

test.each<[string, Parameters<typeof added>[0], RegExp]>([
  ['is not completed', { script: [{ state: 'New' }] }, /is before the form\. .*only completed purchases have an invoice/],
  ['is of a kind without invoices', { paymentMethod: 'card' }, /is completed and has no invoice\. .*Only Invoice, Loan/],
])('a purchase that %s: says so, and fails', async (_, spec, message) => {
  const { exitCode, stdout, stderr } = await one([added(spec)]);
  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(message);
});

test('an id nobody knows, a service that fails, and settings without a site', async () => {
  expect(await one(['nobody'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('"nobody" is not known at site default'),
  });
  simulator.control.fail({ kind: '503', only: 'invoice' });
  expect(await one([added()])).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('HTTP 503') });
  expect(await runCommand(['invoice', 'x'], {})).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('CHECKOUT_BASE_URL'),
  });
});

test('with several sites, the one named is asked, or the one where the purchase is registered', async () => {
  const id = added();
  expect((await two([id, '--site', 'se', '--json'], 'postgres://nobody@127.0.0.1:1/none')).exitCode).toBe(0);
  expect(JSON.parse((await two(['at-fi', '--json'], database.url)).stdout)).toMatchObject({ site: 'fi' });
  const [unregistered, ambiguous, mistyped] = [
    await two([id], database.url),
    await two(['twice'], database.url),
    await two([id, '--site', 'ss'], database.url),
  ];
  expect([unregistered, ambiguous, mistyped].map(({ exitCode }) => exitCode)).toEqual([2, 2, 2]);
  expect(unregistered.stderr).toMatch(/is not registered: choose the site to ask with --site \(se, fi\)/);
  expect(ambiguous.stderr).toMatch(/is registered at fi, se: choose the site/);
  expect(mistyped.stderr).toMatch(/did you mean se\?/);
});
