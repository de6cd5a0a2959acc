import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../../src/main.ts';
import type { TestDatabase } from '../../support/database.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

const KEY = 'an encryption key of many characters';

describe('with a daemon', () => {
  let t: TestApp;
  let receiver: Receiver;
  beforeAll(async () => {
    t = await startTestApp({ inventsEvents: true, realClock: true, env: { SECRETS_KEY: KEY } });
    await t.app.start();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await t.stop();
    await receiver.stop();
  });
  const command = (...argv: string[]) =>
    runCommand(argv, { DATABASE_URL: t.database.url, SECRETS_KEY: KEY, WEBHOOK_API_ALLOW_ADDRESSES: '127.0.0.0/8' });
  /** Answers the question as somebody at a terminal. */
  async function atTerminal(answer: string, ...argv: string[]) {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    stdin.end(`${answer}\n`);
    let said = '';
    stdout.on('data', (chunk) => {
      said += chunk;
    });
    const env = { DATABASE_URL: t.database.url, SECRETS_KEY: KEY, NO_COLOR: '1' };
    const exitCode = await run(argv, { env, stdin, stdout, stderr, isTTY: true });
    return { exitCode, stdout: said, stderr: String(stderr.read() ?? '') };
  }
  const json = async (...argv: string[]) => JSON.parse((await command(...argv, '--json')).stdout);

  test('add shows the secret once, test tells how the receiver took it, and the daemon follows', async () => {
    const { exitCode, stdout } = await command(
      'subscribers',
      'add',
      'books',
      `${receiver.url}?token=t`,
      '--types',
      'purchase.stuck',
      '--states',
      'Completed,77',
    );
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^secret {2}whsec_[A-Za-z0-9+/]{43}=$/m);
    expect(stdout).toMatch(/not shown again/);
    const shown = await command('subscribers', 'show', 'books');
    expect(shown.stdout).not.toMatch(/whsec_|token=t/);
    expect(shown.stdout).toMatch(/^states +completed, state 77, which is not in the specification$/m);
    const tested = await command('subscribers', 'test', 'books');
    expect([tested.exitCode, tested.stdout]).toEqual([
      0,
      expect.stringMatching(/^books took the test: 200 within .*dlv_\d+, evt_/),
    ]);
    expect(receiver.received).toHaveLength(1);
    receiver.respond({ status: 500 });
    const failed = await command('subscribers', 'test', 'books');
    expect([failed.exitCode, failed.stderr]).toEqual([1, expect.stringContaining('The receiver answered 500.')]);
  });

  test('list shows everybody, change and remove change it', async () => {
    expect((await command('subscribers')).stdout).toMatch(
      /^books +api +active +purchase\.stuck +all +completed, state 77, which is not in the specification +http:\/\/127/m,
    );
    expect((await json('subscribers', 'list')).data.map(({ name }: { name: string }) => name)).toEqual([
      'default',
      '@slack',
      'books',
    ]);
    expect(await json('subscribers', 'change', 'books', '--types', 'all', '--status', 'off')).toMatchObject({
      types: null,
      status: 'off',
    });
    expect((await command('status')).stdout).toMatch(/^books is off \(It was switched off by hand\); .*--status active/m);
    expect(await json('subscribers', 'change', 'books', '--status', 'active')).toMatchObject({ status: 'active' });
    expect(await json('subscribers', 'rotate-secret', 'books', '--overlap', '1h')).toEqual({
      secret: expect.stringMatching(/^whsec_/),
      oldSecretsUntil: expect.stringMatching(/Z$/),
    });
    // One of the tests above failed and would be tried again.
    expect((await command('subscribers', 'remove', 'books', '--yes')).stdout).toMatch(/^removed books/);
    expect((await command('subscribers', 'show', 'books')).stderr).toMatch(/there is no subscriber "books"/);
  });

  test('deliveries are listed, shown and sent again, and a replay sends what was missed', async () => {
    const purchase = await t.watch({ script: [{ state: 'New' }] });
    await t.receiver.waitFor(() => t.changesOf(purchase).length === 1);
    await expect.poll(async () => (await json('deliveries', '--purchase', purchase)).data[0]?.status).toBe('delivered');
    const { data } = await json('deliveries', '--purchase', purchase, '--subscriber', 'default');
    expect((await command('deliveries', '--limit', '1')).stdout).toMatch(/There are more: --cursor dlv_\d+|^dlv_/m);
    expect((await command('deliveries', 'show', data[0].id)).stdout).toMatch(/^1 +\S.* +delivered +200 +\d+ +ok$/m);
    expect((await command('deliveries', 'retry', data[0].id)).stdout).toMatch(/scheduled; the running daemon sends it now/);
    await t.receiver.waitFor(() => t.changesOf(purchase).length === 2);
    await expect.poll(async () => (await json('deliveries', 'show', data[0].id)).attempts.length).toBe(2);

    expect((await command('replay', '--subscriber', 'default', '--since', '1h', '--dry-run')).stdout).toMatch(
      /^1 event from .* would be sent again to default$/m,
    );
    expect(await json('replay', '--subscriber', 'default', '--since', '1h')).toMatchObject({ count: 1, dryRun: false });
    await t.receiver.waitFor(() => t.changesOf(purchase).length === 3);
    expect((await command('replay', '--subscriber', 'default', '--since', '1h', '--types', 'purchase.stuck')).stdout).toMatch(
      /nothing in that time/,
    );
  });

  test('status names whom nothing reaches', async () => {
    t.receiver.respondAlways({ status: 503 });
    const purchase = await t.watch({ script: [{ state: 'New' }] });
    await t.receiver.waitFor(() => t.changesOf(purchase).length === 1);
    await expect
      .poll(async () => (await command('status')).stdout)
      .toMatch(
        /^default does not take what it is sent: 1 delivery fails and is tried again; last: The receiver answered 503\. .*deliveries --subscriber default/m,
      );
    expect((await json('status')).subscribers.find(({ name }: { name: string }) => name === 'default')).toMatchObject({
      failing: 1,
      lastError: 'The receiver answered 503.',
    });
  });

  test('one that is off is not tested, and a replay to it says that it waits, and how to switch it on', async () => {
    await command('subscribers', 'add', 'resting', receiver.url);
    await command('subscribers', 'change', 'resting', '--status', 'off');
    const off =
      'resting is off (It was switched off by hand); switch it on: purchase-watch subscribers change resting --status active';
    const tested = await command('subscribers', 'test', 'resting');
    expect(tested).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining(`nothing was sent: ${off}`) });
    expect((await json('deliveries', '--subscriber', 'resting')).data).toEqual([]);
    await t.database.sql`
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      values ('evt_off', 'purchase.stuck', 'default', 0, now(), '{}')`;
    const replay = ['replay', '--subscriber', 'resting', '--since', '1h', '--types', 'purchase.stuck'];
    expect((await json(...replay, '--dry-run')).note).toBe(
      `They would wait: ${off}, or PATCH /v1/subscribers/resting with {"status": "active"}.`,
    );
    const { stdout } = await command(...replay);
    expect(stdout).toMatch(/^1 event from .* scheduled for resting\nThey are scheduled and wait: resting is off /);
    expect(stdout).not.toContain('sent again');
  });

  test('one for whom deliveries wait is removed with --yes, and at a terminal after a question', async () => {
    await command('subscribers', 'add', 'busy', receiver.url);
    await command('subscribers', 'change', 'busy', '--status', 'off');
    const [event] = await t.database.sql`
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      values ('evt_busy', 'site.reachable', 'default', 0, now(), '{}') returning position`;
    await t.database.sql`
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
      select ${event!.position}, -${event!.position}::bigint, id, 0, now() from purchase_watch_internal.subscribers where name = 'busy'`;
    expect(await command('subscribers', 'remove', 'busy')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/1 delivery waits for busy, and would never be made: say --yes/),
    });
    expect(await atTerminal('no', 'subscribers', 'remove', 'busy')).toMatchObject({
      exitCode: 1,
      stderr: 'error: nothing was removed\n',
    });
    expect((await json('subscribers', 'show', 'busy')).name).toBe('busy');
    expect((await atTerminal('yes', 'subscribers', 'remove', 'busy')).stdout).toMatch(
      /1 delivery waits for busy.*Remove it\?.*removed busy/s,
    );
    await command('subscribers', 'add', 'busy', receiver.url);
    expect((await command('subscribers', 'remove', 'busy')).exitCode).toBe(0);
  });
});

const ADD_A = ['subscribers', 'add', 'a', 'https://a.example'];

describe('without a daemon', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await databaseOf('se', 'fi');
  });
  afterAll(() => database.drop());
  const command = (argv: readonly string[], env: NodeJS.ProcessEnv = { SECRETS_KEY: KEY }) =>
    runCommand(argv, { DATABASE_URL: database.url, ...env });

  test('nothing secret is stored without a key', async () => {
    const { exitCode, stderr } = await command(['subscribers', 'add', 'a', 'https://a.example'], {});
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/SECRETS_KEY.*openssl rand -base64 32/)]);
  });

  test.each<[string, readonly string[], number, RegExp]>([
    ['a name of capitals', ['subscribers', 'add', 'A', 'https://a.example'], 2, /the name: must be/],
    ['an address of this machine', ['subscribers', 'add', 'a', 'https://127.0.0.1'], 2, /not a public address/],
    [
      'a mistyped type',
      ['subscribers', 'add', 'a', 'https://a.example', '--types', 'purchase.stuk'],
      2,
      /--types "purchase.stuk".*did you mean/,
    ],
    ['a mistyped site', ['subscribers', 'add', 'a', 'https://a.example', '--sites', 'ss'], 2, /--sites "ss".*did you mean se/],
    ['somebody who is not there', ['subscribers', 'change', 'nobody', '--status', 'off'], 1, /there is no subscriber "nobody"/],
    [
      'a time without a zone',
      ['replay', '--subscriber', 'a', '--since', '2026-11-20T09:00:00'],
      2,
      /--since: must be a time with its zone/,
    ],
    ['a day that there is not', ['replay', '--subscriber', 'a', '--since', '2026-02-30T09:00:00Z'], 2, /--since: must be a time/],
    ['no time', ['replay', '--subscriber', 'a'], 2, /--since/],
    ['a delivery that there is not', ['deliveries', 'retry', 'dlv_7'], 1, /there is no delivery dlv_7/],
    ['no id', ['deliveries', 'show', '7'], 2, /look like dlv_42/],
    ['a command that there is not', ['subscribers', 'frobnicate'], 2, /unknown command 'frobnicate'\n\(there are list, show,/],
    ['a mistyped command', ['subscribers', 'ad', 'a'], 2, /unknown command 'ad'\n\(Did you mean add\?\)/],
    ['one with options', ['deliveries', 'retyr', '--json'], 2, /unknown command 'retyr'\n\(Did you mean retry\?\)/],
    ['too many arguments', ['deliveries', 'list', 'x'], 2, /too many arguments for 'list'/],
    [
      'http without listed addresses',
      ['subscribers', 'add', 'a', 'http://a.example'],
      2,
      /the address: must begin with https; http is/,
    ],
    [
      'this machine by its name',
      ['subscribers', 'add', 'a', 'https://localhost'],
      2,
      /is this machine: 127\.0\.0\.1 is not a public/,
    ],
    ['a site without a purchase', ['deliveries', '--site', 'se'], 2, /needs --purchase/],
    [
      'a message broker',
      ['subscribers', 'add', 'a', 'nats://me:hush@nats.example'],
      2,
      /the address: leads to NATS: message brokers are named in the settings file only/,
    ],
    ['a header without a colon', [...ADD_A, '--header', 'Bearer'], 2, /--header: is written as a name, a colon and a value/],
    ['a header of ours', [...ADD_A, '--header', 'webhook-id: hush'], 2, /^(?!.*hush).*--header webhook-id: cannot be set/],
    ['a header twice', [...ADD_A, '--header', 'X-A: hush', '--header', 'X-A: b'], 2, /^(?!.*hush).*--header X-A: is given twice/],
    [
      'a line break in a header',
      [...ADD_A, '--header', 'X-A: hush\nX-B: c'],
      2,
      /^(?!.*hush).*--header X-A: must be text of Latin-1/,
    ],
    ['another format', [...ADD_A, '--format', 'xml'], 2, /Allowed choices are standard, cloudevents/],
  ])('%s: %j', async (_, argv, code, message) => {
    const { exitCode, stdout, stderr } = await command(argv);
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test('headers, a format and a signing key are taken, shown without secrets, changed and taken away', async () => {
    const options = ['--header', 'X-Team: checkout', '--header', 'Authorization: Bearer hush', '--format', 'cloudevents'];
    const added = await command(['subscribers', 'add', 'extras', 'https://shop.example', ...options, '--asymmetric']);
    expect(added.stdout).toMatch(/^headers +X-Team, Authorization \(values are not shown\)$/m);
    expect(added.stdout).toMatch(/^format +cloudevents$/m);
    const key = /^public key +(whpk_[A-Za-z0-9+/]{43}=)$/m.exec(added.stdout)?.[1];
    expect(key).toBeDefined();
    const change = async (...argv: string[]) =>
      JSON.parse((await command(['subscribers', 'change', 'extras', '--json', ...argv])).stdout);
    expect(await change('--description', 'x')).toMatchObject({ headers: ['X-Team', 'Authorization'], publicKey: key });
    const moved = await command(['subscribers', 'change', 'extras', '--url', 'https://thief.example']);
    expect(moved).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(/headers of "extras" .*--no-header\)/),
    });
    expect(await change('--header', 'X-B: c', '--format', 'standard')).toMatchObject({ headers: ['X-B'], format: 'standard' });
    expect(await change('--no-header', '--no-asymmetric')).toMatchObject({ headers: [], publicKey: null });
    const shown = await command(['subscribers', 'show', 'extras']);
    expect(shown.stdout).not.toMatch(/^(headers|format|public key)/m);
    expect(added.stdout + shown.stdout).not.toContain('hush');
  });

  test('a test needs a daemon', async () => {
    await command(['subscribers', 'add', 'shop', 'https://shop.example']);
    expect((await command(['subscribers', 'test', 'shop'])).stderr).toMatch(/no daemon is running/);
  });
});
