import { afterEach, beforeEach, expect, test } from 'vitest';
import { saveVerdicts } from '../../../src/postgres/incidents/incidents.ts';
import { checkoutsToAlert, saveCheckouts } from '../../../src/postgres/incidents/stuck-alerts.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { loadStays } from '../../../src/postgres/stays/stays.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const NOW = Date.UTC(2026, 10, 20, 9, 15);
const lease = { name: 'judge', replica: 'me', epoch: 1 } as const;
const reason = { site: 'default', state: 6, mode: 'each', counted: 0, perDay: 0, isLast: false } as const;
let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['default']);
  await sql`update purchase_watch_internal.leases set owner = 'me', epoch = 1 where name = 'judge'`;
  await sql`insert into purchase_watch.purchases (purchase_id) values ('p-1')`;
  await sql`update purchase_watch.purchases set state = 6, state_since = now(), stuck_since = now()`;
});
afterEach(() => database.drop());

/** A database that went back gives the purchase's row id, and the ids of what belongs to it, to another purchase. */
const givenToAnother = () => database.sql`update purchase_watch.purchases set purchase_id = 'new'`;
const alerts = () => database.sql<{ isAlerted: boolean }[]>`
  select alerted_at is not null as "isAlerted" from purchase_watch_internal.stuck_alerts`;

test('people are alerted of the checkout that the judge read, not of one that was given its id', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch_internal.stuck_alerts (purchase, site, state, state_since, stuck_at, first_sight)
    select id, site, state, state_since, stuck_since, false from purchase_watch.purchases`;
  const save = async (read: Awaited<ReturnType<typeof checkoutsToAlert>>) => {
    const stuck = read.map(({ id }) => ({ id, alerted: [], reason }));
    return saveCheckouts(sql, { read, stuck, over: [], dropped: [], events: [], now: NOW, lease });
  };
  const read = await checkoutsToAlert(sql);
  await givenToAnother();
  expect(await save(read)).toBe(false);
  expect(await alerts()).toEqual([{ isAlerted: false }]);
  const again = await checkoutsToAlert(sql);
  expect(await save(again)).toBe(true);
  expect(await alerts()).toEqual([{ isAlerted: true }]);
  expect(await save(again), 'an earlier statement, whose answer was lost, alerted of it').toBe(false);
});

test('the judge deletes the stay that it added up, and alerts of its purchase, not a stay that was given its id', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch_internal.stays (customer, purchase, entered_at, at, shortest_ms, longest_ms, state, site, outcome, first_sight, found_late)
    select 7, id, now(), now(), 1, 1, state, site, 'overdue', false, false from purchase_watch.purchases`;
  const save = (stuck: Awaited<ReturnType<typeof loadStays>>) => {
    const stays = { taken: stuck, detections: [], dwell: [], stays: [], firstLooks: [] };
    return saveVerdicts(sql, { incidents: [], events: [], lease, stays, stuck, takenOver: [] });
  };
  const read = await loadStays(sql, 10);
  await givenToAnother();
  await sql`update purchase_watch_internal.stays set customer = 8`;
  await save(read);
  expect([await loadStays(sql, 10), await alerts()]).toMatchObject([[{ customer: '8' }], []]);
  await save(await loadStays(sql, 10));
  expect([await loadStays(sql, 10), await alerts()]).toEqual([[], [{ isAlerted: false }]]);
});
