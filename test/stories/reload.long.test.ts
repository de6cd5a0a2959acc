/** Settings that change while a daemon runs. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSimulator, type Simulator } from '../../packages/simulator/src/simulator.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { SECRET } from '../support/test-app.ts';

const KEY = 'a-key-of-the-api-with-32-characters';

let database: TestDatabase;
let simulator: Simulator;
let receiver: Receiver;
let daemon: Daemon;
let env: Record<string, string>;
let folder: string;
beforeEach(async () => {
  database = await testDatabase();
  simulator = createSimulator();
  await simulator.start();
  receiver = await startReceiver({ secret: SECRET });
  folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
  env = {
    DATABASE_URL: database.url,
    PURCHASE_WATCH_CONFIG: join(folder, 'config.yaml'),
    CLIENT_SECRET_FILE: write('client-secret', 'demo-secret'),
    API_KEY_FILE: write('api-key', KEY),
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    PORT: '0',
  };
  settings();
  daemon = startDaemon(['start'], env);
  await daemon.says('"started"');
});
afterEach(async () => {
  await daemon.end('SIGKILL');
  await Promise.all([receiver.stop(), simulator.stop()]);
  await database.drop();
});

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}
/** Writes the settings file: polls every so often in every state. */
function settings({ every = '300ms', more = '' } = {}): void {
  const plan = `{ poll: { first: ${every}, growth: 0, most: ${every} } }`;
  const site = `{ baseUrl: "${simulator.url}", clientId: demo-client, clientSecret: "\${CLIENT_SECRET}", maxRps: 1000 }`;
  write('config.yaml', `sites:\n  default: ${site}\n${more}states: { New: ${plan}, BeingProcessed: ${plan} }\n`);
}
const times = (event: string): number => daemon.output().split(`"event":"${event}"`).length - 1;
const origin = (): string => /"url":"(http:[^"]+)"/.exec(daemon.output())![1]!;
const statusWith = async (key: string): Promise<number> =>
  (await fetch(`${origin()}/v1/overview`, { headers: { authorization: `Bearer ${key}` } })).status;
async function command(...args: string[]): Promise<[unknown, string]> {
  const run = startDaemon(args, env);
  return [await run.end('SIGCONT'), run.output()];
}

test('config reload takes what changed, without a gap in polls and with the same socket; what is wrong changes nothing', async () => {
  const ids = simulator.control.addMany(20, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
  await database.sql`insert into purchase_watch.purchases (purchase_id) select unnest(${ids}::text[])`;
  await receiver.waitFor((received) => received.length >= ids.length, 30_000);
  settings({ every: '200ms', more: '  second: { baseUrl: "http://127.0.0.1:9", clientId: a, clientSecret: b }\n' });
  expect(await command('config', 'reload')).toEqual([0, expect.stringContaining('runs with the settings as they are now')]);
  expect(daemon.output()).toMatch(
    /"changed":\[[^\]]*"states.New"[^\]]*"sites.second.baseUrl"[^\]]*\],"event":"settings.reloaded"/,
  );
  for (const id of ids) simulator.control.setState(id, 'BeingProcessed');
  await receiver.waitFor((received) => received.length >= 2 * ids.length, 30_000);
  expect(receiver.received.every(({ verified }) => verified)).toBe(true);
  expect(await statusWith(KEY)).toBe(200);

  settings({ more: '  second: { baseUrl: nothing, clientId: a, clientSecret: b }\n  third: 7\n' });
  const [code, said] = await command('config', 'reload');
  expect([code, said]).toEqual([2, expect.stringMatching(/sites\.second\.baseUrl[\s\S]*sites\.third/)]);
  daemon.process.kill('SIGHUP');
  await daemon.says('"settings.refused"');
  expect(daemon.output()).toMatch(/"problems":\[[^\]]*sites\.second\.baseUrl[^\]]*sites\.third[^\]]*\][^\n]*"settings.refused"/);
  for (const id of ids) simulator.control.setState(id, 'Completed');
  await receiver.waitFor((received) => received.length >= 3 * ids.length, 30_000);
  expect(await daemon.end('SIGTERM')).toBe(0);
  settings();
  expect((await command('audit', '--json'))[0]).toBe(0);
});

test.runIf(process.getuid?.() === 0)('config reload by another user says whose daemon it is', () => {
  chmodSync(folder, 0o755);
  const program = join(import.meta.dirname, '../../bin/purchase-watch.mjs');
  const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, program];
  const { status, stderr } = spawnSync('setpriv', [...asNobody, 'config', 'reload'], { env, encoding: 'utf8' });
  expect(stderr).toContain(`process ${daemon.process.pid} is a daemon of another user: run this command as that user or as root`);
  expect(status).toBe(1);
});

test('a rotated key of the API and a rotated client secret are taken from their files without a signal', async () => {
  expect(await statusWith(KEY)).toBe(200);
  const next = 'another-key-of-the-api-with-32-characters';
  write('api-key', next);
  await expect.poll(() => statusWith(next), { timeout: 30_000 }).toBe(200);
  expect(await statusWith(KEY)).toBe(401);
  write('api-key', 'short');
  await expect.poll(() => times('settings.refused'), { timeout: 30_000 }).toBe(1);
  expect(daemon.output()).not.toContain('"short"');
  expect(await statusWith(next)).toBe(200);
  expect(times('settings.reloaded')).toBe(1);
});

test('an event stream ends with a reload, so that its reader comes back to the new settings', async () => {
  const stream = await fetch(`${origin()}/v1/events/stream`, { headers: { authorization: `Bearer ${KEY}` } });
  expect(stream.status).toBe(200);
  const ended = stream.text().then(() => 'ended');
  daemon.process.kill('SIGHUP');
  expect(await ended).toBe('ended');
  await daemon.says('"settings.reloaded"');
  expect(await statusWith(KEY)).toBe(200);
});
