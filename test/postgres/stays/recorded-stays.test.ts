import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedStay } from '../../../src/domain/stays/recorded-stay.ts';
import { addSilence } from '../../../src/postgres/incidents/silences.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import {
  type ReadBounds,
  readingPast,
  recordedMessages,
  recordedOutages,
  recordedSilences,
  recordedStays,
  recordedStuck,
  type StaysWanted,
} from '../../../src/postgres/stays/recorded-stays.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const T = Date.UTC(2026, 10, 20, 9);
const [NEW, COMPLETED, CARD] = [0, 2, 6];

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se', 'no', 'gone']);
  await database.sql`update purchase_watch_internal.sites set configured = false where name = 'gone'`;
  // Asked for the first time a month ago; `no` a moment ago, says its row, though it was asked long before.
  await database.sql`
    update purchase_watch_internal.sites set first_success_at = to_timestamp(${T - (HOUR * 24) * 30}::float8 / 1000) where name = 'se'`;
  await database.sql`update purchase_watch_internal.sites set first_success_at = to_timestamp(${T + DAY}::float8 / 1000) where name = 'no'`;
  await aPurchase('old', {
    site: 'no',
    moves: [
      [NEW, T - 20 * DAY],
      [COMPLETED, T - 20 * DAY + MINUTE],
    ],
  });
});
afterAll(() => database.drop());

interface Told {
  readonly site?: string;
  readonly reference?: string;
  readonly order?: string;
  readonly registeredAt?: number;
  readonly seenAt?: number;
  readonly endedAt?: number;
  /** States and when they were first seen; each was last seen five seconds before the next. */
  readonly moves: readonly (readonly [state: number, at: number])[];
}

/** Writes a purchase as polls left it. */
async function aPurchase(purchaseId: string, told: Told): Promise<void> {
  const { sql } = database;
  const { site = 'se', reference = null, order = null, moves } = told;
  const [, since] = moves.at(-1)!;
  const at = (moment: number | null) => sql`to_timestamp(${moment}::float8 / 1000)`;
  await sql`alter table purchase_watch.purchases disable trigger user`;
  const [{ id }] = await sql<[{ id: number }]>`
    insert into purchase_watch.purchases (purchase_id, site, reference, registered_at, state, state_since, seen_at, shard, sequence, status, ended_at)
    values (${purchaseId}, ${site}, ${reference}, ${at(told.registeredAt ?? moves[0]![1] - SECOND)}, ${moves.at(-1)![0]}, ${at(since)},
      ${at(told.seenAt ?? since)}, 0, ${moves.length}, ${told.endedAt === undefined ? 'watching' : 'stopped'}, ${at(told.endedAt ?? null)})
    returning id::float8 as id`;
  await sql`alter table purchase_watch.purchases enable trigger user`;
  if (order !== null) {
    await sql`
      insert into purchase_watch_internal.purchase_details (purchase, fields) values (${id}, ${JSON.stringify({ OrderReference: order })}::text::json)`;
  }
  for (const [place, [state, moment]] of moves.entries()) {
    const from = place === 0 ? null : moves[place - 1]![0];
    await sql`
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
      values (${id}, ${place + 1}, ${place === 0 ? null : place}, ${from}, ${state}, ${at(place === 0 ? null : moment - 5 * SECOND)}, ${at(moment)})`;
  }
}

const WANTED: StaysWanted = {
  from: T,
  to: T + HOUR,
  states: { listed: [CARD], others: false },
  site: null,
  long: 5 * MINUTE,
  risks: false,
};

async function read({
  batch,
  ...differs
}: Partial<StaysWanted> & ReadBounds = {}): Promise<{ stays: RecordedStay[]; batches: number[] }> {
  const stays: RecordedStay[] = [];
  const batches: number[] = [];
  await readingPast(database.sql, async (past) => {
    for await (const some of recordedStays(past, { ...WANTED, ...differs }, batch === undefined ? {} : { batch })) {
      stays.push(...some);
      batches.push(some.length);
    }
  });
  return { stays, batches };
}

test('stays are read with when they began, were last seen, and ended', async () => {
  await aPurchase('paid', {
    moves: [
      [NEW, T],
      [CARD, T + MINUTE],
      [COMPLETED, T + 2 * MINUTE],
    ],
  });
  await aPurchase('there', { seenAt: T + 30 * MINUTE, moves: [[CARD, T + 5 * MINUTE]] });
  await aPurchase('stopped', { endedAt: T + 20 * MINUTE, moves: [[CARD, T + 10 * MINUTE]] });
  const { stays } = await read();
  expect(stays).toEqual([
    {
      ...{ site: 'se', state: CARD, customer: expect.stringMatching(/^-?\d+$/), enteredAt: T + MINUTE },
      ...{ seenAt: T + 2 * MINUTE - 5 * SECOND, leftAt: T + 2 * MINUTE, toState: COMPLETED },
      ...{ unwatchedAt: null, paidAt: null, firstSight: false },
    },
    expect.objectContaining({
      enteredAt: T + 5 * MINUTE,
      seenAt: T + 30 * MINUTE,
      leftAt: null,
      toState: null,
      unwatchedAt: null,
    }),
    expect.objectContaining({ enteredAt: T + 10 * MINUTE, leftAt: null, unwatchedAt: T + 20 * MINUTE }),
  ]);
});

test('they come in the order in which they began, in batches', async () => {
  const { stays, batches } = await read({ batch: 2 });
  expect(batches).toEqual([2, 1]);
  expect(stays).toEqual((await read()).stays);
});

test('only states and sites that are asked for are read, and only sites that are polled', async () => {
  await aPurchase('elsewhere', { site: 'no', moves: [[CARD, T + 15 * MINUTE]] });
  await aPurchase('nowhere', { site: 'gone', moves: [[CARD, T + 15 * MINUTE]] });
  expect(new Set((await read()).stays.map(({ site }) => site))).toEqual(new Set(['se', 'no']));
  expect((await read({ site: 'no' })).stays).toHaveLength(1);
  const others = (await read({ states: { listed: [CARD], others: true } })).stays;
  expect(new Set(others.map(({ state }) => state))).toEqual(new Set([NEW, COMPLETED]));
});

test('a stay that reaches into the time is read, one that was over before or began after is not', async () => {
  const ids = async (from: number, to: number) => (await read({ from, to, site: 'se' })).stays.map(({ enteredAt }) => enteredAt);
  expect(await ids(T + 2 * MINUTE, T + 3 * MINUTE)).toEqual([T + MINUTE]);
  expect(await ids(T + 2 * MINUTE + 1, T + 5 * MINUTE)).toEqual([]);
  expect(await ids(T + 15 * MINUTE, T + 16 * MINUTE)).toEqual([T + 5 * MINUTE, T + 10 * MINUTE]);
  expect(await ids(T + 21 * MINUTE, T + 22 * MINUTE)).toEqual([T + 5 * MINUTE]);
});

test('purchases of one order are one customer, and one that was paid ends the waiting of the others', async () => {
  const from = T + 3 * HOUR;
  const moves = [[CARD, from]] as const;
  const paid = [
    [NEW, from + MINUTE],
    [COMPLETED, from + 9 * MINUTE],
  ] as const;
  await aPurchase('first', { reference: 'ORD-1', moves, seenAt: from + 20 * MINUTE });
  await aPurchase('second', { reference: 'ORD-1', moves: paid });
  await aPurchase('by-order', { order: 'A-7', moves, seenAt: from + 20 * MINUTE });
  await aPurchase('by-order-2', { order: 'A-7', moves, seenAt: from + MINUTE });
  await aPurchase('by-order-3', { order: 'A-7', moves: paid });
  const { stays } = await read({ from, to: from + HOUR, site: 'se' });
  const of = stays.filter(({ enteredAt }) => enteredAt === from);
  const customers = new Set(of.map(({ customer }) => customer));
  expect(customers.size).toBe(2);
  // The one that was not seen for long is not looked up.
  expect(of.map(({ paidAt }) => paidAt).sort()).toEqual([from + 9 * MINUTE, from + 9 * MINUTE, null]);
});

test('a reference or an order that very many share names nobody', async () => {
  const from = T + 9 * HOUR;
  for (let n = 0; n < 51; n++) await aPurchase(`shared-${n}`, { reference: 'webshop', moves: [[CARD, from]] });
  for (let n = 0; n < 51; n++) await aPurchase(`order-${n}`, { order: 'none', moves: [[CARD, from]] });
  // By its order where its reference says nothing.
  for (let n = 0; n < 2; n++) await aPurchase(`both-${n}`, { reference: 'webshop', order: 'A-99', moves: [[CARD, from]] });
  const { stays } = await read({ from, to: from + HOUR, site: 'se' });
  const customers = new Set(stays.filter(({ enteredAt }) => enteredAt === from).map(({ customer }) => customer));
  expect(customers.size).toBe(51 + 51 + 1);
});

test('purchases of the first load of a site are told apart, also where its first answer was noted late', async () => {
  const from = T + 6 * HOUR;
  await aPurchase('early', { registeredAt: T - 20 * DAY - MINUTE, site: 'no', moves: [[CARD, from]] });
  // The first answer came 20 days ago.
  await aPurchase('live', { registeredAt: T - 20 * DAY + 8 * MINUTE, site: 'no', moves: [[CARD, from]] });
  await aPurchase('ordinary', { site: 'no', moves: [[CARD, from + 1]] });
  await aPurchase('moved', {
    registeredAt: T - 20 * DAY - MINUTE,
    site: 'no',
    moves: [
      [NEW, from + 2],
      [CARD, from + 6 * SECOND],
    ],
  });
  const { stays } = await read({ from, to: from + HOUR, site: 'no' });
  expect(stays.filter(({ enteredAt }) => enteredAt >= from).map(({ firstSight }) => firstSight)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test('outages, silences and what was said are read as far as they touch the time', async () => {
  const { sql } = database;
  const at = (moment: number | null) => sql`to_timestamp(${moment}::float8 / 1000)`;
  for (const [id, site, since, quiet, ended] of [
    ['inc_1', 'se', T - HOUR, T - 30 * MINUTE, T - 29 * MINUTE],
    ['inc_2', 'se', T + MINUTE, T + 9 * MINUTE, T + 10 * MINUTE],
    ['inc_3', 'no', T + 20 * MINUTE, null, null],
  ] as const) {
    await sql`
      insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, quiet_since, ended_at, count, peak)
      values (${id}, 'unreachable', ${site}, ${at(since + 30 * SECOND)}, ${at(since)}, ${at(quiet)}, ${at(ended)}, 1, 1)`;
  }
  const silence = { kind: null, site: 'se', state: null, subscriber: null, reason: 'deploy', by: 'Kim' };
  await addSilence(sql, { ...silence, startsAt: T - HOUR, endsAt: T });
  await addSilence(sql, { ...silence, startsAt: T + 50 * MINUTE, endsAt: T + 2 * HOUR });
  // Asked for when some of it was past: nobody was silent before.
  await addSilence(sql, { ...silence, startsAt: T + MINUTE, endsAt: T + 2 * HOUR });
  await addSilence(sql, { ...silence, startsAt: T - HOUR, endsAt: T + 10 * MINUTE });
  await sql`
    update purchase_watch_internal.silences set created_at = case extract(epoch from starts_at) * 1000 when ${T + MINUTE}::float8 then ${at(T + 30 * MINUTE)}
      when ${T - HOUR}::float8 then case when ends_at > ${at(T)} then ${at(T + 20 * MINUTE)} else starts_at end else starts_at end`;
  const event = (id: string, type: string, moment: number, purchase: string | null) => sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, created_at, body)
    select ${id}, ${type}, 'se', (select id from purchase_watch.purchases where purchase_id = ${purchase}), case when ${purchase}::text is not null then 1 end,
      null, 0, ${at(moment)}, '{}'`;
  await event('evt_1', 'incident.opened', T - 1, null);
  await event('evt_2', 'incident.opened', T, null);
  await event('evt_3', 'incident.digest', T + MINUTE, null);
  await event('evt_4', 'incident.ended', T + HOUR - 1, null);
  await event('evt_5', 'purchase.stuck', T + 15 * MINUTE, 'there');
  await event('evt_6', 'purchase.stuck', T + 2 * HOUR, 'stopped');
  await readingPast(sql, async (past) => {
    const span = { from: T, to: T + HOUR };
    expect(await recordedOutages(past, { ...span, site: null })).toEqual([
      { site: 'se', since: T + MINUTE, noticedAt: T + 90 * SECOND, until: T + 9 * MINUTE, severity: 0 },
      { site: 'no', since: T + 20 * MINUTE, noticedAt: T + 20 * MINUTE + 30 * SECOND, until: null, severity: 0 },
    ]);
    expect(await recordedOutages(past, { ...span, site: 'se' })).toHaveLength(1);
    expect((await recordedSilences(past, span)).map(({ startsAt }) => startsAt)).toEqual([T + 50 * MINUTE, T + 30 * MINUTE]);
    expect((await recordedMessages(past, span)).map(({ type, at: moment }) => [type, moment])).toEqual([
      ['incident.opened', T],
      ['incident.ended', T + HOUR - 1],
    ]);
    expect(await recordedStuck(past, { ...span, site: null })).toBe(1);
    expect(await recordedStuck(past, { ...span, site: 'no' })).toBe(0);
  });
});

test('nothing can be written meanwhile, and what others write is not seen', async () => {
  await readingPast(database.sql, async (past) => {
    const before = await past`select from purchase_watch.purchases`;
    await aPurchase('new', { moves: [[CARD, T + 8 * HOUR]] });
    expect((await past`select from purchase_watch.purchases`).length).toBe(before.length);
  });
  await expect(readingPast(database.sql, async (past) => past`delete from purchase_watch_internal.silences`)).rejects.toThrow(
    /read-only/,
  );
});
