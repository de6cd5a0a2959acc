/** What doctor says of a database that gives no more connections. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examine } from '../../../src/actions/doctor/doctor.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations');
const LOGIN = 'purchase_watch_doctor_few';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await database.sql.unsafe(`drop role if exists ${LOGIN}`);
  await database.sql.unsafe(`create role ${LOGIN} login password 'x' connection limit 2 in role current_user`);
});
afterAll(async () => {
  await database.sql.unsafe(`drop role ${LOGIN}`);
  await database.drop();
});

test('a limit that is reached is named, with where it is set, and is no fault of this program', async () => {
  const url = new URL(database.url);
  Object.assign(url, { username: LOGIN, password: 'x' });
  const env = {
    DATABASE_URL: url.href,
    CHECKOUT_BASE_URL: 'http://127.0.0.1:9',
    CHECKOUT_CLIENT_ID: 'shop',
    CHECKOUT_CLIENT_SECRET: 'secret',
  };
  const findings = await Array.fromAsync(examine({ env, migrations: MIGRATIONS, site: null, quiet: true, all: false }));
  const about = findings.filter(({ about }) => about === 'database');
  expect(about.map(({ found }) => found).join('\n')).toContain(
    `too many connections for role "${LOGIN}"): raise the limit of the role (alter role ${LOGIN} connection limit …)`,
  );
  expect(about).toContainEqual(
    expect.objectContaining({
      found: expect.stringMatching(new RegExp(`of 2 connections of role ${LOGIN} are in use; 2 daemons open up to 24`)),
      todo: `raise the limit of role ${LOGIN}`,
    }),
  );
  expect(findings.map(({ todo }) => todo)).not.toContain('this may be a fault of this program');
});
