import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { holdStill } from '../support/hold-still.ts';
import { watchStalls } from '../support/stalls.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';
import { startWire } from '../support/wire.ts';

let t: TestApp;
let daemons: Daemon[] = [];
afterEach(async () => {
  await Promise.all(daemons.map((daemon) => daemon.end('SIGKILL')));
  daemons = [];
  await t.stop();
});

/** A replica as a process of its own, on the test's database, simulator and receiver. */
function replica(env: Record<string, string> = {}): Daemon {
  const daemon = startDaemon(['start'], {
    DATABASE_URL: t.database.url,
    CHECKOUT_BASE_URL: t.simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    CHECKOUT_MAX_RPS: '2000',
    CHECKOUT_TIMEOUT: '10s',
    WEBHOOK_URL: t.receiver.url,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    PORT: '0',
    ...env,
  });
  daemons.push(daemon);
  return daemon;
}
const owners = async (): Promise<number[]> => {
  const rows = await t.app.sql<{ n: number }[]>`
    select count(*)::integer as n from purchase_watch_internal.shards where owner is not null group by owner order by 1`;
  return rows.map((row) => row.n);
};

test('two replicas share the shards evenly, a clean stop hands them over at once, and no purchase is asked twice at a time', async () => {
  t = await startTestApp({ realClock: true, simulator: { load: 0 } });
  const first = replica();
  await first.says('started');
  await expect.poll(owners).toEqual([64]);
  const second = replica();
  await second.says('started');
  await expect.poll(owners).toEqual([32, 32]);
  const ids = t.simulator.control.addMany(300, { script: [{ state: 'BeingProcessed' }] }).map(({ purchaseId }) => purchaseId);
  await register(
    t.app.sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  await t.receiver.waitFor((received) => received.length >= 300, 60_000);
  for (const id of ids) t.simulator.control.setState(id, 'Completed');
  expect(await second.end('SIGTERM')).toBe(0);
  await expect.poll(owners).toEqual([64]);
  await t.receiver.waitFor((received) => received.length >= 600, 60_000);
  expect(t.simulator.control.counters().mostInFlightPerPurchase).toBe(1);
  for (const id of ids) expect(t.changesOf(id)).toEqual(['BeingProcessed', 'Completed']);
});

test('replicas killed in the middle of work lose nothing, reorder nothing, and repeat only the same bytes', async () => {
  t = await startTestApp({ realClock: true });
  const path = ['New', 'BeingProcessed', 'WaitingForEidApp', 'WaitingForMobilePayment', 'BeingProcessed', 'Completed'];
  const ids = t.simulator.control.addMany(200, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
  const config = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  const quick = Object.fromEntries(
    path.slice(0, -1).map((state) => [state, { poll: { first: '300ms', growth: 0.1, most: '1s' } }]),
  );
  writeFileSync(config, JSON.stringify({ states: quick }));
  const start = (): Daemon => replica({ PURCHASE_WATCH_CONFIG: config });
  start();
  start();
  await daemons[0]!.says('started');
  await register(
    t.app.sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  // A customer moves on once the last step has been told, so every step must come through.
  const told = (id: string): number => new Set(t.eventsOf(id).map((event) => event.id)).size;
  const moveOn = (): boolean => {
    const steps = ids.map(told);
    steps.forEach((step, index) => {
      if (step > 0 && step < path.length) t.simulator.control.setState(ids[index]!, path[step]!);
    });
    return steps.every((step) => step >= path.length);
  };
  // Killed and replaced five times, each time in the middle of whatever it does.
  for (let round = 0; round < 5; round++) {
    await expect
      .poll(
        () => {
          moveOn();
          return t.receiver.received.length;
        },
        { timeout: 180_000, interval: 20 },
      )
      .toBeGreaterThanOrEqual((round + 1) * 200);
    await daemons[round]!.end('SIGKILL');
    start();
  }
  await expect.poll(moveOn, { timeout: 180_000, interval: 50 }).toBe(true);

  for (const id of ids) {
    const seen = new Map<string, string>();
    let last = 0;
    for (const { id: event, data } of t.eventsOf(id)) {
      const body = JSON.stringify(data);
      if (seen.has(event)) expect(seen.get(event)).toBe(body);
      else {
        // New events come in order, without a gap; a repeat may follow a crash.
        expect(data.sequence).toBe(last + 1);
        last = data.sequence;
        seen.set(event, body);
      }
    }
    const once = [...new Map(t.eventsOf(id).map((event) => [event.id, event.data.to.name])).values()];
    expect(once).toEqual(path);
  }
  const byId = Map.groupBy(t.receiver.received, (event) => event.id);
  for (const repeats of byId.values()) expect(new Set(repeats.map(({ body }) => body)).size).toBe(1);
  expect(t.receiver.received.every((event) => event.verified)).toBe(true);
  expect(t.simulator.control.counters().mostInFlightPerPurchase).toBe(1);
}, 900_000);

test("the site's ceiling holds over two replicas together, also after a mass registration", async () => {
  t = await startTestApp({ realClock: true });
  replica({ CHECKOUT_MAX_RPS: '40' });
  replica({ CHECKOUT_MAX_RPS: '40' });
  for (const daemon of daemons) await daemon.says('started');
  await expect.poll(owners).toEqual([32, 32]);
  const ids = t.simulator.control.addMany(400, { script: [{ state: 'Completed' }] }).map(({ purchaseId }) => purchaseId);
  t.simulator.control.resetCounters();
  const stalls = watchStalls();
  await register(
    t.app.sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  await t.receiver.waitFor((received) => received.length >= 400, 60_000);
  stalls.stop();
  const { mostPerSecond } = t.simulator.control.counters();
  // Calls are counted where they arrive: the network may push two seconds' edges together by a few.
  expect(mostPerSecond.status).toBeLessThanOrEqual(44 * (1 + stalls.longest()));
  // And the ceiling is used, not just kept: the part of one replica alone is 20.
  expect(mostPerSecond.status).toBeGreaterThan(30);
});

test('a daemon that was killed and is started again on the same machine goes on at once', async () => {
  t = await startTestApp({ realClock: true });
  const first = replica();
  await first.says('started');
  await first.end('SIGKILL');
  const second = replica();
  await second.says('started');
  const id = await t.watch({ script: [{ state: 'Completed' }] });
  // The lease of the first lasts for more than twenty seconds.
  await t.receiver.waitFor((received) => received.length === 1, 15_000);
  expect(t.changesOf(id)).toEqual(['Completed']);
});

test('a replica that stood still for longer than its lease sends nothing of the shards that it lost meanwhile', async () => {
  t = await startTestApp({ realClock: true });
  // Each answer of the database comes late, so that much can happen between two of them when the replica goes on.
  const database = await startWire(t.database.url);
  const config = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  const quick = { New: { poll: { first: '300ms', growth: 0.1, most: '1s' } } };
  // Short calls make a short lease; one delivery at a time lets the others wait in memory.
  writeFileSync(config, JSON.stringify({ states: quick, webhooks: { timeout: '1s', concurrency: 1 } }));
  const short = { CHECKOUT_TIMEOUT: '1s', PURCHASE_WATCH_CONFIG: config };
  try {
    const frozen = replica({ ...short, DATABASE_URL: database.url });
    await frozen.says('started');
    await expect.poll(owners).toEqual([64]);
    // The receiver keeps the replica waiting, so that the other events wait in the replica's memory.
    t.receiver.respond({}, { delay: 600 }, { delay: 600 }, { delay: 600 }, { delay: 600 });
    const ids = t.simulator.control.addMany(30, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
    await register(
      t.app.sql,
      ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
    );
    await t.receiver.waitFor((received) => received.length >= 2, 30_000);
    holdStill(frozen.process.pid!);
    const second = replica(short);
    await second.says('started');
    await expect.poll(() => t.app.sql`select id from purchase_watch_internal.replicas`).toHaveLength(1);
    const told = (id: string): number => Math.max(0, ...t.eventsOf(id).map(({ data }) => data.sequence));
    await expect.poll(() => ids.filter((id) => told(id) < 1).length).toBe(0);
    for (const id of ids) t.simulator.control.setState(id, 'Completed');
    await expect.poll(() => ids.filter((id) => told(id) < 2).length).toBe(0);
    const before = t.receiver.received.length;
    await database.spoil({ kind: 'latency', ms: 400 });
    frozen.process.kill('SIGCONT');
    await expect.poll(owners).toEqual([32, 32]);
    // What the first replica had in its memory was delivered by the second one.
    expect(t.receiver.received.slice(before).map(({ type }) => type)).toEqual([]);
    expect(frozen.output()).toContain('lease.lost');
  } finally {
    await database.stop();
  }
});
