/** Of which single stuck checkouts people are alerted, and what they read; how they come to be stuck is tested in stories/stuck-checkouts. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createCheckoutAlerts } from '../../../src/daemon/judge/stuck-checkouts.ts';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { type CountedUsual, NOTHING_KNOWN } from '../../../src/domain/stays/usual.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { takeLease } from '../../../src/postgres/shards/leases.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { RECENT } from '../../../src/postgres/stays/usual.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { aLog } from '../notifier/parts.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const NOW = Date.parse('2026-11-20T09:00:00Z');
const CARD = 6;
const LIMIT = 15 * MINUTE;
const SLACK: ChannelRule = { name: '@slack', sites: null, severity: 'warning' };
const EACH: ChannelRule = { name: '@each', sites: ['se'], severity: 'warning', stuck: 'each' };
const BUSY: CountedUsual = { share: 0.01, perDay: 40, counted: 400 };

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['no', 'se']);
  await sql`update purchase_watch_internal.sites set first_success_at = ${at(NOW - 60 * MINUTE)}`;
  // Ids 1 and 2.
  for (const name of ['@slack', '@each'])
    await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values (${name}, 'slack', 'people', 'a')`;
});
afterAll(() => database.drop());
beforeEach(async () => {
  const { sql } = database;
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.events, purchase_watch_internal.deliveries, purchase_watch_internal.incidents restart identity cascade`;
  await sql`update purchase_watch_internal.subscribers set status = 'active'`;
});
const at = (moment: number | null) => database.sql`to_timestamp(${moment}::float8 / 1000)`;

/** The judge's part for single checkouts. */
function judge({
  channels = [SLACK],
  usual = NOTHING_KNOWN,
}: {
  channels?: ChannelRule[];
  usual?: CountedUsual | ((site: string, state: number) => CountedUsual);
} = {}) {
  const { log, logged } = aLog();
  const meters = createMeters();
  const refreshed: unknown[][] = [];
  const alerts = createCheckoutAlerts({
    ...{ sql: database.sql, log, meters, channels, sessionLength: 20 * MINUTE },
    policy: { groupWait: 30 * SECOND, groupInterval: 5 * MINUTE, quietFor: 0, repeatInterval: 0 },
    limits: { limitOf: () => ({ ms: LIMIT }) },
    usual: {
      refresh: async (...given: unknown[]) => void refreshed.push(given),
      of: typeof usual === 'function' ? usual : () => usual,
    },
  } as unknown as Parameters<typeof createCheckoutAlerts>[0]);
  const look = async (now: number, replica = 'a') => {
    await renewReplica(database.sql, { id: replica, process: 'test', ttl: 60 * MINUTE });
    const epoch = (await takeLease(database.sql, { name: 'judge', replica })) ?? -1;
    return alerts.alert({ now, lease: { name: 'judge', replica, epoch } });
  };
  return { look, logged, meters, refreshed };
}

interface Checkout {
  readonly site?: string;
  readonly state?: number;
  readonly since?: number;
  readonly stuckAt?: number;
  readonly unreadable?: string | null;
  readonly firstSight?: boolean;
  readonly registeredAt?: number;
  readonly price?: string;
}

/** A checkout that got stuck just now, unless it says otherwise. */
async function stuck(purchaseId: string, differs: Checkout = {}): Promise<void> {
  const { site = 'se', state = CARD, since = NOW - LIMIT, stuckAt = NOW, unreadable = null, firstSight = false } = differs;
  const { registeredAt = since } = differs;
  await database.sql`
    with purchase as (
      insert into purchase_watch.purchases (purchase_id, site, reference, state, state_since, stuck_since, registered_at, status, last_error, seen_at)
      values (${purchaseId}, ${site}, ${`ORD-${purchaseId}`}, ${state}, ${at(since)}, ${at(unreadable === null ? stuckAt : null)}, ${at(registeredAt)},
        ${unreadable === null ? 'watching' : 'unreadable'}, ${unreadable === null ? null : 'The service does not know it.'}, ${at(since)})
      returning id)
    insert into purchase_watch_internal.stuck_alerts (purchase, site, state, state_since, stuck_at, first_sight, unreadable)
    select id, ${site}, ${state}, ${at(since)}, ${at(stuckAt)}, ${firstSight}, ${unreadable} from purchase`;
}

interface Said {
  readonly site: string;
  readonly recipients: number[];
  readonly data: Record<string, unknown> & { readonly stuck: object[]; readonly over: object[] };
}
async function said(): Promise<Said[]> {
  const rows = await database.sql<{ site: string; recipients: number[]; body: string }[]>`
    select site, recipients, body from purchase_watch_internal.events where type = 'incident.checkouts' order by position`;
  return rows.map(({ body, ...row }) => ({ ...row, data: (JSON.parse(body) as { data: Said['data'] }).data }));
}
/** What is noted of each checkout. */
const noted = async () => [
  ...(await database.sql`
    select a.alerted, a.mode, a.is_last, a.ended_at is not null as is_over from purchase_watch_internal.stuck_alerts a
    where a.alerted_at is not null order by a.id`),
];
const count = async (): Promise<number> =>
  (await database.sql<[{ n: number }]>`select count(*)::integer as n from purchase_watch_internal.stuck_alerts`)[0].n;
const iso = (moment: number): string => new Date(moment).toISOString();

test('where nothing is stuck nobody is alerted, and nothing is to be looked at', async () => {
  const { look, refreshed } = judge();
  expect(await look(NOW)).toEqual({ written: 0, lookAgainAt: null });
  expect(refreshed).toEqual([]);
});

test('a stuck checkout waits for others for groupWait, and then people read whose it is and since when', async () => {
  const { look, logged, meters, refreshed } = judge();
  await stuck('one');
  expect(await look(NOW + 29 * SECOND)).toEqual({ written: 0, lookAgainAt: NOW + 30 * SECOND });
  expect(await said()).toEqual([]);
  expect(await look(NOW + 30 * SECOND)).toEqual({ written: 1, lookAgainAt: null });
  expect(await said()).toEqual([
    {
      ...{ site: 'se', recipients: [1] },
      data: {
        ...{ kind: 'checkouts', severity: 'warning', stuckCount: 1, overCount: 0, over: [], causes: expect.any(Array) },
        stuck: [
          {
            ...{ site: 'se', state: { value: CARD, name: 'WaitingForCardPayments' }, purchaseId: 'one', reference: 'ORD-one' },
            ...{ orderReference: 'ORD-one', price: null, currency: null, since: iso(NOW - LIMIT), stuckSince: iso(NOW) },
            ...{ limitMs: LIMIT, unreadable: null, foundLate: false },
          },
        ],
        reasons: [
          {
            ...{ site: 'se', state: { value: CARD, name: 'WaitingForCardPayments' }, mode: 'auto', counted: 0, perDay: null },
            ...{ isLast: false, count: 1, lastWellAt: null },
          },
        ],
      },
    },
  ]);
  expect(await noted()).toEqual([{ alerted: [1], mode: 'auto', isLast: false, isOver: false }]);
  expect(logged).toMatchObject([
    { level: 'warn', event: 'checkouts.stuck', stuck: 1, over: 0, channels: ['@slack'], purchases: ['one'] },
  ]);
  expect([[...meters.events()], refreshed[0]]).toEqual([[['incident.checkouts', 1]], [NOW + 29 * SECOND, RECENT]]);
  // Once.
  expect(await look(NOW + MINUTE)).toEqual({ written: 0, lookAgainAt: null });
});

test('checkouts of several sites are one message to each channel, which is about no site, and each place has its reason', async () => {
  const { look } = judge({ channels: [SLACK, EACH] });
  await stuck('one');
  await stuck('two', { site: 'no', state: 4 });
  await stuck('three');
  expect(await look(NOW + 30 * SECOND)).toEqual({ written: 2, lookAgainAt: null });
  const all = (await said()).map(({ site, recipients, data }) => ({
    ...{ site, recipients, count: data.stuckCount },
    reasons: (data.reasons as { site: string; count: number }[]).map((reason) => [reason.site, reason.count]),
  }));
  expect(all.toSorted((one, other) => other.recipients.length - one.recipients.length)).toEqual([
    { site: 'se', recipients: [1, 2], count: 2, reasons: [['se', 2]] },
    { site: 'no', recipients: [1], count: 1, reasons: [['no', 1]] },
  ]);
  await stuck('four');
  await stuck('five', { site: 'no' });
  await judge().look(NOW + MINUTE);
  expect((await said()).at(-1)).toMatchObject({ site: '', recipients: [1], data: { stuckCount: 2 } });
});

test('what is over is told to those who were alerted, with how it ended, and is noted', async () => {
  const { look, logged } = judge();
  await stuck('one');
  await look(NOW + 30 * SECOND);
  await database.sql`update purchase_watch.purchases set state = 2, state_since = ${at(NOW + MINUTE)}, stuck_since = null`;
  await database.sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
    select id, 1, null::integer, null::integer, ${CARD}::integer, null::timestamptz, ${at(NOW - LIMIT)} from purchase_watch.purchases
    union all select id, 2, 1, ${CARD}::integer, 2, ${at(NOW)}, ${at(NOW + MINUTE)} from purchase_watch.purchases`;
  expect(await look(NOW + MINUTE)).toEqual({ written: 0, lookAgainAt: NOW + 90 * SECOND });
  expect(await look(NOW + 90 * SECOND)).toEqual({ written: 1, lookAgainAt: null });
  expect((await said()).at(-1)).toMatchObject({
    ...{ site: 'se', recipients: [1] },
    data: {
      ...{ stuckCount: 0, overCount: 1, stuck: [], reasons: [], causes: [] },
      over: [{ purchaseId: 'one', outcome: 'got_on', to: { value: 2, name: 'Completed' }, overAt: iso(NOW + MINUTE) }],
    },
  });
  expect(logged.at(-1)).toMatchObject({ level: 'info', event: 'checkouts.over', over: 1, purchases: [] });
  expect(await noted()).toMatchObject([{ isOver: true }]);
});

test('of one that came and went before its alert nobody is told', async () => {
  const { look } = judge();
  await stuck('one');
  await database.sql`update purchase_watch.purchases set stuck_since = null`;
  expect(await look(NOW + 30 * SECOND)).toEqual({ written: 0, lookAgainAt: null });
  expect([await said(), await count()]).toEqual([[], 0]);
});

test('no more than fifty are named, and all are counted', async () => {
  const { look, logged } = judge();
  for (let id = 0; id < 51; id++) await stuck(`p-${id}`);
  await look(NOW + 30 * SECOND);
  const [{ data }] = (await said()) as [Said];
  expect([data.stuckCount, data.stuck.length]).toEqual([51, 50]);
  expect([logged[0]!.stuck, (logged[0]!.purchases as unknown[]).length, (data.causes as unknown[]).length < 2]).toEqual([
    51,
    50,
    true,
  ]);
  await database.sql`update purchase_watch.purchases set stuck_since = null, last_polled_at = ${at(NOW + MINUTE)}`;
  await look(NOW + 2 * MINUTE);
  const over = (await said()).at(-1)!.data;
  expect([over.overCount, over.over.length]).toEqual([51, 50]);
  expect(over.over[0]).toMatchObject({ outcome: 'uncounted', to: null });
});

test.each([
  [
    'its channel takes nothing',
    async () => void (await database.sql`update purchase_watch_internal.subscribers set status = 'off'`),
    [SLACK],
    1,
  ],
  ['no subscriber has the channel’s name', async () => undefined, [{ ...SLACK, name: '@gone' }], 0],
])('where %s, the log says what people do not hear', async (_, happens, channels, written) => {
  const { look, logged } = judge({ channels });
  await happens();
  await stuck('one');
  expect(await look(NOW + 30 * SECOND)).toEqual({ written, lookAgainAt: null });
  expect(logged).toMatchObject([{ level: 'error', event: 'checkouts.stuck', advice: expect.stringContaining('subscribers') }]);
  expect(await noted()).toMatchObject([{ alerted: written === 0 ? [] : [1] }]);
});

test('where enough is known, incidents alert instead, but for channels that want each, and for the last one that says so', async () => {
  const { look } = judge({ channels: [SLACK, EACH], usual: BUSY });
  await stuck('one');
  expect(await look(NOW + 30 * SECOND)).toMatchObject({ written: 1 });
  expect(await said()).toMatchObject([{ recipients: [2], data: { reasons: [{ mode: 'each', isLast: false }] } }]);
  // Before, too little was known.
  await database.sql`update purchase_watch_internal.stuck_alerts set mode = 'auto'`;
  await stuck('two');
  await look(NOW + MINUTE);
  expect((await said()).at(-1)).toMatchObject({ recipients: [1, 2], data: { reasons: [{ mode: 'auto', isLast: true }] } });
  await stuck('three');
  await look(NOW + 2 * MINUTE);
  expect((await said()).at(-1)).toMatchObject({ recipients: [2] });
});

/** An incident about stuck customers, or another one, that is open or over. */
const incident = ({ kind = 'stuck', state = CARD as number | null, endedAt = null as number | null } = {}) => database.sql`
  insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak)
  values ('inc_1', ${kind}, 'se', ${state}, ${at(NOW)}, ${at(NOW)}, ${at(endedAt)}, 3, 3)`;

test('a place with an open incident has no single alerts', async () => {
  const { look } = judge();
  await incident();
  await stuck('one');
  await stuck('two', { state: 4 });
  expect(await look(NOW + 30 * SECOND)).toMatchObject({ written: 1 });
  expect((await said()).map(({ data }) => data.stuck)).toMatchObject([[{ purchaseId: 'two' }]]);
});

test.each([
  ['is over', { endedAt: NOW + 10 * SECOND }],
  ['is about the site', { kind: 'unreachable', state: null }],
])('an incident that %s keeps no single alert back', async (_, differs) => {
  const { look } = judge();
  await incident(differs);
  await stuck('one');
  expect(await look(NOW + 30 * SECOND)).toMatchObject({ written: 1 });
});

test('those of a site’s first load are told by its first look where they are many, and one by one where they are few', async () => {
  const { look } = judge();
  const ofFirstLoad = { firstSight: true, registeredAt: NOW - 90 * MINUTE };
  for (let id = 0; id < 20; id++) await stuck(`p-${id}`, ofFirstLoad);
  await look(NOW + 30 * SECOND);
  expect((await said()).map(({ data }) => [data.stuckCount, (data.stuck[0] as { foundLate: boolean }).foundLate])).toEqual([
    [20, true],
  ]);
  await stuck('one more', ofFirstLoad);
  await stuck('since then', { stuckAt: NOW });
  await look(NOW + MINUTE);
  expect((await said()).slice(1).map(({ data }) => data.stuck)).toMatchObject([[{ purchaseId: 'since then', foundLate: false }]]);
  expect(await count()).toBe(21);
});

test('purchases that cannot be read are told apart from the stuck ones, and further ones within minutes go together', async () => {
  const { look, logged, refreshed } = judge({ usual: BUSY });
  await stuck('one', { unreadable: 'unknown' });
  expect(await look(NOW + 30 * SECOND)).toEqual({ written: 1, lookAgainAt: null });
  expect(await said()).toMatchObject([
    {
      recipients: [1],
      data: {
        stuck: [
          { purchaseId: 'one', limitMs: null, unreadable: { reason: 'unknown', lastError: 'The service does not know it.' } },
        ],
        ...{ reasons: [], causes: [] },
      },
    },
  ]);
  expect([logged.map(({ event }) => event), refreshed]).toEqual([['checkouts.unreadable'], []]);
  expect(await noted()).toMatchObject([{ mode: 'each', isLast: false }]);
  await stuck('two', { unreadable: 'unknown', stuckAt: NOW + MINUTE });
  expect(await look(NOW + 2 * MINUTE)).toEqual({ written: 0, lookAgainAt: NOW + 6 * MINUTE });
  expect(await look(NOW + 6 * MINUTE)).toMatchObject({ written: 1 });
});

test('with stuck ones and others that cannot be read, the earliest is looked at first', async () => {
  const { look } = judge();
  await stuck('one', { stuckAt: NOW + 20 * SECOND });
  await stuck('two', { unreadable: 'unknown', stuckAt: NOW + 10 * SECOND });
  expect(await look(NOW + 30 * SECOND)).toEqual({ written: 0, lookAgainAt: NOW + 40 * SECOND });
  await look(NOW + 50 * SECOND);
  expect((await said()).map(({ data }) => data.stuckCount)).toEqual([1, 1]);
});

test('a replica that lost the lease while it looked writes nothing, and says nothing', async () => {
  const { look, logged, meters } = judge();
  await stuck('one');
  await look(NOW);
  expect(await look(NOW + 30 * SECOND, 'b')).toEqual({ written: 0, lookAgainAt: null });
  expect([await said(), logged, [...meters.events()]]).toEqual([[], [], []]);
});

test('each place of a message has its own numbers, and each checkout is noted with those of its place', async () => {
  const { look } = judge({ usual: (site, state) => ({ ...NOTHING_KNOWN, counted: (site === 'se' ? 10 : 20) + state }) });
  await stuck('one');
  await stuck('two', { state: 4 });
  await stuck('three');
  await stuck('four', { site: 'no' });
  await look(NOW + 30 * SECOND);
  const [{ data }] = (await said()) as [Said];
  const reasons = data.reasons as { site: string; state: { value: number }; count: number; counted: number }[];
  expect(reasons.map(({ site, state, count: here, counted }) => [site, state.value, here, counted])).toEqual([
    ['se', CARD, 2, 16],
    ['se', 4, 1, 14],
    ['no', CARD, 1, 26],
  ]);
  const rows = await database.sql`select counted_stays as counted from purchase_watch_internal.stuck_alerts order by id`;
  expect(rows.map(({ counted }) => counted)).toEqual([16, 14, 16, 26]);
});

test('only a place whose last alert was a single one says that incidents take over there', async () => {
  await stuck('one');
  await judge().look(NOW + 30 * SECOND);
  await stuck('two');
  await stuck('three', { state: 4 });
  await stuck('four', { site: 'no' });
  await judge({ usual: BUSY }).look(NOW + MINUTE);
  expect((await said()).slice(1).map(({ data }) => data.stuck)).toMatchObject([[{ purchaseId: 'two' }]]);
});

test('a purchase that cannot be read minutes after the last alert of such ones waits for groupWait alone', async () => {
  const { look } = judge();
  await stuck('one', { unreadable: 'unknown' });
  await look(NOW + 30 * SECOND);
  const later = NOW + 30 * SECOND + 5 * MINUTE;
  await stuck('two', { unreadable: 'unknown', stuckAt: later - 30 * SECOND });
  expect(await look(later)).toMatchObject({ written: 1 });
});

/** A checkout that got on, through the state in which others are stuck now. */
async function completed(purchaseId: string, { reference = purchaseId, when = NOW - 20 * MINUTE } = {}): Promise<void> {
  await database.sql`
    with purchase as (
      insert into purchase_watch.purchases (purchase_id, site, reference, state, state_since, registered_at, status)
      values (${purchaseId}, 'se', ${reference}, 2, ${at(NOW)}, ${at(when)}, 'settled') returning id)
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, to_state, not_after)
    select id, 1, ${CARD}, ${at(when)} from purchase`;
}

test('of an order that was paid by another purchase nobody is told, unless people were alerted before', async () => {
  const { look } = judge();
  await stuck('one');
  await stuck('two');
  await completed('again', { reference: 'ORD-two' });
  await look(NOW + 30 * SECOND);
  expect((await said()).map(({ data }) => data.stuck)).toMatchObject([[{ purchaseId: 'one' }]]);
  await completed('once more', { reference: 'ORD-one' });
  expect(await look(NOW + 5 * MINUTE)).toEqual({ written: 0, lookAgainAt: null });
  expect([await said(), await count()]).toMatchObject([[{}], 1]);
});

test('people read when the last customer got on, and what likely is the matter by all who are stuck', async () => {
  const { look } = judge();
  await completed('well');
  // People were alerted of this one before.
  await stuck('before', { since: NOW - 3 * LIMIT });
  await database.sql`update purchase_watch_internal.stuck_alerts set alerted_at = ${at(NOW)}, mode = 'auto', is_last = true`;
  const early = ['one', 'two', 'three', 'four', 'five'];
  for (const id of early) await stuck(id, { since: NOW - 2 * LIMIT });
  await stuck('late', { since: NOW - LIMIT + MINUTE });
  // The first customers have begun again.
  for (const id of early)
    await database.sql`
      insert into purchase_watch.purchases (purchase_id, site, reference, registered_at) values (${`${id} again`}, 'se', ${`ORD-${id}`}, ${at(NOW)})`;
  await look(NOW + 30 * SECOND);
  const [{ data }] = (await said()) as [Said];
  expect(data.reasons).toMatchObject([{ lastWellAt: iso(NOW - 20 * MINUTE) }]);
  const why = '5 of 6 orders were begun again by the same customer.';
  expect(data.causes).toEqual([{ cause: 'new_checkout', why, likely: expect.any(Boolean) }]);
});
