import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { runCommand } from '../cli/run.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

/** What the daemons of a story do, one after the other. */
async function pass(...apps: App[]): Promise<void> {
  for (const app of apps) await app.pollOnce();
  for (const app of apps) await app.judgeOnce();
  for (const app of apps) await app.deliverOnce();
}
const logged = (event: string): Record<string, unknown>[] =>
  t.log.map((line) => JSON.parse(line)).filter((line: { event?: string }) => line.event === event);
const alerts = (): (string | undefined)[] =>
  t.slack.received.map(({ text }) => text.split('\n')[0]).filter((line) => line?.includes('database'));

/** The database as a backup or a standby has it that lacks all purchases from this one on, and the last renewals. */
async function setBack(rowId: number): Promise<void> {
  const { sql } = t.database;
  await sql.begin(async (tx) => {
    await tx`delete from purchase_watch_internal.deliveries where lane >= ${rowId}`;
    await tx`delete from purchase_watch.purchases where id >= ${rowId}`;
    await tx`update purchase_watch_internal.renewals set number = number - 2`;
  });
  await sql.unsafe(`alter table purchase_watch.purchases alter column id restart with ${rowId}`);
}

test('daemons notice that the database went back, drop what they hold in memory, and alert people once, over replicas and a restart', async () => {
  t = await startTestApp();
  const other = await t.another();
  const kept = await t.watch({ script: [{ state: 'New' }, { state: 'Completed', after: '1h' }] });
  await pass(t.app, other, t.app, other);
  const lost = await t.watch({ script: [{ state: 'New' }, { state: 'Completed', after: '1m' }] });
  await pass(t.app, other);
  expect(t.changesOf(lost)).toEqual(['New']);
  const { id } = await t.rowOf(lost);

  await setBack(id);
  const added = await t.watch({ script: [{ state: 'WaitingForCardPayments' }, { state: 'Cancelled', after: '10m' }] });
  expect((await t.rowOf(added)).id).toBe(id);
  await t.live(5 * 60_000);
  await pass(other, t.app);

  expect(t.changesOf(added)).toEqual(['WaitingForCardPayments']);
  expect(t.changesOf(lost), 'nothing is polled of a purchase that the database does not know').toEqual(['New']);
  expect(t.changesOf(kept)).toEqual(['New']);
  expect(logged('database.went_back').length + logged('database.moved').length, 'each replica says it').toBe(2);
  expect(await t.database.sql`select from purchase_watch_internal.database_changes where kind = 'went_back'`).toHaveLength(1);
  expect(alerts()).toEqual([
    expect.stringMatching(/^🔴 purchase-watch: the database came back without its last writes, as of 20\d\d-/),
    expect.stringMatching(/^⚪ purchase-watch: the alert about writes that the database lost ends; they stay lost/),
  ]);
  expect(t.slack.received[0]!.text).toContain('`purchase-watch watch --file FILE`');

  await other.stop();
  const third = await t.another();
  for (let minute = 0; minute < 10; minute++) {
    t.clock.advance('1m');
    await pass(t.app, third);
  }
  expect(alerts()).toHaveLength(2);

  const settings = {
    ...{ DATABASE_URL: t.database.url, CHECKOUT_BASE_URL: t.simulator.url },
    ...{ CHECKOUT_CLIENT_ID: 'demo-client', CHECKOUT_CLIENT_SECRET: 'demo-secret' },
  };
  const command = (...argv: string[]) => runCommand(argv, settings);
  const [{ id: incident }] = await t.database.sql<
    [{ id: string }]
  >`select id from purchase_watch_internal.incidents where kind = 'replica'`;
  const shown = (await command('incidents', 'show', incident)).stdout.replaceAll(/\s+/g, ' ');
  expect(shown).toMatch(
    /What is wrong The database came back as of 20\S+ .* What to do Register the purchases of that time again/,
  );
  const status = await command('status');
  expect(status.stdout).toMatch(/^The database came back without its last writes\..*purchase-watch watch --file FILE/s);
  expect(JSON.parse((await command('status', '--json')).stdout)).toMatchObject({
    databaseChanges: [{ kind: 'went_back', isOpen: true }],
  });
  const doctor = (await command('doctor', '--quiet')).stdout;
  expect(doctor).toMatch(/^failed +database: the database came back as of/m);
  const audit = await command('audit');
  expect(audit).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is not compared yet') });
  expect(audit.stdout).toMatch(/^open {3}The database came back as of/m);
  expect(JSON.parse((await command('audit', '--json')).stdout)).toMatchObject({ whole: false, gaps: 0 });

  expect((await command('audit', '--compared')).stdout).toBe('Noted that 1 change of the database was compared.\n');
  expect((await command('audit')).exitCode).toBe(0);
  expect((await command('status')).stdout).not.toContain('came back');
  expect((await command('incidents', 'show', incident)).stdout).not.toContain('What to do');
  expect((await command('audit', '--compared')).stdout).toMatch(/^Nothing to note/);
});

test("a receiver's log shows what the database calls delivered and was never sent, and what the database does not know", async () => {
  t = await startTestApp();
  const ids = [await t.watch({ script: [{ state: 'Completed' }] }), await t.watch({ script: [{ state: 'Completed' }] })];
  await pass(t.app);
  const [first, second] = ids.map((id) => t.eventsOf(id)[0]!.id);
  const log = join(tmpdir(), `received-${process.pid}.log`);
  onTestFinished(() => rmSync(log, { force: true }));
  const audit = (...argv: string[]) => runCommand(['audit', '--sent', log, ...argv], { DATABASE_URL: t.database.url });

  writeFileSync(log, `${first}\n${second}\n`);
  expect(await audit()).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^whole {2}2 events of the log.*\nwhole {2}2 events that/),
  });
  const gone = JSON.stringify({
    id: 'evt_gone',
    type: 'purchase.state_changed',
    data: { site: 'default', purchaseId: 'p-lost' },
  });
  writeFileSync(log, `${first}\n${gone}\n`);
  const { exitCode, stdout } = await audit();
  expect(exitCode).toBe(1);
  expect(stdout).toContain('default p-lost: evt_gone arrived, and the database does not know the event');
  expect(stdout).toContain(
    `${ids[1]} #1: ${second} (purchase.state_changed) is delivered as the database has it, and is not in the log`,
  );

  writeFileSync(log, 'not an id\n');
  expect((await audit()).stderr).toContain('line 1 is neither an id alone nor JSON');
  expect((await audit('--subscriber', 'nobody')).stderr).toContain('"nobody" is not a subscriber; known: default');
  rmSync(log);
  expect((await audit()).stderr).toContain('cannot read');
});
