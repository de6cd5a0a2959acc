import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect, type Queries, type Sql } from '../../../src/postgres/connection/database.ts';
import { stuckPurchases } from '../../../src/postgres/incidents/customers.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import {
  causeEvidence,
  earlierAnswer,
  MOST_OF_ONE_ORDER,
  paidByAnother,
  type StuckPlace,
} from '../../../src/postgres/stays/evidence.ts';
import { moneyWaiting } from '../../../src/postgres/stays/money.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const IDENTITY = 4;
const COMPLETED = 2;
const TIMED_OUT = 5;
const CARD = 6;
const CANCELLED = 8;
const AT_CARD = [{ site: 'se', state: CARD }];

let database: TestDatabase;
let sql: Sql;
let now: number;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await syncSites(sql, ['se', 'no', 'fi']);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.incidents cascade`;
  now = Date.now();
});

interface Given {
  readonly site?: string;
  readonly state?: number;
  readonly reference?: string | null;
  /** JSON text of the stored fields; none unless told. */
  readonly fields?: string;
  /** Milliseconds ago: registered, and in this state since. */
  readonly registered?: number;
  readonly since?: number;
}

const at = (ago: number) => sql`to_timestamp(${now - ago}::float8 / 1000)`;

/** What a message shows of the purchases stuck in some places. */
async function stuckDetails(tx: Queries, { parts, limit = 5 }: { parts: readonly StuckPlace[]; limit?: number }) {
  const purchases = await stuckPurchases(tx, { places: parts, limit });
  const [money] = await moneyWaiting(tx, [parts]);
  const { waiting, unpriced } = money!;
  return { purchases: purchases.map(({ purchaseId }) => purchaseId), waiting, unpriced };
}

/** A purchase as polls left it; it is stuck in a state in which customers wait. */
async function purchase(id: string, given: Given = {}): Promise<number> {
  const { site = 'se', state = CARD, reference = null, fields, registered = 25 * MINUTE, since = 20 * MINUTE } = given;
  const status = [IDENTITY, CARD].includes(state) ? 'watching' : 'settled';
  const stuck = status === 'watching' ? sql`now()` : sql`null`;
  const [row] = await sql<{ id: number }[]>`
    insert into purchase_watch.purchases (purchase_id, site, reference, status, state, state_since, registered_at, stuck_since)
    values (${id}, ${site}, ${reference}, ${status}, ${state}, ${at(since)}, ${at(registered)}, ${stuck}) returning id::float8 as id`;
  if (fields !== undefined)
    await sql`insert into purchase_watch_internal.purchase_details values (${row!.id}, ${fields}::text::json)`;
  return row!.id;
}

const order = (reference: string): string => JSON.stringify({ OrderReference: reference });

/** Ids of stuck purchases for which somebody still waits. */
async function waiting(): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select p.purchase_id as id from purchase_watch.purchases p where p.stuck_since is not null and not ${paidByAnother(sql)} order by 1`;
  return rows.map(({ id }) => id);
}

describe('a stuck purchase whose order was paid by another one', () => {
  const become = (id: number, state: number) =>
    sql`update purchase_watch.purchases set state = ${state}, state_since = now(), stuck_since = null, status = 'settled' where id = ${id}`;

  test.each<[string, Given]>([
    ['its reference', { reference: 'ORD-1' }],
    ['the OrderReference alone', { fields: order('ORD-1') }],
    ['both', { reference: 'ORD-1', fields: order('ORD-1') }],
  ])('is known by %s, and leaves when the other becomes Completed', async (_, given) => {
    await purchase('first', given);
    const second = await purchase('second', { ...given, registered: 10 * MINUTE, since: 5 * MINUTE });
    await purchase('somebody else', { reference: 'ORD-2', fields: order('ORD-2') });
    expect(await waiting()).toEqual(['first', 'second', 'somebody else']);
    await become(second, COMPLETED);
    expect(await waiting()).toEqual(['somebody else']);
  });

  test('is back when the payment is cancelled after all', async () => {
    await purchase('first', { reference: 'ORD-1' });
    const second = await purchase('second', { reference: 'ORD-1' });
    await become(second, COMPLETED);
    expect(await waiting()).toEqual([]);
    await become(second, CANCELLED);
    expect(await waiting()).toEqual(['first']);
  });

  test.each<[string, Given]>([
    ['is of another site', { site: 'no', state: COMPLETED, reference: 'ORD-1', fields: order('ORD-1') }],
    ['timed out', { state: TIMED_OUT, reference: 'ORD-1', fields: order('ORD-1') }],
    ['was cancelled', { state: CANCELLED, reference: 'ORD-1', fields: order('ORD-1') }],
    ['is of another order', { state: COMPLETED, reference: 'ORD-10', fields: order('ORD-10') }],
    ['names no order', { state: COMPLETED, fields: '{"OrderReference": null}' }],
    ['is of an earlier order of that name', { state: COMPLETED, reference: 'ORD-1', since: 24 * HOUR + 26 * MINUTE }],
  ])('stays when the other %s', async (_, other) => {
    await purchase('first', { reference: 'ORD-1', fields: order('ORD-1') });
    await purchase('other', other);
    expect(await waiting()).toEqual(['first']);
  });

  test('leaves for one that was paid up to a day before', async () => {
    await purchase('first', { reference: 'ORD-1' });
    await purchase('other', { state: COMPLETED, reference: 'ORD-1', since: 24 * HOUR + 24 * MINUTE });
    expect(await waiting()).toEqual([]);
  });

  test('never leaves by a word that names no order: empty, or the same for very many', async () => {
    await purchase('empty', { fields: '{"OrderReference": " "}' });
    await purchase('empty too', { fields: '{"OrderReference": ""}' });
    await purchase('paid', { state: COMPLETED, fields: '{"OrderReference": ""}' });
    expect(await waiting()).toEqual(['empty', 'empty too']);
    const many = async (count: number) => {
      await sql`truncate purchase_watch.purchases cascade`;
      await purchase('overdue', { reference: 'web shop', fields: order('web shop') });
      for (let made = 1; made < count; made++) {
        await purchase(`paid ${made}`, { state: COMPLETED, reference: 'web shop', fields: order('web shop') });
      }
      return waiting();
    };
    expect(await many(MOST_OF_ONE_ORDER)).toEqual([]);
    expect(await many(MOST_OF_ONE_ORDER + 1)).toEqual(['overdue']);
  });

  test('is told whatever the service sent as the reference', async () => {
    const long = order('x'.repeat(100_000));
    await purchase('no text', { fields: '{"OrderReference": "a\\u0000b"}' });
    await purchase('half a character', { fields: '{"OrderReference": "\\ud800"}' });
    await purchase('an object', { fields: '{"OrderReference": {"a": 1}}' });
    await purchase('long', { fields: long });
    expect(await waiting()).toEqual(['an object', 'half a character', 'long', 'no text']);
    await purchase('long and paid', { state: COMPLETED, fields: long });
    expect(await waiting()).toEqual(['an object', 'half a character', 'no text']);
  });
});

describe('what a message shows', () => {
  const priced = (price: string, currency: string | null = 'SEK', more = ''): string =>
    `{"Price": ${price}, "CurrencyCode": ${JSON.stringify(currency)}${more}}`;

  test('the oldest ids over all parts, and the money to the last digit', async () => {
    await purchase('c', { since: 40 * MINUTE, fields: priced('0.10') });
    await purchase('b', { since: 50 * MINUTE, state: IDENTITY, fields: priced('1234.50') });
    await purchase('a', { since: 30 * MINUTE, site: 'no', fields: priced('12345678901234567890.123', 'NOK') });
    await purchase('d', { since: 20 * MINUTE, fields: priced('0.205') });
    await purchase('another part', { site: 'no', state: IDENTITY, since: HOUR, fields: priced('7') });
    const parts = [...AT_CARD, { site: 'se', state: IDENTITY }, { site: 'no', state: CARD }];
    expect(await stuckDetails(sql, { parts, limit: 3 })).toEqual({
      purchases: ['b', 'c', 'a'],
      waiting: [
        { amount: '1234.805', currency: 'SEK' },
        { amount: '12345678901234567890.123', currency: 'NOK' },
      ],
      unpriced: 0,
    });
    expect((await stuckDetails(sql, { parts })).purchases).toEqual(['b', 'c', 'a', 'd']);
  });

  test('how many have no amount that is known', async () => {
    await purchase('known', { fields: priced('5') });
    await purchase('nothing stored');
    await purchase('no price', { fields: '{"CurrencyCode": "SEK"}' });
    await purchase('no currency', { fields: priced('5', null) });
    await purchase('empty currency', { fields: priced('5', '') });
    await purchase('no number', { fields: priced('"much"') });
    await purchase('no text', { fields: '{"Price": 5, "CurrencyCode": "\\u0000"}' });
    expect(await stuckDetails(sql, { parts: AT_CARD })).toMatchObject({
      waiting: [{ amount: '5', currency: 'SEK' }],
      unpriced: 6,
    });
  });

  test('an order counts once, with its latest price; those paid by another purchase not at all', async () => {
    await purchase('first try', { reference: 'ORD-1', fields: priced('100') });
    await purchase('second try', { reference: 'ORD-1', fields: priced('90.0') });
    await purchase('one', { fields: priced('5', 'SEK', ',"OrderReference":"ORD-2"') });
    await purchase('the same', { fields: priced('5', 'SEK', ',"OrderReference":"ORD-2"') });
    await purchase('alone', { fields: priced('1') });
    await purchase('alone too', { fields: priced('1') });
    await purchase('gone', { reference: 'ORD-3', fields: priced('1000') });
    await purchase('paid', { state: COMPLETED, reference: 'ORD-3', fields: priced('1000') });
    const details = await stuckDetails(sql, { parts: AT_CARD, limit: 9 });
    expect(details.waiting).toEqual([{ amount: '97.0', currency: 'SEK' }]);
    expect(details.purchases).not.toContain('gone');
    expect(details.purchases).toHaveLength(6);
  });

  test('nothing where nobody waits', async () => {
    expect(await stuckDetails(sql, { parts: AT_CARD })).toEqual({ purchases: [], waiting: [], unpriced: 0 });
    expect(await stuckDetails(sql, { parts: [] })).toEqual({ purchases: [], waiting: [], unpriced: 0 });
  });
});

describe('what hints at the cause', () => {
  const evidence = (parts: { site: string; state: number }[] = AT_CARD, since = now - HOUR) =>
    causeEvidence(sql, { parts: parts.map((part) => ({ ...part, count: 3 })), since });

  /** A purchase that waited in a state, since so long ago, and was completed. */
  async function paid(id: string, entered: number, given: Given & { readonly waited?: number; readonly status?: string } = {}) {
    const { waited = CARD, status = 'settled', ...rest } = given;
    const row = await purchase(id, { ...rest, state: COMPLETED, since: entered - MINUTE });
    await sql`update purchase_watch.purchases set status = ${status} where id = ${row}`;
    await sql`
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
      values (${row}, 1, null, null, 0, null, ${at(entered + MINUTE)}), (${row}, 2, 1, 0, ${waited}, ${at(entered)}, ${at(entered)}),
        (${row}, 3, 2, ${waited}, ${COMPLETED}, ${at(entered)}, ${at(entered - MINUTE)})`;
  }

  test('orders that were begun again, once for each order, by a purchase that was registered later', async () => {
    await purchase('again', { reference: 'ORD-1', registered: 30 * MINUTE });
    await purchase('and again', { reference: 'ORD-1', registered: 20 * MINUTE });
    await purchase('paid at last', { state: COMPLETED, reference: 'ORD-1', registered: 10 * MINUTE });
    await purchase('by OrderReference', { fields: order('ORD-2'), registered: 30 * MINUTE });
    await purchase('timed out', { state: TIMED_OUT, fields: order('ORD-2'), registered: 20 * MINUTE });
    await purchase('after an earlier one', { reference: 'ORD-3', registered: 30 * MINUTE });
    await purchase('the earlier one', { state: TIMED_OUT, reference: 'ORD-3', registered: 40 * MINUTE });
    await purchase('here', { reference: 'ORD-4', registered: 30 * MINUTE });
    await purchase('elsewhere', { site: 'no', reference: 'ORD-4', registered: 20 * MINUTE });
    await purchase('of no order', { registered: 30 * MINUTE });
    expect(await evidence()).toMatchObject({ orders: 4, begunAgain: 2, sites: 3 });
  });

  test('those of the incident only: not who waited before it, nor in another state', async () => {
    await purchase('before', { reference: 'ORD-1', since: 61 * MINUTE });
    await purchase('within', { reference: 'ORD-2', since: 59 * MINUTE });
    await purchase('another state', { reference: 'ORD-3', state: IDENTITY });
    expect(await evidence()).toMatchObject({ orders: 1 });
    expect(await evidence([...AT_CARD, { site: 'se', state: IDENTITY }])).toMatchObject({ orders: 2 });
  });

  test('when the last customer came who got on, who did in the hour before, and who is stuck since', async () => {
    await paid('long ago', 131 * MINUTE);
    await paid('an hour before', 130 * MINUTE);
    await paid('watched still', 100 * MINUTE, { status: 'watching' });
    await paid('the last', 70 * MINUTE);
    await paid('at another site', 10 * MINUTE, { site: 'no' });
    await paid('by another way', 10 * MINUTE, { waited: IDENTITY });
    await purchase('before it', { since: 71 * MINUTE });
    await purchase('since', { since: 69 * MINUTE });
    await purchase('since too', { since: 20 * MINUTE });
    await purchase('in another state', { since: 20 * MINUTE, state: IDENTITY });
    const { parts } = await evidence([...AT_CARD, { site: 'fi', state: CARD }, { site: 'se', state: IDENTITY }]);
    expect(parts).toEqual([
      { site: 'se', state: CARD, count: 3, lastWellAt: expect.closeTo(now - 70 * MINUTE, -1), wellBefore: 3, stuckSinceThen: 2 },
      { site: 'fi', state: CARD, count: 3, lastWellAt: null, wellBefore: 0, stuckSinceThen: 0 },
      {
        site: 'se',
        state: IDENTITY,
        count: 3,
        lastWellAt: expect.closeTo(now - 10 * MINUTE, -1),
        wellBefore: 1,
        stuckSinceThen: 0,
      },
    ]);
  });

  test('nothing where nothing is known', async () => {
    expect(await evidence([])).toEqual({ parts: [], sites: 3, orders: 0, begunAgain: 0 });
  });
});

describe('what it was last time', () => {
  let made = 0;
  async function answered(site: string | null, state: number | null, ago: number, { kind = 'stuck', cause = 'deploy' } = {}) {
    await sql`
      insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak, answer_cause, answer_note, answered_by, answered_at)
      values (${`inc_${++made}`}, ${kind}, ${site}, ${state}, now(), now(), now(), 0, 1, ${cause}, 'the form was blocked', 'Kim', ${at(ago)})`;
  }
  const cited = async (site: string | null, state: number | null) => {
    const earlier = await earlierAnswer(sql, { site, state });
    return earlier === null ? null : [earlier.site, earlier.state, Math.round((now - earlier.at) / MINUTE)];
  };

  test('is cited with who said so and when', async () => {
    await answered('se', CARD, 5 * MINUTE, { cause: 'return_request' });
    expect(await earlierAnswer(sql, { site: 'se', state: CARD })).toEqual({
      ...{ cause: 'return_request', note: 'the form was blocked', by: 'Kim', site: 'se', state: CARD },
      at: expect.closeTo(now - 5 * MINUTE, -1),
    });
  });

  test('the same state first, then the same site, then several sites; the latest of each', async () => {
    expect(await cited('se', CARD)).toBeNull();
    await answered(null, null, 3 * MINUTE);
    await answered(null, null, 2 * MINUTE);
    expect(await cited('se', CARD)).toEqual([null, null, 2]);
    await answered('se', IDENTITY, 9 * MINUTE);
    await answered('se', null, 8 * MINUTE);
    expect(await cited('se', CARD)).toEqual(['se', null, 8]);
    await answered('se', CARD, 60 * MINUTE);
    await answered('se', CARD, 50 * MINUTE);
    expect(await cited('se', CARD)).toEqual(['se', CARD, 50]);
  });

  test('of several states, and of several sites', async () => {
    await answered('se', CARD, 1 * MINUTE);
    expect(await cited('se', null)).toEqual(['se', CARD, 1]);
    await answered('se', null, 7 * MINUTE);
    expect(await cited('se', null)).toEqual(['se', null, 7]);
    expect(await cited(null, null)).toBeNull();
    await answered(null, CARD, 4 * MINUTE);
    expect(await cited(null, null)).toEqual([null, CARD, 4]);
    await answered(null, null, 5 * MINUTE);
    expect(await cited(null, null)).toEqual([null, null, 5]);
  });

  test('of several sites, what it was at one of them, where nothing is known of several', async () => {
    await answered('se', CARD, 9 * MINUTE);
    await answered('no', IDENTITY, 4 * MINUTE);
    const at = async (sites: readonly string[]) => (await earlierAnswer(sql, { site: null, state: null, sites }))?.site ?? null;
    expect([await at([]), await at(['fi']), await at(['se', 'se']), await at(['se', 'no'])]).toEqual([null, null, 'se', 'no']);
    await answered(null, null, 20 * MINUTE);
    expect(await at(['se', 'no'])).toBeNull();
    expect(await cited(null, null)).toEqual([null, null, 20]);
  });

  test('not the answer to the incident itself', async () => {
    await answered('se', CARD, 9 * MINUTE);
    await answered('se', CARD, MINUTE);
    expect(await earlierAnswer(sql, { site: 'se', state: CARD, except: `inc_${made}` })).toMatchObject({
      at: expect.closeTo(now - 9 * MINUTE, -1),
    });
  });

  test('not what another site or another kind of trouble was', async () => {
    await answered('no', CARD, MINUTE);
    await answered('se', null, MINUTE, { kind: 'unreachable' });
    expect(await cited('se', CARD)).toBeNull();
    expect(await cited('se', null)).toBeNull();
  });
});

test('little is read from large tables', async () => {
  const OVERDUE = 40;
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, reference, status, state, state_since, registered_at)
    select 'p-' || i, case when i % 2 = 0 then 'no' else 'fi' end, case when i % 2 = 0 then 'ORD-' || i / 4 end, 'settled', ${COMPLETED}, now(), now()
    from generate_series(1, 5000) i`;
  await sql`
    insert into purchase_watch_internal.purchase_details
    select id, ('{"Price": 1, "CurrencyCode": "SEK", "OrderReference": "ORD-' || id / 4 || '"}')::json from purchase_watch.purchases`;
  await sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, to_state, not_after)
    select id, 1, ${CARD}, now() from purchase_watch.purchases`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak, answer_cause, answered_by, answered_at)
    select 'inc_many' || i, 'stuck', case when i % 3 > 0 then 'se' end, case when i % 2 = 0 then ${IDENTITY}::integer end, now(), now(), now(), 0, 1, 'other', 'Kim', now()
    from generate_series(1, 3000) i`;
  await sql.unsafe(
    'analyze purchase_watch.purchases, purchase_watch_internal.purchase_details, purchase_watch_internal.purchase_transitions, purchase_watch_internal.incidents',
  );
  // After the planner has looked: of these it knows nothing.
  for (let made = 0; made < OVERDUE; made++) {
    await purchase(`completed ${made}`, { state: COMPLETED });
    await purchase(`overdue ${made}`, { reference: `ORD-${made * 10}`, fields: order(`ORD-${made * 20}`) });
  }
  const parts = [
    { site: 'se', state: CARD, count: OVERDUE },
    { site: 'se', state: IDENTITY, count: 0 },
  ];
  const counted = async (tx: Queries) => {
    const [row] = await tx`
      select count(*)::int as count
      from unnest(array['se']) w (site) join purchase_watch.purchases p on p.site = w.site and p.state = ${CARD}
      where p.stuck_since is not null and not ${paidByAnother(tx)}`;
    expect(row).toEqual({ count: OVERDUE });
  };
  // As the loops do, and as people's commands do.
  for (const steadyPlans of [true, false]) {
    const own = connect(database.url, { max: 1, steadyPlans });
    const reads = async (table: string, most: number, work: (tx: Queries) => Promise<unknown>) => {
      const { scanned, fetched } = await rowsRead(own, table, work);
      expect([table, scanned]).toEqual([table, 0]);
      expect([table, fetched <= most ? 'few' : fetched]).toEqual([table, 'few']);
    };
    try {
      // Each purchase, its own details, and up to four of either order.
      await reads('purchases', 12 * OVERDUE, counted);
      await reads('purchase_details', 8 * OVERDUE, counted);
      await reads('purchases', 30 * OVERDUE, (tx) => stuckDetails(tx, { parts }));
      await reads('purchase_details', 20 * OVERDUE, (tx) => stuckDetails(tx, { parts }));
      // And the completed ones of the site, for each part.
      await reads('purchases', 15 * OVERDUE, (tx) => causeEvidence(tx, { parts, since: 0 }));
      await reads('purchase_transitions', 2 * OVERDUE, (tx) => causeEvidence(tx, { parts, since: 0 }));
      for (const [site, state] of [
        ['se', CARD],
        ['se', null],
        ['no', IDENTITY],
        [null, null],
      ] as const) {
        await reads('incidents', 3, (tx) => earlierAnswer(tx, { site, state }));
      }
    } finally {
      await own.end();
    }
  }
});
