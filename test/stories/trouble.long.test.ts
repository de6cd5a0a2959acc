import { afterEach, beforeEach, expect, test } from 'vitest';
import { FAULT_KINDS, type FaultKind } from '../../packages/simulator/src/contract/names.ts';
import { listSites } from '../../src/postgres/polling/sites.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** For a good answer on a busy machine; the tests of answers that never end wait for it. */
const TIMEOUT = '1500ms';
let t: TestApp;
beforeEach(async () => {
  t = await startTestApp({ env: { CHECKOUT_TIMEOUT: TIMEOUT } });
});
afterEach(() => t.stop());

/** Answers that are well-formed and about this purchase. */
const GOOD_ALL_THE_SAME: ReadonlySet<FaultKind> = new Set([
  ...(['unknown-state', 'null-fields', 'content-type', 'html-type', 'bom', 'trailing-bytes', 'gzip'] as FaultKind[]),
]);

test.each(FAULT_KINDS.filter((kind) => !GOOD_ALL_THE_SAME.has(kind)))(
  'an answer spoiled by "%s" never changes a state',
  async (kind) => {
    const purchase = await t.watch({ script: [{ state: 'BeingProcessed' }] });
    await t.app.pollOnce();
    t.simulator.control.setState(purchase, 'Completed');
    t.simulator.control.fail({ kind, for: '10m', only: 'status' });
    t.clock.advance('1m');
    await t.app.pollOnce();
    expect(await t.rowOf(purchase)).toMatchObject({ state: 1, status: 'watching' });
    const [count] = await t.app.sql`select count(*)::integer as n from purchase_watch_internal.purchase_transitions`;
    expect(count).toEqual({ n: 1 });
  },
);

test('an id the service does not know becomes unreadable after five tries, is asked ever more rarely, and readable again by itself', async () => {
  const { purchaseId } = t.simulator.control.add({ script: [{ state: 'New' }] });
  const typo = `${purchaseId}-lost`;
  await t.app.sql`insert into purchase_watch.purchases (purchase_id) values (${typo})`;
  const waits: number[] = [];
  for (let tries = 1; tries <= 8; tries++) {
    await t.app.pollOnce();
    const row = await t.rowOf(typo);
    expect(row.status).toBe(tries < 5 ? 'watching' : 'unreadable');
    waits.push(row.nextPollAt! - t.clock.now());
    t.clock.advance(`${row.nextPollAt! - t.clock.now()}ms`);
  }
  expect(waits).toEqual([...waits].sort((a, b) => a - b));
  expect(waits.at(-1)! / waits[0]!).toBeGreaterThan(100);
  t.simulator.control.add({ purchaseId: typo, script: [{ state: 'BeingProcessed' }] });
  await t.app.pollOnce();
  await t.app.deliverOnce();
  expect(await t.rowOf(typo)).toMatchObject({ status: 'watching', failures: 0, lastError: null, state: 1 });
  expect(t.eventsOf(typo).map(({ type, data }) => [type, data.sequence])).toEqual([
    ['purchase.unreadable', 1],
    ['purchase.readable', 2],
    ['purchase.state_changed', 3],
  ]);
});

test('what never becomes final is given up after giveUpAfter, and registering it again watches it again', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  t.clock.advance('30d');
  await t.app.pollOnce();
  await t.app.deliverOnce();
  expect(await t.rowOf(purchase)).toMatchObject({ status: 'expired', nextPollAt: null });
  expect(t.eventsOf(purchase).map(({ type }) => type)).toEqual(['purchase.state_changed', 'purchase.expired']);
  const { register } = await import('../../src/postgres/purchases/purchases.ts');
  expect(await register(t.app.sql, [{ purchaseId: purchase, site: null, reference: null, metadata: null }])).toEqual([
    'watched again',
  ]);
  expect(await t.rowOf(purchase)).toMatchObject({ status: 'watching' });
});

test('a site that fails gets a probe instead of a storm, no purchase is blamed, and all are asked when it is back', async () => {
  const purchases = await Promise.all(Array.from({ length: 60 }, () => t.watch({ script: [{ state: 'New' }] })));
  await t.app.pollOnce();
  t.simulator.control.resetCounters();
  t.simulator.control.fail({ kind: '503', for: '10m' });
  t.clock.advance('1m');
  await t.app.pollOnce();
  // Some were on their way before the first failures came back; then nothing but probes.
  expect(t.simulator.control.counters().calls.status).toBeLessThanOrEqual(40);
  await t.app.pollOnce();
  // Of the sixty that wait: a pass makes one probe at most at a time, and rests between them grow.
  expect(t.simulator.control.counters().calls.status).toBeLessThanOrEqual(45);
  const rows = await Promise.all(purchases.map(t.rowOf));
  expect(rows.filter((row) => row.failures > 0 || row.status !== 'watching' || row.lastError !== null)).toEqual([]);
  expect((await listSites(t.app.sql))[0]!.failingSince).not.toBeNull();

  t.simulator.control.clearFaults();
  await expect
    .poll(async () => {
      t.clock.advance('1s');
      await t.app.pollOnce();
      return (await Promise.all(purchases.map(t.rowOf))).filter((row) => row.polls < 2).length;
    })
    .toBe(0);
  expect((await listSites(t.app.sql))[0]!.failingSince).toBeNull();
});

test('one purchase whose calls always fail at a site that answers others is its own trouble', async () => {
  const poison = await t.watch({ script: [{ state: 'New' }] });
  const others = await Promise.all(Array.from({ length: 5 }, () => t.watch({ script: [{ state: 'New' }] })));
  t.simulator.control.fail({ kind: '500', for: '60m', purchaseId: poison });
  for (let pass = 0; pass < 12; pass++) {
    await t.app.pollOnce();
    t.clock.advance('1m');
  }
  expect(await t.rowOf(poison)).toMatchObject({ status: 'watching', state: null, failures: expect.any(Number) });
  expect((await t.rowOf(poison)).failures).toBeGreaterThan(0);
  expect((await t.rowOf(poison)).lastError).toContain('500');
  for (const other of others) expect(await t.rowOf(other)).toMatchObject({ failures: 0, state: 0 });
});

test('a call that hangs does not hold up the others', async () => {
  const slow = await t.watch({ script: [{ state: 'New' }] });
  const quick = await Promise.all(Array.from({ length: 50 }, () => t.watch({ script: [{ state: 'New' }] })));
  t.simulator.control.fail({ kind: 'hang', for: '10m', purchaseId: slow });
  const polling = t.app.pollOnce();
  await expect
    .poll(async () => (await Promise.all(quick.map(t.rowOf))).every((row) => row.polls === 1), { interval: 20 })
    .toBe(true);
  await polling;
  expect((await t.rowOf(slow)).polls).toBe(0);
});
