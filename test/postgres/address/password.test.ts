/** Passwords and certificates that change while a daemon runs, against a real server. */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { describeConnectionError, parseDatabaseUrl } from '../../../src/postgres/address/database-url.ts';
import { connect } from '../../../src/postgres/connection/database.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
let database: TestDatabase;
let role: string;
beforeAll(async () => {
  database = await testDatabase();
  role = `${new URL(database.url).pathname.slice(1)}_login`;
  await database.sql.unsafe(`create role "${role}" login password 'first'`);
});
afterAll(async () => {
  await database.sql.unsafe(`drop role "${role}"`);
  await database.drop();
});

function fileWith(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, 0o600);
  return path;
}
const withPassword = (password: string): string => {
  const url = new URL(database.url);
  url.username = role;
  url.password = password;
  return url.href;
};
const setPassword = (password: string) => database.sql.unsafe(`alter role "${role}" password '${password}'`);
const who = (sql: ReturnType<typeof connect>) =>
  sql<[{ name: string; pid: number }]>`select current_user as name, pg_backend_pid() as pid`;

test.each([
  ['DATABASE_PASSWORD_FILE', (password: string) => `${password}\n`, () => ({ DATABASE_URL: withPassword('') })],
  ['DATABASE_URL_FILE', (password: string) => withPassword(password), () => ({})],
  [
    'PGPASSFILE',
    (password: string) =>
      `# comment\nother:*:*:*:no\n*:${new URL(database.url).port}:*:${role}:${password.replaceAll(':', '\\:')}\n`,
    () => ({ DATABASE_URL: withPassword('') }),
  ],
] as const)('a password of %s that is rotated works with the next connection', async (variable, content, env) => {
  await setPassword('first');
  const path = fileWith(variable, content('first'));
  const { databaseUrl } = loadSettings({ ...env(), [variable]: path });
  const sql = connect(databaseUrl!, { max: 1 });
  const [before] = await who(sql);
  expect(before.name).toBe(role);
  await setPassword('sec:ond%å');
  writeFileSync(path, content(variable === 'DATABASE_URL_FILE' ? encodeURIComponent('sec:ond%å') : 'sec:ond%å'));
  await database.sql`select pg_terminate_backend(${before.pid})`;
  await expect.poll(async () => (await who(sql).catch(() => [{ name: '' }]))[0].name).toBe(role);
  await sql.end();
});

test('a file that cannot be read, or that others may read, is named when the server refuses', async () => {
  await setPassword('first');
  const said = async (env: Record<string, string>): Promise<string> => {
    const { databaseUrl } = loadSettings({ DATABASE_URL: withPassword(''), ...env });
    const sql = connect(databaseUrl!, { max: 1 });
    const error = await who(sql).then(
      () => null,
      (reason: unknown) => reason,
    );
    await sql.end();
    return error === null ? '' : describeConnectionError(databaseUrl!, error);
  };
  const open = fileWith('open', `*:*:*:*:first\n`);
  chmodSync(open, 0o644);
  expect(await said({ PGPASSFILE: open })).toMatch(/may be read by others and is not used: chmod 600/);
  expect(await said({ DATABASE_PASSWORD_FILE: fileWith('gone', 'x') })).toMatch(/the password is not accepted/);
  chmodSync(open, 0o600);
  expect(await said({ PGPASSFILE: open })).toBe('');
});

test('the address is completed as libpq does: by itself, by its service, by variables', () => {
  const services = fileWith(
    'services',
    '[shop]\nhost=db.example\nport=5433\nuser=ann\n# dbname=no\nsslmode=require\n[other]\nhost=no\n',
  );
  const target = (env: Record<string, string>) => {
    const { hosts, target, encryption } = parseDatabaseUrl(loadSettings({ HOME: folder, ...env }).databaseUrl!);
    return [hosts.map(({ name, port }) => `${name}:${port}`).join(), target.user, target.database, encryption.mode];
  };
  expect(
    target({ DATABASE_URL: 'postgres:///', PGSERVICE: 'shop', PGSERVICEFILE: services, PGHOST: 'x', PGDATABASE: 'd' }),
  ).toEqual(['db.example:5433', 'ann', 'd', 'require']);
  expect(
    target({ DATABASE_URL: 'postgres://bob@host/own?service=shop&sslmode=disable', PGSERVICEFILE: services, PGUSER: 'no' }),
  ).toEqual(['host:5433', 'bob', 'own', false]);
  expect(target({ DATABASE_URL: 'postgres://h/d', PGSSLMODE: 'verify-full', PGUSER: 'u' })).toEqual([
    'h:5432',
    'u',
    'd',
    'require',
  ]);
  const problem = (env: Record<string, string>) => () => target({ DATABASE_URL: 'postgres://u:p@h/d', ...env });
  expect(problem({ PGSERVICE: 'none', PGSERVICEFILE: services })).toThrow(/PGSERVICE: there is no service "none" in .*services/);
  expect(problem({ PGREQUIREAUTH: 'scram-sha-256' })).toThrow(/PGREQUIREAUTH: is not obeyed here/);
  expect(() => target({ PGHOST: 'db' })).toThrow(/PGHOST: names a database, and is used only together with DATABASE_URL/);
  expect(problem({ DATABASE_PASSWORD: 'x' })).toThrow(/DATABASE_PASSWORD: DATABASE_URL has a password, too/);
});

test('a certificate for other names gets its own advice', () => {
  const error = Object.assign(
    new Error("Hostname/IP does not match certificate's altnames: Host: db. is not in the cert's altnames: DNS:pg.example"),
    {
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    },
  );
  expect(describeConnectionError('postgres://u@db/d', error)).toMatch(
    /is for other names \(DNS:pg.example\): let DATABASE_URL name the host/,
  );
});

test('a file of the password that holds more than the password is named when the server refuses', () => {
  const url = `postgres://${role}@db.example/shop?passwordfile=${encodeURIComponent(fileWith('lines', 'first\nsecond\n'))}`;
  const refused = Object.assign(new Error('password authentication failed'), { code: '28P01' });
  expect(describeConnectionError(url, refused)).toContain('lines has several lines, or begins with an empty one');
  const well = `postgres://${role}@db.example/shop?passwordfile=${encodeURIComponent(fileWith('breaks', 'first\r\n\n'))}`;
  expect(parseDatabaseUrl(well).options.password()).toBe('first');
});
