/** Answers and rows that nobody expects: they are the purchase's own matter, and neither the site's nor that of other purchases. */
import { afterEach, expect, test } from 'vitest';
import type { FaultKind } from '../../packages/simulator/src/contract/names.ts';
import { listSites } from '../../src/postgres/polling/sites.ts';
import { findPurchases, stopPurchase } from '../../src/postgres/purchases/purchases.ts';
import { startTestApi } from '../api/api.ts';
import { ID, json, STATUS, startService, statusText } from '../checkout/service.ts';
import { startTcp } from '../support/not-http.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

const logged = (name: string): number => t.log.filter((line) => (JSON.parse(line) as { event?: string }).event === name).length;
const announced = async (type: string): Promise<number> => {
  const [row] = await t.app.sql<
    [{ n: number }]
  >`select count(*)::integer as n from purchase_watch_internal.events where type = ${type}`;
  return row.n;
};

const ODD: readonly FaultKind[] = ['500', 'reset', '503'];

test('54 purchases of which 14 give two odd answers each take no pause of the site, and no alert', async () => {
  t = await startTestApp({
    realClock: true,
    change: (settings) => {
      settings.slack.groupWait = 1;
    },
  });
  const purchases: string[] = [];
  for (let index = 0; index < 54; index++) {
    const { purchaseId } = t.simulator.control.add({ script: [{ state: 'Completed' }] });
    purchases.push(purchaseId);
    // Every fourth one, from the second on.
    if (index % 4 === 1) t.simulator.control.fail({ kind: ODD[index % 3]!, times: 2, only: 'status', purchaseId });
  }
  await t.app.sql`insert into purchase_watch.purchases (purchase_id) select unnest(${purchases}::text[])`;
  await t.app.start();
  await expect.poll(() => announced('purchase.state_changed'), { timeout: 120_000, interval: 100 }).toBe(54);
  expect([logged('site.failing'), logged('site.answers')]).toEqual([0, 0]);
  expect(await announced('site.unreachable')).toBe(0);
  expect(t.simulator.control.counters().calls.status).toBe(54 + 28);
});

test('a site that fails until nothing is left to ask there is no incident any more', async () => {
  t = await startTestApp({ wholeClock: true });
  const purchases = await Promise.all([1, 2, 3].map(() => t.watch({ script: [{ state: 'New' }] })));
  t.simulator.control.fail({ kind: '503', for: '60m' });
  const judgeAfter = async (time: string): Promise<number[]> => {
    t.clock.advance(time);
    await t.app.judgeOnce();
    return [await announced('site.unreachable'), await announced('site.reachable')];
  };
  await expect
    .poll(async () => {
      t.clock.advance('2s');
      await t.app.pollOnce();
      return logged('site.failing');
    })
    .toBe(1);
  // The report is on its way.
  await expect
    .poll(() => t.app.sql`select from purchase_watch_internal.sites where failing_since is not null`, { timeout: 20_000 })
    .toHaveLength(1);
  // Not before groupWait, which is half a minute.
  expect(await judgeAfter('1s')).toEqual([0, 0]);
  expect(await judgeAfter('28s')).toEqual([0, 0]);
  expect(await judgeAfter('3s')).toEqual([1, 0]);
  for (const purchaseId of purchases) {
    expect(await judgeAfter('1h')).toEqual([1, 0]);
    const [row] = await findPurchases(t.app.sql, { purchaseId, site: null });
    await stopPurchase(t.app.sql, row!);
  }
  expect(await judgeAfter('1s')).toEqual([1, 0]);
  expect((await listSites(t.app.sql))[0]!.failingSince).toBeNull();
  expect(await judgeAfter('31s')).toEqual([1, 1]);

  // Hours later the site fails again: that is another failure, which begins then.
  await t.watch({ script: [{ state: 'New' }] });
  t.simulator.control.fail({ kind: '503', for: '60m' });
  const again = t.clock.now();
  await t.app.pollOnce();
  await expect
    .poll(async () => (await listSites(t.app.sql))[0]!.failingSince ?? 0, { timeout: 20_000 })
    .toBeGreaterThan(again - 1_000);
});

test('a service whose answers are no HTTP is at fault as one that is down', async () => {
  const baseUrl = await startTcp((socket) => socket.once('data', () => socket.end('HTTP/1.1 099 Odd\r\n\r\n')));
  t = await startTestApp({ env: { CHECKOUT_BASE_URL: baseUrl, CHECKOUT_AUTH: 'basic' } });
  const purchases = await Promise.all([1, 2, 3].map(() => t.watch({ script: [{ state: 'New' }] })));
  await expect
    .poll(async () => {
      t.clock.advance('2s');
      await t.app.pollOnce();
      return t.app.sql`select from purchase_watch_internal.sites where failing_since is not null`;
    })
    .toHaveLength(1);
  await t.app.judgeOnce();
  t.clock.advance('31s');
  await t.app.judgeOnce();
  await t.app.deliverOnce();
  expect(logged('site.failing')).toBe(1);
  const [site] = await t.app.sql`select failing_reason, last_error from purchase_watch.site_status`;
  expect(site).toMatchObject({ failingReason: 'unreachable', lastError: expect.stringContaining('is not HTTP') });
  const told = t.receiver.received.map(({ body }) => JSON.parse(body));
  expect(told).toMatchObject([{ type: 'site.unreachable', data: { reason: 'unreachable' } }]);
  expect(await findPurchases(t.app.sql, { purchaseId: purchases[0]!, site: null })).toMatchObject([{ status: 'watching' }]);
});

test('a State at the end of the integers is data, and breaks no view', async () => {
  t = await startTestApp();
  const states = [2_147_483_647, -2_147_483_648, 15];
  const ids = await Promise.all(states.map((state) => t.watch({ script: [{ state }] })));
  await t.app.pollOnce();
  await t.app.deliverOnce();
  const names = ids.map((id) => t.changesOf(id));
  expect(names).toEqual(states.map((state) => [`Unknown(${state})`]));
  await t.app.judgeOnce();
  await t.app.sql`update purchase_watch.purchases set stuck_since = now()`;
  for (const view of ['current_purchases', 'stuck_purchases', 'purchase_totals']) {
    const rows = await t.app.sql.unsafe(`select state_name from purchase_watch.${view}`);
    expect(rows.map(({ stateName }) => stateName as string).sort()).toEqual(names.flat().sort());
  }
  expect(await t.app.sql`select from purchase_watch.transitions where to_name like 'Unknown(%'`).toHaveLength(3);
});

test('metadata that an older version stored and nobody can read fails neither its purchase nor a page', async () => {
  t = await startTestApp();
  const api = await startTestApi({ sql: t.app.sql });
  try {
    const [deep, good] = [
      await t.watch({ script: [{ state: 'New' }] }, { metadata: '{"cart": 7}' }),
      await t.watch({ script: [{ state: 'New' }] }, { metadata: '{"cart": 8.50}' }),
    ];
    const nested = `{"a": ${'['.repeat(4_000)}${']'.repeat(4_000)}}`;
    await t.app.sql`update purchase_watch.purchases set metadata = ${nested}::text::jsonb where purchase_id = ${deep}`;
    await t.app.pollOnce();
    await t.app.deliverOnce();
    expect(t.eventsOf(good)).toMatchObject([{ data: { metadata: { cart: 8.5 } } }]);
    const unreadable = { unreadable: expect.stringContaining('nested too deep') };
    expect(t.eventsOf(deep)).toMatchObject([{ type: 'purchase.state_changed', data: { sequence: 1, metadata: unreadable } }]);
    const { status, body } = await api.call('GET', '/v1/purchases');
    expect({ status, metadata: body.data.map((row: { metadata: unknown }) => row.metadata) }).toEqual({
      status: 200,
      metadata: expect.arrayContaining([{ cart: 8.5 }, unreadable]),
    });
    expect(logged('poll.undecided') + logged('poll.unrecordable')).toBe(0);
  } finally {
    await api.stop();
  }
});

test('a reference without an end makes no large event, and a price without an end no event at all', async () => {
  let answer = '';
  const service = await startService({ [STATUS]: (response) => json(response, answer) });
  t = await startTestApp({ env: { CHECKOUT_BASE_URL: service.baseUrl, CHECKOUT_AUTH: 'basic' } });
  await t.app.sql`insert into purchase_watch.purchases (purchase_id) values (${ID})`;
  const polled = async (State: number, changes: Record<string, unknown> = {}, price?: string): Promise<void> => {
    answer = statusText({ State, OrderReference: `${State}${'R'.repeat(200_000)}`, ...changes }, price);
    t.clock.advance('10m');
    await t.app.pollOnce();
    await t.app.deliverOnce();
  };
  for (const state of [0, 1, 4, 1, 6, 1]) await polled(state);
  await polled(6, { OrderReference: 'R'.repeat(1_000_000) });
  await polled(6, {}, '9'.repeat(300));
  const bodies = t.receiver.received.map(({ body }) => body);
  expect(bodies.map((body) => JSON.parse(body).data.to?.value)).toEqual([0, 1, 4, 1, 6, 1]);
  expect(Math.max(...bodies.map((body) => body.length))).toBeLessThan(1_024);
  expect(bodies[0]).toMatch(/"orderReference":"0R{248}… \(cut\)"/);
  const [row] = await t.app.sql`
    select p.state, p.last_error, length(d.fields::text) as length from purchase_watch.purchases p
    join purchase_watch_internal.purchase_details d on d.purchase = p.id`;
  expect(row).toMatchObject({ state: 1, lastError: expect.stringContaining('The field Price has more digits') });
  expect(row!.length).toBeLessThan(512);

  // What an older version stored is cut where it is told.
  const stored = JSON.stringify({ Price: 1, CurrencyCode: 'SEK', OrderReference: 'S'.repeat(1_000_000) });
  await t.app.sql`update purchase_watch_internal.purchase_details set fields = ${stored}::text::json`;
  await polled(6, {}, '9'.repeat(300));
  t.clock.advance('31d');
  await t.app.pollOnce();
  await t.app.deliverOnce();
  const last = t.receiver.received.at(-1)!.body;
  expect(last).toMatch(/^\{"id":"evt_[^"]+","type":"purchase.expired".*"orderReference":"S{249}… \(cut\)"/);
  expect(last.length).toBeLessThan(1_024);
});
