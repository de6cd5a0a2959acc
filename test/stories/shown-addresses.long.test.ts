import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createSimulator } from '../../packages/simulator/src/simulator.ts';
import { request } from '../api/api.ts';
import { runCommand } from '../cli/run.ts';
import { startDaemon } from '../support/daemon.ts';
import { testDatabase } from '../support/database.ts';
import { AS_MACHINE, signedIn } from '../support/machine.ts';
import { startReceiver } from '../support/receiver.ts';
import { startSlackStandIn } from '../support/slack-stand-in.ts';
import { SECRET } from '../support/test-app.ts';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

/** Each stands in one address; none may stand anywhere else. */
const PATHS = {
  checkout: 'base-path-of-checkout',
  file: 'hook-of-the-file',
  api: 'hook-of-the-api',
  query: 'token-in-a-query',
  short: 'zq7',
  redirect: 'where-it-moved-to',
  slack: 'hook-of-slack',
  broker: 'login-of-the-broker',
};

async function startEverything() {
  const database = await testDatabase();
  cleanUp.push(() => database.drop());
  const simulator = createSimulator();
  await simulator.start();
  cleanUp.push(() => simulator.stop());
  const receiver = await startReceiver({});
  const slack = await startSlackStandIn();
  cleanUp.push(() => Promise.all([receiver.stop(), slack.stop()]));
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-addresses-'));
  cleanUp.push(() => rmSync(folder, { recursive: true }));
  const config = join(folder, 'settings.yaml');
  const login = 'clientId: demo-client, clientSecret: demo-secret';
  writeFileSync(
    config,
    `sites:
  se: { baseUrl: "${simulator.url}", ${login} }
  fi: { baseUrl: "${simulator.url}/${PATHS.checkout}/${PATHS.short}", ${login} }
subscribers:
  shop: { url: "${receiver.origin}/${PATHS.file}/${PATHS.short}?key=${PATHS.query}", secret: ${SECRET} }
  bus: { url: "nats://user:${PATHS.broker}@127.0.0.1:1,127.0.0.1:2" }
slack: { channels: { nordic: { webhookUrl: "${new URL(slack.url).origin}/services/${PATHS.slack}" } } }
`,
  );
  const env = {
    DATABASE_URL: database.url,
    PURCHASE_WATCH_CONFIG: config,
    SECRETS_KEY: 'an encryption key of many characters',
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    WEBHOOK_API_ALLOW_ADDRESSES: '127.0.0.0/8',
    LOG_LEVEL: 'trace',
    PORT: '0',
  };
  const daemon = startDaemon(['start'], env);
  cleanUp.push(() => daemon.end('SIGKILL'));
  await daemon.says('"started"');
  const url = /"url":"([^"]+)"[^\n]*"api.listening"/.exec(daemon.output())![1]!;
  return { database, simulator, receiver, slack, env, daemon, url };
}
type World = Awaited<ReturnType<typeof startEverything>>;

/** A receiver that redirects, breaks and repeats what it was sent; a site that answers nothing useful. */
async function live({ url, receiver, simulator }: World): Promise<void> {
  const api = `${receiver.origin}/${PATHS.api}/${PATHS.short}?key=${PATHS.query}`;
  const added = await request(`${url}/v1/subscribers`, 'POST', { json: { name: 'books', url: api } });
  expect([added.status, added.body.url]).toEqual([201, `${receiver.origin}/…`]);
  // What is shown must not be stored as the address by a program that sends back what it got.
  const sentBack = await request(`${url}/v1/subscribers/books`, 'PATCH', { json: { url: added.body.url } });
  expect([sentBack.status, sentBack.text]).toEqual([400, expect.stringContaining('is shortened, as addresses are shown')]);
  receiver.respond(
    { status: 302, headers: { location: `/${PATHS.redirect}?key=${PATHS.query}` } },
    { status: 500, body: `cannot serve ${api}` },
  );
  for (let time = 0; time < 2; time++) await request(`${url}/v1/subscribers/books/test?wait=10s`, 'POST');
  await request(`${url}/v1/subscribers/shop/test?wait=10s`, 'POST');
  const { purchaseId } = simulator.control.add({ script: 'card-paid' });
  for (const site of ['se', 'fi']) {
    await request(`${url}/v1/purchases`, 'POST', { json: { purchaseId, site } });
    await request(`${url}/v1/purchases/${purchaseId}/poll?site=${site}&wait=${site === 'fi' ? '1s' : '5s'}`, 'POST');
  }
}

/** What every GET of the API answers, by its path. */
async function askEverything({ url }: World): Promise<Record<string, string>> {
  const headers = { ...AS_MACHINE, ...(await signedIn(url)) };
  const get = async (path: string): Promise<string> => {
    const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(5_000) });
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      const { value } = await response.body!.getReader().read();
      return Buffer.from(value ?? []).toString();
    }
    return response.text();
  };
  const idsAt = async (path: string, key: string): Promise<string[]> =>
    (JSON.parse(await get(path)) as { data: Record<string, string>[] }).data.map((each) => each[key]!).slice(0, 5);
  const ids: Readonly<Record<string, string[]>> = {
    purchases: await idsAt('/v1/purchases', 'purchaseId'),
    subscribers: await idsAt('/v1/subscribers', 'name'),
    deliveries: await idsAt('/v1/deliveries', 'id'),
    incidents: await idsAt('/v1/incidents', 'id'),
    silences: [],
    sites: ['se', 'fi'],
    events: await idsAt('/v1/events', 'id'),
  };
  const { paths } = JSON.parse(await get('/openapi.json')) as { paths: Record<string, Record<string, unknown>> };
  const wanted = Object.entries(paths)
    .filter(([, methods]) => 'get' in methods)
    .flatMap(([path]) => {
      const [, of = ''] = /^\/v1\/(\w+)\/\{/.exec(path) ?? [];
      return of === '' ? [path] : ids[of]!.map((id) => path.replace(/\{\w+\}/, encodeURIComponent(id)));
    });
  expect(wanted.length).toBeGreaterThan(15);
  const answers: Record<string, string> = {};
  const pages = ['/', '/sites', '/sites/se', '/subscribers', '/subscribers/shop', '/deliveries', '/channels', '/system'];
  for (const path of new Set([...wanted, ...pages, '/readyz', '/metrics', '/v1/events/stream?after=0']))
    answers[`GET ${path}`] = await get(path);
  return answers;
}

async function runEverything({ env, simulator }: World): Promise<Record<string, string>> {
  const id = simulator.control.list()[0]!.purchaseId;
  const commands = [
    ...[
      'status',
      `status ${id} --site se`,
      `status ${id} --site fi`,
      `why ${id} --site se`,
      `why ${id} --site fi --subscriber books`,
    ],
    ...[
      'subscribers list',
      'subscribers show books',
      'subscribers show shop',
      'subscribers show bus',
      'deliveries',
      'incidents',
      'silences',
    ],
    ...['audit', 'doctor', 'config'],
  ];
  const said: Record<string, string> = {};
  for (const command of commands) {
    for (const line of [command, `${command} --json`]) {
      const { stdout, stderr } = await runCommand(line.split(' '), env);
      expect(stdout.length + stderr.length, line).toBeGreaterThan(2);
      said[line] = stdout + stderr;
    }
  }
  return said;
}

test('what of an address may give access is shown nowhere: paths, queries and logins', async () => {
  const world = await startEverything();
  await live(world);
  const places: Record<string, string> = {
    ...(await askEverything(world)),
    ...(await runEverything(world)),
    webhooks: world.receiver.received.map(({ body, headers }) => body + JSON.stringify(headers)).join('\n'),
    slack: JSON.stringify(world.slack.received),
    views: JSON.stringify(await world.database.sql`select * from purchase_watch.subscriber_status`),
    attempts: JSON.stringify([
      ...(await world.database.sql`select * from purchase_watch_internal.attempts`),
      ...(await world.database.sql`select * from purchase_watch.delivery_log`),
    ]),
  };
  expect(await world.daemon.end('SIGTERM')).toBe(0);
  places.log = world.daemon.output();
  const origin = world.receiver.origin;
  expect(places['subscribers show shop']).toContain(`${origin}/…`);
  expect(places['subscribers list']).toContain('nats://127.0.0.1:1,127.0.0.1:2');
  expect(places.config).toContain(`${world.simulator.url}/…`);
  expect(places.doctor).toContain(`${world.simulator.url}/…`);
  expect(places.log).toContain(`fi (${world.simulator.url}/…)`);
  expect(places.log).toContain(`points to ${origin}/…`);
  const secrets = { ...PATHS, database: new URL(world.database.url).pathname.slice(1) };
  const leaks = Object.entries(secrets).flatMap(([of, secret]) =>
    Object.entries(places)
      .filter(([, text]) => text.includes(secret))
      .map(
        ([place]) => `${of} in ${place}: ${places[place]!.slice(Math.max(places[place]!.indexOf(secret) - 60, 0)).slice(0, 120)}`,
      ),
  );
  expect(leaks).toEqual([]);
});
