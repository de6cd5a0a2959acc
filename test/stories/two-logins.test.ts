/** The split of a login that migrates and one that runs the daemon, as docs/sql.md prepares it; and databases of other encodings. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { connect } from '../../src/postgres/connection/database.ts';
import { onDatabase } from '../cli/command.ts';
import { runCommand } from '../cli/run.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of cleanUp.splice(0).reverse()) await each();
});

/** The statements under the heading, with logins of this test. */
function prepared(suffix: string): string {
  const page = readFileSync(join(import.meta.dirname, '../../docs/sql.md'), 'utf8');
  const [, statements = ''] = /### One login that migrates[\s\S]*?```sql\n([\s\S]*?)```/.exec(page) ?? [];
  return statements.replaceAll(/watch_(owner|daemon)/g, `watch_$1_${suffix}`).replaceAll(/'change me[^']*'/g, "'geheim'");
}

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await testDatabase({ empty: true });
  cleanUp.push(database.drop);
  return database;
}

function as(role: string, { url }: TestDatabase): { url: string } {
  const own = new URL(url);
  own.username = role;
  own.password = 'geheim';
  return { url: own.href };
}

test('one login migrates, another runs the daemon, and neither needs more than the page gives', async () => {
  const suffix = randomBytes(4).toString('hex');
  const database = await emptyDatabase();
  const { sql } = database;
  await sql.unsafe(prepared(suffix));
  cleanUp.push(async () => {
    for (const role of [`watch_owner_${suffix}`, `watch_daemon_${suffix}`])
      await sql.unsafe(`drop owned by ${role} cascade; drop role ${role}`);
  });
  const owner = as(`watch_owner_${suffix}`, database);
  const daemon = as(`watch_daemon_${suffix}`, database);
  expect((await onDatabase(daemon, ['migrate'])).stderr).toContain('does not own the schemas of purchase-watch');
  expect(await onDatabase(owner, ['migrate'])).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^applied {2}0001_/) });
  expect((await onDatabase(daemon, ['migrate'])).stdout).toBe('the schema is up to date\n');

  const t: TestApp = await startTestApp({ env: { DATABASE_URL: daemon.url } });
  cleanUp.push(t.stop);
  const purchase = await t.watch({
    script: [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '5s' }, { state: 'Completed', after: '30m' }],
  });
  await t.live(40 * 60_000);
  expect(t.changesOf(purchase)).toEqual(['New', 'WaitingForCardPayments', 'Completed']);
  expect(t.eventsOf(purchase).map(({ type }) => type)).toContain('purchase.stuck');
  expect((await onDatabase(daemon, ['audit'])).exitCode).toBe(0);
  expect((await onDatabase(daemon, ['forget', purchase, '--yes'])).stderr).toBe('');
  const plain = connect(daemon.url, { max: 1 });
  cleanUp.push(() => plain.end());
  await expect(plain`alter table purchase_watch.purchases add column mine integer`).rejects.toThrow(/must be owner/);
  await expect(plain`create table purchase_watch_internal.mine ()`).rejects.toThrow(/permission denied/);
}, 60_000);

test.each(['SQL_ASCII', 'LATIN1'])(
  'a database of encoding %s is refused, with the statement that makes one',
  async (encoding) => {
    const { sql, url } = await emptyDatabase();
    const name = `${new URL(url).pathname.slice(1)}_${encoding.toLowerCase()}`;
    await sql.unsafe(`create database ${name} encoding '${encoding}' locale 'C' template template0`);
    const other = new URL(url);
    other.pathname = `/${name}`;
    cleanUp.push(() => sql.unsafe(`drop database ${name} with (force)`));
    const SITE = { CHECKOUT_BASE_URL: 'http://127.0.0.1:1', CHECKOUT_CLIENT_ID: 'id', CHECKOUT_CLIENT_SECRET: 'secret' };
    let statement = '';
    for (const command of [['migrate'], ['migrate', '--plan'], ['start'], ['doctor', '--quiet']]) {
      const { exitCode, stdout, stderr } = await runCommand(
        command,
        { DATABASE_URL: other.href, PORT: '0', ...SITE },
        { isTTY: true },
      );
      const said = stdout + stderr;
      expect([command, exitCode === 0]).toEqual([command, false]);
      expect(said).toContain(`database ${name} has encoding ${encoding}`);
      [, statement = ''] = /in psql: (create database .*?)\), and/.exec(said) ?? [];
      expect([command, statement]).toEqual([command, expect.stringContaining(`"${name}_utf8"`)]);
    }
    await sql.unsafe(statement);
    cleanUp.push(() => sql.unsafe(`drop database "${name}_utf8" with (force)`));
    other.pathname = `/${name}_utf8`;
    expect((await runCommand(['migrate'], { DATABASE_URL: other.href })).exitCode).toBe(0);
  },
  60_000,
);
