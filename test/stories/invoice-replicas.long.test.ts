/** Invoices while replicas die: each is fetched and announced once. */
import { afterEach, expect, test } from 'vitest';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { watchStalls } from '../support/stalls.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
const daemons: Daemon[] = [];
afterEach(async () => {
  await Promise.all(daemons.splice(0).map((daemon) => daemon.end('SIGKILL')));
  await t.stop();
});

test('with two replicas, one of them killed in the middle, every invoice is told once, within the ceiling of the site', async () => {
  t = await startTestApp({ realClock: true });
  const start = (): Daemon => {
    const daemon = startDaemon(['start', '--worker'], {
      DATABASE_URL: t.database.url,
      PORT: '0',
      CHECKOUT_BASE_URL: t.simulator.url,
      CHECKOUT_CLIENT_ID: 'demo-client',
      CHECKOUT_CLIENT_SECRET: 'demo-secret',
      CHECKOUT_MAX_RPS: '60',
      CHECKOUT_TIMEOUT: '10s',
      CHECKOUT_INVOICES: 'true',
      WEBHOOK_URL: t.receiver.url,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    });
    daemons.push(daemon);
    return daemon;
  };
  start();
  start();
  for (const daemon of daemons) await daemon.says('started');
  const owners = async () =>
    (await t.app.sql`select owner from purchase_watch_internal.shards where owner is not null group by owner`).length;
  await expect.poll(owners).toBe(2);
  const ids = t.simulator.control
    .addMany(150, { script: [{ state: 'Completed' }], paymentMethod: 'invoice', price: '1249.50' })
    .map(({ purchaseId }) => purchaseId);
  t.simulator.control.resetCounters();
  const stalls = watchStalls();
  await register(
    t.app.sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  await expect.poll(() => t.simulator.control.counters().calls.invoice, { interval: 5 }).toBeGreaterThan(20);
  await daemons[0]!.end('SIGKILL');
  await t.receiver.waitFor(
    (received) => new Set(received.filter(({ type }) => type === 'purchase.invoice_ready').map(({ id }) => id)).size >= 150,
    60_000,
  );
  await daemons[1]!.end('SIGTERM');
  stalls.stop();

  const counters = t.simulator.control.counters();
  // Calls are counted where they arrive, the tokens among them.
  expect(counters.mostPerSecond.all).toBeLessThanOrEqual(66 * (1 + stalls.longest()));
  expect(counters.mostInFlightPerPurchase).toBe(1);
  const events = await t.app.sql<{ n: number; bodies: string[] }[]>`
    select count(*)::integer as n, array_agg(body) as bodies from purchase_watch_internal.events where type = 'purchase.invoice_ready' group by purchase`;
  expect(events).toHaveLength(150);
  expect(events.every(({ n, bodies }) => n === 1 && bodies[0]!.includes('"sequence":2,"invoice":{"totalAmount":1249.50,'))).toBe(
    true,
  );
  const repeats = Map.groupBy(t.receiver.received, ({ id }) => id);
  for (const same of repeats.values()) expect(new Set(same.map(({ body }) => body)).size).toBe(1);
});
