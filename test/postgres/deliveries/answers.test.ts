/** Whole answers of receivers: a ring for each subscriber, so that no number of failures makes the table grow. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { answerOf, lastAnswer } from '../../../src/postgres/deliveries/answers.ts';
import { type Settlement, settle } from '../../../src/postgres/deliveries/settle.ts';
import { MOST_TYPED, waitingFor, waitingTypes } from '../../../src/postgres/deliveries/waiting.ts';
import { removeAttempts } from '../../../src/postgres/upkeep/retention.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const COUNT = 200;
const NOW = Date.UTC(2026, 10, 20, 9, 15);
const LONG = 'x'.repeat(8_000);

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await sql`insert into purchase_watch_internal.subscribers (name, kind, address_hash) values ('books', 'webhook', 'x')`;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
    select 'evt_' || n, case when n % 10 = 0 then 'site.unreachable' else 'site.reachable' end, 'default', 0, now(), '{}'
    from generate_series(1, ${COUNT}::integer) n order by n`;
  await sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select position, -position, 1, 0, now() from purchase_watch_internal.events order by position`;
  await sql`update purchase_watch_internal.shards set owner = 'me', epoch = 1`;
});
afterAll(() => database.drop());

const me = { replica: 'me', holdings: [{ shard: 0, epoch: 1 }] };
const marks = async (): Promise<{ id: number; mark: number; event: number }[]> =>
  sql`select id::float8 as id, mark, event::float8 as event from purchase_watch_internal.deliveries order by id`;
const kept = async (): Promise<{ count: number; bytes: number }> => {
  const [row] = await sql<[{ count: number; bytes: number }]>`
    select count(*)::float8 as count, coalesce(sum(octet_length(answer)), 0)::float8 as bytes from purchase_watch_internal.receiver_answers`;
  return row;
};

async function failAll(number: number): Promise<void> {
  const all = await marks();
  const batch = all.map(
    ({ id, mark, event }): Settlement => ({
      delivery: { id, mark, subscriber: 1, lane: -event, position: event, shard: 0, rank: 0, attemptsBefore: 0 },
      ...{ number, status: 'pending', dueAt: NOW + 60_000, rank: 0, at: NOW + id + number * 10_000, tookMs: 5, httpStatus: 500 },
      ...{
        outcome: 'http_500',
        fault: 'receiver',
        error: 'The receiver answered 500.',
        excerpt: 'x',
        answer: `${id}, ${number}: ${LONG}`,
      },
    }),
  );
  // As the notifier writes them, when each takes its time.
  for (let at = 0; at < batch.length; at += 4) await settle(sql, batch.slice(at, at + 4), me);
}

test('of thousands of failures 64 answers are kept, and of a delivery the last', { timeout: 60_000 }, async () => {
  await failAll(1);
  expect(await kept()).toMatchObject({ count: 64 });
  const { bytes } = await kept();
  await failAll(2);
  await failAll(3);
  expect(await kept()).toMatchObject({ count: 64 });
  expect(Math.abs((await kept()).bytes - bytes)).toBeLessThan(1_000);
  const last = (await marks()).at(-1)!;
  expect(await answerOf(sql, last.id)).toMatchObject({ number: 3, text: `${last.id}, 3: ${LONG}` });
  expect(await lastAnswer(sql, 1)).toMatchObject({ delivery: last.id, number: 3 });
  expect(await answerOf(sql, 1)).toBeNull();
});

test('what waits is counted by type, and the types are all of it', async () => {
  const types = await waitingTypes(sql, 1);
  expect(types.map(({ type, count }) => [type, count])).toEqual([
    ['site.reachable', COUNT - COUNT / 10],
    ['site.unreachable', COUNT / 10],
  ]);
  expect(types.reduce((sum, { count }) => sum + count, 0)).toBe(await waitingFor(sql, 1));
  expect(COUNT).toBeLessThan(MOST_TYPED);
});

test('an answer goes with its delivery, and with the attempts of its time', async () => {
  const last = (await marks()).at(-1)!;
  await sql`delete from purchase_watch_internal.events where position = ${last.event}`;
  expect(await answerOf(sql, last.id)).toBeNull();
  expect(await kept()).toMatchObject({ count: 63 });
  await removeAttempts(sql, { before: NOW + 1_000_000, limit: 10_000 });
  expect(await kept()).toMatchObject({ count: 0 });
});
