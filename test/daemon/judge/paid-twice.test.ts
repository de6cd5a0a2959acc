/** Which announcements of orders paid twice one look of the judge writes, and to whom; stories/paid-twice has all that leads there. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { announcePaidTwice } from '../../../src/daemon/judge/paid-twice.ts';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { type Lease, takeLease } from '../../../src/postgres/shards/leases.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { createMeters, type Meters } from '../../../src/runtime/meters.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const MINUTE = 60_000;
const WAIT = MINUTE;
/** When the first payment of a test was seen. */
const PAID = Date.UTC(2026, 10, 20, 9, 15);

let database: TestDatabase;
let sql: Sql;
let meters: Meters;
let logged: Record<string, unknown>[];
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await syncSites(sql, ['fi', 'se']);
  await sql`update purchase_watch_internal.sites set first_success_at = '2026-11-01T00:00:00Z'`;
  // Ids 1 to 3.
  await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash)
    values ('@slack', 'slack', 'people', 'a'), ('@slack-fi', 'slack', 'people', 'b'), ('shop', 'webhook', 'systems', 'c')`;
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.events, purchase_watch_internal.deliveries,
    purchase_watch_internal.order_counts cascade`;
  await sql`update purchase_watch_internal.subscribers set status = 'active'`;
  meters = createMeters();
  logged = [];
});

const ALL = { name: '@slack', sites: null, severity: 'warning' } satisfies ChannelRule;
const FINNISH = { name: '@slack-fi', sites: ['fi'], severity: 'warning' } satisfies ChannelRule;

async function look(
  now: number,
  { channels = [ALL, FINNISH], lease }: { channels?: readonly ChannelRule[]; lease?: Lease } = {},
): ReturnType<typeof announcePaidTwice> {
  await renewReplica(sql, { id: 'a', process: 'test', ttl: 60_000 });
  const epoch = (await takeLease(sql, { name: 'judge', replica: 'a' })) ?? -1;
  const destination = { write: (line: string) => logged.push(JSON.parse(line)) } as unknown as NodeJS.WritableStream;
  const policy = { groupWait: WAIT, quietFor: 0, groupInterval: 0, repeatInterval: 0 };
  return announcePaidTwice(
    { sql, log: createLogger({ level: 'info', destination }), meters, policy, channels },
    { now, lease: lease ?? { name: 'judge', replica: 'a', epoch } },
  );
}

/** A purchase became Completed at a moment; `reference` is the merchant's name of the order, `fields` what the service said of it. */
async function paid(
  id: string,
  reference: string | null,
  { at = PAID, site = 'se', fields = null }: { at?: number; site?: string; fields?: object | null } = {},
): Promise<void> {
  const moment = sql`to_timestamp(${at}::float8 / 1000)`;
  await sql`
    with purchase as (
      insert into purchase_watch.purchases (purchase_id, site, registered_at, reference, state, state_since)
      values (${id}, ${site}, ${moment} - interval '5 minutes', ${reference}, 2, ${moment}) returning id),
    details as (
      insert into purchase_watch_internal.purchase_details (purchase, fields)
      select id, ${fields === null ? null : JSON.stringify(fields)}::text::json from purchase where ${fields !== null})
    insert into purchase_watch_internal.order_payments (purchase, paid_at) select id, ${moment} from purchase`;
}

interface Announced {
  readonly type: string;
  readonly recipients: number[];
  readonly data: { readonly site: string; readonly payments: { readonly purchaseId: string }[]; readonly orders: unknown[] };
}
/** Events that were written, in order, with the subscribers that get them. */
async function announced(): Promise<Announced[]> {
  const rows = await sql<{ type: string; body: string; recipients: number[] }[]>`
    select e.type, e.body, (select coalesce(array_agg(d.subscriber order by d.subscriber), '{}')
      from purchase_watch_internal.deliveries d where d.event = e.position) as recipients
    from purchase_watch_internal.events e order by e.position`;
  return rows.map(({ body, ...row }) => ({ ...row, data: JSON.parse(body).data }));
}
const idsOf = ({ data }: Announced): string[] => data.payments.map(({ purchaseId }) => purchaseId);
const toldOf = async (type: string): Promise<[string, number[]][]> =>
  (await announced()).filter((each) => each.type === type).map(({ data, recipients }) => [data.site, recipients]);
const waiting = async (): Promise<number> =>
  (await sql`select from purchase_watch_internal.order_payments where announced_at is null`).length;

test('a second payment is announced to systems and people with what names both, a minute after it was seen', async () => {
  await paid('p-1', 'ORD-7', { fields: { Price: 499.5, CurrencyCode: 'SEK', OrderReference: 'W-1' } });
  expect(await look(PAID + WAIT - 1)).toEqual({ written: 0, lookAgainAt: PAID + WAIT });
  expect(await waiting()).toBe(1);
  expect(await look(PAID + WAIT)).toEqual({ written: 0, lookAgainAt: null });
  expect(await waiting()).toBe(0);
  const later = PAID + 10 * MINUTE;
  await paid('p-2', 'ORD-7', { at: later });
  await paid('p-3', 'ORD-8', { at: later });
  expect(await look(later + WAIT)).toEqual({ written: 2, lookAgainAt: null });
  const common = { reference: 'ORD-7', orderReference: null, currency: null };
  const first = { ...common, purchaseId: 'p-1', orderReference: 'W-1', currency: 'SEK', completedAt: '2026-11-20T09:15:00.000Z' };
  const second = { ...common, purchaseId: 'p-2', price: null, completedAt: '2026-11-20T09:25:00.000Z' };
  expect(await announced()).toEqual([
    { type: 'order.paid_twice', recipients: [3], data: { site: 'se', payments: [{ ...first, price: 499.5 }, second] } },
    {
      type: 'incident.paid_twice',
      recipients: [1],
      data: {
        ...{ kind: 'paid_twice', severity: 'warning', site: 'se', orderCount: 1 },
        orders: [{ payments: [{ ...first, price: '499.5' }, second] }],
      },
    },
  ]);
  expect(logged).toMatchObject([{ level: 'warn', event: 'order.paid_twice', site: 'se', purchases: ['p-1', 'p-2'] }]);
  expect(Object.fromEntries(meters.events())).toEqual({ 'order.paid_twice': 1, 'incident.paid_twice': 1 });
  // A poll that showed a payment is recorded once more.
  await sql`insert into purchase_watch_internal.order_payments (purchase, paid_at)
    select id, now() from purchase_watch.purchases where reference = 'ORD-7' on conflict do nothing`;
  expect(await look(Date.now() + WAIT)).toEqual({ written: 0, lookAgainAt: null });
  expect(await announced()).toHaveLength(2);
});

test('a payment that is not a minute old waits for the next look, which has its moment', async () => {
  await paid('p-1', 'ORD-1');
  await paid('p-2', 'ORD-1', { at: PAID + 1_000 });
  await paid('p-3', 'ORD-1', { at: PAID + 30_000 });
  expect(await look(PAID + WAIT + 1_000)).toEqual({ written: 2, lookAgainAt: PAID + 30_000 + WAIT });
  expect((await announced()).filter(({ type }) => type === 'order.paid_twice').map(idsOf)).toEqual([['p-1', 'p-2']]);
  expect(await look(PAID + 30_000 + WAIT)).toEqual({ written: 2, lookAgainAt: null });
  expect((await announced()).filter(({ type }) => type === 'order.paid_twice').map(idsOf)).toEqual([
    ['p-1', 'p-2'],
    ['p-1', 'p-2', 'p-3'],
  ]);
});

test('each site has one message for all its orders, to the channels that are for it', async () => {
  for (const [site, order] of [
    ['se', 'A'],
    ['fi', 'B'],
    ['fi', 'C'],
  ] as const)
    for (const payment of [1, 2]) await paid(`${order}-${payment}`, order, { site });
  expect(await look(PAID + WAIT)).toEqual({ written: 5, lookAgainAt: null });
  expect(await toldOf('order.paid_twice')).toEqual([
    ['se', [3]],
    ['fi', [3]],
    ['fi', [3]],
  ]);
  expect(await toldOf('incident.paid_twice')).toEqual([
    ['se', [1]],
    ['fi', [1, 2]],
  ]);
  const finnish = (await announced()).at(-1)!;
  expect(finnish.data).toMatchObject({
    orderCount: 2,
    orders: [{ payments: [{ reference: 'B' }, { reference: 'B' }] }, { payments: [{ reference: 'C' }, { reference: 'C' }] }],
  });
});

test('a channel that does not want it gets no message; where no channel does, systems alone get the event', async () => {
  for (const payment of [1, 2]) await paid(`fi-${payment}`, 'F', { site: 'fi' });
  for (const payment of [1, 2]) await paid(`se-${payment}`, 'S');
  expect(await look(PAID + WAIT, { channels: [{ ...ALL, paidTwice: false }, FINNISH] })).toEqual({
    written: 3,
    lookAgainAt: null,
  });
  expect(await toldOf('order.paid_twice')).toHaveLength(2);
  expect(await toldOf('incident.paid_twice')).toEqual([['fi', [2]]]);
});

test('what the only channel of a site cannot take goes to the others', async () => {
  await sql`update purchase_watch_internal.subscribers set status = 'off', status_reason = 'revoked' where name = '@slack-fi'`;
  for (const payment of [1, 2]) await paid(`p-${payment}`, 'F', { site: 'fi' });
  await look(PAID + WAIT, { channels: [{ ...ALL, sites: ['se'] }, FINNISH] });
  expect(await toldOf('incident.paid_twice')).toEqual([['fi', [1, 2]]]);
});

test('a payment whose order is the one of another by reference, and that of a third by the name of the service, is named with both', async () => {
  await paid('p-1', 'ORD-1', { fields: { OrderReference: 'W-1' } });
  await paid('p-2', 'ORD-1');
  await paid('p-3', null, { fields: { OrderReference: 'W-1' } });
  expect(await look(PAID + WAIT)).toEqual({ written: 3, lookAgainAt: null });
  const systems = (await announced()).filter(({ type }) => type === 'order.paid_twice');
  expect(systems.map(idsOf)).toEqual([
    ['p-1', 'p-2'],
    ['p-1', 'p-3'],
  ]);
});

test('at a site that has reused references until now it is no news, and neither is one that another site alone reuses', async () => {
  await sql`insert into purchase_watch_internal.order_counts (site, paid, repeated) values ('se', 60, 30)`;
  for (const site of ['se', 'fi']) for (const payment of [1, 2]) await paid(`${site}-${payment}`, `${site}-ORD`, { site });
  expect(await look(PAID + WAIT)).toEqual({ written: 2, lookAgainAt: null });
  expect(await toldOf('order.paid_twice')).toEqual([['fi', [3]]]);
  expect([...(await sql`select site, paid, repeated from purchase_watch_internal.order_counts order by site`)]).toEqual([
    { site: 'fi', paid: 2, repeated: 1 },
    { site: 'se', paid: 62, repeated: 31 },
  ]);
});

test('a replica that judges no longer announces nothing, and the one that does, does', async () => {
  for (const payment of [1, 2]) await paid(`p-${payment}`, 'ORD');
  expect(await look(PAID + WAIT, { lease: { name: 'judge', replica: 'a', epoch: 99 } })).toEqual({
    written: 0,
    lookAgainAt: null,
  });
  expect([await announced(), logged, meters.events().get('order.paid_twice') ?? 0]).toEqual([[], [], 0]);
  expect(await look(PAID + WAIT)).toEqual({ written: 2, lookAgainAt: null });
});

test('a payment behind 500 others that are judged now is judged at once thereafter', async () => {
  await sql`
    with purchase as (
      insert into purchase_watch.purchases (purchase_id, site, registered_at, state, state_since)
      select 'bulk-' || i, 'se', '2026-11-20T09:00:00Z', 2, '2026-11-20T09:14:00Z' from generate_series(1, 499) i returning id)
    insert into purchase_watch_internal.order_payments (purchase, paid_at) select id, '2026-11-20T09:14:00Z' from purchase`;
  for (const payment of [1, 2]) await paid(`p-${payment}`, 'ORD');
  const now = PAID + WAIT;
  expect(await look(now)).toEqual({ written: 0, lookAgainAt: now });
  expect(await look(now)).toEqual({ written: 2, lookAgainAt: null });
});
