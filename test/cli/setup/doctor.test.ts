import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createSimulator, type SimulatorOptions } from '../../../packages/simulator/src/simulator.ts';
import type { Finding } from '../../../src/actions/overview/finding.ts';
import { openFront } from '../../../src/api/access/front.ts';
import { sealKeys, sealUrl } from '../../../src/channels/outgoing/sealed.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { saveUnreached } from '../../../src/postgres/deliveries/subscriber-health.ts';
import { saveReplicaTroubles } from '../../../src/postgres/shards/replica-troubles.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { insertSubscriber } from '../../../src/postgres/subscribers/changes.ts';
import { findSubscriber } from '../../../src/postgres/subscribers/subscribers.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { createSecrets } from '../../../src/runtime/secrets/secrets.ts';
import { json, STATUS, startService, statusText } from '../../checkout/service.ts';
import { temporaryFile } from '../../config/files.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { startReceiver } from '../../support/receiver.ts';
import { SLACK_ANSWERS, startSlackStandIn } from '../../support/slack-stand-in.ts';
import { SECRET, startTestApp } from '../../support/test-app.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

const CREDENTIALS = { CHECKOUT_CLIENT_ID: 'demo-client', CHECKOUT_CLIENT_SECRET: 'demo-secret' };

/** Runs it for programs; answers what it found, by what it is about. */
async function doctor(env: Record<string, string>, ...argv: string[]) {
  const { exitCode, stdout, stderr } = await runCommand(['doctor', '--json', ...argv], { PORT: '0', ...CREDENTIALS, ...env });
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  const about = (name: string): string[] =>
    findings
      .filter((finding) => finding.about === name)
      .map(({ verdict, found, todo }) => `${verdict}: ${found}${todo === null ? '' : ` → ${todo}`}`);
  return { exitCode, stdout, stderr, findings, about };
}

async function simulatorOf(options: SimulatorOptions = {}) {
  const simulator = createSimulator(options);
  await simulator.start();
  onTestFinished(() => simulator.stop());
  return simulator;
}

/** Starts a server that answers so; answers its port. */
async function answering(answer: RequestListener): Promise<string> {
  const server = createHttpServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

describe('with a daemon', () => {
  let t: Awaited<ReturnType<typeof startTestApp>>;
  let env: Record<string, string>;
  beforeAll(async () => {
    t = await startTestApp({ inventsEvents: true, realClock: true, stuck: 'auto' });
    await t.app.start();
    env = {
      DATABASE_URL: t.database.url,
      CHECKOUT_BASE_URL: t.simulator.url,
      ...{ CHECKOUT_MAX_RPS: '10000', CHECKOUT_TIMEOUT: '10s' },
      WEBHOOK_URL: t.receiver.url,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
      WEBHOOK_API_ALLOW_ADDRESSES: '127.0.0.0/8',
      SLACK_WEBHOOK_URL: t.slack.url,
      PORT: new URL(t.app.url()!).port,
    };
  });
  afterAll(() => t.stop());

  test('everything is well, and it says by what it knows', async () => {
    const id = await t.watch({ script: [{ state: 'New' }] });
    await t.receiver.waitFor(() => t.eventsOf(id).length === 1);
    const { exitCode, about, findings } = await doctor(env);
    // The database of the tests is in a hurry.
    const bad = findings.filter(({ verdict, found }) => verdict !== 'ok' && !/^fsync/.test(found));
    expect(bad).toEqual([]);
    expect(exitCode).toBe(0);
    expect(about('database')[0]).toMatch(/^ok: Postgres \d+\.\d+ at 127\.0\.0\.1:\d+\/…, as role \w+$/);
    expect(about('database')).toContain('ok: notifications arrive');
    expect(about('daemons')).toEqual(['ok: one daemon is running, every shard has an owner']);
    expect(about('api')).toEqual([
      expect.stringMatching(/^ok: a daemon of this database answers at 127\.0\.0\.1:\d+ and is ready$/),
    ]);
    const site = about('site default');
    expect(site[0]).toMatch(/^ok: http:\/\/127\.0\.0\.1:\d+ answers without encryption in \d+ ms/);
    expect(site.slice(1)).toEqual([
      'ok: accepts oauth2 (configured); basic is refused',
      `ok: GetPaymentStatus of ${id} shows: before the form`,
      "ok: the service's clock against this machine's: the same",
      'ok: read in Europe/Stockholm, the purchase was created before it was registered here, as it should',
    ]);
    const tested = t.receiver.received.find(({ type }) => type === 'subscriber.test');
    expect(tested?.verified).toBe(true);
    expect(about('receiver default')).toEqual([expect.stringMatching(/^ok: took a signed test event: 200 in \d+ ms$/)]);
    expect(about('slack')[0]).toMatch(/^ok: the webhook is alive/);
  });

  test('no output holds a secret, and with --no-send nobody is told', async () => {
    const before = [t.receiver.received.length, t.slack.received.length];
    const { stdout, stderr } = await doctor({ ...env, CHECKOUT_CLIENT_SECRET: 'a-wrong-secret' }, '--no-send');
    for (const secret of ['a-wrong-secret', SECRET, t.slack.url, new URL(t.database.url).password || 'no password'])
      expect(stdout + stderr).not.toContain(secret);
    expect([t.receiver.received.length, t.slack.received.length]).toEqual(before);
  });

  test('for people it writes one line per finding, and what to do below', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['doctor', '--no-send'], {
      ...CREDENTIALS,
      ...env,
      CHECKOUT_TIME_ZONE: 'America/New_York',
    });
    expect({ exitCode, stderr }, stdout).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^ok {7}daemons: one daemon is running/m);
    expect(stdout).toMatch(
      /^warning {2}site default: read in America\/New_York, the purchase was created [56] h.* after it was registered/m,
    );
    expect(stdout).toMatch(/^ {9}→ set timeZone of the site \(CHECKOUT_TIME_ZONE\)/m);
    expect(stdout).toMatch(/^Nothing failed; \d warnings?\.$/m);
  });
});

describe('without a daemon', () => {
  let database: TestDatabase;
  let env: Record<string, string>;
  beforeEach(async () => {
    database = await databaseOf('default');
    env = { DATABASE_URL: database.url };
  });
  afterEach(() => database.drop());

  test('it says so, and asks about an id that nobody has', async () => {
    const { url } = await simulatorOf({ auth: 'both' });
    const keys = 'shop: { scopes: [register], key: a-key-of-the-shop-of-old, expires: 2020-01-01 }';
    const PURCHASE_WATCH_CONFIG = temporaryFile(`api: { keys: { ${keys} } }`);
    const { exitCode, about } = await doctor({ ...env, CHECKOUT_BASE_URL: url, PURCHASE_WATCH_CONFIG });
    expect(exitCode).toBe(0);
    expect(about('settings')).toContainEqual(
      expect.stringMatching(
        /^warning: the key shop of the API expired at 2020-01-01T.* → make its successor with "purchase-watch key new"/,
      ),
    );
    expect(about('settings')).toContainEqual(
      expect.stringMatching(
        /^warning: people are not alerted of incidents: neither SLACK_WEBHOOK_URL nor slack.channels is set → make/,
      ),
    );
    expect(about('daemons')[0]).toMatch(/^warning: none is running on this database/);
    expect(about('site default').slice(1, 3)).toEqual([
      'ok: accepts oauth2 (configured); basic is accepted, too',
      'ok: the service answered (HTTP 404, code PURCHASE_NOT_FOUND) that it does not know the made-up id it was asked about, so the credentials are accepted; watch a purchase to check more',
    ]);
  });

  test.each<[string, SimulatorOptions, Record<string, string>, RegExp]>([
    [
      'a wrong secret',
      {},
      { CHECKOUT_CLIENT_SECRET: 'wrong' },
      /^failed: oauth2 \(configured\) is refused \(token HTTP 401\); basic is refused → check client id and secret/,
    ],
    [
      'oauth2 where only basic works',
      { auth: 'basic' },
      {},
      /^failed: oauth2 \(configured\) gets no clear answer .*; basic is accepted → set auth .* to basic$/,
    ],
    [
      'basic where only oauth2 works',
      {},
      { CHECKOUT_AUTH: 'basic' },
      /^failed: basic \(configured\) is refused \(HTTP 401\); oauth2 is accepted → set auth .* to oauth2$/,
    ],
  ])('%s is told, with the way out', async (_, options, change, expected) => {
    const { url } = await simulatorOf(options);
    const { exitCode, stderr, about } = await doctor({ ...env, CHECKOUT_BASE_URL: url, ...change });
    expect(about('site default')[1]).toMatch(expected);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'error: 1 check failed\n' });
  });

  test.each([
    ['oauth2', /There is no token endpoint at the base address .* → correct the base address/],
    [
      'basic',
      /basic \(configured\) gets no clear answer .* → whatever the credentials, the answer is the same: correct the base address/,
    ],
  ])('a wrong base address is not taken for a service that knows no id: %s', async (auth, expected) => {
    const { url } = await simulatorOf({ auth: 'both' });
    const { exitCode, about } = await doctor({ ...env, CHECKOUT_BASE_URL: `${url}/elsewhere`, CHECKOUT_AUTH: auth });
    expect(about('site default').join('\n')).toMatch(expected);
    expect(exitCode).toBe(1);
  });

  test('nothing listens at the base address', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const { about } = await doctor({ ...env, CHECKOUT_BASE_URL: `http://127.0.0.1:${port}` });
    expect(about('site default')).toEqual([
      expect.stringMatching(
        /^failed: .*Nothing accepts connections at the base address.* → check the base address of the site, and whether the service is running$/,
      ),
    ]);
  });

  test('a service that refuses every call as too many, or only tokens', async () => {
    const tooMany = (response: ServerResponse): unknown => response.writeHead(429).end();
    const all = await startService({ '/oauth2/token': tooMany, [STATUS]: tooMany });
    const { about } = await doctor({ ...env, CHECKOUT_BASE_URL: all.baseUrl });
    expect(about('site default')).toEqual([
      expect.stringMatching(
        /^failed: .*the service refuses every call as too many \(429\); credentials and address could not be checked → ask its operator/,
      ),
    ]);
    const tokens = await startService({ '/oauth2/token': tooMany, [STATUS]: (response) => response.writeHead(401).end() });
    expect((await doctor({ ...env, CHECKOUT_BASE_URL: tokens.baseUrl })).about('site default')[1]).toMatch(
      /^failed: oauth2 \(configured\) could not be checked: .* too many \(429\); basic is refused → ask its operator/,
    );
  });

  test('a service that is too slow', async () => {
    const simulator = await simulatorOf();
    simulator.control.setLatency(5_000);
    const { about } = await doctor({ ...env, CHECKOUT_BASE_URL: simulator.url, CHECKOUT_TIMEOUT: '200ms' });
    expect(about('site default')).toEqual([
      expect.stringMatching(/did not answer within the time limit.* → see whether the service is slow/),
    ]);
  });

  test('a service whose clock is wrong', async () => {
    const { baseUrl } = await startService({
      [STATUS]: (response, { body }) => {
        response.setHeader('date', new Date(Date.now() - 3_600_000).toUTCString());
        json(response, statusText({ PurchaseId: JSON.parse(body).PurchaseId }));
      },
    });
    const { about } = await doctor({ ...env, CHECKOUT_BASE_URL: baseUrl });
    expect(about('site default').join('\n')).toMatch(
      /warning: the service's clock against this machine's: (1 h|59 min|60 min)[^→]* behind → set the clock/,
    );
  });

  test('receivers that fail, and a Slack webhook that is gone', async () => {
    const { url } = await simulatorOf();
    const [receiver, slack] = [await startReceiver({ secret: SECRET }), await startSlackStandIn()];
    onTestFinished(async () => void (await Promise.all([receiver.stop(), slack.stop()])));
    receiver.respondAlways({ status: 500, body: 'password=hunter2' });
    slack.respondAlways(SLACK_ANSWERS.noService);
    const { exitCode, about, stdout } = await doctor({
      ...env,
      CHECKOUT_BASE_URL: url,
      WEBHOOK_URL: receiver.url,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
      WEBHOOK_API_ALLOW_ADDRESSES: '127.0.0.0/8',
      SLACK_WEBHOOK_URL: slack.url,
    });
    expect(about('receiver default')).toEqual([
      expect.stringMatching(/^failed: did not take a signed test event: The receiver answered 500\. \(\d+ ms\) → mend/),
    ]);
    expect(about('slack')).toEqual([
      expect.stringMatching(/^failed: Slack answered 404 no_service: there is no such webhook any more → make a new/),
    ]);
    expect(stdout).not.toContain('hunter2');
    expect(exitCode).toBe(1);
  });

  test('a Slack that cannot be reached is another matter', async () => {
    const { url } = await simulatorOf();
    const slack = await startSlackStandIn();
    await slack.stop();
    const { about } = await doctor({ ...env, CHECKOUT_BASE_URL: url, SLACK_WEBHOOK_URL: slack.url });
    expect(about('slack')).toEqual([
      expect.stringMatching(/^failed: The connection was refused.* → see that this machine can reach/),
    ]);
  });

  test('a receiver made by the API is tried with its stored address and key, which need SECRETS_KEY', async () => {
    const { url } = await simulatorOf();
    const receiver = await startReceiver({ secret: SECRET });
    onTestFinished(() => receiver.stop());
    const key = 'a-key-that-encrypts-what-is-stored';
    const secrets = createSecrets(key);
    await insertSubscriber(database.sql, {
      name: 'made',
      types: null,
      sites: null,
      states: null,
      description: null,
      url: sealUrl(secrets, 'made', receiver.url),
      keys: sealKeys(secrets, 'made', [{ key: SECRET, until: null }]),
      options: null,
      format: 'standard',
      addressHash: 'x',
    });
    const settings = { ...env, CHECKOUT_BASE_URL: url, WEBHOOK_API_ALLOW_ADDRESSES: '127.0.0.0/8' };
    const { about } = await doctor({ ...settings, SECRETS_KEY: key });
    expect(about('receiver made')).toEqual([expect.stringMatching(/^ok: took a signed test event/)]);
    expect(receiver.received.map(({ verified }) => verified)).toEqual([true]);
    const without = await doctor(settings);
    expect(without.about('receiver made')).toEqual([
      expect.stringMatching(/^failed: its address cannot be read → set SECRETS_KEY/),
    ]);
    const { id } = (await findSubscriber(database.sql, 'made'))!;
    const error = 'Its address cannot be read: SECRETS_KEY is not set.';
    await saveUnreached(database.sql, id, { failures: 0, since: Date.now() - 60_000, error, replica: 'rep_other' });
    expect((await doctor({ ...settings, SECRETS_KEY: key })).about('receiver made')).toContainEqual(
      expect.stringMatching(
        /^warning: a daemon has sent nothing to it for 1 min(?: \d+ s)? \(Its address cannot be read: SECRETS_KEY is not set\); .* → give every daemon the same settings/,
      ),
    );
  });

  test('a receiver in a private network is refused until it is allowed', async () => {
    const { url } = await simulatorOf();
    const { about } = await doctor({
      ...env,
      CHECKOUT_BASE_URL: url,
      WEBHOOK_URL: 'https://127.0.0.1:9/',
      WEBHOOK_SECRET: SECRET,
    });
    expect(about('receiver default')[0]).toMatch(/^failed: .* → if it is meant, set WEBHOOK_ALLOW_ADDRESSES=127\.0\.0\.0\/8$/);
  });

  test('a port that another program uses', async () => {
    const { url } = await simulatorOf();
    const { about } = await doctor({ ...env, CHECKOUT_BASE_URL: url, PORT: new URL(url).port });
    expect(about('api')).toEqual([
      expect.stringMatching(/^failed: 127\.0\.0\.1:\d+ is answered by another program → choose another PORT/),
    ]);
  });

  test('a program there that answers like a daemon, at length', async () => {
    const { url } = await simulatorOf();
    const port = await answering((_, response) => response.end(`{"status":"ready"}${' '.repeat(1_000_000)}`));
    const { about } = await doctor({ ...env, CHECKOUT_BASE_URL: url, PORT: port });
    expect(about('api')).toEqual([expect.stringMatching(/^failed: 127\.0\.0\.1:\d+ is answered by another program → /)]);
  });

  test('a daemon of another database, which is ready there, and one of this database, which is not', async () => {
    const { url } = await simulatorOf();
    const other = await startTestApp({ realClock: true });
    onTestFinished(other.stop);
    await other.app.start();
    const { port } = new URL(other.app.url()!);
    const found = async (PORT: string) => (await doctor({ ...env, CHECKOUT_BASE_URL: url, PORT }, '--no-send')).about('api');
    expect(await found(port)).toEqual([
      expect.stringMatching(
        /^failed: 127\.0\.0\.1:\d+ is answered by a daemon of another database \(rep_\w+\) → choose another PORT, end that daemon/,
      ),
    ]);
    await renewReplica(database.sql, { id: 'rep_here', process: 'elsewhere', ttl: 1 });
    const here = await answering((_, response) => response.writeHead(503, { 'purchase-watch-replica': 'rep_here' }).end('{}'));
    expect(await found(here)).toEqual([
      expect.stringMatching(
        /^warning: a daemon of this database answers at 127\.0\.0\.1:\d+ and is not ready → its log says why/,
      ),
    ]);
  });

  test('a daemon that is starting there', async () => {
    const { url } = await simulatorOf();
    const front = await openFront(
      loadSettings({ ...CREDENTIALS, ...env, CHECKOUT_BASE_URL: url, PORT: '0' }),
      createLogger({ level: 'silent' }),
    );
    onTestFinished(() => front.close());
    const { about } = await doctor({ ...env, CHECKOUT_BASE_URL: url, PORT: new URL(front.url).port });
    expect(about('api')).toEqual([
      expect.stringMatching(/^warning: a daemon is starting at 127\.0\.0\.1:\d+ → wait, and run doctor again/),
    ]);
  });

  test('what a daemon says keeps it from its work', async () => {
    const { url } = await simulatorOf();
    const { sql } = database;
    await renewReplica(sql, { id: 'rep_1', process: 'elsewhere', ttl: 60_000 });
    await saveReplicaTroubles(sql, { replica: 'rep_1', host: 'host-a:7' }, [
      { reason: 'not_recording', since: Date.now() - 120_000, error: 'could not extend file: No space left on device (53100)' },
    ]);
    const { exitCode, about } = await doctor({ ...env, CHECKOUT_BASE_URL: url });
    expect(about('daemons')).toContainEqual(
      expect.stringMatching(
        /^failed: rep_1 on host-a:7: polls are not recorded for 2 min.* \(could not extend file: .*53100\)\) → The disk of the database is full: free space there\.$/,
      ),
    );
    expect(exitCode).toBe(1);
  });

  test('a renamed site whose last purchases do not move', async () => {
    const { url } = await simulatorOf();
    await database.sql`insert into purchase_watch_internal.sites (name) values ('old'), ('new')`;
    await database.sql`insert into purchase_watch.purchases (purchase_id, site) values ('p-1', 'old')`;
    await database.sql`update purchase_watch_internal.sites set unnamed_since = now(), renamed_to = 'new' where name = 'old'`;
    const [line] = (await doctor({ ...env, CHECKOUT_BASE_URL: url })).about('site old');
    expect(line).toMatch(/^warning: 1 purchase of site old is not polled yet: it moves to site new, .*locked by another session/);
    await database.sql`update purchase_watch_internal.sites set unnamed_since = now() - interval '11 minutes' where name = 'old'`;
    expect((await doctor({ ...env, CHECKOUT_BASE_URL: url })).about('site old')[0]).toMatch(/^failed: .*it moves to site new/);
  });

  test('running daemons that differ, at once, with the turns that they take', async () => {
    const { url } = await simulatorOf();
    const start = (id: string, site: string) =>
      renewReplica(database.sql, {
        ...{ id, process: 'elsewhere', ttl: 60_000, named: { sites: { [site]: [] }, subscribers: {} } },
        settings: { version: '1.0.0', [`sites.${site}`]: 'aaaa', 'slack.groupWait': 'bbbb' },
      });
    await start('rep_1', 'se');
    const daemons = async () => (await doctor({ ...env, CHECKOUT_BASE_URL: url }, '--no-send')).about('daemons').join('\n');
    expect(await daemons()).not.toContain('have different values');
    await start('rep_2', 'no');
    expect(await daemons()).toMatch(
      /^warning: the running daemons have different values of sites\.no and sites\.se: site no is in the settings of rep_2 alone, site se is in the settings of rep_1 alone; each shard .* up to 20 s .*→ .*same settings/m,
    );
  });

  test('a subscriber that was switched off', async () => {
    const { url } = await simulatorOf();
    await database.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, status, status_reason) values ('shop', 'webhook', 'systems', 'x', 'off', 'it answered 410')`;
    const { about } = await doctor({ ...env, CHECKOUT_BASE_URL: url }, '--no-send');
    expect(about('receiver shop')).toEqual([
      expect.stringMatching(
        /^warning: it is switched off \(it answered 410\); 0 deliveries wait → if it is to get events again, .*change shop --status active"$/,
      ),
    ]);
  });

  test('a subscriber that is paused, and how to go on', async () => {
    const { url } = await simulatorOf();
    await database.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('cashier', 'webhook', 'systems', 'x')`;
    await database.sql`
      insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, paused_until, last_error)
      select id, 5, 2, now() + interval '2 minutes', 'The receiver answered 503.' from purchase_watch_internal.subscribers where name = 'cashier'`;
    const { about } = await doctor({ ...env, CHECKOUT_BASE_URL: url }, '--no-send');
    expect(about('receiver cashier')).toEqual([
      expect.stringMatching(
        /^warning: it is paused until \S+Z .* after 5 failures in a row \(The receiver answered 503\); 0 deliveries wait → .*subscribers resume cashier"$/,
      ),
    ]);
  });

  test('one that asked for a rest gets a test event only when that is wanted', async () => {
    const { url } = await simulatorOf();
    const receiver = await startReceiver({ secret: SECRET });
    onTestFinished(() => receiver.stop());
    const { sql } = database;
    await sql`delete from purchase_watch_internal.subscribers`;
    await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('default', 'webhook', 'systems', 'x')`;
    await sql`
      insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, paused_until, last_error)
      select id, 1, 0, now() + interval '1 day', 'The receiver answered 429.' from purchase_watch_internal.subscribers`;
    await sql`
      with event as (
        insert into purchase_watch_internal.events (id, type, site, shard, created_at, body) values ('evt_1', 'site.reachable', 'default', 0, now(), '{}') returning position)
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status)
      select position, 0, s.id, 0, now(), 'pending' from event, purchase_watch_internal.subscribers s`;
    const settings = {
      ...env,
      CHECKOUT_BASE_URL: url,
      WEBHOOK_URL: receiver.url,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
      WEBHOOK_API_ALLOW_ADDRESSES: '127.0.0.0/8',
    };
    const { about } = await doctor(settings);
    expect(about('receiver default')).toEqual([
      expect.stringMatching(
        /^ok: it is paused until .* after one failure \(The receiver answered 429\), and then gets its waiting deliveries in order; to send it one all the same: "purchase-watch doctor --all"; 1 delivery waits; it was sent no test event$/,
      ),
    ]);
    expect(receiver.received).toEqual([]);
    expect((await doctor(settings, '--all')).about('receiver default')).toEqual([
      expect.stringMatching(/^ok: it is paused .*, and then gets its waiting deliveries in order; 1 delivery waits$/),
      expect.stringMatching(/^ok: took a signed test event/),
    ]);
    expect(receiver.received).toHaveLength(1);
    await sql`update purchase_watch_internal.subscriber_health set paused_until = now() - interval '1 second'`;
    expect((await doctor(settings)).about('receiver default')).toContainEqual(expect.stringMatching(/^ok: took a signed/));
    await sql`update purchase_watch_internal.subscribers set status = 'off', status_reason = 'The receiver answered 410.'`;
    expect((await doctor(settings)).about('receiver default')).toEqual([
      expect.stringMatching(/^warning: it is switched off .*; it was sent no test event → .*doctor --all"$/),
    ]);
    expect(receiver.received).toHaveLength(2);
  });
});

test('wrong settings are all told, and nothing else is tried', async () => {
  const { exitCode, stderr, findings } = await doctor({ CHECKOUT_TIMEOUT: 'soon' });
  expect(findings.map(({ about, verdict }) => `${about} ${verdict}`)).toEqual(['settings failed', 'settings failed']);
  expect(findings.map(({ found }) => found).join()).toMatch(/CHECKOUT_TIMEOUT: "soon".*CHECKOUT_BASE_URL: is missing/);
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: 'error: the settings are wrong: 2 problems\n' });
});

test('a database that cannot be reached does not keep it from the rest', async () => {
  const { url } = await simulatorOf();
  const { exitCode, about } = await doctor({ DATABASE_URL: 'postgres://me:hush@127.0.0.1:1/x', CHECKOUT_BASE_URL: url });
  expect(about('database')).toEqual([
    expect.stringMatching(/^failed: cannot reach Postgres at 127\.0\.0\.1:1 as user me: connection refused/),
  ]);
  expect(about('site default')[1]).toMatch(/^ok: accepts oauth2/);
  expect(exitCode).toBe(1);
});

test('a database that was never migrated, and an embedded one that was never started', async () => {
  const { url } = await simulatorOf();
  const empty = await testDatabase({ empty: true });
  onTestFinished(() => empty.drop());
  const { exitCode, about } = await doctor({ DATABASE_URL: empty.url, CHECKOUT_BASE_URL: url });
  expect(about('database').join('\n')).toMatch(/warning: the schema lacks 0001_replicas\.sql.* → run "purchase-watch migrate"/);
  expect(exitCode).toBe(0);
  const dataDir = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'none');
  const embedded = await doctor({ DATA_DIR: dataDir, CHECKOUT_BASE_URL: url });
  expect(embedded.about('database')).toEqual([
    `ok: the embedded Postgres was never started in ${dataDir}; "purchase-watch start" makes it`,
  ]);
});

test('a schema that a newer version made: one that this version works with, and one that it does not', async () => {
  const { url } = await simulatorOf();
  const database = await testDatabase();
  onTestFinished(() => database.drop());
  const [row] = await database.sql<{ own: number }[]>`select max(number) as own from purchase_watch_internal.migrations`;
  const own = row!.own;
  const schema = async () => {
    const { about } = await doctor({ DATABASE_URL: database.url, CHECKOUT_BASE_URL: url });
    return about('database').filter((line) => line.includes('schema'));
  };
  await database.sql`insert into purchase_watch_internal.migrations values (${own + 1}, '9998_next.sql', 'x', ${own})`;
  expect(await schema()).toEqual([
    `warning: the schema is ${own + 1}, newer than the ${own} of this version, which works with it (9998_next.sql) → upgrade to the newer version when it suits you`,
  ]);
  await database.sql`insert into purchase_watch_internal.migrations values (${own + 2}, '9999_contract.sql', 'x', ${own + 1})`;
  expect(await schema()).toEqual([
    expect.stringMatching(
      /^failed: the schema is not that of this version → .*9999_contract\.sql was applied by a newer version/,
    ),
  ]);
});

test('a site that is not configured is wrong usage', async () => {
  const { exitCode, stderr } = await runCommand(['doctor', '--site', 'fi'], {
    ...CREDENTIALS,
    CHECKOUT_BASE_URL: 'http://127.0.0.1:1',
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: 'error: "fi" is not a site; known: default\n' });
});
