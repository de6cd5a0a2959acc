import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decimal, isDecimal, stringifyExact } from '../../../src/domain/values/exact-json.ts';
import { describeConnectionError, mayPass } from '../../../src/postgres/address/database-url.ts';
import { connect, readClock } from '../../../src/postgres/connection/database.ts';
import { listen } from '../../../src/postgres/connection/listen.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ empty: true });
});
afterAll(() => database.drop());

describe('values', () => {
  test.each(['json', 'jsonb'])('%s keeps the digits of numbers both ways', async (type) => {
    const { sql } = database;
    const sent = { price: decimal('249.50'), order: decimal('12345678901234567890'), count: 7, list: [decimal('0.10'), null] };
    const [row] = await sql`select ${sent}::${sql.unsafe(type)} as value, ${sent}::${sql.unsafe(type)} ->> 'price' as price`;
    expect(row?.price).toBe('249.50');
    expect(isDecimal(row?.value.price)).toBe(true);
    expect(JSON.parse(stringifyExact(row?.value))).toEqual(JSON.parse(stringifyExact(sent)));
    expect(stringifyExact(row?.value.list)).toBe('[0.10,null]');
    expect(stringifyExact(row?.value.order)).toBe('12345678901234567890');
  });

  test('json that is text already goes through text, alone and in lists', async () => {
    const { sql } = database;
    const text = '{"price": 249.50, "type": "x", "value": 1}';
    const [row] =
      await sql`select ${text}::text::jsonb ->> 'price' as one, (${[text, text]}::text[])[2]::jsonb ->> 'type' as many`;
    expect(row).toEqual({ one: '249.50', many: 'x' });
  });

  test('arrays of json keep digits', async () => {
    const [row] = await database.sql`select array['{"a": 1.50}'::jsonb] as list`;
    expect(stringifyExact(row?.list)).toBe('[{"a":1.50}]');
  });

  test('int8 is a number, and a bigint where a number would be wrong', async () => {
    const { sql } = database;
    const [row] = await sql`
      select 42::int8 as small, 9007199254740993::int8 as large, array[1, 9007199254740993]::int8[] as list, ${7}::int8 as sent`;
    expect(row).toEqual({ small: 42, large: 9007199254740993n, list: [1, 9007199254740993n], sent: 7 });
    const [echo] = await sql`select ${9007199254740993n}::int8 as value, ${[1, 2]}::int8[] as list`;
    expect(echo).toEqual({ value: 9007199254740993n, list: [1, 2] });
  });

  test('columns come in camel case; names inside JSON stay', async () => {
    const [row] = await database.sql`select 1 as next_poll_at, 2 as "isKnown", '{"not_after": 3}'::json as last_row`;
    expect(row).toEqual({ nextPollAt: 1, isKnown: 2, lastRow: { not_after: expect.anything() } });
  });
});

describe('connection', () => {
  test('names itself and hands notices to whoever asked', async () => {
    const notices: unknown[] = [];
    const sql = connect(database.url, { max: 1, name: 'test', onNotice: (notice) => notices.push(notice.message) });
    const [row] = await sql`select current_setting('application_name') as name`;
    await sql`do $$ begin raise notice 'hello'; end $$`;
    await sql.end();
    expect(row?.name).toBe('purchase-watch test');
    expect(notices).toEqual(['hello']);
  });

  test('reads the clock with the moment at which it was read', async () => {
    const before = performance.now();
    const { now, readAt } = await readClock(database.sql);
    expect(readAt).toBeGreaterThan(before);
    expect(readAt).toBeLessThan(performance.now());
    // Same machine or one with NTP: the wall clock at that moment is about the same.
    expect(Math.abs(performance.timeOrigin + readAt - now)).toBeLessThan(5_000);
  });

  test('parameters that only libpq understands are not passed to the server', async () => {
    const url = new URL(database.url);
    url.search = '?sslmode=prefer&channel_binding=prefer&connect_timeout=30&keepalives=1&application_name=mine';
    const sql = connect(url.href, { max: 1 });
    const [row] = await sql`select current_setting('application_name') as name`;
    await sql.end();
    expect(row?.name).toBe('mine');
  });

  test.each([
    'postgres://user:s3cret/x@host/db',
    'postgres://user:s3#cret@host/db',
    'mysql://user:s3cret@host/db',
    's3cret',
    'postgres://user:12/s3cret@host/db',
  ])('refuses %s without repeating it', (url) => {
    const opened = () => connect(url);
    expect(opened).toThrow(/not valid/);
    expect(opened).not.toThrow(/s3/);
  });

  test('sslmode=verify-full is not silently weaker', async () => {
    expect(() => connect('postgres://u@h/d?sslmode=verify_full')).toThrow(/sslmode is "verify_full"/);
    expect(() => connect('postgres://u@h/d?sslmode=verify-ca&sslrootcert=/no/such.crt')).toThrow(
      /sslrootcert: there is no such file: \/no\/such\.crt/,
    );
    const url = new URL(database.url);
    url.search = '?sslmode=require';
    const sql = connect(url.href, { max: 1 });
    const [row] = await sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.catch(() => [{ ssl: 'refused' }]);
    await sql.end({ timeout: 0 });
    expect(row?.ssl).not.toBe(false);
  });
});

test.each([
  ['ECONNREFUSED', '', true],
  ['EAI_AGAIN', '', true],
  ['CONNECT_TIMEOUT', '', true],
  ['NO_PRIMARY', '', true],
  ['57P03', 'the database system is starting up', true],
  ['53300', 'sorry, too many clients already', true],
  ['08P01', 'server login has been failing, try again later (server_login_retry)', true],
  ['08P01', 'unsupported startup parameter: jit', false],
  ['28P01', 'password authentication failed', false],
  ['3D000', 'database "shop" does not exist', false],
  ['SELF_SIGNED_CERT_IN_CHAIN', '', false],
  ['42501', 'permission denied', false],
])('a failed connection may pass by itself, or not: %s %s', (code, message, passes) => {
  expect(mayPass(Object.assign(new Error(message), { code }))).toBe(passes);
});

describe('a failed connection is described for a person', () => {
  async function failure(url: string): Promise<string> {
    const sql = connect(url, { max: 1 });
    const error = await sql`select 1`.then(
      () => new Error('no failure'),
      (error: unknown) => error,
    );
    await sql.end({ timeout: 0 });
    return describeConnectionError(url, error);
  }
  test('nobody listens there', async () => {
    // A port that was free a moment ago may be another test's by now; the first one is nobody's.
    expect(await failure('postgres://someone:s3cret@127.0.0.1:1/db')).toMatch(
      /^cannot reach Postgres at 127\.0\.0\.1:1 as user someone: connection refused/,
    );
  });

  test('a missing database, an unknown host', async () => {
    expect(await failure(Object.assign(new URL(database.url), { pathname: '/nowhere' }).href)).toMatch(
      /there is no database "nowhere"/,
    );
    expect(await failure('postgres://u:p@no-such-host.invalid/db')).toMatch(
      /at no-such-host.invalid:5432 as user u: the host name/,
    );
  });

  test('a server that does not answer', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    expect(await failure(`postgres://u@127.0.0.1:${port}/db?connect_timeout=0.1`)).toMatch(/no answer in time/);
    server.close();
  });
});

/** Collects what happens, and lets a test wait for the n-th of it. */
function recorder<T>() {
  const seen: T[] = [];
  let wake = () => {};
  return {
    seen,
    add: (value: T) => {
      seen.push(value);
      wake();
    },
    async until(count: number): Promise<void> {
      while (seen.length < count) await new Promise<void>((resolve) => (wake = resolve));
    },
  };
}

describe('a listener', () => {
  test('hears its channels and nothing after it was stopped', async () => {
    const notes = recorder<string>();
    const listening = recorder<string>();
    const listener = listen(database.url, ['one', 'Two'], {
      onNotify: (payload, channel) => notes.add(`${channel}: ${payload}`),
      onListening: () => listening.add('yes'),
    });
    await listening.until(1);
    await database.sql`select pg_notify('one', 'a'), pg_notify('Two', 'b'), pg_notify('three', 'c')`;
    await notes.until(2);
    await listener.stop();
    await database.sql`select pg_notify('one', 'd')`;
    expect(notes.seen).toEqual(['one: a', 'Two: b']);
    const connections = () =>
      database.sql`select from pg_stat_activity where application_name = 'purchase-watch listen' and datname = current_database()`;
    // The server notices a moment later; a connection that is never closed makes this test time out.
    while ((await connections()).length > 0);
  });

  test('says so each time it hears again after its connection was cut', async () => {
    const notes = recorder<string>();
    const listening = recorder<string>();
    const trouble = recorder<unknown>();
    const listener = listen(database.url, ['wake'], {
      onNotify: (payload) => notes.add(payload),
      onListening: () => listening.add('yes'),
      onTrouble: trouble.add,
    });
    for (let round = 1; round <= 3; round++) {
      await listening.until(round);
      await database.sql`select pg_notify('wake', ${String(round)})`;
      await notes.until(round);
      await database.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'purchase-watch listen' and datname = current_database()`;
      await trouble.until(round);
    }
    await listener.stop();
    expect(notes.seen).toEqual(['1', '2', '3']);
  });

  test('is not broken by what its owner throws', async () => {
    const trouble = recorder<unknown>();
    const listening = recorder<string>();
    const listener = listen(database.url, ['wake'], {
      onNotify: (payload) => {
        throw new Error(payload);
      },
      onListening: () => listening.add('yes'),
      onTrouble: trouble.add,
    });
    await listening.until(1);
    await database.sql`select pg_notify('wake', 'first')`;
    await trouble.until(1);
    await database.sql`select pg_notify('wake', 'second')`;
    await trouble.until(2);
    await listener.stop();
    expect(trouble.seen.map(String)).toEqual(['Error: first', 'Error: second']);
    expect(listening.seen).toEqual(['yes']);
  });

  test('keeps trying while nobody answers, and stops at once', async () => {
    const trouble = recorder<unknown>();
    const listener = listen('postgres://u:p@127.0.0.1:1/db', ['wake'], {
      onNotify: () => {},
      onListening: () => {},
      onTrouble: trouble.add,
    });
    await trouble.until(2);
    await listener.stop();
    expect(String(trouble.seen[0])).toMatch(/ECONNREFUSED/);
  });
});
