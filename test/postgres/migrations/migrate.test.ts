import { randomBytes } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connect } from '../../../src/postgres/connection/database.ts';
import { migrate } from '../../../src/postgres/migrations/migrate.ts';
import { createMigrationLock } from '../../../src/postgres/migrations/migration-lock.ts';
import { schemaStatus } from '../../../src/postgres/migrations/schema.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
let folder: string;
beforeEach(async () => {
  database = await testDatabase({ empty: true });
  folder = mkdtempSync(join(tmpdir(), 'purchase-watch-migrations-'));
  write('0001_carts.sql', 'create table carts (id int);\ncreate index on carts (id);');
  write('0002_prices.sql', 'alter table carts add price numeric;');
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const run = () => migrate(database.sql, folder);
const pending = async () => (await schemaStatus(database.sql, folder)).pending.map(({ name }) => name);
const remembered = () => database.sql`select number, name from purchase_watch_internal.migrations order by number`;

test('applies what is pending, in order, once', async () => {
  expect(await pending()).toEqual(['0001_carts.sql', '0002_prices.sql']);
  expect(await run()).toMatchObject({ applied: ['0001_carts.sql', '0002_prices.sql'], version: 2 });
  expect(await run()).toMatchObject({ applied: [], version: 2 });
  write('0003_drop.sql', 'drop table carts;');
  expect(await pending()).toEqual(['0003_drop.sql']);
  expect(await run()).toMatchObject({ applied: ['0003_drop.sql'], version: 3 });
  expect(await pending()).toEqual([]);
  expect((await remembered()).map(({ name }) => name)).toEqual(['0001_carts.sql', '0002_prices.sql', '0003_drop.sql']);
});

test('asking what is pending changes nothing', async () => {
  await pending();
  const [found] = await database.sql`select to_regnamespace('purchase_watch') is null as absent`;
  expect(found?.absent).toBe(true);
});

test('an empty folder makes an empty schema', async () => {
  rmSync(join(folder, '0001_carts.sql'));
  rmSync(join(folder, '0002_prices.sql'));
  expect(await run()).toMatchObject({ applied: [], version: 0 });
});

test('starts at once apply each file once', async () => {
  const pools = [1, 2, 3, 4].map(() => connect(database.url, { max: 1 }));
  const results = await Promise.all(pools.map((sql) => migrate(sql, folder)));
  await Promise.all(pools.map((sql) => sql.end()));
  expect(results.flatMap(({ applied }) => applied).sort()).toEqual(['0001_carts.sql', '0002_prices.sql']);
});

test('a plain start needs no right to create', async () => {
  await run();
  const { sql } = database;
  const role = `purchase_watch_test_${randomBytes(4).toString('hex')}`;
  await sql`create role ${sql(role)}`;
  await sql`grant usage on schema purchase_watch, purchase_watch_internal to ${sql(role)}`;
  await sql`grant select on purchase_watch_internal.migrations to ${sql(role)}`;
  const url = new URL(database.url);
  // Not through searchParams: they write a space as "+", which is only a space in forms.
  url.search = `${url.search}${url.search === '' ? '?' : '&'}options=-c%20role%3D${role}`;
  const plain = connect(url.href, { max: 1 });
  try {
    expect(await migrate(plain, folder)).toMatchObject({ applied: [], version: 2 });
    await expect(plain`create schema other`).rejects.toThrow(/permission denied/);
  } finally {
    await plain.end();
    await sql`drop owned by ${sql(role)}`;
    await sql`drop role ${sql(role)}`;
  }
});

test('a file that fails leaves nothing of itself, and is named with its line; files before it stay', async () => {
  write('0003_broken.sql', '-- one\n-- two\ncreate table half (id int); select nonsense;\n');
  await expect(run()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/0003_broken\.sql failed and nothing of it was changed: .*nonsense.* \(line 3\)/),
  });
  const [found] = await database.sql`select to_regclass('half') is null as absent`;
  expect(found).toEqual({ absent: true });
  expect((await remembered()).map(({ number }) => number)).toEqual([1, 2]);
  write('0003_broken.sql', 'create table half (id int);');
  expect((await run()).applied).toEqual(['0003_broken.sql']);
});

test('a file that ends the transaction is refused', async () => {
  write('0003_sneaky.sql', 'commit; begin;');
  await expect(run()).rejects.toThrow(/0003_sneaky\.sql ends the transaction/);
});

test('an edited file is refused', async () => {
  await run();
  write('0001_carts.sql', 'create table carts (id bigint);');
  await expect(run()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/0001_carts\.sql was edited after it was applied/),
  });
  await expect(schemaStatus(database.sql, folder)).rejects.toThrow(/was edited/);
});

test("a checkout with another system's line ends is the same file", async () => {
  await run();
  write('0001_carts.sql', 'create table carts (id int);\r\ncreate index on carts (id);');
  expect(await run()).toMatchObject({ applied: [], version: 2 });
});

test('a schema newer than the code is refused', async () => {
  write('0003_later.sql', 'select 1;');
  await run();
  rmSync(join(folder, '0003_later.sql'));
  await expect(run()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/0003_later\.sql was applied by a newer version/),
  });
});

test('a schema of a version before the first release is refused, and nothing is changed', async () => {
  const { sql } = database;
  await sql`create schema purchase_watch`;
  await sql`create table purchase_watch.migrations (number integer primary key, name text not null, sha256 text not null)`;
  await sql`insert into purchase_watch.migrations values (1, '0001_watch_purchases.sql', 'x')`;
  const refusal = {
    code: 'conflict',
    message: expect.stringMatching(
      /before the first release.*drop schema if exists purchase_watch, purchase_watch_internal cascade/,
    ),
  };
  await expect(run()).rejects.toMatchObject(refusal);
  await expect(schemaStatus(sql, folder)).rejects.toMatchObject(refusal);
  const [found] = await sql`select to_regclass('carts') is null and to_regnamespace('purchase_watch_internal') is null as clean`;
  expect(found).toEqual({ clean: true });
  await sql`drop schema purchase_watch cascade`;
  expect((await run()).applied).toEqual(['0001_carts.sql', '0002_prices.sql']);
  // The thirty files that became the nine of the first release.
  await sql`update purchase_watch_internal.migrations set sha256 = 'ef7e7f6395b3a19da8521bc04811e408ec0c5d7b392a88da2a4a6fd3b79817c0' where number = 1`;
  await expect(run()).rejects.toMatchObject(refusal);
});

test('a renamed file is refused', async () => {
  await run();
  renameSync(join(folder, '0002_prices.sql'), join(folder, '0002_costs.sql'));
  await expect(run()).rejects.toThrow(/0002_prices\.sql was applied, but number 2 is now 0002_costs\.sql/);
});

test('a file inserted before applied ones is refused', async () => {
  await run();
  renameSync(join(folder, '0002_prices.sql'), join(folder, '0003_prices.sql'));
  write('0002_between.sql', 'select 1;');
  await expect(run()).rejects.toThrow(/number 2 is now 0002_between\.sql/);
});

test('a file that was left out of an earlier run is refused', async () => {
  await run();
  await database.sql`delete from purchase_watch_internal.migrations where number = 1`;
  await expect(run()).rejects.toThrow(/0001_carts\.sql was never applied, but later files were/);
});

test('every difference is told at once', async () => {
  await run();
  write('0001_carts.sql', '-- other');
  rmSync(join(folder, '0002_prices.sql'));
  await expect(run()).rejects.toThrow(/0001_carts\.sql was edited.*0002_prices\.sql was applied by a newer/);
});

test.each([
  ['0002_again.sql', /at 0002_prices\.sql in .* a number is used twice/],
  ['0004_gap.sql', /at 0004_gap\.sql in .* a number is left out/],
  ['3_short.sql', /rename or remove in .*: 3_short\.sql/],
  ['0003_What.SQL', /0003_What\.SQL/],
  ['0003_backup.sql~', /0003_backup\.sql~/],
])('a folder with %s is refused', async (name, message) => {
  write(name, 'select 1;');
  await expect(run()).rejects.toMatchObject({ code: 'configuration', message: expect.stringMatching(message) });
});

test('notes and hidden files beside the migrations are no migrations', async () => {
  write('README.md', 'why');
  write('.0003_swap.sql', 'x');
  expect((await run()).version).toBe(2);
});

test('whoever holds the lock of migrations is named, and does not keep a start waiting for ever', async () => {
  const { sql, url } = database;
  const role = `purchase_watch_test_${randomBytes(4).toString('hex')}`;
  await sql.unsafe(`create role ${role} login password 'test'`);
  const holderUrl = Object.assign(new URL(url), { username: role, password: 'test' }).href;
  const holder = connect(holderUrl, { max: 1, name: 'holder' });
  const own = connect(url, { max: 1 });
  const steps: string[] = [];
  const take = async (others: number) => {
    const takeLock = createMigrationLock((step) => steps.push(step), { own: 60_000, others });
    while (!(await sql.begin(takeLock)));
  };
  try {
    const [{ pid }] = await holder<[{ pid: number }]>`select pg_backend_pid() as pid, pg_advisory_lock(7236019444)`;
    const error = await take(100).catch((cause: unknown) => cause);
    const named = `session ${pid} of login "${role}" (purchase-watch holder)`;
    expect(error).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(`${named} has held the advisory lock 7236019444 for 0.1 s`),
    });
    expect(steps).toEqual([expect.stringContaining(`waiting for ${named}, which holds the lock of migrations`)]);
    await holder`select pg_advisory_unlock(7236019444)`;
    // A login that may migrate is waited for.
    await own`select pg_advisory_lock(7236019444)`;
    const taken = take(0);
    await expect.poll(() => steps.length).toBe(2);
    await own`select pg_advisory_unlock(7236019444)`;
    await taken;
  } finally {
    await Promise.all([holder.end(), own.end()]);
    await sql.unsafe(`drop role ${role}`);
  }
});
