import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testDatabase } from '../../support/database.ts';
import { onDatabase } from '../command.ts';
import { runCommand } from '../run.ts';

test('migrate lists, applies, and then finds nothing to do', async () => {
  const database = await testDatabase({ empty: true });
  const migrate = async (...flags: string[]) => (await onDatabase(database, ['migrate', ...flags])).stdout;
  expect(await migrate('--dry-run')).toMatch(/^pending {2}0001_\w+\.sql$/m);
  expect((await onDatabase(database, ['status'])).stderr).toMatch(/schema is not up to date .*: run "purchase-watch migrate"/);
  expect(await migrate()).toMatch(/^applied {2}0001_\w+\.sql$/m);
  expect(await migrate()).toBe('the schema is up to date\n');
  expect(JSON.parse(await migrate('--json'))).toEqual({ applied: [] });
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
