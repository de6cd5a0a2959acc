import { afterEach, beforeEach, expect, test } from 'vitest';
import { savePause } from '../../../src/postgres/deliveries/subscriber-health.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const T = Date.UTC(2026, 10, 20, 9, 15);
let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
});
afterEach(() => database.drop());

test('of two replicas the longer pause counts, and the higher number of failures, whichever writes last', async () => {
  const { sql } = database;
  const [{ id }] = await sql<[{ id: number }]>`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('shop', 'webhook', 'systems', 'x') returning id`;
  const pause = (failures: number, seconds: number) =>
    savePause(sql, id, { failures, pauses: 0, failingSince: T, pausedUntil: T + seconds * 1_000, lastError: `for ${seconds} s` });
  const stored = async () => {
    const [row] =
      await sql`select failures, paused_until as until, last_error as error from purchase_watch_internal.subscriber_health`;
    return row;
  };
  await pause(2, 5);
  await pause(1, 9);
  expect(await stored()).toEqual({ failures: 2, until: T + 9_000, error: 'for 9 s' });
  await pause(1, 3);
  expect(await stored()).toEqual({ failures: 2, until: T + 9_000, error: 'for 9 s' });
  await pause(3, 1);
  expect(await stored()).toEqual({ failures: 3, until: T + 9_000, error: 'for 1 s' });
});
