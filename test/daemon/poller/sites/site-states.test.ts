import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSiteCalls } from '../../../../src/daemon/poller/sites/site-calls.ts';
import { createSiteStates } from '../../../../src/daemon/poller/sites/site-states.ts';
import { readSiteCalls } from '../../../../src/postgres/polling/site-calls.ts';
import { syncSites } from '../../../../src/postgres/polling/sites.ts';
import { renewReplica } from '../../../../src/postgres/shards/replicas.ts';
import { createLogger } from '../../../../src/runtime/logger.ts';
import { answer, trouble } from '../../../support/a-purchase.ts';
import { type TestDatabase, testDatabase } from '../../../support/database.ts';

const SECOND = 1_000;
const START = Date.UTC(2026, 10, 20, 9, 15);
const good = answer(0);
const bad = trouble('unreachable', { reason: 'http_503' });

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
});
afterAll(() => database.drop());

test('what a replica knows of its calls is in the database as soon as the replica is, changes as it does, and is not written again', async () => {
  const { sql } = database;
  let elapsed = 0;
  const clock = { now: () => START + elapsed, monotonic: () => elapsed, sleep: async () => {} };
  const token = { fetchedAt: START, expiresAt: START + 60 * SECOND, refusedAt: null, refusal: null };
  const noInvoice = async () => ({ kind: 'not_eligible', state: 2, detail: '' }) as const;
  const site = {
    ...{ name: 'se', maxRps: 50, concurrency: 4, timeout: SECOND, invoices: false },
    ...{ pollStatus: async () => good, pollInvoice: noInvoice, invoice: noInvoice, token: () => token },
  };
  const log = createLogger({ level: 'silent' });
  const calls = createSiteCalls(site, { sql, clock, log, replica: 'rep_1', spread: () => 0, onReported: () => {} });
  const { write } = createSiteStates({
    ...{ sql, clock, siteCalls: new Map([['se', calls]]) },
    ownership: { replica: 'rep_1', share: () => 0.5 },
  });
  const row = async () => (await readSiteCalls(sql, 'se'))[0];
  await write();
  expect(await row()).toBeUndefined();
  await renewReplica(sql, { id: 'rep_1', process: 'test', ttl: 60 * SECOND });
  await write();
  const closed = { breaker: 'closed', cause: null, since: START, nextProbeAt: null, callsPerSecond: 0, ceiling: 25, token };
  expect(await row()).toMatchObject({ site: 'se', replica: 'rep_1', ...closed });
  const before = (await row())!.writtenAt;
  await write();
  expect((await row())!.writtenAt).toBe(before);

  for (let call = 0; call < 20; call++) {
    calls.begin(false);
    calls.end();
    calls.answered(bad, { purchase: call, probe: false, asked: { id: call, status: 'watching', failures: 0, seenAt: 1 } });
  }
  elapsed = 10 * SECOND;
  await write();
  expect(await row()).toMatchObject({
    ...{ breaker: 'open', cause: 'failing', since: START, nextProbeAt: START + SECOND, callsPerSecond: 2 },
  });
  expect(calls.take(1)).toEqual({ wait: 0, probe: true });
  await write();
  expect(await row()).toMatchObject({ breaker: 'open', since: START, nextProbeAt: null });
  calls.answered(good, { purchase: 1, probe: true });
  await write();
  expect(await row()).toMatchObject({ breaker: 'recovering', cause: null, since: START + 10 * SECOND, callsPerSecond: 0 });
});
