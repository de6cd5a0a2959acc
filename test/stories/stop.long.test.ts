import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, connect as dial, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { connect } from '../../src/postgres/connection/database.ts';
import { quickStart, startDaemon } from '../support/daemon.ts';
import { testDatabase } from '../support/database.ts';
import { MACHINE_DIR } from '../support/machine.ts';
import { openTerminal } from '../support/terminal.ts';
import { SECRET, startTestApp } from '../support/test-app.ts';

const BIN = join(import.meta.dirname, '../../bin/purchase-watch.mjs');
const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

/** A line to the database on which nothing passes any more once it is frozen, neither on open connections nor on new ones. */
async function freezableLine(databaseUrl: string): Promise<{ url: string; freeze(): void }> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((near) => {
    sockets.add(near.on('error', () => undefined));
    if (frozen) return;
    const far = dial(Number(target.port || 5432), target.hostname).on('error', () => near.destroy());
    sockets.add(far);
    near.on('data', (chunk) => frozen || far.write(chunk)).on('close', () => far.destroy());
    far.on('data', (chunk) => frozen || near.write(chunk)).on('close', () => near.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    url: url.href,
    freeze: () => {
      frozen = true;
    },
  };
}

const daemonSettings = (databaseUrl: string) => ({
  DATABASE_URL: databaseUrl,
  CHECKOUT_BASE_URL: 'http://127.0.0.1:9',
  CHECKOUT_CLIENT_ID: 'demo-client',
  CHECKOUT_CLIENT_SECRET: 'demo-secret',
  WEBHOOK_URL: 'http://127.0.0.1:9/hooks',
  WEBHOOK_SECRET: SECRET,
  PORT: '0',
});

test('a stop while the database is frozen ends within SHUTDOWN_TIMEOUT, with a line and an exit code that say so', async () => {
  const database = await testDatabase();
  cleanUp.push(() => database.drop());
  const line = await freezableLine(database.url);
  const daemon = startDaemon(['start'], { ...daemonSettings(line.url), SHUTDOWN_TIMEOUT: '2s' });
  cleanUp.push(() => daemon.end('SIGKILL'));
  await daemon.says('"started"');
  line.freeze();
  expect(await daemon.end('SIGTERM')).toBe(1);
  expect(daemon.output()).toMatch(/"part":"the release of shards".*"stop.cut_short"/);
  expect(daemon.output()).toContain('"event":"stop.broken_off"');
});

test('a start that waits for the schema lock ends with the first signal', async () => {
  const database = await testDatabase();
  cleanUp.push(() => database.drop());
  await holdSchemaLock(database.url);
  const daemon = startDaemon(['start'], { ...daemonSettings(database.url), SHUTDOWN_TIMEOUT: '10m' });
  cleanUp.push(() => daemon.end('SIGKILL'));
  await untilSomebodyWaits(database.url);
  expect(await daemon.end('SIGTERM')).toBe(0);
  expect(daemon.output()).toContain('"event":"stopped"');
});

test('a closed terminal ends its daemon in order, and SIGHUP does not end another one', async () => {
  const database = await testDatabase();
  cleanUp.push(() => database.drop());
  const replicas = async () => (await database.sql`select from purchase_watch_internal.replicas`).length;
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, DATA_DIR: MACHINE_DIR, ...daemonSettings(database.url) };
  const terminal = openTerminal([process.execPath, BIN, 'start'], { env });
  await expect.poll(replicas, { timeout: 30_000 }).toBe(1);
  await expect.poll(() => terminal.lines().join('\n'), { timeout: 30_000 }).toContain('Ctrl-C ends the daemon');
  terminal.hangUp();
  await terminal.ended;
  // A daemon that was killed would leave its row until its lease ends.
  expect(await replicas()).toBe(0);

  const daemon = startDaemon(['start'], daemonSettings(database.url));
  cleanUp.push(() => daemon.end('SIGKILL'));
  await daemon.says('"event":"started"');
  daemon.process.kill('SIGHUP');
  await daemon.says('"event":"settings.reloaded"');
  expect(await daemon.end('SIGTERM')).toBe(0);
  expect(await replicas()).toBe(0);
});

test('a stop hands over at once every shard on which nothing is under way, and the last one when its delivery has ended', async () => {
  const t = await startTestApp({
    realClock: true,
    env: { SHUTDOWN_TIMEOUT: '5m' },
    // The delivery is held longer than a receiver may take otherwise.
    change: ({ webhooks }) => {
      webhooks.timeout = 120_000;
    },
  });
  cleanUp.push(() => t.stop());
  await t.app.start();
  const held = Promise.withResolvers<void>();
  t.receiver.respondAlways({ after: held.promise });
  await t.watch({ script: [{ state: 'BeingProcessed' }] });
  await t.receiver.waitFor((received) => received.length === 1, 30_000);
  const other = await t.another();
  await other.start();
  const owners = async (): Promise<number[]> => {
    const rows = await other.sql<{ n: number }[]>`
      select count(*)::integer as n from purchase_watch_internal.shards where owner is not null group by owner order by 1`;
    return rows.map(({ n }) => n);
  };
  await expect.poll(owners).toEqual([32, 32]);
  const stopped = t.app.stop();
  await expect.poll(owners).toEqual([1, 63]);
  held.resolve();
  expect(await stopped).toBe(true);
  await expect.poll(owners).toEqual([64]);
  expect(t.receiver.received).toHaveLength(1);
});

async function holdSchemaLock(databaseUrl: string): Promise<void> {
  const holder = connect(databaseUrl, { max: 1 });
  cleanUp.push(() => holder.end({ timeout: 0 }));
  await holder`select pg_advisory_lock(7236019444)`;
}

async function untilSomebodyWaits(databaseUrl: string): Promise<void> {
  const sql = connect(databaseUrl, { max: 1 });
  cleanUp.push(() => sql.end({ timeout: 0 }));
  // For the lock of migrations it is tried again and again, each time in a transaction of its own.
  const waiting = () => sql`
    select from pg_stat_activity where datname = current_database() and (wait_event_type = 'Lock'
      or application_name in ('purchase-watch migrate', 'purchase-watch command') and (state = 'idle in transaction' or state = 'idle' and query = 'commit'))`;
  await expect.poll(async () => (await waiting()).length).toBe(1);
}

// `unshare` needs rights that containers of a CI often lack; process 1 can then not be played.
const UNSHARE_PROGRAM = '/usr/bin/unshare';
const UNSHARE = ['--pid', '--fork', '--mount-proc'];
const canUnshare = spawnSync(UNSHARE_PROGRAM, [...UNSHARE, 'true'], { stdio: 'ignore' }).status === 0;

/** Starts a command as process 1 of a namespace. `signal` goes to it, as from `docker stop`. */
function processOne(args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(UNSHARE_PROGRAM, [...UNSHARE, process.execPath, BIN, ...args], {
    env: { PATH: process.env.PATH, ...quickStart(), ...env },
  });
  const ended = once(child, 'exit');
  cleanUp.push(async () => {
    if (child.exitCode === null && child.signalCode === null) signal('SIGKILL');
    await ended;
  });
  const signal = (name: NodeJS.Signals): void => {
    const inside = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0]);
    process.kill(inside, name);
  };
  return { signal, ended: async () => (await ended)[0] as number | null };
}

test.skipIf(!canUnshare).each([
  ['migrate', 'SIGTERM', 143],
  ['migrate', 'SIGINT', 130],
  ['doctor', 'SIGTERM', 143],
] as const)(
  'as process 1, %s that waits for a lock ends with %s at once',
  async (command, name, code) => {
    const database = await testDatabase();
    cleanUp.push(() => database.drop());
    if (command === 'migrate') await holdSchemaLock(database.url);
    else {
      const holder = connect(database.url, { max: 1 });
      cleanUp.push(() => holder.end({ timeout: 0 }));
      await holder.unsafe('begin; lock table purchase_watch_internal.migrations in access exclusive mode');
    }
    const one = processOne([command], daemonSettings(database.url));
    await untilSomebodyWaits(database.url);
    one.signal(name);
    expect(await one.ended()).toBe(code);
  },
  60_000,
);

test.skipIf(!canUnshare)(
  'as process 1, a signal that comes while the program is still being loaded is not lost',
  async () => {
    // Sends the signal at the moment at which the first module of the program is about to be read.
    const preload = `import { registerHooks } from 'node:module';
    registerHooks({ load: (url, context, next) => {
      if (url.endsWith('/src/main.ts')) process.kill(process.pid, 'SIGTERM');
      return next(url, context);
    } });`;
    const one = processOne(['simulate', '--port', '0'], {
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(preload)}`,
    });
    expect([0, 143]).toContain(await one.ended());
  },
  60_000,
);
