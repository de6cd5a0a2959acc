import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { bringForward } from '../../../src/postgres/deliveries/bring-forward.ts';
import { announce } from '../../support/announce.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const MINUTE = 60_000;

let database: TestDatabase;
let sql: Sql;
let now: number;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate purchase_watch_internal.events, purchase_watch_internal.subscribers restart identity cascade`;
  await sql`
    insert into purchase_watch_internal.subscribers (name, kind, origin, url, keys, address_hash)
    values ('shop', 'webhook', 'api', '\\x00', '\\x00', 'a'), ('books', 'webhook', 'api', '\\x00', '\\x00', 'b')`;
  now = Date.now() + 1_000;
});

/** Shop's deliveries made so: attempts, those of them that do not count, and in how long they are due. */
async function waiting(...some: readonly (readonly [attempts: number, before: number, dueIn: number])[]): Promise<void> {
  for (const [attempts, before, dueIn] of some) {
    const event = await announce(sql);
    await sql`
      update purchase_watch_internal.deliveries d set attempts = ${attempts}, attempts_before = ${before}, rank = ${attempts > 1 ? 1 : 0},
        due_at = to_timestamp(${now + dueIn}::float8 / 1000) from purchase_watch_internal.events e
      where e.position = d.event and e.id = ${event}`;
  }
}
const dueOf = async (subscriber: number): Promise<number[]> =>
  (
    await sql<{ due: number }[]>`
      select round(extract(epoch from due_at) * 1000)::float8 - ${now}::float8 as due from purchase_watch_internal.deliveries where subscriber = ${subscriber} order by event`
  ).map(({ due }) => due);

test('all that waits for later is due now, of that subscriber alone', async () => {
  await waiting([0, 0, -MINUTE], [3, 0, 30 * MINUTE], [0, 0, 30 * MINUTE], [9, 0, 1_440 * MINUTE]);
  const woken = Promise.withResolvers<string>();
  const listener = await sql.listen('purchase_watch_wake', (payload) => woken.resolve(payload));
  expect(await bringForward(sql, 1, { kind: 'all' }, now)).toBe(3);
  expect(await woken.promise).toBe('replays');
  await listener.unlisten();
  expect(await dueOf(1)).toEqual([-MINUTE, 0, 0, 0]);
  expect((await dueOf(2)).slice(1)).toEqual([30 * MINUTE, 30 * MINUTE, 1_440 * MINUTE]);
  expect(await bringForward(sql, 1, { kind: 'all' }, now)).toBe(0);
});

test('after failures of ours only what failed through us', async () => {
  await waiting([1, 1, MINUTE], [3, 1, 30 * MINUTE], [0, 0, MINUTE]);
  await bringForward(sql, 1, { kind: 'ours' }, now);
  expect(await dueOf(1)).toEqual([0, 30 * MINUTE, MINUTE]);
});

test('after a pause what has attempts to spare, and of the rest the waits that the trouble explains', async () => {
  await waiting([5, 0, 300 * MINUTE], [6, 0, 81 * MINUTE], [6, 0, 79 * MINUTE], [7, 2, 300 * MINUTE]);
  await bringForward(sql, 1, { kind: 'explained', since: now - 10 * MINUTE, attempts: 10 }, now);
  expect(await dueOf(1)).toEqual([0, 81 * MINUTE, 0, 0]);
});

test('a backlog that is due is not read for it, and what is being settled is waited for by nobody', async () => {
  await sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_' || n, 'site.reachable', 'default', n % 64, now(), '{}' from generate_series(1, 20000) n returning position, shard)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select position, position, 1, shard, to_timestamp(${now - MINUTE}::float8 / 1000) from event`;
  await sql`analyze purchase_watch_internal.deliveries`;
  await waiting(...Array.from({ length: 10 }, () => [2, 0, MINUTE] as const));
  const { scanned, fetched } = await rowsRead(sql, 'deliveries', (tx) => bringForward(tx, 1, { kind: 'all' }, now));
  expect([scanned, fetched < 200]).toEqual([0, true]);

  await waiting([2, 0, MINUTE], [2, 0, MINUTE]);
  await sql.begin(async (tx) => {
    await tx`select from purchase_watch_internal.deliveries where subscriber = 1 order by id desc limit 1 for update`;
    expect(await bringForward(sql, 1, { kind: 'all' }, now)).toBe(1);
  });
});
