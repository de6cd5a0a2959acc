/** One look: what it adds up, remembers, opens and logs, and what it leaves alone. What alerts say is tested in incident-messages.test.ts. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLook } from '../../../src/daemon/judge/look.ts';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { type Detection, newDetection } from '../../../src/domain/incidents/detection.ts';
import { NOTHING_KNOWN } from '../../../src/domain/stays/usual.ts';
import { addSilence } from '../../../src/postgres/incidents/silences.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { takeLease } from '../../../src/postgres/shards/leases.ts';
import { saveReplicaTroubles } from '../../../src/postgres/shards/replica-troubles.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { type TestClock, testClock } from '../../support/test-clock.ts';
import { aLog } from '../notifier/parts.ts';

const MINUTE = 60_000;
const CARD = 6;
const OTHER = 4;
/** Without a limit. */
const LEFT_ALONE = 1;
const SLACK: ChannelRule = { name: '@slack', sites: null, severity: 'warning' };
const PAGER: ChannelRule = { name: '@pager', sites: null, severity: 'critical' };

let database: TestDatabase;
let clock: TestClock;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['no', 'old', 'se']);
  for (const id of ['a', 'b']) await renewReplica(database.sql, { id, process: 'test', ttl: 600 * MINUTE });
});
afterAll(() => database.drop());
beforeEach(async () => {
  const { sql } = database;
  clock = testClock();
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.events, purchase_watch_internal.incidents, purchase_watch_internal.stays,
    purchase_watch_internal.detections, purchase_watch_internal.stay_days, purchase_watch_internal.silences, purchase_watch_internal.subscribers,
    purchase_watch_internal.replica_troubles restart identity cascade`;
  await sql`update purchase_watch_internal.sites set failing_since = null, failing_reason = null`;
  // Ids 1 to 3.
  for (const [name, audience] of [
    ['@slack', 'people'],
    ['@pager', 'people'],
    ['erp', 'systems'],
  ] as const)
    await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values (${name}, 'webhook', ${audience}, 'a')`;
});
const at = (moment: number | null) => database.sql`to_timestamp(${moment}::float8 / 1000)`;

function looking({ channels = [SLACK], known = false }: { channels?: ChannelRule[]; known?: boolean } = {}) {
  const { log, logged } = aLog();
  const meters = createMeters();
  const look = createLook({
    ...{ sql: database.sql, clock, log, meters, channels, sessionLength: 20 * MINUTE, isReplicaPosted: () => false },
    sites: [{ name: 'se' }, { name: 'no' }],
    limits: {
      limitOf: (_: string, state: number) => ({ ms: state === LEFT_ALONE ? null : 15 * MINUTE, source: 'default', dwell: null }),
    },
    usual: {
      refresh: async () => undefined,
      of: () => (known ? { share: 0.01, perDay: 40, counted: 400 } : NOTHING_KNOWN),
    },
    policy: { groupWait: 0, quietFor: 0, groupInterval: 0, repeatInterval: 600 * MINUTE },
  } as unknown as Parameters<typeof createLook>[0]);
  return {
    ...{ logged, meters },
    look: async (replica = 'a') => {
      const epoch = (await takeLease(database.sql, { name: 'judge', replica })) ?? -1;
      return look({ name: 'judge', replica, epoch });
    },
  };
}

/** The statements that something asks of the database. */
async function statementsOf(ask: () => Promise<unknown>): Promise<string> {
  const asked: string[] = [];
  const { options } = database.sql;
  options.debug = (_: number, statement: string) => asked.push(statement);
  await ask();
  options.debug = false;
  return asked.join('\n');
}

/** The judge's memory of a place. */
const remembers = (site: string, state: number, differs: Partial<Detection> = {}) => database.sql`
  insert into purchase_watch_internal.detections (site, state, memory)
  values (${site}, ${state}, ${JSON.stringify({ ...newDetection(site, state), ...differs })})`;
/** An alarm that is on at a place. */
const alarm = (site: string, state: number) =>
  remembers(site, state, {
    run: { since: clock.now() - 30 * MINUTE, entrants: 9, overdue: 4, customers: [], overdueAfter: 15 * MINUTE },
    alarm: {
      ...{ at: clock.now() - MINUTE, rule: 'share', since: clock.now() - 30 * MINUTE, entrants: 9, overdue: 4 },
      ...{ usualShare: 0.01, perDay: 40, falseAlarmEvery: null },
    },
  });
const memory = async (): Promise<Detection[]> =>
  (await database.sql<{ memory: string }[]>`select memory from purchase_watch_internal.detections order by site, state`).map(
    ({ memory: text }) => JSON.parse(text) as Detection,
  );
/** A customer who is stuck; answers the purchase's row id. */
async function stuck(purchaseId: string, { site = 'se', state = CARD } = {}): Promise<number> {
  const since = clock.now() - 20 * MINUTE;
  const [row] = await database.sql<[{ id: number }]>`
    insert into purchase_watch.purchases (purchase_id, site, reference, state, state_since, stuck_since, registered_at, status, seen_at)
    values (${purchaseId}, ${site}, ${purchaseId}, ${state}, ${at(since)}, ${at(since + 15 * MINUTE)}, ${at(since)}, 'watching', ${at(since)})
    returning id::integer as id`;
  return row.id;
}
/** Stays that became known, of one customer each. */
const stays = (outcome: 'well' | 'overdue', { state = CARD, purchase = null as number | null, count = 1 } = {}) => database.sql`
  insert into purchase_watch_internal.stays (customer, purchase, entered_at, at, shortest_ms, longest_ms, state, to_state, site, outcome, first_sight, found_late)
  select n, ${purchase}::bigint, ${at(clock.now() - 20 * MINUTE)}, ${at(clock.now())}, 60000, 60000, ${state}::integer, ${outcome === 'well' ? 2 : null}::integer, 'se', ${outcome}, false, false
  from generate_series(1, ${count}::integer) n`;
const incident = (state: number, endedAt: number | null) => database.sql`
  insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak)
  values (${`inc_${state}`}, 'stuck', 'se', ${state}, ${at(clock.now() - 20 * MINUTE)}, ${at(clock.now() - 20 * MINUTE)}, ${at(endedAt)}, 3, 3)`;
const rows = async (what: 'stays' | 'stuck_alerts' | 'events' | 'incidents'): Promise<number> =>
  (await database.sql<[{ n: number }]>`select count(*)::integer as n from purchase_watch_internal.${database.sql(what)}`)[0].n;
/** A site that gives no usable answer, with a purchase to poll. */
const failing = () => database.sql`
  with purchase as (
    insert into purchase_watch.purchases (purchase_id, site, next_poll_at, due_slot) values ('polled', 'se', ${at(clock.now())}, 1))
  update purchase_watch_internal.sites set failing_since = ${at(clock.now() - MINUTE)}, failing_reason = 'unreachable' where name = 'se'`;

test('where nothing is wrong a look reads what may be, and neither silences nor channels', async () => {
  await remembers('se', CARD);
  const { look } = looking();
  const asked = await statementsOf(async () => {
    expect(await look()).toEqual({ written: 0, lookAgainAt: null, isMore: false });
  });
  expect(asked).not.toContain('purchase_watch_internal.silences');
});

test('a stay is added up once, and its place remembered', async () => {
  await stays('well');
  const { look } = looking();
  expect(await look()).toEqual({ written: 0, lookAgainAt: null, isMore: false });
  expect([await rows('stays'), await memory()]).toMatchObject([0, [{ site: 'se', state: CARD, countedFrom: clock.now() }]]);
});

test('of more stays than one look takes the next look takes the rest', async () => {
  await stays('well', { count: 2_001 });
  const { look } = looking();
  expect([await look(), await rows('stays')]).toMatchObject([{ isMore: true }, 1]);
  expect([await look(), await rows('stays')]).toMatchObject([{ isMore: false }, 0]);
});

test.each([
  ['one channel', [{ ...PAGER, stuck: 'incidents' }, SLACK], 1],
  ['no channel', [{ ...SLACK, stuck: 'incidents' }], 0],
] as const)(
  'stuck checkouts, and none that got on, are noted for single alerts where %s wants these',
  async (_, channels, noted) => {
    await stays('overdue', { purchase: await stuck('one') });
    await stays('well', { purchase: await stuck('two') });
    await looking({ channels: [...channels] }).look();
    expect([await rows('stays'), await rows('stuck_alerts')]).toEqual([0, noted]);
  },
);

test('stays count as usual where no incident is open', async () => {
  await incident(CARD, null);
  await incident(OTHER, clock.now() - MINUTE);
  await stays('well', { state: CARD });
  await stays('well', { state: OTHER });
  await looking().look();
  const days = await database.sql`select state, calm, well from purchase_watch_internal.stay_days order by state`;
  expect([...days]).toEqual([
    { state: OTHER, calm: true, well: 1 },
    { state: CARD, calm: false, well: 1 },
  ]);
});

test('an alarm is an incident of its customers, which people are alerted of and the log has', async () => {
  await alarm('se', CARD);
  await remembers('no', CARD);
  for (const id of ['one', 'two', 'three']) await stuck(id);
  const { look, logged, meters } = looking();
  expect(await look()).toEqual({ written: 1, lookAgainAt: clock.now() + 600 * MINUTE, isMore: false });
  const incidents = await database.sql<{ id: string }[]>`select id from purchase_watch_internal.incidents`;
  expect(incidents).toEqual([{ id: expect.stringMatching(/^inc_\w{26}$/) }]);
  expect(logged).toEqual([
    {
      ...{
        level: 'warn',
        event: 'incident.opened',
        time: expect.anything(),
        host: expect.anything(),
        incident: incidents[0]!.id,
        kind: 'stuck',
      },
      ...{ site: 'se', state: 'WaitingForCardPayments', count: 3, severity: 'warning', reason: 'share' },
    },
  ]);
  expect([...meters.events()]).toEqual([['incident.opened', 1]]);
});

test('a replica that lost the lease while it looked writes nothing, and says nothing', async () => {
  await failing();
  const { look, logged, meters } = looking();
  await look();
  await database.sql`update purchase_watch_internal.sites set failing_since = null`;
  logged.length = 0;
  clock.advance('1m');
  expect([await look('b'), logged, [...meters.events()].length]).toEqual([
    { written: 0, lookAgainAt: null, isMore: false },
    ...[[], 2],
  ]);
});

test('of a site that is polled no more, and of a state without a limit, nothing more is known: their alarms end', async () => {
  for (const [site, state] of [
    ['old', CARD],
    ['se', LEFT_ALONE],
  ] as const) {
    await alarm(site, state);
    await stuck(`${site} ${state}`, { site, state });
  }
  await alarm('se', CARD);
  await stuck('one');
  await looking().look();
  const incidents = await database.sql`select site, state from purchase_watch_internal.incidents`;
  expect([...incidents]).toEqual([{ site: 'se', state: CARD }]);
  expect((await memory()).map(({ site, state, alarm: is }) => [site, state, is === null])).toEqual([
    ['old', CARD, true],
    ['se', LEFT_ALONE, true],
    ['se', CARD, false],
  ]);
});

test('of a place with both a stay and an end of its alarm the latter is remembered', async () => {
  await alarm('old', CARD);
  await alarm('se', CARD);
  await stays('well');
  await looking().look();
  const [, ours] = await memory();
  // The stay was counted, and nobody is stuck since now.
  expect(ours).toMatchObject({ countedFrom: clock.now(), noneOverdueSince: clock.now() });
});

test('while nothing changes a look writes nothing', async () => {
  const trouble = { reason: 'not_recording', since: clock.now() - MINUTE, error: null } as const;
  await saveReplicaTroubles(database.sql, { replica: 'a', host: 'host-a' }, [trouble]);
  await alarm('old', CARD);
  const { look } = looking();
  expect(await look()).toMatchObject({ written: 1 });
  const asked = await statementsOf(async () => {
    expect(await look()).toEqual({ written: 0, lookAgainAt: clock.now() + 600 * MINUTE, isMore: false });
  });
  expect([asked.includes('from purchase_watch_internal.silences'), asked.includes('select true as held')]).toEqual([true, false]);
});

test('an incident takes over from single alerts where enough is known', async () => {
  await alarm('se', CARD);
  const purchase = await stuck('one');
  await database.sql`
    insert into purchase_watch_internal.stuck_alerts (purchase, site, state, state_since, stuck_at, first_sight, alerted_at, mode, is_last)
    values (${purchase}, 'se', ${CARD}, ${at(clock.now())}, ${at(clock.now())}, false, ${at(clock.now())}, 'auto', false)`;
  await looking({ known: true }).look();
  expect([...(await database.sql`select is_last from purchase_watch_internal.stuck_alerts`)]).toEqual([{ isLast: true }]);
});

test('several states of a site are one incident for people, and the log names them all', async () => {
  for (const state of [CARD, OTHER]) {
    await alarm('se', state);
    await stuck(`${state}`, { state });
  }
  const { look, logged } = looking();
  expect(await look()).toMatchObject({ written: 1 });
  expect([await rows('incidents'), logged.length]).toEqual([3, 1]);
  expect(logged).toMatchObject([{ event: 'incident.opened', site: 'se', state: null, count: 2, places: expect.any(Array) }]);
  expect((logged[0]!.places as string[]).toSorted()).toEqual(['se WaitingForCardPayments', 'se WaitingForIdentityProvider']);
});

test('what a silence keeps from people the log has all the same', async () => {
  await failing();
  await addSilence(database.sql, {
    ...{ kind: null, site: 'se', state: null, subscriber: null, reason: 'known', by: 'ann' },
    ...{ startsAt: clock.now() - MINUTE, endsAt: clock.now() + MINUTE },
  });
  const { look, logged } = looking();
  expect(await look()).toEqual({ written: 1, lookAgainAt: clock.now() + MINUTE, isMore: false });
  expect(logged).toMatchObject([{ level: 'info', event: 'incident.opened_silenced', site: 'se', state: null }]);
});

test('the log names a subscriber in trouble, and says what is wrong', async () => {
  const since = at(clock.now() - 30 * MINUTE);
  await database.sql`insert into purchase_watch_internal.subscriber_health (subscriber, failures, failing_since) values (3, 7, ${since})`;
  const { look, logged } = looking();
  await look();
  const said = expect.stringContaining('erp takes nothing');
  expect(logged).toMatchObject([{ event: 'incident.opened', subscriber: 'erp', severity: 'warning', reason: 'failing', said }]);
  expect(logged[0]).not.toHaveProperty('site');
  // What is over has no reason any more.
  await database.sql`update purchase_watch_internal.subscriber_health set failures = 0, failing_since = null`;
  await look();
  expect(logged).toMatchObject([{}, { event: 'incident.ended', subscriber: 'erp' }]);
  expect(logged[1]).not.toHaveProperty('reason');
});
