/** An upgrade without a stop, with daemons as processes: this version is the old one, and a copy of it with further schema files the next one. */
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { onDatabase } from '../cli/command.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';

const PROJECT = join(import.meta.dirname, '../..');
const OWN = readdirSync(join(PROJECT, 'migrations')).length;

let t: TestApp;
const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of cleanUp.splice(0).reverse()) await each();
});

/** A version with further files. */
function nextVersion(...texts: readonly string[]): string {
  const program = mkdtempSync(join(tmpdir(), 'purchase-watch-next-'));
  cleanUp.push(() => rmSync(program, { recursive: true }));
  for (const name of ['src', 'packages', 'bin', 'assets', 'migrations', 'package.json'])
    cpSync(join(PROJECT, name), join(program, name), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(program, 'node_modules'));
  for (const [index, text] of texts.entries()) addFile(program, OWN + 1 + index, text);
  return program;
}
function addFile(program: string, number: number, text: string): void {
  writeFileSync(join(program, 'migrations', `${String(number).padStart(4, '0')}_next.sql`), text);
}

function run(args: readonly string[], { program, url = t.database.url }: { program?: string; url?: string } = {}): Daemon {
  const settings = {
    CHECKOUT_BASE_URL: t.simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    CHECKOUT_MAX_RPS: '500',
    WEBHOOK_URL: t.receiver.url,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    PORT: '0',
  };
  const daemon = startDaemon(args, { ...settings, DATABASE_URL: url }, program === undefined ? {} : { program });
  cleanUp.push(() => daemon.end('SIGKILL'));
  return daemon;
}
async function started(where: { program?: string; url?: string } = {}): Promise<Daemon> {
  const daemon = run(['start'], where);
  await daemon.says('"started"');
  return daemon;
}
async function command(
  args: readonly string[],
  where: { program?: string } = {},
): Promise<{ code: number | string; text: string }> {
  const daemon = run(args, where);
  const code = await new Promise<number>((resolve) => daemon.process.once('close', resolve));
  return { code, text: daemon.output() };
}

/** A new purchase and its change arrive, whichever daemons run. */
async function works(): Promise<void> {
  const [id] = t.simulator.control.addMany(1, { script: [{ state: 'BeingProcessed' }] }).map(({ purchaseId }) => purchaseId);
  await register(t.database.sql, [{ purchaseId: id!, site: null, reference: null, metadata: null }]);
  await expect.poll(() => t.changesOf(id!)).toEqual(['BeingProcessed']);
  t.simulator.control.setState(id!, 'Completed');
  await t.database
    .sql`update purchase_watch.purchases set next_poll_at = now(), due_slot = purchase_watch_internal.due_slot(now()) where purchase_id = ${id!}`;
  await expect.poll(() => t.changesOf(id!)).toEqual(['BeingProcessed', 'Completed']);
}

const EXPAND = `-- serves: ${OWN}\nalter table purchase_watch.purchases add column next integer;`;
const INDEX = `-- serves: ${OWN}\n-- needed: no\ncreate index concurrently purchases_next on purchase_watch.purchases (next);`;

test('daemons are upgraded one after another, and rolled back, without a stop and without a backup', async () => {
  t = await startTestApp({ realClock: true, simulator: { load: 0 } });
  cleanUp.push(() => t.stop());
  const program = nextVersion(EXPAND, INDEX);
  const old = [await started(), await started()];
  await works();

  // Expand, while the old daemons run.
  const migrated = await command(['migrate'], { program });
  expect(migrated).toMatchObject({ code: 0, text: expect.stringContaining(`applied  00${OWN + 2}_next.sql`) });
  await works();
  // An old daemon that restarts goes on.
  expect(await old[1]!.end('SIGTERM')).toBe(0);
  old[1] = await started();
  await old[1].says('"schema.newer"');
  expect(old[1].output()).toContain(`the schema is ${OWN + 2}, newer than the ${OWN} of this version, which works with it`);
  await works();

  // One after another; then one back.
  expect(await old[0]!.end('SIGTERM')).toBe(0);
  const next = [await started({ program })];
  await works();
  expect(await old[1].end('SIGTERM')).toBe(0);
  next.push(await started({ program }));
  await works();
  expect(await next[0]!.end('SIGTERM')).toBe(0);
  const back = await started();
  await works();

  // Contract: only once no old daemon runs.
  addFile(program, OWN + 3, `-- serves: ${OWN + 2}\nalter table purchase_watch_internal.order_counts drop column repeated;`);
  const refused = await command(['migrate'], { program });
  expect(refused.code).toBe(1);
  expect(refused.text).toMatch(
    new RegExp(
      `00${OWN + 3}_next\\.sql was not applied, because running daemons would not work with it: rep_\\w+ \\(version .*, schema ${OWN},`,
    ),
  );
  expect(refused.text).not.toContain(`schema ${OWN + 2},`);
  expect(await back.end('SIGTERM')).toBe(0);
  expect(await command(['migrate'], { program })).toMatchObject({
    code: 0,
    text: expect.stringContaining(`applied  00${OWN + 3}_next.sql`),
  });
  await works();
  expect(next[1]!.process.exitCode).toBeNull();
  const tooOld = await command(['start']);
  expect(tooOld.code).toBe(1);
  expect(tooOld.text).toContain(
    `00${OWN + 3}_next.sql was applied by a newer version, and it needs a version with schema ${OWN + 2} or later (this one has ${OWN})`,
  );
  expect((await onDatabase(t.database, ['audit'])).stderr).toContain(`(this one has ${OWN})`);
});

test('a daemon whose login may not migrate works one file behind where its own files say so', async () => {
  t = await startTestApp({ realClock: true, simulator: { load: 0 } });
  cleanUp.push(() => t.stop());
  const { sql, url } = t.database;
  const role = `purchase_watch_test_${randomBytes(4).toString('hex')}`;
  await sql.unsafe(`create role ${role} login password 'geheim';
    grant usage on schema purchase_watch, purchase_watch_internal to ${role};
    grant all on all tables in schema purchase_watch, purchase_watch_internal to ${role};
    grant all on all sequences in schema purchase_watch, purchase_watch_internal to ${role};
    grant all on all functions in schema purchase_watch, purchase_watch_internal to ${role}`);
  cleanUp.push(() => sql.unsafe(`drop owned by ${role}; drop role ${role}`));
  const plain = Object.assign(new URL(url), { username: role, password: 'geheim' }).href;
  const program = nextVersion(INDEX.replace('(next)', '(polls)'));
  const behind = await started({ program, url: plain });
  expect(behind.output()).toMatch(
    new RegExp(`the schema lacks 00${OWN + 1}_next\\.sql, without which this version works.*"schema\\.behind"`),
  );
  await works();
  expect(await behind.end('SIGTERM')).toBe(0);
  addFile(program, OWN + 2, EXPAND);
  const refused = run(['start'], { program, url: plain });
  await refused.says('must be owner of table purchases');
  expect(await refused.end('SIGCONT')).toBe(1);
});
