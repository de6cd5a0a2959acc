import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createSimulator } from '../../../packages/simulator/src/simulator.ts';
import { addSubscriber } from '../../../src/actions/subscribers/subscribers.ts';
import { freePort } from '../../../src/demo/cast/free-port.ts';
import { machineKey } from '../../../src/runtime/secrets/kept-key.ts';
import { createSecrets } from '../../../src/runtime/secrets/secrets.ts';
import { quickStart } from '../../support/daemon.ts';
import { testDatabase } from '../../support/database.ts';
import { runCommand } from '../run.ts';

const BIN = fileURLToPath(new URL('../../../bin/purchase-watch.mjs', import.meta.url));

/** Starts a command; `until` resolves with everything it wrote once that matches, and rejects when it ends before. */
function started(argv: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [BIN, ...argv], { env: { ...quickStart(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return {
    pid: child.pid!,
    until: async (pattern: RegExp): Promise<string> => {
      while (!pattern.test(text)) {
        await Promise.race([once(child.stdout, 'data'), ended]);
        if (child.exitCode !== null && !pattern.test(text)) throw new Error(`ended without ${pattern}:\n${text}`);
      }
      return text;
    },
    stop: async (signal: NodeJS.Signals) => {
      child.kill(signal);
      const [code] = await ended;
      return { code, text };
    },
  };
}

test('simulate says where it is and with which credentials, and ends with a signal', async () => {
  const simulate = started(['simulate', '--port', '0', '--json', '--seed', '5']);
  const { url, seed, environment } = JSON.parse(await simulate.until(/^\}$/m));
  expect(seed).toBe(5);
  expect((await fetch(`${url}/control/settings`)).status).toBe(200);
  const { CHECKOUT_BASE_URL, CHECKOUT_CLIENT_ID: id, CHECKOUT_CLIENT_SECRET: secret } = environment;
  const answer = await fetch(`${CHECKOUT_BASE_URL}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret }),
  });
  expect(answer.status).toBe(200);
  expect((await simulate.stop('SIGINT')).code).toBe(0);
});

test('simulate has the sites and credentials that it is given', async () => {
  const own = [
    '--site',
    'shop-no:NOK:NOR:Europe/Oslo',
    '--site',
    'shop-dk:DKK:DNK',
    '--client-id',
    'shop',
    '--client-secret',
    's',
  ];
  const simulate = started(['simulate', '--port', '0', '--json', ...own]);
  const { url, environment } = JSON.parse(await simulate.until(/^\}$/m));
  expect(environment).toMatchObject({ CHECKOUT_CLIENT_ID: 'shop', CHECKOUT_CLIENT_SECRET: 's' });
  expect(((await (await fetch(`${url}/control/settings`)).json()) as { sites: object[] }).sites).toEqual([
    { code: 'shop-no', currency: 'NOK', country: 'NOR', timeZone: 'Europe/Oslo' },
    { code: 'shop-dk', currency: 'DKK', country: 'DNK', timeZone: 'Europe/Stockholm' },
  ]);
  expect((await simulate.stop('SIGINT')).code).toBe(0);
});

test('with simulate --fast --register and its settings a daemon finds customers stuck whose page is broken', async () => {
  const database = await testDatabase();
  const port = await freePort();
  const api = `http://127.0.0.1:${port}`;
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-cli-')), 'fast.yaml');
  const DATA_DIR = join(file, '../data');
  const simulate = started(['simulate', '--port', '0', '--json', '--fast', file, '--register', api], { DATA_DIR });
  const { url, settingsFile } = JSON.parse(await simulate.until(/^\}$/m));
  expect(settingsFile).toBe(file);
  const daemon = started(['start'], { PURCHASE_WATCH_CONFIG: file, DATABASE_URL: database.url, DATA_DIR, PORT: String(port) });
  await daemon.until(/"event":"started"/);
  const breakPage = await fetch(`${url}/control/page/break`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"site": "demo-se"}' },
  });
  expect(breakPage.status).toBe(200);
  // The simulator began before the daemon made the key.
  const headers = { authorization: `Bearer ${machineKey(DATA_DIR)}` };
  const incidents = async () => ((await (await fetch(`${api}/v1/incidents`, { headers })).json()) as { data: object[] }).data;
  await expect.poll(incidents, { timeout: 240_000, interval: 500 }).toEqual([expect.objectContaining({ site: 'demo-se' })]);
  expect((await simulate.stop('SIGTERM')).code).toBe(0);
  expect((await daemon.stop('SIGTERM')).code).toBe(0);
  await database.drop();
});

test('simulate ends when it cannot write the settings of --fast', async () => {
  const file = join(tmpdir(), 'purchase-watch-no-such-folder', 'fast.yaml');
  const simulate = started(['simulate', '--port', '0', '--fast', file, '--register', 'http://127.0.0.1:9']);
  await expect(simulate.until(/never written/)).rejects.toThrow(`error: --fast: ${file} cannot be written (ENOENT)`);
  expect((await simulate.stop('SIGCONT')).code).toBe(2);
});

test('simulate says that its port is taken', async () => {
  const squatter = createServer().listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  const { port } = squatter.address() as AddressInfo;
  const { text, code } = await started(['simulate', '--port', String(port)]).stop('SIGCONT');
  squatter.close();
  expect(code).toBe(1);
  expect(text).toContain(`port ${port} is in use; choose another one with --port`);
});

const SECRETS_KEY = 'an encryption key of many characters';

test('start says what it watches and where it keeps it, in log lines alone and without secrets', async () => {
  const config = join(mkdtempSync(join(tmpdir(), 'purchase-watch-cli-')), 'settings.yaml');
  writeFileSync(config, 'subscribers: { bus: { url: "nats://me:secret-path@127.0.0.1:9", subject: "shop.{type}" } }');
  const [database, simulator] = [await testDatabase(), createSimulator()];
  await simulator.start();
  const books = {
    name: 'books',
    url: 'https://books.example/secret-path',
    types: null,
    sites: null,
    states: null,
    description: null,
  };
  await addSubscriber({ sql: database.sql, secrets: createSecrets(SECRETS_KEY) }, books);
  const daemon = started(['start'], {
    DATABASE_URL: database.url,
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/secret-path',
    SECRETS_KEY,
    PURCHASE_WATCH_CONFIG: config,
    PORT: '0',
  });
  const lines = (await daemon.until(/"event":"started"/)).trim().split('\n');
  const summary = lines.map((line) => JSON.parse(line)).find(({ event }) => event === 'started');
  expect(summary).toMatchObject({
    sites: [`default (${simulator.url})`],
    receivers: ['bus (nats://127.0.0.1:9)', 'books (added)', 'Slack'],
  });
  expect(summary.database).toMatch(/^Postgres at 127\.0\.0\.1:\d+\/…$/);
  const { code, text } = await daemon.stop('SIGTERM');
  expect(code).toBe(0);
  expect(text).toMatch(/"event":"stopped"/);
  expect(text).not.toMatch(/demo-secret|secret-path/);
  await simulator.stop();
  await database.drop();
});

test('start warns once of incidents that no channel gets, in log lines alone', async () => {
  const [database, simulator] = [await testDatabase(), createSimulator()];
  await simulator.start();
  // Nothing is refused of a broker in a private network, so nothing is said of it.
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  writeFileSync(file, 'subscribers: { queue: { url: "amqp://127.0.0.1:9", exchange: events } }');
  const daemon = started(['start'], {
    PURCHASE_WATCH_CONFIG: file,
    DATABASE_URL: database.url,
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    WEBHOOK_URL: 'http://localhost:9/secret-path',
    WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    PORT: '0',
  });
  await daemon.until(/"event":"subscriber.address_refused".*\n/);
  const { text } = await daemon.stop('SIGTERM');
  const warnings = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === 'incidents.not_alerted' || event === 'subscriber.address_refused');
  expect(warnings).toMatchObject([
    { event: 'incidents.not_alerted', level: 'warn', advice: expect.stringContaining('SLACK_WEBHOOK_URL') },
    {
      event: 'subscriber.address_refused',
      subscriber: 'default',
      advice: 'if it is meant, set WEBHOOK_ALLOW_ADDRESSES=127.0.0.0/8',
    },
  ]);
  expect(text).not.toMatch(/secret-path|whsec_/);
  await simulator.stop();
  await database.drop();
});

test('start warns of sites whose warnings no channel gets', async () => {
  const [database, simulator] = [await testDatabase(), createSimulator()];
  await simulator.start();
  const directory = mkdtempSync(join(tmpdir(), 'pw-start-'));
  const file = join(directory, 'settings.yaml');
  writeFileSync(file, 'slack: { channels: { on-call: { webhookUrl: "http://127.0.0.1:9/secret-path", severity: critical } } }\n');
  const daemon = started(['start'], {
    DATABASE_URL: database.url,
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    PURCHASE_WATCH_CONFIG: file,
    PORT: '0',
  });
  const line = /^.*"event":"incidents.not_alerted".*$/m.exec(await daemon.until(/"incidents.not_alerted".*\n/))![0];
  expect(JSON.parse(line)).toMatchObject({
    ...{ level: 'warn', site: 'default', severity: 'warning' },
    advice: 'add it to a channel without severity: critical: no channel gets its warnings',
  });
  const { text } = await daemon.stop('SIGTERM');
  expect(text).not.toContain('secret-path');
  await simulator.stop();
  await database.drop();
});

test('start and doctor warn of addresses to which everything goes without encryption', async () => {
  const database = await testDatabase();
  const SECRETS_KEY = 'an encryption key of many characters';
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  const login = 'clientId: a, clientSecret: b, timeout: 1s';
  writeFileSync(
    file,
    `sites: { se: { baseUrl: "http://se.invalid/secret-path", ${login} }, fi: { baseUrl: "https://fi.invalid", ${login} }, no: { baseUrl: "http://127.0.0.1:9", ${login} } }
subscribers:
  plain: { url: "http://10.1.2.3/secret-path", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw }
  here: { url: "http://localhost:9/secret-path", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw }
  queue: { url: "amqp://user:pass@127.0.0.1:9,mq.invalid", exchange: events }
  bus: { url: "nats://nats.invalid" }
slack: { channels: { nordic: { webhookUrl: "http://slack.invalid/secret-path" } }, deadMansSwitch: "https://monitor.invalid/secret-path" }
`,
  );
  const secrets = createSecrets(SECRETS_KEY);
  const wishes = { types: null, sites: null, states: null, description: null };
  await addSubscriber({ sql: database.sql, secrets }, { name: 'added', url: 'http://10.9.9.9:8080/secret-path', ...wishes });
  await addSubscriber({ sql: database.sql, secrets }, { name: 'safe', url: 'https://10.9.9.9/secret-path', ...wishes });
  const env = { PURCHASE_WATCH_CONFIG: file, DATABASE_URL: database.url, SECRETS_KEY, PORT: '0' };
  const expected = [
    ['receiver added', 'http://10.9.9.9:8080/…'],
    ['receiver plain', 'http://10.1.2.3/…'],
    ['receiver queue', 'amqp://127.0.0.1:9,mq.invalid'],
    ['site se', 'http://se.invalid/…'],
    ['slack nordic', 'http://slack.invalid/…'],
  ];
  const daemon = started(['start'], env);
  await daemon.until(/"about":"receiver added"[^\n]*"address.unencrypted"/);
  const { text } = await daemon.stop('SIGTERM');
  const warned = text
    .split('\n')
    .filter((line) => line.includes('"address.unencrypted"'))
    .map((line) => JSON.parse(line) as Record<string, string>);
  expect(warned.map(({ about, address, level }) => [about, address, level]).toSorted()).toEqual(
    expected.map(([about, address]) => [about, address, 'warn']),
  );
  expect(text).not.toContain('secret-path');
  const { stdout } = await runCommand(['doctor', '--json', '--no-send'], env);
  const { findings } = JSON.parse(stdout) as { findings: { about: string; verdict: string; found: string }[] };
  expect(
    findings
      .filter(({ found }) => found.endsWith('is not encrypted'))
      .map(({ about, verdict, found }) => [about, found, verdict])
      .toSorted(),
  ).toEqual(expected.map(([about, address]) => [about, `what goes to ${address} is not encrypted`, 'warning']));
  await database.drop();
});

test.runIf(process.platform === 'linux')(
  'start tells glibc and V8 to give memory back, unless somebody has chosen otherwise',
  async () => {
    const database = await testDatabase();
    const environment = {
      ...{ DATABASE_URL: database.url, CHECKOUT_BASE_URL: 'https://127.0.0.1:1', CHECKOUT_CLIENT_ID: 'id' },
      ...{ CHECKOUT_CLIENT_SECRET: 'secret', PORT: '0', SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') },
    };
    const seen = async (more: NodeJS.ProcessEnv): Promise<{ chosen: string[]; flags: string[]; code: unknown }> => {
      // Options of the program may stand before the command.
      const start = started(['--no-color', 'start'], { ...environment, ...more });
      await start.until(/"event":"started"/);
      const read = (name: string) => readFileSync(`/proc/${start.pid}/${name}`, 'utf8').split('\0');
      const chosen = read('environ').filter((each) => each.startsWith('MALLOC_'));
      const flags = read('cmdline').filter((each) => /^--(max-semi|heap-growing)/.test(each));
      return { chosen: chosen.sort(), flags, code: (await start.stop('SIGTERM')).code };
    };
    expect(await seen({})).toEqual({
      chosen: ['MALLOC_MMAP_THRESHOLD_=131072', 'MALLOC_TRIM_THRESHOLD_=131072'],
      ...{ flags: ['--max-semi-space-size=8', '--heap-growing-percent=30'], code: 0 },
    });
    expect(await seen({ MALLOC_TRIM_THRESHOLD_: '0' })).toEqual({ chosen: ['MALLOC_TRIM_THRESHOLD_=0'], flags: [], code: 0 });
    expect(await seen({ NODE_OPTIONS: '--max-semi-space-size=16' })).toMatchObject({ flags: ['--heap-growing-percent=30'] });
    await database.drop();
  },
);
