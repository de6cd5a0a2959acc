/** How purchases ended, counted by hour: what the tables of purchases say, whoever folds and whatever changes later. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { foldOutcomes } from '../../../src/postgres/trends/outcomes.ts';
import { checkOutcomeHours, checkOutcomeSums, checkOutcomes } from '../../../src/postgres/upkeep/audit-outcomes.ts';
import { foldAppended } from '../../../src/postgres/upkeep/folding.ts';
import { createRandom } from '../../simulation/world/random.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const T = Date.UTC(2026, 10, 20, 9, 19, 59);
const [BEING_PROCESSED, COMPLETED, ERROR, CARD, TIMED_OUT, CANCELLED] = [1, 2, 3, 6, 5, 8];

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await syncSites(sql, ['default', 'se']);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.outcome_changes, purchase_watch_internal.outcome_hours,
    purchase_watch_internal.waited_hours, purchase_watch_internal.outcome_slices cascade`;
});

/** What a recount finds wrong. */
async function recount(): Promise<string[]> {
  const range = { after: '0', through: '9223372036854775807', site: null, since: null };
  const reports = [
    ...(await checkOutcomes(sql, range)),
    ...(await checkOutcomeHours(sql, null)),
    ...(await checkOutcomeSums(sql, null)),
  ];
  return reports.flatMap(({ gaps, first }) => (gaps === 0 ? [] : [first]));
}
afterEach(async () => {
  expect(await recount()).toEqual([]);
});

interface Life {
  readonly reference?: string;
  readonly site?: string;
  readonly states: readonly number[];
  /** Minutes after T at which each state is seen. */
  readonly at?: readonly number[];
  readonly fields?: object;
  readonly status?: string;
}

let made = 0;
/** A purchase with a history; answers its row's id. */
async function lived({ reference, site = 'default', states, at = states.map((_, n) => n), fields, status = 'settled' }: Life) {
  const [row] = await sql<[{ id: number }]>`
    insert into purchase_watch.purchases (purchase_id, site, reference, registered_at)
    values (${`p-${made++}`}, ${site}, ${reference ?? null}, ${T + made * 1_000}::timestamptz) returning id`;
  for (const [index, state] of states.entries()) await moves(row.id, { state, at: at[index]! });
  if (fields !== undefined)
    await sql`insert into purchase_watch_internal.purchase_details (purchase, fields) values (${row.id}, ${JSON.stringify(fields)}::text::json)`;
  await sql`update purchase_watch.purchases set status = ${status}, ended_at = ${status === 'watching' ? null : T + at.at(-1)! * 60_000}::timestamptz where id = ${row.id}`;
  return row.id;
}

async function moves(id: number, { state, at }: { state: number; at: number }): Promise<void> {
  const moment = T + at * 60_000;
  await sql`
    with t as (
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
      select p.id, p.sequence + 1, nullif(p.sequence, 0), p.state, ${state}, ${moment}::timestamptz, ${moment}::timestamptz
      from purchase_watch.purchases p where p.id = ${id})
    update purchase_watch.purchases set state = ${state}, state_since = ${moment}::timestamptz, sequence = sequence + 1 where id = ${id}`;
}

const hours = () => sql<Record<string, unknown>[]>`
    select extract(epoch from hour - ${T}::timestamptz)::float8 / 60 as minute, site, way, outcome, method, country, currency,
      customers::float8 as customers, gone::float8 as gone, amount::text as amount, was_stuck
    from purchase_watch_internal.outcome_hours where customers <> 0 order by hour, site, outcome, way, currency`;
const short = async () =>
  (await hours()).map(({ outcome, way, customers, amount }) => `${customers} ${outcome} ${way} ${amount}`);

const PAID = { Price: 249.5, CurrencyCode: 'SEK', CountryCode: 'SE', PaymentMethod: 5 };

describe('an end is counted', () => {
  test('with way, slice, amount and how long it waited, in the hour of the end', async () => {
    await lived({ states: [BEING_PROCESSED, CARD, COMPLETED], at: [0, 5, 50], fields: PAID });
    await lived({ states: [BEING_PROCESSED, CARD, TIMED_OUT], at: [0, 1, 3], fields: { ...PAID, Price: 10 } });
    expect(await foldOutcomes(sql)).toBe(2);
    const common = {
      site: 'default',
      way: CARD,
      method: '5',
      country: 'SE',
      currency: 'SEK',
      customers: 1,
      gone: 0,
      wasStuck: false,
    };
    expect((await hours()).map(({ minute, ...rest }) => rest)).toEqual([
      { ...common, outcome: 'not_paid', amount: '10' },
      { ...common, outcome: 'paid', amount: '249.5' },
    ]);
    expect(
      await sql`select way, bucket::integer, customers::integer from purchase_watch_internal.waited_hours order by bucket`,
    ).toEqual([
      { way: CARD, bucket: 1 + Math.floor(Math.log2(120) * 4), customers: 1 },
      { way: CARD, bucket: 1 + Math.floor(Math.log2(2700) * 4), customers: 1 },
    ]);
    expect(await foldOutcomes(sql)).toBe(0);
  });

  test('and both views for programs show it', async () => {
    await lived({ states: [BEING_PROCESSED, CARD, COMPLETED], fields: PAID });
    await lived({ states: [CARD, TIMED_OUT], fields: PAID });
    await lived({ states: [CARD], status: 'watching' });
    const stopped = await lived({ states: [], status: 'stopped', at: [1] });
    await foldOutcomes(sql);
    const card = { lastState: CARD, lastStateName: 'WaitingForCardPayments' };
    const slice = { site: 'default', wasStuck: false, method: '5', country: 'SE', currency: 'SEK', hour: T - (T % 3_600_000) };
    const none = { ...slice, lastState: null, lastStateName: null, method: null, country: null, currency: null };
    expect(await sql`select * from purchase_watch.outcomes order by outcome desc`).toEqual([
      { ...slice, ...card, outcome: 'paid', amount: '249.5', purchaseId: expect.any(String) },
      { ...none, outcome: 'open', amount: null, purchaseId: expect.any(String) },
      { ...slice, ...card, outcome: 'not_paid', amount: '249.5', purchaseId: expect.any(String) },
    ]);
    await sql`delete from purchase_watch.purchases where id = ${stopped}`;
    await foldOutcomes(sql);
    expect(await sql`select * from purchase_watch.outcome_hours order by outcome desc`).toEqual([
      { ...slice, ...card, outcome: 'paid', amount: '249.5', purchases: 1 },
      { ...none, outcome: 'open', amount: '0', purchases: 1 },
      { ...slice, ...card, outcome: 'not_paid', amount: '249.5', purchases: 1 },
    ]);
    expect(await sql`select from purchase_watch.outcomes`).toHaveLength(2);
  });

  test('once, however often it is folded at the same time', async () => {
    for (let n = 0; n < 20; n++) await lived({ states: [CARD, COMPLETED], fields: PAID });
    await Promise.all(Array.from({ length: 8 }, () => foldOutcomes(sql)));
    expect(await short()).toEqual([`20 paid ${CARD} 4990.0`]);
  });

  test('not while it is watched, and as open when it was given up or stopped', async () => {
    await lived({ states: [CARD], status: 'watching' });
    await lived({ states: [CARD], status: 'expired' });
    await lived({ states: [], status: 'stopped', at: [1] });
    await foldOutcomes(sql);
    expect(await short()).toEqual([`1 open ${CARD} 0`, '1 open null 0']);
  });
});

describe('what became of it later', () => {
  test('a cancellation after completion moves the count, in the hour of the first end', async () => {
    const id = await lived({ states: [CARD, COMPLETED], fields: PAID });
    await foldOutcomes(sql);
    await moves(id, { state: CANCELLED, at: 600 });
    await foldOutcomes(sql);
    expect(await short()).toEqual([`1 not_paid ${CARD} 249.5`]);
    expect((await hours())[0]!.minute).toBeCloseTo(-20, 0);
  });

  test('a poll that was asked for after it was stopped moves the count to the state that it shows', async () => {
    const id = await lived({ states: [BEING_PROCESSED], status: 'stopped' });
    await foldOutcomes(sql);
    await moves(id, { state: CARD, at: 3 });
    await foldOutcomes(sql);
    expect(await short()).toEqual([`1 open ${CARD} 0`]);
  });

  test('several attempts of one order are one customer', async () => {
    await lived({ reference: 'ORD-1', states: [CARD, ERROR] });
    await foldOutcomes(sql);
    expect(await short()).toEqual([`1 not_paid ${CARD} 0`]);
    await lived({ reference: 'ORD-1', states: [CARD, TIMED_OUT] });
    await foldOutcomes(sql);
    expect(await short()).toEqual([`1 again ${CARD} 0`, `1 not_paid ${CARD} 0`]);
    await lived({ reference: 'ORD-1', states: [CARD, COMPLETED] });
    await foldOutcomes(sql);
    expect(await short()).toEqual([`1 paid ${CARD} 0`, `2 paid_by_another ${CARD} 0`]);
  });

  test('one that is watched again is not counted until it ends', async () => {
    const id = await lived({ states: [CARD], status: 'expired' });
    await foldOutcomes(sql);
    await sql`update purchase_watch.purchases set status = 'watching', ended_at = null where id = ${id}`;
    await foldOutcomes(sql);
    expect(await short()).toEqual([]);
    await moves(id, { state: COMPLETED, at: 3 });
    await sql`update purchase_watch.purchases set status = 'settled', ended_at = now() where id = ${id}`;
    await foldOutcomes(sql);
    expect(await short()).toEqual([`1 paid ${CARD} 0`]);
  });

  test('fields that come after the end', async () => {
    const id = await lived({ states: [CARD, COMPLETED], fields: {} });
    await foldOutcomes(sql);
    await sql`update purchase_watch_internal.purchase_details set fields = ${JSON.stringify(PAID)}::text::json where purchase = ${id}`;
    await foldOutcomes(sql);
    expect(await short()).toEqual([`1 paid ${CARD} 249.5`]);
  });

  test('a deleted purchase stays counted, and is known to be gone', async () => {
    const id = await lived({ states: [CARD, COMPLETED], fields: PAID });
    await lived({ states: [CARD, COMPLETED], fields: PAID });
    await foldOutcomes(sql);
    await sql`delete from purchase_watch.purchases where id = ${id}`;
    await foldOutcomes(sql);
    expect(await hours()).toMatchObject([{ customers: 2, gone: 1, amount: '499.0' }]);
  });
});

test('what ended before the counts were made is found batch by batch', async () => {
  for (let n = 0; n < 5; n++) await lived({ states: [CARD, COMPLETED] });
  await lived({ states: [CARD], status: 'watching' });
  await sql`truncate purchase_watch_internal.outcome_changes`;
  await sql`update purchase_watch_internal.outcome_folds set filled_to = 0`;
  while (await foldAppended(sql));
  await foldAppended(sql);
  expect(await short()).toEqual([`5 paid ${CARD} 0`]);
  expect(await sql`select filled_to from purchase_watch_internal.outcome_folds`).toEqual([{ filledTo: null }]);
});

test('of many slices the first 64 are kept apart', async () => {
  for (let n = 0; n < 70; n++) await lived({ states: [COMPLETED], fields: { Price: 1, CurrencyCode: `C${n}` } });
  await foldOutcomes(sql);
  const rows = await hours();
  expect(rows).toHaveLength(65);
  expect(rows.find(({ currency }) => currency === '*')).toMatchObject({ customers: 6, amount: '0', method: '*', country: '*' });
});

test('a recount finds a purchase that is counted wrongly, and one that is not', async () => {
  const id = await lived({ states: [CARD, COMPLETED] });
  await foldOutcomes(sql);
  await sql`update purchase_watch_internal.outcomes set outcome = 'not_paid' where purchase = ${id}`;
  expect((await recount()).join()).toMatch(
    /is counted as not_paid.*its rows say paid.*the count says 1 .amount 0., and there are 0/,
  );
  await sql`delete from purchase_watch_internal.outcomes`;
  await sql`delete from purchase_watch_internal.outcomes_gone`;
  expect((await recount()).join()).toMatch(/ended as paid and is not counted/);
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.outcome_hours cascade`;
});

test('a recount finds an hour and a day whose sums are wrong, and the statements of the docs mend them', async () => {
  await lived({ states: [CARD, COMPLETED], fields: PAID });
  await foldOutcomes(sql);
  await sql`update purchase_watch_internal.outcome_hour_sums set customers = 3`;
  await sql`delete from purchase_watch_internal.outcome_day_sums`;
  const found = (await recount()).join();
  expect(found).toMatch(/the sum of the hour of .*, paid: says 3, and its counts add up to 1"/);
  expect(found).toMatch(
    /the sum of the day of .*, paid, waited last in 6: says 0, and its counts add up to 1; .*the amount is too large by -/,
  );
  const page = readFileSync(join(import.meta.dirname, '../../../docs/troubleshooting.md'), 'utf8');
  const remedy = page.split('```').find((each) => each.includes('insert into purchase_watch_internal.outcome_day_sums'))!;
  await sql.unsafe(remedy.replace(/^sql|^(?:begin|commit);/gm, ''));
  expect(await recount()).toEqual([]);
});

test('whatever happens in whatever order, the counts are those of a recount', async () => {
  const random = createRandom(7);
  const ids: number[] = [];
  for (let step = 0; step < 250; step++) {
    const id = ids.length === 0 ? null : random.one(ids);
    const kind = random.below(8);
    if (id === null || kind < 3) {
      const states = random.one([[CARD, COMPLETED], [BEING_PROCESSED, CARD, ERROR], [TIMED_OUT], [CARD]]);
      const status = states.at(-1) === CARD ? random.one(['watching', 'expired']) : 'settled';
      const reference = random.chance(0.7) ? `ORD-${random.below(12)}` : undefined;
      ids.push(
        await lived({ states, status, fields: PAID, site: random.one(['default', 'se']), ...(reference && { reference }) }),
      );
    } else if (kind === 3) await sql`delete from purchase_watch.purchases where id = ${id}`;
    else if (kind === 4) await sql`update purchase_watch.purchases set status = 'watching', ended_at = null where id = ${id}`;
    else if (kind === 5) {
      await sql`update purchase_watch_internal.purchase_details set fields = json_build_object('Price', ${step}::integer, 'CurrencyCode', 'EUR') where purchase = ${id}`;
    } else if (kind === 6) {
      const [row] = await sql<{ state: number }[]>`select state from purchase_watch.purchases where id = ${id}`;
      if (row !== undefined && row.state !== CANCELLED) {
        await moves(id, { state: CANCELLED, at: step });
        await sql`update purchase_watch.purchases set status = 'settled', ended_at = ${T + step * 60_000}::timestamptz where id = ${id}`;
      }
    } else await Promise.all([foldOutcomes(sql), foldOutcomes(sql)]);
  }
  while ((await foldOutcomes(sql)) > 0);
  expect(await sql`select from purchase_watch_internal.outcome_hours where customers < 0 or gone > customers`).toHaveLength(0);
  expect((await hours()).length).toBeGreaterThan(8);
});
