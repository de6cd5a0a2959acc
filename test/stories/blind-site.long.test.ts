/** A service that answers, and of which no purchase can be read: people are alerted once, and no purchase is held to it. */
import { expect, onTestFinished, test } from 'vitest';
import type { FaultKind } from '../../packages/simulator/src/contract/names.ts';
import { listSites } from '../../src/postgres/polling/sites.ts';
import { stopPurchase } from '../../src/postgres/purchases/purchases.ts';
import { ALL_PASSES, startTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

async function startShop(options: TestAppOptions = {}): Promise<TestApp> {
  const t = await startTestApp({
    wholeClock: true,
    ...options,
    change: (settings) => Object.assign(settings.slack, { repeatInterval: 96 * HOUR, digest: null }),
  });
  onTestFinished(() => t.stop());
  return t;
}

const siteOf = async (t: TestApp) => (await listSites(t.database.sql))[0]!;

/** Lets time pass as a daemon lives through it. */
const live = (t: TestApp, milliseconds: number, step: number): Promise<void> =>
  t.liveInSteps(milliseconds, { step, passes: ALL_PASSES });

const announced = (t: TestApp) => t.receiver.received.map(({ body }) => JSON.parse(body) as { type: string; data: object });
const ofSite = (t: TestApp) => announced(t).filter(({ type }) => type.startsWith('site.'));

const BLIND: readonly { kind: FaultKind; reason: string; says: string }[] = [
  { kind: '429-seconds', reason: 'throttled', says: '429' },
  { kind: 'null-state', reason: 'malformed', says: 'not as its specification shows' },
  { kind: '404', reason: 'unknown', says: 'none of the purchases' },
  { kind: '403', reason: 'refused', says: 'credentials' },
];

test.each(BLIND)(
  'a service that answers everything with "$kind" for twelve hours: one alert with the reason, nothing held against purchases, all polled within a minute of its mend',
  async ({ kind, reason, says }) => {
    const t = await startShop();
    const watched: string[] = [];
    for (const state of ['WaitingForCardPayments', 'BeingProcessed', 'New', 'New', 'WaitingForEidApp', 'WaitingForCardPayments'])
      watched.push(await t.watch({ script: [{ state }] } as never));
    await t.app.pollOnce();
    t.simulator.control.fail({ kind, for: '48h', only: 'status', retryAfter: 5 });

    await live(t, 4 * MINUTE, 10 * SECOND);
    expect(ofSite(t)).toMatchObject([{ type: 'site.unreachable', data: { site: 'default', reason } }]);
    expect(t.slack.received).toHaveLength(1);
    expect(t.slack.received[0]!.text).toContain(says);
    expect(await siteOf(t)).toMatchObject({ failingSince: expect.any(Number), failingReason: reason });
    await live(t, 12 * HOUR, 30 * MINUTE);
    const rows = await Promise.all(watched.map((id) => t.rowOf(id)));
    for (const row of rows) expect(row).toMatchObject({ status: 'watching', stuckSince: null });
    // The first few answers, before it was known whose trouble they are.
    expect(rows.reduce((sum, row) => sum + row.failures, 0)).toBeLessThanOrEqual(2);

    const polls = new Map(rows.map(({ purchaseId, polls }) => [purchaseId, polls]));
    t.simulator.control.clearFaults();
    await live(t, MINUTE, 3 * SECOND);
    for (const id of watched) {
      const row = await t.rowOf(id);
      expect(row).toMatchObject({ status: 'watching', failures: 0, stuckSince: null, lastError: null });
      expect(row.polls).toBeGreaterThan(polls.get(id)!);
    }
    await live(t, MINUTE, 10 * SECOND);
    expect(ofSite(t).map(({ type }) => type)).toEqual(['site.unreachable', 'site.reachable']);
    expect(ofSite(t)[1]).toMatchObject({ data: { reason } });
    expect(t.slack.received).toHaveLength(2);
    expect(announced(t).filter(({ type }) => /stuck|unreadable/.test(type))).toEqual([]);
    expect((await siteOf(t)).failingSince).toBeNull();
  },
  120_000,
);

test('a service that answers one call now and then and fails all others: one alert, and one end when enough purchases are read', async () => {
  const t = await startShop();
  const { control } = t.simulator;
  const watched: string[] = [];
  for (let each = 0; each < 4; each++) watched.push(await t.watch({ script: [{ state: 'BeingProcessed' }] } as never));
  // Each is polled every three minutes then.
  await live(t, 30 * MINUTE, 30 * SECOND);
  const failAllBut = (spared: readonly string[]): void => {
    control.clearFaults();
    for (const purchaseId of watched)
      if (!spared.includes(purchaseId)) control.fail({ kind: '503', for: '48h', only: 'status', purchaseId });
  };
  const lastRead = async () => Math.max(...(await Promise.all(watched.map((id) => t.rowOf(id)))).map(({ seenAt }) => seenAt!));
  failAllBut([]);
  control.resetCounters();
  while ((await siteOf(t)).failingSince === null) await live(t, 4 * SECOND, 4 * SECOND);

  const begun = t.clock.now();
  const reads: number[] = [];
  for (let luckyAt = begun + 12 * SECOND; t.clock.now() < begun + 15 * MINUTE; ) {
    // While probes are made, one call leaves at a time. Later one purchase has luck, another one each time.
    if (t.clock.now() >= luckyAt) failAllBut(reads.length === 0 ? watched : [watched[reads.length % 4]!]);
    await live(t, 4 * SECOND, 4 * SECOND);
    const read = await lastRead();
    if (read < luckyAt) continue;
    reads.push(read);
    failAllBut([]);
    luckyAt = t.clock.now() + 60 * SECOND;
  }
  // The first one came before `groupWait` was over, and the others every few minutes, as purchases that were read before are polled at their plan.
  expect(reads[0]! - begun).toBeLessThan(30 * SECOND);
  expect(reads.length).toBeGreaterThanOrEqual(4);
  // How many fail in between depends on which of the purchases that are due together is asked first.
  expect(control.counters().calls.status).toBeGreaterThan(10 * reads.length);
  expect(ofSite(t)).toMatchObject([{ type: 'site.unreachable', data: { reason: 'unreachable' } }]);
  expect(t.slack.received.map(({ text }) => text)).toEqual([expect.stringContaining('hardly any usable answer')]);
  expect((await siteOf(t)).failingSince).not.toBeNull();

  control.clearFaults();
  await live(t, MINUTE, 4 * SECOND);
  for (const id of watched) {
    const { failures, nextPollAt } = await t.rowOf(id);
    expect({ failures, isDue: nextPollAt! <= t.clock.now() }).toEqual({ failures: 0, isDue: false });
  }
  await live(t, 6 * MINUTE, 20 * SECOND);
  expect(ofSite(t).map(({ type }) => type)).toEqual(['site.unreachable', 'site.reachable']);
  expect(t.slack.received).toHaveLength(2);
  expect((await siteOf(t)).failingSince).toBeNull();
});

test('credentials that the token endpoint refuses show with the first answer after a start', async () => {
  const t = await startShop({ env: { CHECKOUT_CLIENT_SECRET: 'mistyped' } });
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  await expect.poll(async () => (await siteOf(t)).failingReason).toBe('refused');
  expect((await siteOf(t)).lastError).toContain("does not accept the site's client id and secret");
  const said = t.log.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error');
  expect(said).toMatchObject([{ event: 'site.not_readable', reason: 'refused', detail: expect.stringContaining('Check both') }]);
  expect(t.log.join('')).not.toContain('mistyped');
  await live(t, MINUTE, 10 * SECOND);
  expect(ofSite(t)).toMatchObject([{ type: 'site.unreachable', data: { reason: 'refused' } }]);
  expect(t.slack.received[0]!.text).toContain('refuses the credentials');
  const opened = t.log.map((line) => JSON.parse(line)).filter(({ event }) => event === 'incident.opened');
  expect(opened).toMatchObject([{ kind: 'unreachable', site: 'default', severity: 'critical', reason: 'refused' }]);
});

test('ids that the service does not know are no trouble of the site: many beside one that is read, or alone at a quiet site', async () => {
  const t = await startShop();
  const known = await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  const typos = Array.from({ length: 5 }, (_, index) => `typo-${index}`);
  await t.app.sql`insert into purchase_watch.purchases (purchase_id) select unnest(${typos}::text[])`;
  await live(t, 6 * MINUTE, 10 * SECOND);
  expect((await t.rowOf(typos[0]!)).status).toBe('unreadable');
  // Nothing is read any more: what is left are mistyped ids.
  await stopPurchase(t.app.sql, await t.rowOf(known));
  await t.app
    .sql`insert into purchase_watch.purchases (purchase_id) values ('another-typo'), ('a-third-typo'), ('a-fourth-typo')`;
  await live(t, 6 * MINUTE, 10 * SECOND);
  expect((await t.rowOf('another-typo')).status).toBe('unreadable');
  expect(ofSite(t)).toEqual([]);
  expect(t.slack.received).toEqual([]);
});

test('a daemon that is started again while the site is blind holds nothing against purchases, and what had to wait for hours is polled when the site is back', async () => {
  const t = await startShop();
  const first = await t.watch({ script: [{ state: 'New' }] });
  const others = [];
  for (let each = 0; each < 4; each++) others.push(await t.watch({ script: [{ state: 'New' }] }));
  await t.app.pollOnce();
  t.simulator.control.fail({ kind: 'null-state', for: '48h', only: 'status' });
  await live(t, 3 * MINUTE, 10 * SECOND);
  // As by a version that held it against the purchase.
  const later = t.clock.now() + 11 * HOUR;
  await t.app.sql`
    update purchase_watch.purchases set failures = 14, unknowns = 14, status = 'unreadable', last_polled_at = to_timestamp(${t.clock.now()}::float8 / 1000),
      next_poll_at = to_timestamp(${later}::float8 / 1000), due_slot = purchase_watch_internal.due_slot(to_timestamp(${later}::float8 / 1000)), revision = revision + 1
    where purchase_id = ${first}`;
  await t.app.stop();
  const app = await t.another();
  for (let step = 0; step < 12; step++) {
    t.clock.advance('10s');
    await app.pollOnce();
  }
  for (const id of others) expect((await t.rowOf(id)).failures).toBeLessThanOrEqual(1);
  t.simulator.control.clearFaults();
  for (let step = 0; step < 20; step++) {
    t.clock.advance('3s');
    await app.pollOnce();
  }
  for (const id of [first, ...others]) expect(await t.rowOf(id)).toMatchObject({ status: 'watching', failures: 0 });
});
