/** One alert per incident, whatever happens to the daemons, and its end to whoever heard of it. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Settings } from '../../src/config/settings.ts';
import { addSilence } from '../../src/postgres/incidents/silences.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { startDaemon } from '../support/daemon.ts';
import { type Side, startPostgresWire } from '../support/postgres-wire.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const MINUTE = 60_000;
const STUCK = [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '5s' }];

let t: TestApp;
let closing: Promise<unknown>[] = [];
afterEach(async () => {
  await Promise.all(closing);
  closing = [];
  await t.stop();
});

const messages = (): string[] => t.slack.received.map(({ text }) => text);
const stuckCustomers = (count: number) => Promise.all(Array.from({ length: count }, () => t.watch({ script: STUCK })));
const look = async (by: string): Promise<void> => {
  t.clock.advance(by);
  await t.app.judgeOnce();
  await t.app.deliverOnce();
};
const judgeAfter = async (by: string): Promise<void> => {
  t.clock.advance(by);
  await t.app.judgeOnce();
};
/** Stays as a recorder leaves them: customers who came one after the other and are stuck now. */
const becomeStuck = (state: number, customers = 4) =>
  t.app.sql`
    with waiting as (
      insert into purchase_watch.purchases (purchase_id, site, state, state_since, stuck_since, next_poll_at)
      select 'p-' || ${state}::integer || '-' || gen_random_uuid(), 'default', ${state}, to_timestamp(${t.clock.now() - 14 * MINUTE}::float8 / 1000), now(), now() + interval '1 year'
      from generate_series(1, ${customers}::integer))
    insert into purchase_watch_internal.stays (customer, entered_at, at, shortest_ms, longest_ms, state, to_state, site, outcome, first_sight, found_late)
    select ${state}::bigint * 1000 + n, to_timestamp(${t.clock.now() - 15 * MINUTE}::float8 / 1000 + n), to_timestamp(${t.clock.now()}::float8 / 1000 + n),
      900000, 900000, ${state}, null, 'default', 'overdue', false, false
    from generate_series(1, ${customers}::integer) n`;
const getOn = () =>
  t.app.sql`update purchase_watch.purchases set stuck_since = null, status = 'settled' where stuck_since is not null`;
const endLeases = () => t.app.sql`delete from purchase_watch_internal.replicas`;

/** A judge whose line to the database ends for ever at the n-th request; answers whether it came to that. */
async function judgeUntilCut(request: number, side: Side): Promise<boolean> {
  const database = await startPostgresWire(t.database.url);
  const destination = { write: (line: string) => t.log.push(line) } as unknown as NodeJS.WritableStream;
  const log = createLogger({ level: 'debug', destination });
  const app = await createApp({ ...t.settings, databaseUrl: database.url }, { clock: t.clock, random: () => 0.5, log });
  database.breakAt(request, side);
  const judging = app.judgeOnce().then(() => false);
  const isCut = await Promise.race([database.broken.then(() => true), judging.catch(() => database.broken.then(() => true))]);
  const remains = app.sql.end({ timeout: 0 }).then(() => app.stop());
  closing.push(remains.finally(() => database.stop()));
  return isCut;
}

test.each<Side>(['before', 'after'])(
  'a judge that dies %s any request to the database is replaced, and its incident is told once and ends once',
  async (side) => {
    // A state of its own for each crash: numbers nobody knows, with a limit.
    const change = (settings: Settings): void => {
      const { fallback } = settings.policy;
      settings.policy = { ...settings.policy, fallback: { ...fallback, stuckAfter: 15 * MINUTE } };
    };
    t = await startTestApp({ change });
    for (let request = 1; ; request++) {
      const state = 100 + request;
      const at = `cut ${side} request ${request}`;
      await becomeStuck(state);
      // Known to somebody for half a minute: now it is to be told.
      if (request % 2 === 0) await judgeAfter('1s');
      t.clock.advance('31s');
      await endLeases();
      const isCut = await judgeUntilCut(request, side);
      await endLeases();
      for (const by of ['1s', '31s']) await judgeAfter(by);
      await getOn();
      for (const by of ['1s', '31m', '11m']) await judgeAfter(by);
      const told = await t.app.sql<{ type: string }[]>`
        select e.type from purchase_watch_internal.events e join purchase_watch_internal.deliveries d on d.event = e.position
        where e.state = ${state} and e.type like 'incident.%' order by e.position`;
      expect(
        told.map(({ type }) => type),
        at,
      ).toEqual(['incident.opened', 'incident.ended']);
      const [left] = await t.app.sql<[{ stays: number; counted: number }]>`
        select (select count(*) from purchase_watch_internal.stays)::float8 as stays,
          (select sum(overdue) from purchase_watch_internal.stay_days where state = ${state})::float8 as counted`;
      expect(left, at).toEqual({ stays: 0, counted: 4 });
      if (!isCut) break;
      expect(request, 'judging comes to an end').toBeLessThan(100);
    }
    const written = await t.app.sql`select from purchase_watch_internal.events where type = 'incident.opened'`;
    expect(written.length).toBeGreaterThan(8);
  },
  240_000,
);

test('a daemon that is killed while an incident is open goes on with it, and says nothing twice', async () => {
  t = await startTestApp({ realClock: true });
  const config = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  writeFileSync(config, JSON.stringify({ slack: { groupWait: '200ms', quietFor: '500ms' } }));
  const start = () =>
    startDaemon(['start', '--worker'], {
      DATABASE_URL: t.database.url,
      PORT: '0',
      CHECKOUT_BASE_URL: t.simulator.url,
      CHECKOUT_CLIENT_ID: 'demo-client',
      CHECKOUT_CLIENT_SECRET: 'demo-secret',
      SLACK_WEBHOOK_URL: t.slack.url,
      PURCHASE_WATCH_CONFIG: config,
    });
  const first = start();
  await first.says('started');
  await becomeStuck(6);
  await t.app.sql`select pg_notify('purchase_watch_wake', 'judge')`;
  // Between Slack's answer and its record a crash would repeat the message, as every delivery.
  const isAnnounced = async (): Promise<boolean> =>
    (await t.app.sql`select from purchase_watch_internal.deliveries where lane <= 0 and status = 'delivered'`).length === 1;
  await expect.poll(isAnnounced, { interval: 20 }).toBe(true);
  expect(await first.end('SIGKILL')).toBe('SIGKILL');
  const second = start();
  await second.says('started');
  // Four more, and a word of the judge that it has counted them.
  await becomeStuck(6);
  await t.app.sql`select pg_notify('purchase_watch_wake', 'judge')`;
  await expect.poll(async () => (await t.app.sql`select from purchase_watch_internal.stays`).length, { interval: 50 }).toBe(0);
  expect(messages()).toEqual([expect.stringContaining('4 customers stuck')]);
  // Five customers who came later and got on: the page works again.
  await t.app.sql`
    insert into purchase_watch_internal.stays (customer, entered_at, at, shortest_ms, longest_ms, state, to_state, site, outcome, first_sight, found_late)
    select 9000 + n, now() + n * interval '20 minutes', now() + n * interval '21 minutes', 60000, 65000, 6, 2, 'default', 'well', false, false
    from generate_series(1, 6) n`;
  await t.app.sql`select pg_notify('purchase_watch_wake', 'judge')`;
  await t.slack.waitFor((received) => received.length > 1, 30_000);
  expect(messages()[1]).toContain('✅');
  await second.end('SIGTERM');
  expect(messages()).toHaveLength(2);
});

test('with two daemons that judge in turn, everything is said once', async () => {
  t = await startTestApp();
  const other = await t.another();
  await becomeStuck(6);
  for (const by of ['1s', '31s', '1m', '31m', '11m', '1m']) {
    if (by === '1m') await getOn();
    t.clock.advance(by);
    await Promise.all([t.app.judgeOnce(), other.judgeOnce()]);
    await endLeases();
    await other.judgeOnce();
    await endLeases();
    for (const app of [t.app, other]) await app.deliverOnce();
  }
  expect(messages().map((text) => text.includes('✅'))).toEqual([false, true]);
});

test('what healed while no daemon ran is told as over by the next one, once', async () => {
  t = await startTestApp();
  const purchases = await stuckCustomers(5);
  await t.live(17 * MINUTE);
  expect(messages()).toHaveLength(1);
  await t.app.stop();
  for (const purchase of purchases) t.simulator.control.setState(purchase, 'Completed');
  t.clock.advance('6h');
  const next = await t.another();
  const pass = async (by: string): Promise<void> => {
    t.clock.advance(by);
    await next.pollOnce();
    await next.judgeOnce();
    await next.deliverOnce();
  };
  for (let customer = 0; customer < 6; customer++) {
    const { purchaseId } = t.simulator.control.add({ script: STUCK });
    await register(next.sql, [{ purchaseId, site: null, reference: null, metadata: null }]);
    for (const by of ['1s', '10s', '30s']) await pass(by);
    t.simulator.control.setState(purchaseId, 'Completed');
    await pass('1m');
  }
  expect(messages()).toHaveLength(1);
  for (let minute = 0; minute < 30; minute++) await pass('1m');
  expect(messages()).toHaveLength(2);
  expect(messages()[1]).toContain('✅');
});

test('an end within a silence is told to those who heard the beginning, and what began within it is told when it ends', async () => {
  t = await startTestApp();
  await becomeStuck(6);
  for (const by of ['1s', '31s']) await look(by);
  expect(messages()).toHaveLength(1);
  const now = t.clock.now();
  const everything = { kind: 'stuck', site: null, state: null, subscriber: null, reason: 'a deploy', by: 'Kim' } as const;
  await addSilence(t.app.sql, { ...everything, startsAt: now, endsAt: now + 3 * 60 * MINUTE });
  await getOn();
  for (const by of ['1s', '31m', '11m']) await look(by);
  expect(messages()).toHaveLength(2);
  expect(messages()[1]).toContain('✅');

  const purchases = await stuckCustomers(5);
  await t.live(40 * MINUTE);
  expect(purchases).toHaveLength(5);
  expect(messages()).toHaveLength(2);
  await look('2h');
  await look('1s');
  expect(messages()).toHaveLength(3);
  expect(messages()[2]).not.toContain('✅');
});

test('an hour in which the site answers nobody, with 500 customers waiting, makes nobody stuck', {
  timeout: 180_000,
}, async () => {
  t = await startTestApp();
  await Promise.all(Array.from({ length: 500 }, () => t.watch({ script: STUCK })));
  const pass = async (by: string, times: number): Promise<void> => {
    for (let time = 0; time < times; time++) {
      t.clock.advance(by);
      await t.app.pollOnce();
      await t.app.judgeOnce();
      await t.app.deliverOnce();
    }
  };
  await pass('10s', 18);
  await t.simulator.control.down();
  await pass('1m', 60);
  await t.simulator.control.up();
  for (const { purchaseId } of t.simulator.control.list({ limit: 500, state: 'WaitingForCardPayments' }))
    t.simulator.control.setState(purchaseId, 'Completed');
  const counts = async () => {
    await pass('10s', 1);
    const [row] = await t.app.sql<[{ stuck: number; settled: number }]>`
      select (select count(*) from purchase_watch_internal.events where type = 'purchase.stuck')::float8 as stuck,
        (select count(*) from purchase_watch.purchases where status = 'settled')::float8 as settled`;
    return row;
  };
  // The site is tried again by the clock on the wall.
  await expect.poll(counts, { timeout: 90_000, interval: 200 }).toEqual({ stuck: 0, settled: 500 });
  for (let time = 0; time < 3; time++) await pass('30s', 1);
  expect(messages().map((text) => /no usable answer|answers again/.exec(text)?.[0])).toEqual([
    'no usable answer',
    'answers again',
  ]);
});
