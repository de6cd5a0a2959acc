import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EVENT_TYPES } from '../../../src/domain/events/system-event-types.ts';
import { connect, type Queries, type Sql } from '../../../src/postgres/connection/database.ts';
import {
  comparePlaces,
  FEED_START,
  type FeedPlace,
  isFeedHeld,
  placeOfEvent,
  readFeed,
  readHorizon,
  settleFeedEra,
} from '../../../src/postgres/events/feed.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { announce } from '../../support/announce.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

let database: TestDatabase;
let sql: Sql;
/** A connection that holds transactions open. */
let other: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  other = connect(database.url, { max: 1 });
  await syncSites(sql, ['default']);
});
afterAll(async () => {
  await other.end();
  await database.drop();
});
// Left open by a test that failed, it would hold up all that follow.
afterEach(() => other`rollback`);
beforeEach(async () => {
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.events cascade`;
});

const MIB = 1024 * 1024;

interface ReadOptions {
  readonly types?: typeof EVENT_TYPES | readonly (typeof EVENT_TYPES)[number][];
  readonly limit?: number;
  readonly bytes?: number;
  readonly from?: Queries;
}

/** What the feed shows after a place, all of it. */
async function readAll(after: FeedPlace, { types = EVENT_TYPES, limit = 1_000, bytes = MIB, from = sql }: ReadOptions = {}) {
  const horizon = await readHorizon(from);
  const found = [];
  for (let place = after; ; ) {
    const { events: page, isAll } = await readFeed(from, { after: place, types, limit, bytes, horizon });
    found.push(...page);
    if (isAll) return { ids: found.map(({ body }) => String(JSON.parse(body).id)), last: found.at(-1)?.place ?? after, horizon };
    place = page.at(-1)!.place;
  }
}

/**
 * What the feed shows after a place, once it shows so many. While a transaction of another test's database begins it may end
 * earlier for a moment; what it has shown by then is a beginning of the whole.
 */
async function shown(ids: readonly string[], after: FeedPlace = FEED_START, options: ReadOptions = {}) {
  for (;;) {
    const read = await readAll(after, options);
    expect(read.ids).toEqual(ids.slice(0, read.ids.length));
    if (read.ids.length === ids.length) return read;
    await delay(5);
  }
}

describe('a page', () => {
  test('shows events in the order they were written, whatever the size of the pages', async () => {
    const ids = [];
    for (let n = 0; n < 7; n++)
      ids.push(await announce(sql, { type: EVENT_TYPES[n % 4]! === 'purchase.stuck' ? 'site.unreachable' : 'site.reachable' }));
    for (const limit of [1, 2, 3, 7, 8]) await shown(ids, FEED_START, { limit });
    for (const bytes of [1, 150, 400]) await shown(ids, FEED_START, { limit: 7, bytes });
  });

  test('holds the types that are asked for, and never what is said of incidents', async () => {
    const down = await announce(sql, { type: 'site.unreachable' });
    await announce(sql, { type: 'incident.opened' });
    const up = await announce(sql, { type: 'site.reachable' });
    await shown([down, up]);
    await shown([up], FEED_START, { types: ['site.reachable'] });
    expect((await readAll(FEED_START, { types: ['purchase.stuck'] })).ids).toEqual([]);
  });

  test('goes on after an event that is known by its id', async () => {
    const [first, second] = [await announce(sql), await announce(sql)];
    const place = await placeOfEvent(sql, first, EVENT_TYPES);
    await shown([second], place!);
    expect(await placeOfEvent(sql, 'evt_nobody', EVENT_TYPES)).toBeNull();
    const told = await announce(sql, { type: 'incident.opened' });
    expect(await placeOfEvent(sql, told, EVENT_TYPES)).toBeNull();
  });
});

describe('a transaction that is held open', () => {
  test.each(['commit', 'rollback'] as const)('is not passed, and after its %s everything comes exactly once', async (end) => {
    const before = await announce(sql);
    await other`begin`;
    const late = await announce(other);
    const after = [await announce(sql), await announce(sql)];
    // The later ones are committed and have higher positions; still they have to wait.
    const held = await shown([before]);
    expect(await isFeedHeld(sql, { types: EVENT_TYPES, horizon: held.horizon })).toBe(true);
    expect(await isFeedHeld(sql, { types: ['purchase.stuck'], horizon: held.horizon })).toBe(false);
    await other.unsafe(end);
    const rest = await shown(end === 'commit' ? [late, ...after] : after, held.last);
    expect(await isFeedHeld(sql, { types: EVENT_TYPES, horizon: rest.horizon })).toBe(false);
    await shown(rest.ids, held.horizon.place);
    expect((await readAll(rest.last)).ids).toEqual([]);
  });

  test('does not hold up the feed when it writes other tables, or only reads events', async () => {
    await other`begin`;
    await other`insert into purchase_watch_internal.nudges (purchase, shard) values (1, 0)`;
    await other`select count(*) from purchase_watch_internal.events`;
    const id = await announce(sql);
    await shown([id]);
    await other`rollback`;
  });

  test('does not hold up the feed when it is of another database, whatever it writes there', async () => {
    const neighbour = await testDatabase();
    const there = connect(neighbour.url, { max: 1 });
    await there`begin`;
    await announce(there);
    const id = await announce(sql);
    await shown([id]);
    await there`rollback`;
    await there.end();
    await neighbour.drop();
  });

  test('holds nothing up any more once it has ended, though the snapshot of the question says that it runs', async () => {
    await other`begin`;
    await announce(other);
    // Without one that began later and has ended, no snapshot reaches as far as the writer.
    await announce(sql);
    await sql.begin('isolation level repeatable read', async (asking) => {
      // The snapshot of the whole transaction, taken while the writer ran: what a question is that comes as the writer ends.
      await asking`select 1`;
      const running = await readHorizon(asking);
      expect(comparePlaces(running.place, running.end)).toBeLessThan(0);
      await other`commit`;
      // A transaction of another database that begins just then may stand in the way for a moment.
      const ended = async () => {
        const { place, end } = await readHorizon(asking);
        return comparePlaces(place, end);
      };
      await expect.poll(ended).toBe(0);
    });
  });

  test('is not passed by one that began later and wrote earlier', async () => {
    await other`begin`;
    await other`lock table purchase_watch_internal.events in row exclusive mode`;
    await other`select pg_current_xact_id()`;
    const quick = await announce(sql);
    const slow = await announce(other, { type: 'site.unreachable' });
    expect((await readAll(FEED_START)).ids).toEqual([]);
    await other`commit`;
    for (const limit of [1, 2]) await shown([slow, quick], FEED_START, { limit });
  });

  test('counts when it locked the events for writing and has written nothing yet', async () => {
    await other`begin`;
    await other`lock table purchase_watch_internal.events in row exclusive mode`;
    await other`select pg_current_xact_id()`;
    await announce(sql);
    expect((await readAll(FEED_START)).ids).toEqual([]);
    await other`rollback`;
  });
});

test('whoever follows while many write and roll back sees every event once, and those of a purchase in order', async () => {
  const WRITERS = 6;
  const EACH = 25;
  const rows = await sql<{ id: number }[]>`
    insert into purchase_watch.purchases (purchase_id) select 'p-' || n from generate_series(1, ${WRITERS}) n returning id`;
  const committed = new Set<string>();
  const write = async (purchase: number): Promise<void> => {
    const own = connect(database.url, { max: 1 });
    for (let sequence = 1; sequence <= EACH; ) {
      const type = sequence % 3 === 0 ? 'purchase.stuck' : 'purchase.state_changed';
      await own`begin`;
      const id = await announce(own, { type, purchase, sequence, data: { sequence } });
      await delay(Math.random() * 6);
      const good = Math.random() < 0.7;
      await own.unsafe(good ? 'commit' : 'rollback');
      if (!good) continue;
      committed.add(id);
      sequence += 1;
    }
    await own.end();
  };
  const seen: { id: string; purchase: string; sequence: number }[] = [];
  let writing = true;
  const follow = async (): Promise<void> => {
    for (let after = FEED_START, last = false; ; ) {
      const limit = 1 + Math.floor(Math.random() * 20);
      const horizon = await readHorizon(sql);
      const { events: page } = await readFeed(sql, { after, types: EVENT_TYPES, limit, bytes: MIB, horizon });
      for (const { body } of page) {
        const event = JSON.parse(body) as { id: string; data: { sequence: number } };
        const [row] = await sql<
          { purchase: string }[]
        >`select purchase::text from purchase_watch_internal.events where id = ${event.id}`;
        seen.push({ id: event.id, purchase: row!.purchase, sequence: event.data.sequence });
      }
      if (page.length === limit) after = page.at(-1)!.place;
      else if (comparePlaces(horizon.place, after) > 0) after = horizon.place;
      if (page.length === 0 && last) return;
      last = !writing;
    }
  };
  const following = follow();
  await Promise.all(rows.map(({ id }) => write(id)));
  writing = false;
  await following;
  expect(seen).toHaveLength(committed.size);
  expect(new Set(seen.map(({ id }) => id))).toEqual(committed);
  for (const { id } of rows) {
    const sequences = seen.filter(({ purchase }) => purchase === String(id)).map(({ sequence }) => sequence);
    expect(sequences).toEqual(Array.from({ length: EACH }, (_, n) => n + 1));
  }
});

describe('a database that was moved', () => {
  const origin = async () => (await sql<{ origin: string }[]>`select origin from purchase_watch_internal.feed_era`)[0]!.origin;

  test('keeps its era as long as it stays where it is', async () => {
    const era = await settleFeedEra(sql);
    expect(await origin()).toMatch(/^\d{15,20}\/[0-9A-F]{8}$/);
    expect(await settleFeedEra(sql)).toBe(era);
  });

  test('begins a new one elsewhere: what was brought comes first, what is written there afterwards', async () => {
    const era = await settleFeedEra(sql);
    const old = [await announce(sql), await announce(sql)];
    await sql`update purchase_watch_internal.events set xid = '9000000000000000000'`;
    const reader = await readAll(FEED_START, { limit: 1 });
    // Among ids of this cluster they would wait for ever, and hide everything new.
    expect(reader.ids).toEqual([]);
    await sql`update purchase_watch_internal.feed_era set origin = '7000000000000000000/00000001'`;
    expect(await Promise.all([settleFeedEra(sql), settleFeedEra(sql)])).toEqual([era + 1, era + 1]);
    const fresh = [await announce(sql), await announce(sql)];
    await shown([...old, ...fresh]);
    const place = await placeOfEvent(sql, old[1]!, EVENT_TYPES);
    expect(place).toMatchObject({ era, xid: 9_000_000_000_000_000_000n });
    await shown(fresh, place!);
    const { place: horizon, end } = await readHorizon(sql);
    expect([horizon.era, end.era]).toEqual([era + 1, era + 1]);
  });

  test('begins a new one while somebody reads the events, and shows it when the writers that were under way have ended', async () => {
    const era = await settleFeedEra(sql);
    const [reader, writer] = [connect(database.url, { max: 1 }), connect(database.url, { max: 1 })];
    await reader.unsafe('begin; select count(*) from purchase_watch_internal.events');
    await writer.unsafe('begin');
    const late = await announce(writer);
    await sql`update purchase_watch_internal.feed_era set origin = '7000000000000000000/00000001'`;
    const settled = settleFeedEra(sql);
    const written = async () =>
      (await sql<{ written: number }[]>`select written from purchase_watch_internal.feed_era`)[0]!.written;
    await expect.poll(written).toBe(era + 1);
    const fresh = await announce(sql);
    const [row] = await sql<{ era: number }[]>`select era from purchase_watch_internal.events where id = ${fresh}`;
    expect(row!.era).toBe(era + 1);
    expect((await readHorizon(sql)).place.era).toBe(era);
    await writer.unsafe('commit');
    expect(await settled).toBe(era + 1);
    await shown([late, fresh]);
    await reader.unsafe('rollback');
    await Promise.all([reader.end(), writer.end()]);
  });

  test('begins a new one when another timeline took over', async () => {
    const era = await settleFeedEra(sql);
    await sql`update purchase_watch_internal.feed_era set origin = split_part(origin, '/', 1) || '/0000000F'`;
    expect(await settleFeedEra(sql)).toBe(era + 1);
  });
});

describe('the plan', () => {
  /** Pools as the API and the feed have them; each prepares its statements while the table is empty. */
  const pools = (): Sql[] => [connect(database.url, { max: 1 }), connect(database.url, { max: 1, steadyPlans: true })];

  test('reads by the index and only what it shows, whether the table was measured, and when it was empty a moment ago', async () => {
    const opened = pools();
    for (const pool of opened) for (let n = 0; n < 8; n++) await readAll(FEED_START, { from: pool });
    await sql`alter table purchase_watch_internal.events set (autovacuum_enabled = false)`;
    await sql`
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_' || n, case when n % 5000 = 0 then 'purchase.stuck' else 'purchase.state_changed' end, 'default', 0, now(),
        '{"id":"evt_' || n || '"}' from generate_series(1, 20000) n`;
    const { place } = await readHorizon(sql);
    const [middle] = await sql<{ xid: string }[]>`select xid::text from purchase_watch_internal.events limit 1`;
    const after: FeedPlace = { era: place.era, xid: BigInt(middle!.xid), position: 0 };
    for (const measured of [false, true]) {
      if (measured) await sql`analyze purchase_watch_internal.events`;
      for (const pool of opened) {
        for (const [types, limit, shown] of [
          [EVENT_TYPES, 10, 10],
          [EVENT_TYPES, 1_000, 1_000],
          [['purchase.stuck'], 1_000, 4],
        ] as const) {
          const read = await rowsRead(pool, 'events', async (tx) => {
            const horizon = await readHorizon(tx);
            expect((await readFeed(tx, { after, types, limit, bytes: MIB, horizon })).events).toHaveLength(shown);
          });
          expect(read.scanned).toBe(0);
          // Once to see that it is there, and once for its body; of each type no more than a page.
          expect(read.fetched).toBeLessThan(2 * shown + 20);
        }
      }
    }
    for (const pool of opened) await pool.end();
  });
});
