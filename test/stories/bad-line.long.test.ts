/** Lines that fail in every way a line can: to a receiver, and to the database. */
import { afterEach, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { startTestApi } from '../api/api.ts';
import { change, statusesOf, watchMany } from '../support/changes.ts';
import { startDaemon } from '../support/daemon.ts';
import { type Side, startPostgresWire } from '../support/postgres-wire.ts';
import { startReceiver } from '../support/receiver.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';
import { type Fault, startWire } from '../support/wire.ts';

const silent = createLogger({ level: 'fatal' });

let t: TestApp;
let ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

/**
 * What the line does, how the attempt is reported, and whether the event arrives all the same. An attempt has 2.5 s: with the
 * latency it arrives a second before that, and the answer comes too late. Byte by byte an answer takes many seconds.
 */
const FAULTS: readonly { readonly fault: Fault; readonly outcome: string; readonly arrives: boolean }[] = [
  { fault: { kind: 'black hole' }, outcome: 'timeout', arrives: false },
  { fault: { kind: 'refused' }, outcome: 'connection_refused', arrives: false },
  { fault: { kind: 'latency', ms: 1_500 }, outcome: 'timeout', arrives: true },
  { fault: { kind: 'slow bytes', ms: 40 }, outcome: 'timeout', arrives: true },
  { fault: { kind: 'reset before the answer' }, outcome: 'connection_lost', arrives: true },
  { fault: { kind: 'reset in the answer', after: 20 }, outcome: 'connection_lost', arrives: true },
];

test.each(FAULTS.map((each) => [each.fault.kind, each] as const))(
  'over a line with "%s" an attempt fails for that reason, and a later one brings the same bytes, in order',
  async (_kind, { fault, outcome, arrives }) => {
    const receiver = await startReceiver({ secret: SECRET });
    const wire = await startWire(receiver.url);
    t = await startTestApp({
      env: { WEBHOOK_URL: wire.url },
      change: ({ webhooks }) => Object.assign(webhooks, { timeout: 2_500 }),
    });
    const api = await startTestApi({ sql: t.app.sql });
    ends = [() => receiver.stop(), () => wire.stop(), () => t.stop(), () => api.stop()];
    // A connection that is open and idle is spoiled, too.
    const [id] = await watchMany(t, 1);
    await t.app.deliverOnce();
    await wire.spoil(fault);
    await change(t, [id!]);
    await change(t, [id!]);
    await t.app.deliverOnce();
    expect(receiver.received).toHaveLength(arrives ? 2 : 1);
    await wire.spoil(null);
    t.clock.advance('10s');
    await t.app.deliverOnce();
    expect(await statusesOf(t, 'default')).toEqual({ delivered: 3 });
    const sequences = receiver.received.map(({ body }) => JSON.parse(body).data.sequence);
    expect(sequences).toEqual(arrives ? [1, 2, 2, 3] : [1, 2, 3]);
    expect(new Set(receiver.received.map(({ id: event, body }) => event + body)).size).toBe(3);
    const [, second] = (await api.call('GET', '/v1/deliveries?subscriber=default')).body.data;
    const { attempts } = (await api.call('GET', `/v1/deliveries/${second.id}`)).body;
    expect(attempts).toMatchObject([
      { number: 1, outcome, fault: 'receiver', httpStatus: null },
      { number: 2, outcome: 'delivered' },
    ]);
  },
  60_000,
);

test.each<Side>(['before', 'after'])(
  'when all connections to the database break %s any request while it tells, the same daemon goes on and tells everything',
  async (side) => {
    const stopped: Promise<unknown>[] = [];
    const endLeases = () => t.app.sql`delete from purchase_watch_internal.replicas`;
    t = await startTestApp();
    ends = [() => t.stop(), () => Promise.all(stopped)];
    for (let request = 1; ; request++) {
      const wire = await startPostgresWire(t.database.url);
      await endLeases();
      await change(t, await watchMany(t, 6));
      const app = await createApp({ ...t.settings, databaseUrl: wire.url }, { clock: t.clock, random: () => 0.5, log: silent });
      await endLeases();
      const before = t.receiver.received.length;
      t.receiver.respond({}, {}, { status: 500 });
      let isBroken = false;
      wire.breakAt(request, side, {
        mended: true,
        onBreak: () => {
          isBroken = true;
        },
      });
      const open = async (): Promise<number> => {
        await app.deliverOnce().catch(() => undefined);
        t.clock.advance('10s');
        return (await statusesOf(t, 'default')).pending ?? 0;
      };
      await expect.poll(open, { interval: 10, message: `${side} request ${request}` }).toBe(0);
      const arrived = t.receiver.received.slice(before);
      expect(new Set(arrived.map(({ id }) => id)).size, `${side} request ${request}`).toBe(12);
      // Twelve, and the one that was refused: what it could not write at once it writes late, and repeats nothing.
      expect(arrived, `${side} request ${request}`).toHaveLength(13);
      // The driver waits for connections that broke: what is left of this daemon is broken off.
      await app.sql.end({ timeout: 0 });
      stopped.push(app.stop().then(() => wire.stop()));
      if (!isBroken) break;
      expect(request).toBeLessThan(200);
    }
    expect(stopped.length).toBeGreaterThan(8);
  },
  180_000,
);

test('a connection to the database that breaks while it is being set up ends no daemon', async () => {
  t = await startTestApp({ realClock: true });
  const wire = await startPostgresWire(t.database.url);
  const daemon = startDaemon(['start'], {
    DATABASE_URL: wire.url,
    CHECKOUT_BASE_URL: t.simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    WEBHOOK_URL: t.receiver.url,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    PORT: '0',
  });
  ends = [() => wire.stop(), () => t.stop(), () => daemon.end('SIGKILL')];
  await daemon.says('"started"');
  // Each of these connections is lost at its first request, which the driver makes for itself.
  wire.breakNew(8);
  await expect.poll(() => wire.toBreak() === 0 || daemon.process.exitCode !== null).toBe(true);
  expect(daemon.process.exitCode, daemon.output().slice(-2_000)).toBeNull();
  const id = await t.watch({ script: [{ state: 'Completed' }] });
  // The driver may lose a query on such a connection: then it is given up when its answer is late, and asked again.
  await t.receiver.waitFor((received) => received.length === 1, 60_000);
  expect(t.changesOf(id)).toEqual(['Completed']);
});
