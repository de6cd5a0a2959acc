import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf, onDatabase } from '../command.ts';
import { runCommand } from '../run.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('default');
  const { sql } = database;
  await sql`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, status, status_reason)
    values ('shop', 'webhook', 'systems', 'x', 'active', null), ('books', 'webhook', 'systems', 'x', 'off', 'The receiver answered 410'),
      ('well', 'webhook', 'systems', 'x', 'active', null), ('@slack', 'slack', 'people', 'x', 'active', null)`;
  await sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
    select id, 6, 3, now() - interval '1 hour', now() + interval '3 minutes', 'The receiver answered 503.' from purchase_watch_internal.subscribers where name = 'shop'`;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
    select 'evt_' || n, 'site.reachable', 'default', 0, now() - interval '1 hour', '{}' from generate_series(1, 1200) n`;
  await sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at, attempts, took_ms, http_status)
    select e.position, -e.position, s.id, 0, now(), case when s.name = 'well' then 'delivered' else 'pending' end,
      case s.name when 'well' then now() end, case s.name when 'well' then 1 else 0 end, case s.name when 'well' then 38 end, case s.name when 'well' then 200 end
    from purchase_watch_internal.events e cross join purchase_watch_internal.subscribers s where s.kind = 'webhook' order by e.position, s.id`;
});
afterAll(() => database.drop());

const command = (...argv: string[]) => onDatabase(database, argv);
const living = () =>
  database.sql`insert into purchase_watch_internal.replicas (id, process, expires_at) values ('rep_1', 'x', now() + interval '1 hour') on conflict do nothing`;

describe('trouble', () => {
  test('is told in one line each, with what to do, below a table that has what is parked', async () => {
    const { stdout } = await command('status');
    expect(stdout).toMatch(
      /^shop is paused until \S+Z \(\d min( \d+ s)? more\) after 6 failures in a row \(The receiver answered 503\); end that at once: purchase-watch subscribers resume shop, or POST /m,
    );
    expect(stdout).toMatch(
      /^books is off \(The receiver answered 410\); switch it on: purchase-watch subscribers change books --status active, or PATCH /m,
    );
    expect(stdout).toMatch(/^shop +webhook +paused until \S+Z +1200 parked/m);
    expect(stdout).toMatch(/^books +webhook +off +1200 parked/m);
    expect(stdout).not.toMatch(/^well (is|does)/m);
    const body = JSON.parse((await command('status', '--json')).stdout);
    expect(body.subscribers[0]).toMatchObject({
      name: 'shop',
      health: { status: 'paused', failures: 6 },
      waiting: { pending: 0, inFlight: 0, parked: 1_200 },
    });
  });

  test('is seen in the list of subscribers', async () => {
    const { stdout } = await command('subscribers');
    expect(stdout).toMatch(/^shop +configuration +paused until \S+Z +all /m);
    expect(stdout).toMatch(/^books +configuration +off +all /m);
    expect(stdout).toMatch(
      /\n\nshop is paused until \S+Z after 6 failures in a row: The receiver answered 503\.\nbooks is off: The receiver answered 410\n$/,
    );
    expect((await command('subscribers', 'show', 'shop')).stdout).toMatch(/^failing +since \d{4}-/m);
  });
});

describe('deliveries', () => {
  test('that are parked say what they wait for, which is not their next try', async () => {
    const whenOf = async (subscriber: string) =>
      (await command('deliveries', '--status', 'parked', '--subscriber', subscriber, '--limit', '1')).stdout;
    expect(await whenOf('shop')).toMatch(/ parked +0 +after the pause, in \d min +paused until /);
    expect(await whenOf('books')).toMatch(/ parked +0 +once it gets events again +switched off: /);
  });

  test('are listed by what is shown, with the reason', async () => {
    const { stdout } = await command('deliveries', '--status', 'parked', '--subscriber', 'books', '--limit', '1');
    expect(stdout).toMatch(/^dlv_\d+ +books +site\.reachable +- +parked +0 .*switched off: The receiver answered 410$/m);
    expect((await command('deliveries', '--status', 'pending')).stdout).toBe('No deliveries.\n');
    expect((await command('deliveries', '--status', 'done')).stderr).toMatch(
      /pending, in_flight, parked, delivered, exhausted, suppressed/,
    );
  });

  test('show the attempt that delivered', async () => {
    const { data } = JSON.parse((await command('deliveries', '--subscriber', 'well', '--limit', '1', '--json')).stdout);
    expect((await command('deliveries', 'show', data[0].id)).stdout).toMatch(/^1 .* delivered +200 +38$/m);
  });

  test('asked for again say why they wait', async () => {
    await database.sql`delete from purchase_watch_internal.replicas`;
    const idOf = async (subscriber: string) =>
      JSON.parse((await command('deliveries', '--subscriber', subscriber, '--limit', '1', '--json')).stdout).data[0].id;
    const again = async (subscriber: string) => (await command('deliveries', 'retry', await idOf(subscriber))).stdout;
    expect(await again('shop')).toMatch(/^dlv_\d+: due again\. It waits: shop is paused until .*subscribers resume shop/);
    expect(await again('books')).toMatch(
      /^dlv_\d+: due again\. It waits: books is off .*switch it on: .*change books --status active/,
    );
    expect(await again('well')).toMatch(/^dlv_\d+: due again\. It waits: no daemon is running/);
    await living();
    expect(await again('well')).toMatch(/^dlv_\d+: scheduled; the running daemon sends it now\n$/);
    const { data } = JSON.parse((await command('deliveries', '--subscriber', 'well', '--status', 'pending', '--json')).stdout);
    const { attempts } = JSON.parse((await command('deliveries', 'show', data[0].id, '--json')).stdout);
    expect(attempts).toMatchObject([{ number: 1, outcome: 'delivered', tookMs: 38, httpStatus: 200 }]);
  });
});

describe('what cannot be done', () => {
  test('a mistyped subscriber is not one with nothing to show', async () => {
    for (const json of [[], ['--json']]) {
      const { exitCode, stdout, stderr } = await command('deliveries', '--subscriber', 'shpo', ...json);
      expect([exitCode, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/there is no subscriber "shpo" \(did you mean shop\?\)/);
    }
    for (const argv of [
      ['replay', '--subscriber', 'shpo', '--since', '1h'],
      ['subscribers', 'show', 'shpo'],
    ])
      expect((await command(...argv)).stderr).toMatch(/there is no subscriber "shpo" \(did you mean shop\?\)/);
    expect(await command('deliveries', '--subscriber', '@slack')).toMatchObject({ exitCode: 0, stdout: 'No deliveries.\n' });
    await database.sql`
      insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, origin, configured, deleted_at)
      values ('gone', 'webhook', 'systems', '', 'api', false, now())`;
    expect(await command('deliveries', '--subscriber', 'gone')).toMatchObject({ exitCode: 0, stdout: 'No deliveries.\n' });
  });

  test('one that is not there does not keep the others from being sent again, and is named', async () => {
    const { data } = JSON.parse((await command('deliveries', '--subscriber', 'shop', '--limit', '2', '--json')).stdout);
    const [first, second] = data.map(({ id }: { id: string }) => id);
    const told = await command('deliveries', 'retry', first, 'dlv_999998', second, 'dlv_999999');
    expect(told.stdout).toMatch(new RegExp(`^${first}: due again\\. .*\n${second}: due again\\. .*\n$`));
    expect([told.exitCode, told.stderr]).toEqual([
      1,
      expect.stringMatching(/there is no delivery dlv_999998; there is no delivery dlv_999999$/m),
    ]);
    const { exitCode, stdout } = await command('deliveries', 'retry', '--json', first, 'dlv_999999', second);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      retried: [first, second],
      deliveries: [{ id: first }, { id: second }],
      refused: [{ id: 'dlv_999999', code: 'delivery_not_found', detail: 'there is no delivery dlv_999999' }],
    });
  });

  test('what is for an address that cannot be read says so', async () => {
    await database.sql`
      with s as (
        insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, origin, url, keys)
        values ('sealed', 'webhook', 'systems', 'x', 'api', '\\x00', '\\x00') returning id)
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
      select e.position, 0, s.id, 0, now() from s, (select min(position) as position from purchase_watch_internal.events) e`;
    const { data } = JSON.parse((await command('deliveries', '--subscriber', 'sealed', '--json')).stdout);
    const withKey = (...argv: string[]) =>
      runCommand(argv, { DATABASE_URL: database.url, SECRETS_KEY: 'another key of many many characters' });
    expect((await withKey('deliveries', 'show', data[0].id)).stdout).toMatch(/^reason +Its address cannot be read: SECRETS_KEY/m);
    // In a shell without a key nothing is known of the daemons' one.
    expect((await command('deliveries', 'show', data[0].id)).stdout).not.toMatch(/SECRETS_KEY/);
    expect((await withKey('deliveries', 'retry', data[0].id)).stdout).toMatch(
      /due again\. It waits: nothing can be sent to sealed \(its address cannot be read: SECRETS_KEY .*\); set that key/,
    );
  });
});

describe('all that one was not told', () => {
  const waitingAgain = async () =>
    (
      await database.sql`
        select d.rank, d.attempts_before as before, count(*)::int from purchase_watch_internal.deliveries d
        join purchase_watch_internal.subscribers s on s.id = d.subscriber where s.name = 'sorry' and d.status = 'pending' group by 1, 2`
    ).map((row) => ({ ...row }));

  test('is counted, asked about, and sent again after all that is new', async () => {
    await living();
    await database.sql`
      with s as (
        insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('sorry', 'webhook', 'systems', 'x') returning id)
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at, attempts, last_error)
      select e.position, -e.position, s.id, 0, now(), case when e.position % 300 = 0 then 'suppressed' else 'exhausted' end, now(), 10, 'The receiver answered 503.'
      from purchase_watch_internal.events e cross join s where e.type = 'site.reachable'`;
    const retry = (...argv: string[]) => command('deliveries', 'retry', '--subscriber', 'sorry', ...argv);
    expect((await retry('--dry-run')).stdout).toMatch(
      /^1 196 exhausted deliveries of sorry, from \d{4}-.*Z to .*Z: would be sent again\nuntil all have arrived: .*\n$/,
    );
    const unasked = await retry('--status', 'exhausted');
    expect([unasked.exitCode, unasked.stderr]).toEqual([2, expect.stringMatching(/1 196 .* would be sent again: say --yes/)]);
    expect(await waitingAgain()).toEqual([]);
    expect((await retry('--yes')).stdout).toMatch(
      /^1 196 exhausted deliveries of sorry, from .*: scheduled, after all that is new\nThe running daemon sends them now\.\n$/,
    );
    expect(await waitingAgain()).toEqual([{ rank: 2, before: 10, count: 1_196 }]);
    expect((await retry('--yes')).stdout).toBe('sorry has no exhausted deliveries\n');
    await database.sql`delete from purchase_watch_internal.replicas`;
    expect((await retry('--status', 'suppressed', '--yes')).stdout).toMatch(
      /^4 suppressed deliveries .*\nThey wait: no daemon is running/,
    );
    const body = JSON.parse((await retry('--json', '--yes')).stdout);
    expect(body).toEqual({ count: 0, oldest: null, newest: null, dryRun: false });
  });

  test.each<[readonly string[], RegExp]>([
    [['dlv_1', '--subscriber', 'sorry'], /not both/],
    [[], /name the deliveries by their ids, or all of one subscriber/],
    [['dlv_1', '--dry-run'], /--dry-run: only with --subscriber/],
    [['dlv_1', '--status', 'exhausted'], /--status: only with --subscriber/],
    [['--subscriber', '@slack'], /@slack is a channel for people, where old alarms/],
    [['--subscriber', 'sorry', '--status', 'delivered'], /Allowed choices are exhausted, suppressed/],
  ])('%j is refused', async (argv, message) => {
    const { exitCode, stderr } = await command('deliveries', 'retry', ...argv);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});

describe('a replay', () => {
  test('tried dry says how long it would take, and how that was reckoned', async () => {
    await living();
    const { stdout } = await command('replay', '--subscriber', 'well', '--since', '2h', '--dry-run');
    expect(stdout).toMatch(/^1 (199|200) events from .* to .* would be sent again to well$/m);
    expect(stdout).toMatch(
      /^until all have arrived: about 1 s( \d+ ms)?: 32 at a time, 38 ms each \(the median of its last 200 deliveries\)(, after 1 that waits already)?$/m,
    );
    const body = JSON.parse((await command('replay', '--subscriber', 'well', '--since', '2h', '--dry-run', '--json')).stdout);
    expect(body).toMatchObject({ dryRun: true, expectedDrain: { ms: expect.any(Number), text: expect.any(String) } });
  });

  test('leaves alone what waits in any case, and says why that waits', async () => {
    const { stdout } = await command('replay', '--subscriber', 'shop', '--since', '2h', '--dry-run');
    expect(stdout).toBe('1 200 events of that time wait to be sent to shop in any case; there is nothing else\n');
    expect((await command('replay', '--subscriber', 'shop', '--since', '2h')).stdout).toBe(stdout);
  });

  test('to Slack is refused: old alarms would be taken for new ones', async () => {
    const { exitCode, stderr } = await command('replay', '--subscriber', '@slack', '--since', '2h');
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/--subscriber: @slack is a channel for people, where old alarms/),
    ]);
  });
});

describe('a pause', () => {
  test('is ended by hand, for one that is on', async () => {
    expect((await command('subscribers', 'resume', 'books')).stderr).toMatch(
      /nothing was resumed: books is off .*switch it on: .*change books --status active/,
    );
    expect((await command('subscribers', 'resume', 'nobody')).exitCode).toBe(1);
    expect((await command('subscribers', 'resume', 'shop')).stdout).toMatch(/^shop gets events: /);
    expect((await command('subscribers', 'resume', 'shop')).stdout).toBe('shop is not paused: nothing was changed\n');
    expect(JSON.parse((await command('subscribers', 'resume', 'shop', '--json')).stdout).health.status).toBe('ok');
    expect((await command('deliveries', '--status', 'pending', '--subscriber', 'shop', '--limit', '1')).stdout).toMatch(
      / pending /,
    );
  });
});

test('a rest that was asked for ends by itself, and nobody is told to end it', async () => {
  const said = 'The receiver answered 429 and asked to be left alone for 1 d.';
  await database.sql`delete from purchase_watch_internal.subscriber_health`;
  await database.sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
    select id, 1, 0, now(), now() + interval '1 day', ${said} from purchase_watch_internal.subscribers where name = 'shop'`;
  const status = (await command('status')).stdout;
  expect(status).toMatch(
    /^shop is paused until .* after one failure \(The receiver answered 429 and asked to be left alone for 1 d\); it goes on by itself then$/m,
  );
  const { data } = JSON.parse((await command('deliveries', '--subscriber', 'shop', '--limit', '1', '--json')).stdout);
  const again = (await command('deliveries', 'retry', data[0].id)).stdout;
  expect(again).toMatch(/It waits: shop is paused until .*left alone for 1 d\); it goes on by itself then\.$/m);
  expect(status + again).not.toContain('resume');
});
