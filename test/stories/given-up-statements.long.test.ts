/** Statements that the daemon gave up and that the database runs later, or would go on with for ever. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type App, createApp } from '../../src/app.ts';
import { sessionLimitsFor } from '../../src/postgres/connection/session-limits.ts';
import { transitionsOf } from '../../src/postgres/purchases/purchases.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { type HoldingWire, startHoldingWire } from '../support/holding-wire.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** In place of 15 s. */
const ANSWERS_WITHIN = 2_000;

let t: TestApp;
let wire: HoldingWire | undefined;
let app: App | undefined;
beforeEach(async () => {
  t = await startTestApp({
    change: (settings) => {
      settings.store.fields = ['Price'];
    },
  });
});
afterEach(async () => {
  await app?.stop();
  app = undefined;
  await wire?.stop();
  wire = undefined;
  await t.stop();
});

/** A line on which nothing but the daemon itself guards against late statements: a pooler takes none of the server's limits. */
async function unguardedWire(): Promise<HoldingWire> {
  wire = await startHoldingWire(t.database.url, { refuses: Object.keys(sessionLimitsFor(ANSWERS_WITHIN)) });
  return wire;
}

/** A daemon with little patience, over the wire if there is one; the one of the test app gives it everything. */
async function takeOver(change: (settings: TestApp['settings']) => void = () => undefined): Promise<App> {
  await t.app.stop();
  const settings = structuredClone({ ...t.settings, databaseUrl: wire?.url ?? t.database.url });
  change(settings);
  const destination = { write: (line: string) => t.log.push(line) } as unknown as NodeJS.WritableStream;
  const log = createLogger({ level: 'debug', destination });
  app = await createApp(settings, { clock: t.clock, random: () => 0.5, log, databaseAnswersWithin: ANSWERS_WITHIN });
  return app;
}
const said = (event: string): string[] => t.log.filter((line) => line.includes(`"${event}"`));

test('a record that reaches the database after the daemon gave it up takes nothing back', async () => {
  const purchase = await t.watch({ script: [{ state: 'BeingProcessed' }] });
  await t.app.pollOnce();
  const line = await unguardedWire();
  // More fields are kept from now on, so the next poll writes the row although the state is the same.
  const daemon = await takeOver((settings) => {
    settings.store.fields = ['Price', 'CurrencyCode'];
  });
  const held = line.hold('CurrencyCode');
  t.clock.advance('1m');
  await daemon.pollOnce();
  await held;
  expect(said('poll.not_recorded')).toHaveLength(1);
  t.simulator.control.setState(purchase, 'Completed');
  const settled = async (): Promise<string> => {
    await daemon.pollOnce();
    return (await t.rowOf(purchase)).status;
  };
  await expect.poll(settled).toBe('settled');
  const before = await t.rowOf(purchase);

  await line.release();
  expect(await t.rowOf(purchase)).toEqual(before);
  await daemon.deliverOnce();
  expect(t.changesOf(purchase)).toEqual(['BeingProcessed', 'Completed']);
  expect(t.eventsOf(purchase).map(({ data }) => data.sequence)).toEqual([1, 2]);
  expect((await transitionsOf(t.database.sql, before.id)).map(({ to }) => to)).toEqual([1, 2]);
  expect(said('poll.unrecordable')).toEqual([]);
});

test('a record that rests on an older row than there is, is refused once; the next poll rests on the row', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  // Memory holds the purchase. A statement that was given up commits now, or had committed when its answer was lost.
  await t.database.sql`update purchase_watch.purchases set polls = polls + 1`;
  t.simulator.control.setState(purchase, 'BeingProcessed');
  t.clock.advance('10s');
  await t.app.pollOnce();
  expect(await t.rowOf(purchase)).toMatchObject({ state: 1, polls: 3 });
  expect(t.simulator.control.callsOf(purchase)).toBe(3);
  await t.app.deliverOnce();
  expect(t.eventsOf(purchase).map(({ data }) => data.sequence)).toEqual([1, 2]);
  expect(t.log.filter((line) => line.includes('"level":"error"'))).toEqual([]);
});

test('a purchase whose row was taken back is repaired from its last transition, reported once, and polled on', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  t.simulator.control.setState(purchase, 'BeingProcessed');
  t.clock.advance('1m');
  await t.app.pollOnce();
  // As an older version left it: the record of the first poll was written over that of the second.
  const { sql } = t.database;
  await sql`
    update purchase_watch.purchases set state = 0, sequence = 1, state_since = (
      select not_after from purchase_watch_internal.purchase_transitions where sequence = 1)`;
  const daemon = await takeOver();
  t.simulator.control.setState(purchase, 'Completed');
  const settled = async (): Promise<string> => {
    t.clock.advance('10s');
    await daemon.pollOnce();
    return (await t.rowOf(purchase)).status;
  };
  await expect.poll(settled).toBe('settled');
  await daemon.deliverOnce();
  expect(t.changesOf(purchase)).toEqual(['New', 'BeingProcessed', 'Completed']);
  expect(t.eventsOf(purchase).map(({ data }) => data.sequence)).toEqual([1, 2, 3]);
  expect(said('poll.unrecordable')).toEqual([]);
  const [line, ...more] = said('purchase.repaired');
  expect(more).toEqual([]);
  expect(JSON.parse(line!)).toMatchObject({
    level: 'error',
    purchaseId: purchase,
    was: { state: 'New', sequence: 1 },
    is: { state: 'BeingProcessed', sequence: 2 },
  });
});

test('what the judge gave up is not added up a second time when it reaches the database later', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  for (const state of ['WaitingForCardPayments', 'Completed']) {
    await t.app.pollOnce();
    t.simulator.control.setState(purchase, state);
    t.clock.advance('1m');
  }
  await t.app.pollOnce();
  const { sql } = t.database;
  expect(await sql`select from purchase_watch_internal.stays`).toHaveLength(1);
  const line = await unguardedWire();
  const daemon = await takeOver();
  const held = line.hold('\\"countedFrom\\"');
  await expect(daemon.judgeOnce()).rejects.toThrow('has not answered');
  await held;
  await daemon.judgeOnce();
  await line.release();
  const counted = await sql`select state, well, overdue, other from purchase_watch_internal.stay_days`;
  expect([...counted]).toEqual([{ state: 6, well: 1, overdue: 0, other: 0 }]);
});

test('statements that wait for a lock are ended by the server and do not pile up', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  const daemon = await takeOver();
  const { sql } = t.database;
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = sql.begin(async (tx) => {
    await tx`lock table purchase_watch_internal.purchase_transitions in access exclusive mode`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const failures = async (): Promise<number> => {
    await daemon.pollOnce();
    return said('poll.not_recorded').length;
  };
  await expect.poll(failures).toBeGreaterThanOrEqual(2);
  const waiting =
    await sql`select from pg_locks where not granted and relation = 'purchase_watch_internal.purchase_transitions'::regclass`;
  expect(waiting).toHaveLength(0);
  expect(said('poll.not_recorded').at(-1)).toContain('lock timeout');
  release.resolve();
  await holding;
  const seen = async (): Promise<number | null> => {
    await daemon.pollOnce();
    return (await t.rowOf(purchase)).state;
  };
  await expect.poll(seen).toBe(0);
});
