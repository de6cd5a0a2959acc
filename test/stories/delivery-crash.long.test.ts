/** A daemon that dies at any moment of telling: nothing is lost or reordered, and repeats are few and the same. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { requestPoll } from '../../src/postgres/purchases/purchases.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { startTestApi, type TestApi } from '../api/api.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type Side, startPostgresWire } from '../support/postgres-wire.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';
import { startWire } from '../support/wire.ts';

let t: TestApp;
let api: TestApi;
let closing: Promise<unknown>[] = [];
afterEach(async () => {
  await Promise.all(closing);
  closing = [];
  await api.stop();
  await t.stop();
});

const PURCHASES = 6;
const PATH = ['New', 'BeingProcessed', 'Completed'];

/** Six purchases that were seen in three states, with nothing told of them yet. Answers the Purchase IDs. */
async function prepareOutbox(): Promise<string[]> {
  const ids = await Promise.all(Array.from({ length: PURCHASES }, () => t.watch({ script: [{ state: 'New' }] })));
  for (const state of PATH) {
    for (const id of ids) t.simulator.control.setState(id, state);
    t.clock.advance('1m');
    for (const purchaseId of ids) await requestPoll(t.app.sql, await t.rowOf(purchaseId));
    // The database's clock, which asked for it, may be a moment ahead of ours.
    const seen = async (): Promise<number> => {
      await t.app.pollOnce();
      const events = await rowsOf(ids);
      return events.length / PURCHASES;
    };
    await expect.poll(seen, { interval: 10 }).toBe(PATH.indexOf(state) + 1);
  }
  return ids;
}

/** Ends the lease of each replica, as the others do when it was not renewed in time. */
const endLeases = () => t.app.sql`delete from purchase_watch_internal.replicas`;

interface Row {
  readonly id: number;
  readonly eventId: string;
  readonly body: string;
  readonly purchaseId: string;
  readonly sequence: number;
  readonly status: string;
  readonly attempts: number;
}
const rowsOf = (ids: readonly string[]) => t.app.sql<Row[]>`
  select d.id::float8 as id, e.id as "eventId", e.body, p.purchase_id as "purchaseId", e.sequence, d.status, d.attempts
  from purchase_watch_internal.deliveries d
  join purchase_watch_internal.subscribers s on s.id = d.subscriber and s.name = 'default'
  join purchase_watch_internal.events e on e.position = d.event join purchase_watch.purchases p on p.id = e.purchase
  where p.purchase_id = any(${ids as string[]}::text[]) order by e.position`;
const isOpen = ({ status }: Row): boolean => status === 'pending';

/** What has to be true when the crash is over, whenever it was. `open` is what was not settled at the takeover. */
async function checkAll(ids: readonly string[], open: readonly Row[], arrivals: TestApp['receiver']['received'], at: string) {
  const rows = await rowsOf(ids);
  expect(rows, at).toHaveLength(PURCHASES * PATH.length);
  const byId = Map.groupBy(arrivals, ({ id }) => id);
  const repeated: Row[] = [];
  for (const row of rows) {
    const copies = byId.get(row.eventId) ?? [];
    expect(row.status, `${at}: ${row.eventId}`).toBe('delivered');
    expect(new Set(copies.map(({ body }) => body)), `${at}: the bytes of ${row.eventId}`).toEqual(new Set([row.body]));
    // Every attempt that the outbox knows was received, and at most one that it does not know.
    expect(copies.length - row.attempts, `${at}: repeats of ${row.eventId}`).toBeOneOf([0, 1]);
    if (copies.length > row.attempts) repeated.push(row);
    const { status, attempts } = (await api.call('GET', `/v1/deliveries/dlv_${row.id}`)).body;
    expect(status, at).toBe('delivered');
    expect(
      attempts.map(({ number }: { number: number }) => number),
      `${at}: attempts of ${row.eventId}`,
    ).toEqual(Array.from({ length: row.attempts }, (_, index) => index + 1));
    expect(attempts.filter(({ outcome }: { outcome: string }) => outcome === 'delivered')).toHaveLength(1);
  }
  // A lane goes on only when its first one is settled: at most one event of each purchase can be repeated, and it was open.
  expect(new Set(repeated.map(({ purchaseId }) => purchaseId)).size, `${at}: repeats per purchase`).toBe(repeated.length);
  const wasOpen = new Set(open.map(({ eventId }) => eventId));
  expect(
    repeated.filter(({ eventId }) => !wasOpen.has(eventId)),
    `${at}: repeats of what was settled`,
  ).toEqual([]);
  for (const id of ids) {
    const firsts = [...new Map(arrivals.map(({ id: event, body }) => [event, JSON.parse(body).data])).values()];
    const sequences = firsts.filter(({ purchaseId }) => purchaseId === id).map(({ sequence }) => sequence);
    expect(sequences, `${at}: the order of ${id}`).toEqual(PATH.map((_, index) => index + 1));
  }
  return repeated.length;
}

/** A daemon that tells a whole outbox over lines that end at the n-th request to the database; answers whether they did. */
async function tellUntilCut(request: number, side: Side): Promise<boolean> {
  const database = await startPostgresWire(t.database.url);
  const receiver = await startWire(t.receiver.url);
  const subscribers = t.settings.subscribers.map((subscriber) => ({ ...subscriber, url: receiver.url }));
  const destination = { write: (line: string) => t.log.push(line) } as unknown as NodeJS.WritableStream;
  const app = await createApp(
    { ...t.settings, databaseUrl: database.url, subscribers },
    { clock: t.clock, random: () => 0.5, log: createLogger({ level: 'debug', destination }) },
  );
  database.breakAt(request, side, { onBreak: receiver.cut });
  const telling = (async () => {
    await app.deliverOnce();
    // One was refused, and is due again.
    t.clock.advance('10s');
    await app.deliverOnce();
    return false;
  })();
  const isCut = await Promise.race([
    database.broken.then(() => true),
    // What fails because of the cut is not the end of it: the last request may still be carried out.
    telling.catch(() => database.broken.then(() => true)),
  ]);
  // What is left of it can reach nobody. It is not let end well: queries that hang are broken off first.
  const remains = app.sql.end({ timeout: 0 }).then(() => app.stop());
  closing.push(remains.finally(() => Promise.all([database.stop(), receiver.stop()])));
  return isCut;
}

test.each<Side>(['before', 'after'])(
  'a daemon whose line is cut for ever %s any request to the database is replaced, and nothing is lost, reordered or changed',
  async (side) => {
    t = await startTestApp();
    api = await startTestApi({ sql: t.app.sql });
    const repeats: number[] = [];
    for (let request = 1; ; request++) {
      const at = `cut ${side} request ${request}`;
      const ids = await prepareOutbox();
      const before = t.receiver.received.length;
      t.receiver.respond({}, {}, { status: 500 });
      await endLeases();
      const isCut = await tellUntilCut(request, side);
      await endLeases();
      const open = (await rowsOf(ids)).filter(isOpen);
      // A shard whose last transaction still ends is taken a moment later.
      for (let pass = 0; pass < 50 && (await rowsOf(ids)).some(isOpen); pass++) {
        await t.app.deliverOnce();
        t.clock.advance('10s');
      }
      repeats.push(await checkAll(ids, open, t.receiver.received.slice(before), at));
      if (!isCut) {
        expect(open, 'the last one told everything itself').toEqual([]);
        break;
      }
      expect(request, 'telling comes to an end').toBeLessThan(200);
    }
    // The points were met: some before anything was told, some where an answer was known to nobody else.
    expect(repeats.length).toBeGreaterThan(8);
    expect(Math.max(...repeats)).toBeGreaterThan(0);
  },
  240_000,
);

test('a process that is killed while it tells is replaced at once by one on the same machine, and the same holds', async () => {
  t = await startTestApp({ realClock: true });
  api = await startTestApi({ sql: t.app.sql });
  const config = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  writeFileSync(config, JSON.stringify({ webhooks: { schedule: ['300ms', '1s', '1s'] } }));
  const start = (databaseUrl: string, receiverUrl: string): Daemon =>
    startDaemon(['start'], {
      DATABASE_URL: databaseUrl,
      CHECKOUT_BASE_URL: t.simulator.url,
      CHECKOUT_CLIENT_ID: 'demo-client',
      CHECKOUT_CLIENT_SECRET: 'demo-secret',
      WEBHOOK_URL: receiverUrl,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
      PURCHASE_WATCH_CONFIG: config,
      PORT: '0',
    });
  t.receiver.respondAlways({ delay: 10 });
  for (const [request, side] of [
    [1, 'after'],
    [2, 'before'],
    [6, 'after'],
  ] as const) {
    const at = `killed ${side} request ${request} after the first receipt`;
    const ids = await prepareOutbox();
    const before = t.receiver.received.length;
    t.receiver.respond({}, {}, { status: 500 });
    await endLeases();
    const database = await startPostgresWire(t.database.url);
    const receiver = await startWire(t.receiver.url);
    const first = start(database.url, receiver.url);
    await t.receiver.waitFor((received) => received.length > before, 30_000);
    const onBreak = (): void => {
      first.process.kill('SIGKILL');
      receiver.cut();
    };
    database.breakAt(request, side, { onBreak });
    await database.broken;
    expect(await first.end('SIGKILL')).toBe('SIGKILL');
    const open = (await rowsOf(ids)).filter(isOpen);
    const second = start(t.database.url, t.receiver.url);
    await expect.poll(async () => (await rowsOf(ids)).filter(isOpen), { interval: 50 }).toEqual([]);
    await second.end('SIGKILL');
    await checkAll(ids, open, t.receiver.received.slice(before), at);
    await Promise.all([database.stop(), receiver.stop()]);
  }
});
