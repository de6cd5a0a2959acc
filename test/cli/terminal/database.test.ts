import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { migrate } from '../../../src/postgres/migrations/migrate.ts';
import { MIGRATIONS, testDatabase } from '../../support/database.ts';
import { onDatabase } from '../command.ts';
import { runCommand } from '../run.ts';

test('migrate lists, applies, and then finds nothing to do', async () => {
  const database = await testDatabase({ empty: true });
  const migrate = async (...flags: string[]) => (await onDatabase(database, ['migrate', ...flags])).stdout;
  expect(await migrate('--plan')).toMatch(/^pending {2}0001_\w+\.sql$/m);
  expect((await onDatabase(database, ['status'])).stderr).toMatch(/schema is not up to date .*: run "purchase-watch migrate"/);
  expect(await migrate()).toMatch(/^applied {2}0001_\w+\.sql$/m);
  expect(await migrate()).toBe('the schema is up to date\n');
  expect(JSON.parse(await migrate('--json'))).toEqual({ applied: [] });
  await database.drop();
});

test('a plan says who can go on, which locks are taken, and who waits for how long', async () => {
  const database = await testDatabase({ empty: true });
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-migrations-'));
  for (const name of readdirSync(MIGRATIONS).sort().slice(0, 5)) cpSync(join(MIGRATIONS, name), join(folder, name));
  await migrate(database.sql, folder);
  const { stdout } = await onDatabase(database, ['migrate', '--plan']);
  const of = (name: string) =>
    new RegExp(`^pending  ${name}\\n((?: {9}.*\\n)*)`, 'm')
      .exec(stdout)?.[1]
      ?.split('\n')
      .map((line) => line.trim());
  expect(of('0006_incidents.sql')).toEqual([
    'no daemon of an older version can go on: stop them first',
    'create table purchase_watch_internal.sites (rows not counted yet, 1 MB): ShareRowExclusiveLock, writes wait; reads no rows',
    'create table purchase_watch.purchases (rows not counted yet, 1 MB): ShareRowExclusiveLock, writes wait; reads no rows',
    'those wait about 20 ms, once it has its locks',
    '',
  ]);
  expect(of('0008_views.sql')?.[1]).toBe('nobody waits for it');
  expect(stdout).toContain('For a lock it waits 200 ms');
  const { pending } = JSON.parse((await onDatabase(database, ['migrate', '--plan', '--json'])).stdout);
  expect(pending[0]).toMatchObject({
    name: '0006_incidents.sql',
    serves: null,
    isNeeded: true,
    locks: [
      {
        statement: 'create table',
        table: 'purchase_watch_internal.sites',
        lock: 'ShareRowExclusiveLock',
        blocks: 'writes',
        work: 'none',
      },
      {},
    ],
  });
  expect((await onDatabase(database, ['migrate'])).stdout).toMatch(/^applied {2}0006_incidents\.sql\n/);
  rmSync(folder, { recursive: true });
  await database.drop();
});

test('a database that cannot be reached is one clear sentence without the password', async () => {
  const { exitCode, stdout, stderr } = await runCommand(['status'], { DATABASE_URL: 'postgres://me:geheim@127.0.0.1:1/shop' });
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(/^error: cannot reach Postgres at 127\.0\.0\.1:1 as user me: connection refused; .*\n$/);
  expect(stderr).not.toContain('geheim');
});

test('a right that the role lacks is named, with who can give it', async () => {
  const [empty, filled] = await Promise.all([testDatabase({ empty: true }), testDatabase()]);
  const role = `guest_${randomBytes(4).toString('hex')}`;
  await filled.sql.unsafe(`create role ${role} login password 'geheim'`);
  const asGuest = async ({ url }: { url: string }, command: string) => {
    const guest = new URL(url);
    guest.username = role;
    guest.password = 'geheim';
    const { exitCode, stdout, stderr } = await runCommand([command], {
      DATABASE_URL: guest.href,
      ...{ CHECKOUT_BASE_URL: 'http://127.0.0.1:1', CHECKOUT_CLIENT_ID: 'id', CHECKOUT_CLIENT_SECRET: 'secret' },
    });
    expect(exitCode).toBe(1);
    expect(stdout + stderr).not.toContain('geheim');
    return { stdout, stderr };
  };
  expect((await asGuest(empty, 'migrate')).stderr).toMatch(
    new RegExp(
      `refuses this: permission denied for database (\\w+): role ${role} may not create schemas there; .*grant create on database \\1 to ${role}`,
    ),
  );
  expect((await asGuest(filled, 'status')).stderr).toMatch(
    new RegExp(`refuses this: permission denied for schema purchase_watch_internal: role ${role} does not own .*DATABASE_URL`),
  );
  const { stdout } = await asGuest(filled, 'doctor');
  expect(stdout).toMatch(/failed +database: the schema could not be read\n +→ permission denied for schema/);
  expect(stdout).not.toContain('fault of this program');
  await filled.sql.unsafe(`drop role ${role}`);
  await Promise.all([empty.drop(), filled.drop()]);
});

test('looking makes no database', async () => {
  const DATA_DIR = join(mkdtempSync(join(tmpdir(), 'purchase-watch-cli-')), 'data');
  const { exitCode, stderr } = await runCommand(['status'], { DATA_DIR });
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/there is no database in \/.*\/data yet: run "purchase-watch start" first/);
});

test('start lists all settings that it needs', async () => {
  const { exitCode, stderr } = await runCommand(['start'], {}, { isTTY: true });
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(
    /CHECKOUT_BASE_URL: is missing.*\n.*CHECKOUT_CLIENT_ID: is missing.*\n.*CHECKOUT_CLIENT_SECRET: is missing/,
  );
});
