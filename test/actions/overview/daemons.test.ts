/** What doctor says of polls that are late, and why. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { reporterOf } from '../../../src/actions/overview/finding.ts';
import { checkNow } from '../../../src/actions/overview/needs.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
  await renewReplica(database.sql, { id: 'a', process: 'test', ttl: 60_000 });
});
afterEach(() => database.drop());

/** Purchases whose polls, not their first ones, are due since two minutes ago. */
async function late(ids: string, isBulk: boolean): Promise<void> {
  const { sql } = database;
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, bulk) select ${ids} || i, 'se', ${isBulk ? true : null}::boolean from generate_series(1, 3) i`;
  await sql`
    update purchase_watch.purchases set state = 1, state_since = now(), polls = 1, next_poll_at = now() - interval '2 minutes',
      due_slot = purchase_watch_internal.due_slot(now() - interval '2 minutes') where purchase_id like ${`${ids}%`}`;
}
const said = async (): Promise<string> => {
  const findings = await checkNow(reporterOf('daemons'), database.sql, { untested: false });
  return findings.flatMap(({ found, todo }) => (found.includes('are due') ? [`${found} → ${todo}`] : [])).join('\n');
};

test('late polls have their cause: bulk registrations ahead, too many for maxRps, a site that fails, or no daemon', async () => {
  await late('bulk', true);
  await database.sql`
    insert into purchase_watch.purchases (purchase_id, site) select 'first' || i, 'se' from generate_series(1, 60) i`;
  expect(await said()).toMatch(
    /^3 of its purchases are due, the oldest for 2 min.*; they were registered in bulk, and 60 first polls of bulk registrations are to come.* → null$/,
  );
  await late('single', false);
  expect(await said()).toMatch(/^6 of its purchases .* → maxRps of the site is too low/);
  await database.sql`update purchase_watch_internal.sites set failing_since = now() where name = 'se'`;
  expect(await said()).toMatch(/→ they are polled once the site answers$/);
  await database.sql`delete from purchase_watch_internal.replicas`;
  expect(await said()).toMatch(/→ no daemon polls them: see what is said of daemons$/);
});
