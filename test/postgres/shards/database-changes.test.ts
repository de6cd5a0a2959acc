import { afterEach, beforeEach, expect, test } from 'vitest';
import { settleFeedEra } from '../../../src/postgres/events/feed.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { type FoundChange, noteDatabaseChange, unalertedLosses } from '../../../src/postgres/shards/database-changes.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const NOW = Date.UTC(2026, 10, 20, 9, 15);
const MINUTE = 60_000;
let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['default']);
});
afterEach(() => database.drop());

const note = (id: string, differs: Partial<FoundChange> = {}) =>
  noteDatabaseChange(database.sql, {
    ...{ kind: 'went_back', id, after: id, replica: 'a', host: 'host-a', noticedAt: NOW, knownUntil: NOW },
    ...differs,
  });

test('a loss begins a new era of the feed once, for transaction ids are given again, and another server with all events does not', async () => {
  const { sql } = database;
  const era = await settleFeedEra(sql);
  await note('dbc_1', { kind: 'moved' });
  expect(await settleFeedEra(sql)).toBe(era);
  await note('dbc_2');
  expect(await settleFeedEra(sql)).toBe(era + 1);
  await note('dbc_3', { after: 'dbc_1', replica: 'b' });
  expect(await settleFeedEra(sql)).toBe(era + 1);
});

/** People are alerted of an incident of replicas. */
async function alert(incident: string, at: number, reason: string): Promise<void> {
  const { sql } = database;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, since, opened_at, ended_at, count, peak, alerted_at)
    values (${incident}, 'replica', ${at}::timestamptz, ${at}::timestamptz, ${at}::timestamptz, 1, 1, ${at}::timestamptz)`;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, incident, body)
    values (${`evt_${incident}`}, 'incident.opened', '', 0, ${at}::timestamptz, ${incident}, ${JSON.stringify({ reason })})`;
}

test('people are alerted of each loss: an alert from before it, or about something else, does not count', async () => {
  const { sql } = database;
  const unalerted = async () => (await unalertedLosses(sql)).map(({ id }) => id);
  await note('dbc_1');
  await alert('inc_1', NOW + MINUTE, 'not_recording');
  expect(await unalerted()).toEqual(['dbc_1']);
  await alert('inc_2', NOW + MINUTE, 'database_went_back');
  expect(await unalerted()).toEqual([]);
  await note('dbc_2', { noticedAt: NOW + 2 * MINUTE });
  expect(await unalerted()).toEqual(['dbc_2']);
});
