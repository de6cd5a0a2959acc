import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { connect, openSession, type Sql } from '../../../src/postgres/connection/database.ts';
import { agreeOnGuards, agreeOnLimits, limitsFor } from '../../../src/postgres/connection/server-limits.ts';
import { openStore } from '../../../src/postgres/open.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { startHoldingWire } from '../../support/holding-wire.ts';

const WITHIN = 10_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test('the server knows every limit, and each is shorter than the patience of the client', async () => {
  const reports: unknown[] = [];
  const patience = await agreeOnLimits(database.url, WITHIN, (about) => reports.push(about));
  expect([patience, reports]).toEqual([{ answerWithin: WITHIN, limits: limitsFor(WITHIN) }, []]);
  const sql = connect(database.url, { max: 1, ...patience });
  const rows = await sql<{ name: string; ms: number }[]>`
    select name, setting::float8 as ms from pg_settings where name = any(${Object.keys(patience.limits)}::text[]) order by name`;
  expect([...rows]).toEqual([
    { name: 'client_connection_check_interval', ms: 2_000 },
    { name: 'idle_in_transaction_session_timeout', ms: 10_000 },
    { name: 'lock_timeout', ms: 6_000 },
    { name: 'statement_timeout', ms: 8_000 },
  ]);
  await sql.end();
});

test('what a pooler or a platform refuses is left out and reported once; the connections work', async () => {
  const refused = ['lock_timeout', 'client_connection_check_interval'];
  const pooler = await startHoldingWire(database.url, { refuses: refused });
  const reports: { refused: readonly string[] }[] = [];
  const patience = await agreeOnLimits(pooler.url, WITHIN, (about) => reports.push(about));
  expect(reports).toMatchObject([{ refused }]);
  expect(Object.keys(patience.limits)).toEqual(['statement_timeout', 'idle_in_transaction_session_timeout']);
  const sql = connect(pooler.url, { max: 1, ...patience });
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }]);
  await sql.end();
  await pooler.stop();
});

test('a database that cannot be reached is left to the next connection, which says what is wrong', async () => {
  const reports: unknown[] = [];
  const patience = await agreeOnLimits('postgres://127.0.0.1:1/none', WITHIN, (about) => reports.push(about));
  expect([patience.limits, reports]).toEqual([limitsFor(WITHIN), []]);
});

test('a statement whose client is gone ends, although it would run on', async () => {
  const wire = await startHoldingWire(database.url);
  const sql = connect(wire.url, { max: 1, name: 'killed', limits: { client_connection_check_interval: 100 } });
  const running = sql`select pg_sleep(600)`.then(
    () => 'answered',
    () => 'refused',
  );
  const atWork = async () =>
    (await database.sql`select from pg_stat_activity where application_name = 'purchase-watch killed'`).length;
  await expect.poll(atWork).toBe(1);
  await wire.stop();
  expect(await running).toBe('refused');
  await expect.poll(atWork).toBe(0);
  await sql.end({ timeout: 0 });
});

describe('a database whose defaults would break what recording rests on', () => {
  const GUARDED = { isolation: 'read committed', commits: 'on' };
  const settingsOf = async (sql: Sql): Promise<unknown> => {
    const [row] = await sql`
      select current_setting('transaction_isolation') as isolation, current_setting('synchronous_commit') as commits`;
    await sql.end();
    return row;
  };
  /** Values of `synchronous_commit` and of the isolation that sessions have by default. */
  const setDefaults = async (commits: string, isolation: string): Promise<void> => {
    const name = decodeURIComponent(new URL(database.url).pathname.slice(1));
    await database.sql.unsafe(`alter database "${name}" set synchronous_commit = ${commits}`);
    await database.sql.unsafe(`alter database "${name}" set default_transaction_isolation = '${isolation}'`);
  };
  afterEach(() => setDefaults('on', 'read committed'));

  test("changes no session: neither the loops', nor one outside of pools, nor one for which nothing was asked", async () => {
    await setDefaults('off', 'serializable');
    const elsewhere = new URL(database.url);
    elsewhere.searchParams.set('application_name', 'never asked');
    expect(await settingsOf(connect(elsewhere.href, { max: 1 }))).toEqual(GUARDED);
    const log = { info: () => {}, warn: (...about: unknown[]) => expect(about).toBe('not logged') };
    const store = await openStore({ databaseUrl: database.url, dataDir: '' }, { answerWithin: WITHIN, log });
    for (const sql of [store.sql, store.recording, store.outbox, openSession(database.url, 'test').sql])
      expect(await settingsOf(sql)).toEqual(GUARDED);
  });

  test.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_write', 'remote_write'],
    ['remote_apply', 'remote_apply'],
  ])('that says synchronous_commit = %s gets %s, also when the default changes later', async (chosen, commits) => {
    await setDefaults(chosen, 'repeatable read');
    expect(await agreeOnGuards(database.url)).toBeNull();
    await setDefaults('off', 'serializable');
    expect(await settingsOf(connect(database.url, { max: 1 }))).toEqual({ ...GUARDED, commits });
  });

  test('behind a pooler that refuses other settings is used all the same, and said', async () => {
    const names = ['default_transaction_isolation', 'synchronous_commit'];
    const pooler = await startHoldingWire(database.url, { refuses: names });
    expect(await agreeOnGuards(pooler.url)).toMatchObject({ refused: names, wrong: [] });
    await setDefaults('off', 'serializable');
    const found = await agreeOnGuards(pooler.url);
    const wrong = ['default_transaction_isolation is serializable', 'synchronous_commit is off'];
    expect(found).toMatchObject({ refused: names, wrong });
    expect(found!.detail).toMatch(/^default_transaction_isolation is serializable and .* alter role … set/);
    expect(await settingsOf(connect(pooler.url, { max: 1 }))).toEqual({ isolation: 'serializable', commits: 'off' });
    await pooler.stop();
  });
});
