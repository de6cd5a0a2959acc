import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { numberOf } from '../../../src/domain/purchases/states.ts';
import { staysBetween, stuckPurchases } from '../../../src/postgres/incidents/customers.ts';
import { moneyWaiting } from '../../../src/postgres/stays/money.ts';
import { onDatabase } from '../../cli/command.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { startTestApi, type TestApi } from '../api.ts';

const CARD = numberOf('WaitingForCardPayments');
const COMPLETED = numberOf('Completed');
const MINUTE = 60_000;
/** When the first stuck customer came. */
let began: number;
let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ sites: ['default', 'se'] });
});
afterAll(() => api.stop());
beforeEach(async () => {
  began = Date.now() - 30 * MINUTE;
  await api.sql`truncate purchase_watch_internal.incidents, purchase_watch_internal.events, purchase_watch.purchases, purchase_watch_internal.purchase_counts, purchase_watch_internal.count_changes cascade`;
  await api.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, alarm)
    values ('inc_card', 'stuck', 'se', ${CARD}, now(), now(), 2, 2, ${JSON.stringify({ at: began + 7 * MINUTE, since: began, rule: 'share', entrants: 2, overdue: 2, usualShare: 0.03, perDay: null, falseAlarmEvery: null })})`;
});

const iso = (at: number): string => new Date(at).toISOString();

interface Came {
  readonly id: string;
  /** Minutes after the beginning. */
  readonly at: number;
  readonly overdueAt?: number;
  readonly leftAt?: number;
  readonly to?: number;
  readonly reference?: string;
  readonly country?: string;
}

/** A purchase that came to the card payment, and what became of it, as a daemon records it. */
async function came({ id, at, overdueAt, leftAt, to = COMPLETED, reference, country }: Came): Promise<void> {
  const minute = (after: number): string => iso(began + after * MINUTE);
  const isThere = leftAt === undefined;
  await api.sql`
    insert into purchase_watch.purchases (purchase_id, site, reference) values (${id}, 'se', ${reference ?? null})`;
  const [{ row }] = await api.sql<[{ row: number }]>`
    update purchase_watch.purchases set registered_at = ${minute(at - 1)}, state = ${isThere ? CARD : to}, status = ${isThere ? 'watching' : 'settled'},
      state_since = ${minute(leftAt ?? at)}, stuck_since = ${isThere && overdueAt !== undefined ? minute(overdueAt) : null},
      next_poll_at = case when ${isThere} then next_poll_at end, due_slot = case when ${isThere} then due_slot end, ended_at = ${isThere ? null : minute(leftAt)},
      sequence = 3
    where purchase_id = ${id} returning id::float8 as row`;
  if (country !== undefined)
    await api.sql`
      insert into purchase_watch_internal.purchase_details (purchase, fields) values (${row}, ${JSON.stringify({ CountryCode: country, PaymentMethod: 5 })}::text::json)`;
  await api.sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, not_before, not_after, from_sequence, from_state, to_state)
    values (${row}, 1, null, ${minute(at)}, null, null, ${CARD})`;
  if (overdueAt !== undefined)
    await api.sql`
      insert into purchase_watch_internal.events (id, type, site, shard, purchase, sequence, previous, created_at, body, state)
      values (${`evt_${id}_1`}, 'purchase.state_changed', 'se', 0, ${row}, 1, null, ${minute(at)}, '{}', ${CARD}),
        (${`evt_${id}_2`}, 'purchase.stuck', 'se', 0, ${row}, 2, 1, ${minute(overdueAt)}, '{}', ${CARD})`;
  if (leftAt !== undefined)
    await api.sql`
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, not_before, not_after, from_sequence, from_state, to_state)
      values (${row}, 3, ${minute(leftAt)}, ${minute(leftAt)}, 1, ${CARD}, ${to})`;
}

const read = async (id: string) => (await api.call('GET', `/v1/incidents/${id}/customers`)).body;

test('an incident says where it is, and after which mark it began', async () => {
  for (let n = 0; n < 8; n += 1) await came({ id: `se-${n}`, at: n, overdueAt: n + 6.5, country: 'SE' });
  for (let n = 0; n < 12; n += 1) await came({ id: `no-${n}`, at: n / 2, leftAt: n / 2 + 1, country: 'NO' });
  for (const [minutes, text, site] of [
    [-4, 'deploy 4.2', 'se'],
    [-1, 'deploy elsewhere', 'default'],
    [-100, 'deploy 4.1', null],
  ] as const)
    await api.sql`insert into purchase_watch_internal.marks (at, text, site) values (${iso(began + minutes * MINUTE)}, ${text}, ${site})`;
  const { slice, mark } = await read('inc_card');
  expect(slice).toEqual({
    ...{ method: null, country: 'SE', currency: null, since: iso(began) },
    ...{ inside: { came: 8, stuck: 8 }, elsewhere: { came: 12, stuck: 0 } },
  });
  expect(mark).toEqual({ at: iso(began - 4 * MINUTE), text: 'deploy 4.2' });
  const { stdout } = await onDatabase({ url: api.databaseUrl }, ['incidents', 'customers', 'inc_card']);
  expect(stdout).toMatch(/^Narrowed down to: only SE \(8 of 8 customers got stuck, elsewhere 0 of 12\)$/m);
  await api.sql`truncate purchase_watch_internal.marks`;
  await api.sql`delete from purchase_watch.purchases where purchase_id like 'no-%'`;
  expect(await read('inc_card')).toMatchObject({ slice: null, mark: null });
});

test('shows who waits, what became of everybody who came, and the share over time', async () => {
  await came({ id: 'long-ago', at: -90, leftAt: -89 });
  await came({ id: 'well', at: -5, leftAt: -4 });
  await came({ id: 'timed-out', at: -3, leftAt: 10, to: numberOf('SessionTimedOut') });
  await came({ id: 'late', at: 0, overdueAt: 6.5, leftAt: 12 });
  await came({ id: 'stuck-2', at: 3, overdueAt: 9.5, reference: 'ORD-2' });
  await came({ id: 'stuck-1', at: 1, overdueAt: 7.5 });
  await came({ id: 'again', at: 5, overdueAt: 11.5, reference: 'ORD-2' });
  await came({ id: 'waits', at: 28 });
  const { data, counted, atLeast, came: around } = await read('inc_card');
  expect(data.map(({ purchaseId }: { purchaseId: string }) => purchaseId)).toEqual(['stuck-1', 'stuck-2', 'again']);
  expect(data[1]).toMatchObject({
    site: 'se',
    state: { name: 'WaitingForCardPayments' },
    reference: 'ORD-2',
    price: null,
    stuckSince: iso(began + 9.5 * MINUTE),
  });
  expect([counted, atLeast]).toEqual([3, false]);
  expect(around.isComplete).toBe(true);
  expect(around.stays.map(({ purchaseId, fate }: { purchaseId: string; fate: string }) => [purchaseId, fate])).toEqual([
    ['well', 'well'],
    ['timed-out', 'other'],
    ['late', 'late'],
    ['stuck-1', 'overdue'],
    ['stuck-2', 'overdue'],
    ['again', 'overdue'],
    ['waits', 'open'],
  ]);
  const command = (...argv: string[]) => onDatabase({ url: api.databaseUrl }, ['incidents', 'customers', ...argv]);
  expect(JSON.parse((await command('inc_card', '--json')).stdout)).toMatchObject({
    data,
    came: { stays: around.stays, share: around.share },
  });
  const { exitCode, stdout } = await command('inc_card');
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^3 purchases stuck now, the longest waiting first$/m);
  expect(stdout).toMatch(
    /^stuck-2 +se +waiting for the card provider \(WaitingForCardPayments\) +ORD-2 +- +\d+ min ago +\d+ min ago$/m,
  );
  expect(stdout).toMatch(/^Money waiting: not known; 2 orders without a known amount$/m);
  expect(stdout).toMatch(/^ {2}3 still there, stuck$/m);
  expect(stdout).toMatch(/^3 of the latest 4 customers got stuck\.$/m);
  expect(await command('inc_none')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('there is no incident inc_none'),
  });
  // Two purchases of one order are one customer.
  expect(around.share).toEqual([
    { at: iso(began - 4 * MINUTE), overdue: 0, of: 1 },
    { at: iso(began + 6.5 * MINUTE), overdue: 1, of: 2 },
    { at: iso(began + 7.5 * MINUTE), overdue: 2, of: 3 },
    { at: iso(began + 9.5 * MINUTE), overdue: 3, of: 4 },
  ]);
});

test('one that is made of parts shows who waits in all of them, and one of another kind nobody', async () => {
  await came({ id: 'stuck-1', at: 1, overdueAt: 7.5 });
  await api.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, count, peak)
    values ('inc_both', 'stuck', null, now(), now(), 1, 1), ('inc_site', 'unreachable', 'default', now(), now(), 1, 1)`;
  await api.sql`update purchase_watch_internal.incidents set parent = 'inc_both' where id = 'inc_card'`;
  expect(await read('inc_both')).toMatchObject({ data: [{ purchaseId: 'stuck-1' }], counted: 1, came: null });
  expect(await read('inc_site')).toMatchObject({
    data: [],
    counted: 0,
    atLeast: false,
    waiting: [],
    places: [],
    left: { data: [] },
    came: null,
  });
  expect((await api.call('GET', '/v1/incidents/inc_none/customers')).status).toBe(404);
});

test('says what became of those who were stuck, and shows each place by itself', async () => {
  const [TIMED_OUT, IN_FORM] = [numberOf('SessionTimedOut'), numberOf('BeingProcessed')];
  await came({ id: 'late', at: 0, overdueAt: 6.5, leftAt: 12 });
  await came({ id: 'lost', at: 1, overdueAt: 7.5, leftAt: 13, to: TIMED_OUT });
  await came({ id: 'in time', at: 1, leftAt: 3 });
  await came({ id: 'back', at: 2, overdueAt: 8.5, leftAt: 14, to: IN_FORM });
  await came({ id: 'still', at: 3, overdueAt: 9.5 });
  await came({ id: 'first try', at: 4, overdueAt: 10.5, reference: 'ORD-7' });
  await came({ id: 'second try', at: 15, leftAt: 16, reference: 'ORD-7' });
  await api.sql`
    insert into purchase_watch_internal.detections (site, state, memory) values ('se', ${CARD}, ${JSON.stringify({ run: { entrants: 9, overdue: 5 }, lately: [true, false, true] })})
    on conflict (site, state) do update set memory = excluded.memory`;
  const { data, left, places } = await read('inc_card');
  expect(data.map(({ purchaseId }: { purchaseId: string }) => purchaseId)).toEqual(['still']);
  expect(left).toMatchObject({ counts: { late: 1, lost: 1, open: 1, other: 1 }, atLeast: false });
  const outcomes = left.data.map(({ purchaseId, outcome }: { purchaseId: string; outcome: string }) => [purchaseId, outcome]);
  expect(Object.fromEntries(outcomes)).toEqual({ late: 'late', lost: 'lost', back: 'open', 'first try': 'other' });
  const paid = left.data.find(({ outcome }: { outcome: string }) => outcome === 'other');
  expect(paid.at).toBe(iso(began + 16 * MINUTE));
  expect(places).toMatchObject([
    { id: 'inc_card', latest: { overdue: 2, of: 3 }, came: { overdue: 5, of: 9 }, usualShare: 0.03, money: { counted: 1 } },
  ]);
  const { body } = await api.call('GET', '/v1/incidents/inc_card/customers?outcome=lost');
  expect(body.left.data.map(({ purchaseId }: { purchaseId: string }) => purchaseId)).toEqual(['lost']);
});

test('a list says of each open incident what its customers wait with, in the place of its parts, too', async () => {
  await came({ id: 'stuck-1', at: 1, overdueAt: 7.5 });
  await came({ id: 'stuck-2', at: 3, overdueAt: 9.5, reference: 'ORD-2' });
  await came({ id: 'again', at: 5, overdueAt: 11.5, reference: 'ORD-2' });
  await came({ id: 'unpriced', at: 6, overdueAt: 12.5 });
  for (const [id, price, currency] of [
    ['stuck-1', '100.10', 'SEK'],
    ['stuck-2', '7', 'NOK'],
    ['again', '8.5', 'NOK'],
  ] as const)
    await api.sql`
      insert into purchase_watch_internal.purchase_details (purchase, fields)
      select id, ${`{"Price": ${price}, "CurrencyCode": "${currency}"}`}::text::json from purchase_watch.purchases where purchase_id = ${id}`;
  await api.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, count, peak, ended_at)
    values ('inc_both', 'stuck', null, now(), now(), 1, 1, null), ('inc_site', 'unreachable', 'default', now(), now(), 1, 1, null),
      ('inc_over', 'stuck', null, now(), now(), 1, 1, now())`;
  await api.sql`update purchase_watch_internal.incidents set parent = 'inc_both' where id = 'inc_card'`;
  const { body } = await api.call('GET', '/v1/incidents');
  const money = {
    waiting: [
      { amount: '8.5', currency: 'NOK' },
      { amount: '100.10', currency: 'SEK' },
    ],
    unpriced: 1,
    counted: 4,
    atLeast: false,
  };
  expect(Object.fromEntries(body.data.map((each: { id: string; money: unknown }) => [each.id, each.money]))).toEqual({
    inc_card: money,
    inc_both: money,
    inc_site: null,
    inc_over: null,
  });
  expect((await api.call('GET', '/v1/incidents?money=false')).body.data[0].money).toBeNull();
});

test('the sums are of 1 000 purchases of a place at most, and say so only where more wait', async () => {
  const add = (from: number, to: number) => api.sql`
    insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, stuck_since)
    select 'many-' || n, 'se', 'watching', ${CARD}, now() - interval '1 h' - n * interval '1 s', now() from generate_series(${from}::int, ${to}::int) n`;
  const [place, other] = [
    { site: 'se', state: CARD },
    { site: 'default', state: CARD },
  ];
  const before = (await moneyWaiting(api.sql, [[place]]))[0]!.counted;
  await add(1, 1_000 - before);
  const exact = { counted: 1_000, atLeast: false };
  expect(await moneyWaiting(api.sql, [[place], [place, other], [other]])).toMatchObject([
    exact,
    exact,
    { counted: 0, atLeast: false },
  ]);
  await add(2_000, 2_000);
  expect((await moneyWaiting(api.sql, [[place]]))[0]).toMatchObject({ atLeast: true });
});

test('reads a bounded number of purchases, however many there are', async () => {
  await api.sql`
    insert into purchase_watch.purchases (purchase_id, site) select 'other-' || n, case when n % 2 = 0 then 'se' else 'default' end from generate_series(1, 6000) n`;
  await api.sql`update purchase_watch.purchases set registered_at = now() - interval '3 d' where purchase_id < 'other-5'`;
  await came({ id: 'stuck-1', at: 1, overdueAt: 7.5 });
  await api.sql`analyze purchase_watch.purchases`;
  const place = { site: 'se', state: CARD };
  const time = { from: began - 20 * MINUTE, until: Date.now(), most: 100 };
  let isComplete = true;
  const stays = await rowsRead(api.sql, 'purchases', async (tx) => {
    ({ isComplete } = await staysBetween(tx, { ...place, ...time }));
  });
  expect([stays.scanned, stays.fetched < 1_000, isComplete]).toEqual([0, true, false]);
  const overdue = await rowsRead(api.sql, 'purchases', (tx) =>
    stuckPurchases(tx, { places: [{ ...place, since: began }], limit: 10 }),
  );
  expect([overdue.scanned, overdue.fetched < 100]).toEqual([0, true]);
  const money = await rowsRead(api.sql, 'purchases', (tx) => moneyWaiting(tx, [[place], [place]]));
  expect([money.scanned, money.fetched < 100]).toEqual([0, true]);
});
