import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { agreedOn } from '../../../src/postgres/connection/agreed.ts';
import { agreeOnSession, connectForCommand } from '../../../src/postgres/connection/agreement.ts';
import { connect, openSession, type Sql } from '../../../src/postgres/connection/database.ts';
import { type SessionLimits, sessionLimitsFor } from '../../../src/postgres/connection/session-limits.ts';
import { openStore } from '../../../src/postgres/open.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { startHoldingWire } from '../../support/holding-wire.ts';

const WITHIN = 10_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const LIMITS = sessionLimitsFor(WITHIN);

test('the server knows every limit, and each is shorter than the patience of the client', async () => {
  const agreement = await agreeOnSession(database.url, { sessionLimits: LIMITS, poolMode: 'auto' });
  expect(agreement).toEqual({ sessionLimits: LIMITS, isPooled: false, lacking: null });
  const sql = connect(database.url, { max: 1, sessionLimits: agreement.sessionLimits });
  const rows = await sql<{ name: string; ms: number }[]>`
    select name, setting::float8 as ms from pg_settings where name = any(${Object.keys(LIMITS)}::text[]) order by name`;
  expect([...rows]).toEqual([
    { name: 'client_connection_check_interval', ms: 2_000 },
    { name: 'idle_in_transaction_session_timeout', ms: 10_000 },
    { name: 'idle_session_timeout', ms: 0 },
    { name: 'lock_timeout', ms: 6_000 },
    { name: 'statement_timeout', ms: 8_000 },
  ]);
  await sql.end();
});

test('what a pooler or a platform refuses is left out of every session and said at once, with a line for the file of the pooler', async () => {
  const refused = ['jit', 'enable_sort', 'lock_timeout', 'client_connection_check_interval'];
  const pooler = await startHoldingWire(database.url, { refuses: refused });
  const { sessionLimits, lacking } = await agreeOnSession(pooler.url, { sessionLimits: LIMITS });
  expect(lacking!.refused).toEqual(expect.arrayContaining(refused));
  expect(lacking!.advice).toContain(`ignore_startup_parameters = ${lacking!.refused.join(',')}`);
  expect(lacking!.advice).toMatch(/alter role \S+ set lock_timeout = '1s'/);
  expect(Object.keys(sessionLimits)).toEqual([
    ...['statement_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout'],
  ]);
  const sql = connect(pooler.url, { max: 1, sessionLimits, steadyPlans: true, orderedPlans: true });
  expect([...(await sql`select current_setting('enable_seqscan') as scans`)]).toEqual([{ scans: 'off' }]);
  await sql.end();
  await pooler.stop();
});

test('what was refused stays out when something else is wrong besides, so that the next connection names that', async () => {
  const url = new URL(database.url);
  url.password = 'wrong';
  const pooler = await startHoldingWire(url.href, { refuses: ['jit'] });
  await agreeOnSession(pooler.url, { sessionLimits: LIMITS });
  expect(agreedOn(pooler.url)).toMatchObject({ refused: ['jit'] });
  await pooler.stop();
});

test('a database that cannot be reached is left to the next connection, which says what is wrong', async () => {
  const url = 'postgres://127.0.0.1:1/none';
  expect(await agreeOnSession(url, { sessionLimits: LIMITS, poolMode: 'auto' })).toEqual({
    sessionLimits: LIMITS,
    isPooled: false,
    lacking: null,
  });
});

test('a statement whose client is gone ends, although it would run on', async () => {
  const wire = await startHoldingWire(database.url);
  const sql = connect(wire.url, { max: 1, name: 'killed', sessionLimits: { client_connection_check_interval: 100 } });
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
    const settings = { databaseUrl: database.url, listenUrl: null, poolMode: 'auto' as const, connections: 12, dataDir: '' };
    const store = await openStore(settings, { answerWithin: WITHIN, log });
    for (const sql of [...new Set(Object.values(store.pools)), openSession(database.url, 'test').sql])
      expect(await settingsOf(sql)).toEqual(GUARDED);
  });

  test.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_write', 'remote_write'],
    ['remote_apply', 'remote_apply'],
  ])('that says synchronous_commit = %s gets %s, also when the default changes later', async (chosen, commits) => {
    await setDefaults(chosen, 'repeatable read');
    expect((await agreeOnSession(database.url)).lacking).toBeNull();
    await setDefaults('off', 'serializable');
    expect(await settingsOf(connect(database.url, { max: 1 }))).toEqual({ ...GUARDED, commits });
  });

  test('behind a pooler that refuses other settings is used all the same, and said', async () => {
    const names = ['default_transaction_isolation', 'synchronous_commit'];
    const pooler = await startHoldingWire(database.url, { refuses: names });
    expect((await agreeOnSession(pooler.url)).lacking).toMatchObject({ refused: names, wrong: [] });
    await setDefaults('off', 'serializable');
    const { lacking } = await agreeOnSession(pooler.url);
    const wrong = ['default_transaction_isolation is serializable', 'synchronous_commit is off'];
    expect(lacking).toMatchObject({ refused: names, wrong });
    expect(lacking!.detail).toContain('default_transaction_isolation is serializable and synchronous_commit is off');
    expect(lacking!.advice).toContain('set synchronous_commit = on');
    expect(await settingsOf(connect(pooler.url, { max: 1 }))).toEqual({ isolation: 'serializable', commits: 'off' });
    await pooler.stop();
  });
});

describe('sessionLimits that the role has', () => {
  const setLimits = async (value: string): Promise<void> => {
    const name = decodeURIComponent(new URL(database.url).pathname.slice(1));
    for (const limit of ['statement_timeout', 'idle_session_timeout'])
      await database.sql.unsafe(`alter database "${name}" set ${limit} = ${value}`);
  };
  afterEach(() => setLimits('default'));

  test('end neither a session that listens nor what a command does', async () => {
    await setLimits("'200ms'");
    const of = async (sql: Sql, limit: string): Promise<unknown> => {
      const [row] = await sql`select current_setting(${limit}) as value`;
      await sql.end();
      return row?.value;
    };
    expect(await of(openSession(database.url, 'test').sql, 'idle_session_timeout')).toBe('0');
    const command = (agreed?: { sessionLimits: SessionLimits }) =>
      connectForCommand(database.url, { max: 1, name: 'test', agreed });
    expect(await of(await command(), 'statement_timeout')).toBe('0');
    // Agreed on before: the server is not asked again, and gets no limit that it did not take.
    const taken = { sessionLimits: { statement_timeout: 8_000 } };
    expect([await of(await command(taken), 'statement_timeout'), await of(await command(taken), 'lock_timeout')]).toEqual([
      '0',
      '0',
    ]);
    expect(await of(await command(), 'lock_timeout')).toBe('3s');
  });

  test('and that a pooler in transaction mode leaves in force are named with what to set', async () => {
    await setLimits("'200ms'");
    const { lacking } = await agreeOnSession(database.url, { sessionLimits: LIMITS, poolMode: 'transaction' });
    expect(lacking!.detail).toContain('statement_timeout = 200ms: the server ends what the daemon has under way');
    expect(lacking!.advice).toMatch(/alter role \S+ set statement_timeout = '12s'/);
    expect((await agreeOnSession(database.url, { sessionLimits: LIMITS, poolMode: 'session' })).lacking).toBeNull();
  });
});
