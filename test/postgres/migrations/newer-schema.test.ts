/** Programs and schemas of different ages: who works with which, and what is refused. */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connect } from '../../../src/postgres/connection/database.ts';
import { migrate } from '../../../src/postgres/migrations/migrate.ts';
import { migrateOrExplain } from '../../../src/postgres/migrations/migrate-or-explain.ts';
import { isUsable, newerFiles, schemaStatus } from '../../../src/postgres/migrations/schema.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
let folder: string;
beforeEach(async () => {
  database = await testDatabase({ empty: true });
  folder = mkdtempSync(join(tmpdir(), 'purchase-watch-migrations-'));
  write('0001_carts.sql', 'create table carts (id int);');
  write('0002_prices.sql', 'alter table carts add price numeric;');
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const remove = (name: string) => rmSync(join(folder, name));
const run = () => migrate(database.sql, folder);

test('a program works with the schema of a newer one whose files serve it, and with no other', async () => {
  write('0003_notes.sql', '-- serves: 2\nalter table carts add note text;');
  await run();
  remove('0003_notes.sql');
  expect(await run()).toMatchObject({ applied: [], own: 2, version: 3, newer: [{ name: '0003_notes.sql', serves: 2 }] });
  expect((await newerFiles(database.sql, 2)).map(({ name }) => name)).toEqual(['0003_notes.sql']);
  const refused =
    /0003_notes\.sql was applied by a newer version, and it needs a version with schema 2 or later \(this one has 1\): upgrade purchase-watch, or restore/;
  remove('0002_prices.sql');
  await expect(run()).rejects.toMatchObject({ code: 'conflict', message: expect.stringMatching(refused) });
  await expect(newerFiles(database.sql, 1)).rejects.toMatchObject({ code: 'conflict', message: expect.stringMatching(refused) });
});

test('one newer file that does not serve a program is enough to refuse it', async () => {
  write('0003_notes.sql', '-- serves: 2\nalter table carts add note text;');
  write('0004_contract.sql', '-- serves: 3\nalter table carts drop price;');
  write('0005_more.sql', '-- serves: 2\nalter table carts add more text;');
  await run();
  for (const name of ['0003_notes.sql', '0004_contract.sql', '0005_more.sql']) remove(name);
  await expect(run()).rejects.toThrow(
    /differ: 0004_contract\.sql was applied by a newer version, and it needs .* schema 3 or later/,
  );
});

test('a login that may not migrate leaves a file pending that its program works without, and is refused for any other', async () => {
  await run();
  const { sql } = database;
  const role = `purchase_watch_test_${randomBytes(4).toString('hex')}`;
  await sql.unsafe(`create role ${role} login password 'test'`);
  await sql`grant usage on schema purchase_watch, purchase_watch_internal to ${sql(role)}`;
  await sql`grant select on purchase_watch_internal.migrations to ${sql(role)}`;
  const url = Object.assign(new URL(database.url), { username: role, password: 'test' }).href;
  try {
    write('0003_index.sql', '-- serves: 2\n-- needed: no\ncreate index on purchase_watch.carts (price);');
    const left = await migrateOrExplain(url, folder);
    expect(left).toMatchObject({ applied: [], version: 2, pending: [{ name: '0003_index.sql' }] });
    expect(isUsable(left)).toBe(true);
    write('0004_notes.sql', '-- serves: 2\nalter table purchase_watch.carts add note text;');
    expect(isUsable(await schemaStatus(sql, folder))).toBe(false);
    await expect(migrateOrExplain(url, folder)).rejects.toMatchObject({
      message: expect.stringMatching(/0003_index\.sql failed/),
    });
  } finally {
    await sql`drop owned by ${sql(role)}`;
    await sql`drop role ${sql(role)}`;
  }
});

async function daemonsRun(...daemons: { id: string; schema: number | null; alive?: boolean; process?: string }[]): Promise<void> {
  await database.sql`create table purchase_watch_internal.replicas (id text, process text, expires_at timestamptz, settings_digests jsonb)`;
  for (const { id, schema, alive = true, process = 'elsewhere 7 1' } of daemons) {
    await database.sql`insert into purchase_watch_internal.replicas values (${id}, ${process}, now() + ${alive ? '1' : '-1'}::text::interval * 60,
      ${schema === null ? null : JSON.stringify({ version: '0.1.0', schema: `${schema}` })}::text::jsonb)`;
  }
}

test('a file is not applied while a daemon runs that would not work with it', async () => {
  await run();
  await daemonsRun({ id: 'rep_new', schema: 3 }, { id: 'rep_old', schema: 2 }, { id: 'rep_dead', schema: 1, alive: false });
  write('0003_notes.sql', '-- serves: 2\nalter table carts add note text;');
  write('0004_contract.sql', '-- serves: 3\nalter table carts drop price;');
  await expect(run()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(
      /^0004_contract\.sql was not applied, because running daemons would not work with it: rep_old \(version 0\.1\.0, schema 2, lease until .*Z\)\. Upgrade them to a version with schema 3 or later/,
    ),
  });
  // Those before it are, and what was refused follows once the daemon is gone.
  expect((await schemaStatus(database.sql, folder)).pending.map(({ name }) => name)).toEqual(['0004_contract.sql']);
  await database.sql`delete from purchase_watch_internal.replicas where id = 'rep_old'`;
  expect((await run()).applied).toEqual(['0004_contract.sql']);
});

test('a file that names no older program asks for a stop; a daemon that does not say what it has counts as of the present schema', async () => {
  await run();
  await daemonsRun({ id: 'rep_silent', schema: null });
  write('0003_notes.sql', '-- serves: 2\nalter table carts add note text;');
  await run();
  write('0004_rename.sql', 'alter table carts rename price to cost;');
  await expect(run()).rejects.toThrow(
    /0004_rename\.sql was not applied.*rep_silent \(version unknown, schema unknown.*\. Stop them, and run this again/,
  );
});

test('a daemon of this machine whose process is gone does not count', async () => {
  await run();
  const { processIdentity } = await import('../../../src/runtime/process/process-identity.ts');
  const [machine] = processIdentity().split(' ');
  await daemonsRun({ id: 'rep_killed', schema: 1, process: `${machine} 4194303 1` });
  write('0003_rename.sql', 'alter table carts rename price to cost;');
  expect((await run()).applied).toEqual(['0003_rename.sql']);
});

test.each([
  ['-- serves: 3\nselect 1;', /0003_x\.sql begins with "serves: 3": give the number of an earlier file/],
  ['-- serves: all\nselect 1;', /begins with "serves: all"/],
  ['-- needed: maybe\nselect 1;', /begins with "needed: maybe": say yes or no/],
  [
    'create index concurrently a on purchase_watch.carts (id); select 1;',
    /indexes that are built concurrently have a file of their own/,
  ],
  ['create index concurrently on purchase_watch.carts (id);', /indexes that are built concurrently have a file of their own/],
])('first lines and indexes that are not understood are refused: %j', async (text, message) => {
  write('0003_x.sql', text);
  await expect(run()).rejects.toMatchObject({ code: 'configuration', message: expect.stringMatching(message) });
});

const INDEX = '-- serves: 2\n-- needed: no\n-- Why.\ncreate index concurrently carts_price on purchase_watch.carts (price);';
const indexes = async () => [
  ...(await database.sql<{ valid: boolean }[]>`
  select indisvalid as valid from pg_index where indexrelid = to_regclass('purchase_watch.carts_price')`),
];

test('an index is built beside an open writer, which is named and waits for nothing, and beside another start', async () => {
  await run();
  await database.sql`insert into carts select g, g from generate_series(1, 100) g`;
  write('0003_index.sql', INDEX);
  const writer = connect(database.url, { max: 1, name: 'a shop' });
  const steps: string[] = [];
  const [begun, goOn] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
  const writing = writer.begin(async (tx) => {
    await tx`insert into carts values (101, 1)`;
    const [row] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`;
    begun.resolve(row.pid);
    await goOn.promise;
    await tx`insert into carts values (102, 1)`;
  });
  const pid = await begun.promise;
  const migrated = migrate(database.sql, folder, (step) => steps.push(step));
  await expect.poll(() => steps.join('\n')).toContain(`waiting, and holding up nothing: session ${pid} of login`);
  // Another start waits for the lock of migrations, and the index not for that start.
  const other = connect(database.url, { name: 'other' });
  const others: string[] = [];
  const waiting = migrate(other, folder, (step) => others.push(step));
  await expect.poll(() => others.join()).toContain('holds the lock of migrations');
  // No try of that start lasts, because the index waits for the end of each transaction that had a snapshot when it looked.
  await delay(1_000);
  const [{ oldest }] = await database.sql<[{ oldest: number | null }]>`
    select max(extract(epoch from clock_timestamp() - xact_start))::float8 as oldest
    from pg_stat_activity where application_name = 'purchase-watch other'`;
  expect(oldest ?? 0).toBeLessThan(0.9);
  // The writer and others write on while the index waits.
  await database.sql`update carts set price = 2 where id = 5`;
  goOn.resolve();
  await writing;
  expect((await migrated).applied).toEqual(['0003_index.sql']);
  expect((await waiting).applied).toEqual([]);
  expect(await indexes()).toEqual([{ valid: true }]);
  await Promise.all([writer.end(), other.end()]);
});

test('what a broken-off build left behind is replaced', async () => {
  await run();
  await database.sql`insert into carts values (1, 1), (2, 1)`;
  write('0003_index.sql', INDEX.replace('create index', 'create unique index'));
  await expect(run()).rejects.toThrow(/0003_index\.sql failed.*could not create unique index/);
  expect(await indexes()).toEqual([{ valid: false }]);
  await database.sql`update carts set price = id`;
  expect((await run()).applied).toEqual(['0003_index.sql']);
  expect(await indexes()).toEqual([{ valid: true }]);
});

test('a signal ends the build of an index on the server, too', async () => {
  await run();
  write('0003_index.sql', INDEX);
  const reader = connect(database.url, { max: 1 });
  const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const reading = reader.begin(async (tx) => {
    await tx`insert into carts values (1, 1)`;
    begun.resolve();
    await goOn.promise;
  });
  await begun.promise;
  const ending = new AbortController();
  const migrated = migrate(database.sql, folder, undefined, { signal: ending.signal }).catch((error: unknown) => error);
  const building = () =>
    database.sql`select from pg_stat_activity where datname = current_database() and query like 'create index%' and state = 'active'`;
  const running = async () => (await building()).length;
  await expect.poll(running).toBe(1);
  ending.abort('SIGTERM');
  expect(await migrated).toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/broken off by SIGTERM; it can be run again/),
  });
  await expect.poll(running).toBe(0);
  goOn.resolve();
  await reading;
  expect((await run()).applied).toEqual(['0003_index.sql']);
  await reader.end();
});
