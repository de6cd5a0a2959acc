/** The poller as a whole, with a real database and a service that answers when the test lets it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPoller } from '../../../src/daemon/poller/poller.ts';
import { createOwnership, type OwnershipKeeper } from '../../../src/daemon/shards/ownership.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { Observation } from '../../../src/domain/purchases/purchase.ts';
import type { NO_DELIVERIES } from '../../../src/postgres/deliveries/new-deliveries.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { createHealth } from '../../../src/runtime/loops/health.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { answer } from '../../support/a-purchase.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { testClock } from '../../support/test-clock.ts';
import { aLog } from '../notifier/parts.ts';

let database: TestDatabase;
let ownership: OwnershipKeeper;
let poller: ReturnType<typeof createPoller>;
/** Ids of the purchases that the service was asked for, in order. */
let asked: string[];
/** Lets the service answer what it was asked. */
let answers: PromiseWithResolvers<Observation>;
let limits: { name: string; maxRps: number; concurrency: number; timeout: number; invoices: boolean };

beforeEach(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['default']);
  asked = [];
  answers = Promise.withResolvers();
  const clock = testClock();
  const { log } = aLog();
  ownership = createOwnership({ sql, clock, log, replica: 'a', process: 'test 1 1', ttl: 60_000, renewEvery: 2_000 });
  const noInvoice = async () => ({ kind: 'not_eligible', state: 2, detail: '' }) as const;
  const pollStatus = (id: string): Promise<Observation> => {
    asked.push(id);
    return answers.promise;
  };
  limits = { name: 'default', maxRps: 1_000_000, concurrency: 2, timeout: 1_000, invoices: false };
  poller = createPoller({
    ...{ sql, recordingSql: sql, clock, log, ownership, meters: createMeters(), traces: null, capacity: 1_000 },
    ...{ skipped: () => [], policyFor: () => DEFAULT_POLL_POLICY, spread: () => 0 },
    writes: createHealth(Date.now).writesOf('poller'),
    sites: [Object.assign(limits, { pollStatus, pollInvoice: noInvoice, invoice: noInvoice, token: () => null })],
    ...{ onEvents: ({ rows }: typeof NO_DELIVERIES) => expect(rows).toEqual([]), onSymptom: () => {}, wake: () => {} },
  });
  await ownership.tick();
});
afterEach(async () => {
  answers.resolve(answer(1));
  await poller.stop();
  await database.drop();
});
const states = async (): Promise<(number | null)[]> =>
  (await database.sql<{ state: number | null }[]>`select state from purchase_watch.purchases order by id`).map(
    ({ state }) => state,
  );

test('a stop begins no more polls, and is over when those under way are answered and recorded', async () => {
  await database.sql`insert into purchase_watch.purchases (purchase_id) select 'p-' || n from generate_series(1, 3) n`;
  await poller.tick();
  await expect.poll(() => asked.length).toBe(2);
  const after = poller.stop().then(states);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  answers.resolve(answer(1));
  expect((await after).toSorted()).toEqual([1, 1, null]);
  expect([asked.length, poller.unwritten()]).toEqual([2, 0]);
});

test('begins sixteen polls in one turn of the event loop at most, and the others in the turns after', async () => {
  limits.concurrency = 100;
  await database.sql`insert into purchase_watch.purchases (purchase_id) select 'p-' || n from generate_series(1, 50) n`;
  await poller.tick();
  const inTurns: number[] = [];
  for (let before = 0; before < 50; await nextTurn()) {
    if (asked.length > before) inTurns.push(asked.length - before);
    before = asked.length;
  }
  expect(inTurns).toEqual([16, 16, 16, 2]);
});
