import { createServer, connect as dial, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { connect } from '../../src/postgres/connection/database.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let daemon: Daemon | undefined;
afterEach(async () => {
  await daemon?.end('SIGKILL');
  daemon = undefined;
  await t.stop();
});

const start = (databaseUrl: string): Daemon =>
  startDaemon(['start'], {
    DATABASE_URL: databaseUrl,
    CHECKOUT_BASE_URL: t.simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    CHECKOUT_MAX_RPS: '2000',
    WEBHOOK_URL: t.receiver.url,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    PORT: '0',
  });
const registerAll = (ids: readonly string[]) =>
  register(
    t.app.sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );

test('a daemon whose connections are broken again and again under load lives on and loses nothing', async () => {
  t = await startTestApp({ realClock: true });
  daemon = start(t.database.url);
  await daemon.says('started');
  const steps = [{ state: 'New' }, { state: 'BeingProcessed', after: '4s' }, { state: 'Completed', after: '12s' }];
  const ids = t.simulator.control.addMany(300, { script: steps }).map(({ purchaseId }) => purchaseId);
  await registerAll(ids);
  const kill = connect(t.database.url, { max: 1, name: 'terminator' });
  for (let round = 0; round < 12; round++) {
    await new Promise((resolve) => setTimeout(resolve, 700));
    await kill`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name in ('purchase-watch', 'purchase-watch recording', 'purchase-watch listen')`;
  }
  await kill.end();
  const done = () => ids.every((id) => t.changesOf(id).at(-1) === 'Completed');
  await expect.poll(done, { interval: 500 }).toBe(true);
  expect(daemon.process.exitCode).toBeNull();
  for (const id of ids) {
    const sequences = [...new Map(t.eventsOf(id).map((event) => [event.id, event.data.sequence])).values()];
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  }
  expect(await daemon.end('SIGTERM')).toBe(0);
});

test('a connection that silently leads nowhere is given up, and work goes on over a new one; a stop ends all the same', async () => {
  t = await startTestApp({ realClock: true });
  const target = new URL(t.database.url);
  const dead = new WeakSet<Socket>();
  const open = new Set<Socket>();
  // Between daemon and database, a wire that can be cut without either end being told. Later connections work.
  const wire = createServer((near) => {
    const far = dial(Number(target.port || 5432), target.hostname);
    open.add(near);
    near.on('data', (chunk) => dead.has(near) || far.write(chunk));
    far.on('data', (chunk) => dead.has(near) || near.write(chunk));
    const end = (): void => {
      open.delete(near);
      near.destroy();
      far.destroy();
    };
    for (const side of [near, far]) side.on('close', end).on('error', end);
  });
  await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve));
  const url = new URL(t.database.url);
  url.hostname = '127.0.0.1';
  url.port = String((wire.address() as { port: number }).port);
  daemon = start(url.href);
  await daemon.says('started');
  await registerAll([t.simulator.control.add({ script: [{ state: 'New' }] }).purchaseId]);
  await t.receiver.waitFor((received) => received.length === 1, 30_000);
  for (const socket of open) dead.add(socket);
  await registerAll([t.simulator.control.add({ script: [{ state: 'Completed' }] }).purchaseId]);
  await t.receiver.waitFor((received) => received.some(({ body }) => body.includes('Completed')), 60_000);
  expect(await daemon.end('SIGTERM')).toBe(0);
  wire.close();
});
