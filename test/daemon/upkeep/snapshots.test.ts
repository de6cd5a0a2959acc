/** How the purchases stand is noted once for every whole ten minutes, for all sites and for each. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keptStates } from '../../../src/actions/then/snapshots.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { createSnapshots, type Snapshots } from '../../../src/daemon/upkeep/snapshots.ts';
import { moveHistory } from '../../../src/postgres/polling/rename.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { readSnapshots, snapshotHours } from '../../../src/postgres/reports/snapshots.ts';
import { createStayLimits } from '../../../src/postgres/stays/limits.ts';
import { removeSnapshots } from '../../../src/postgres/upkeep/retention.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { type TestClock, testClock } from '../../support/test-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let database: TestDatabase;
let clock: TestClock;
let take: Snapshots;
/** The next whole ten minutes. */
let at: number;

beforeEach(async () => {
  database = await testDatabase();
  clock = testClock();
  at = Math.ceil(clock.now() / (10 * MINUTE)) * 10 * MINUTE;
  await syncSites(database.sql, ['fi', 'se']);
  const { sql } = database;
  take = createSnapshots({ sql, clock, limits: createStayLimits({ sql, clock, policy: loadSettings({}).policy }) });
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, state, state_since, seen_at, stuck_since, status)
    select 'p-' || n, case when n > 20 then 'fi' else 'se' end, case when n = 1 then null when n in (2, 22) then 2 else 6 end,
      case when n > 1 then now() - n * interval '1 minute' end, now(), case when n between 18 and 20 then now() end,
      case when n in (2, 22) then 'settled' else 'watching' end from generate_series(1, 23) n`;
  await sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
    values ('se', ${at - 10 * MINUTE}::timestamptz, null, 0, 7), ('fi', ${at - 10 * MINUTE}::timestamptz, null, 0, 2),
      ('se', ${at - 10 * MINUTE}::timestamptz, 0, 6, 50), ('se', ${at}::timestamptz, null, 0, 99)`;
});
afterEach(() => database.drop());

const until = (moment: number): void => clock.advance(`${moment - clock.now()}ms`);
const rows = (moment = at) => readSnapshots(database.sql, moment, ['se', 'fi']);

test('each site and all together, with the customers who came in the ten minutes before', async () => {
  until(at + 20_000);
  await take();
  const found = new Map((await rows()).map((row) => [row.site, row]));
  expect(found.get(null)).toMatchObject({ came: 9, watching: 21, stuck: 3 });
  expect(found.get('se')).toMatchObject({ came: 7, watching: 19, stuck: 3 });
  expect(found.get('fi')).toMatchObject({ came: 2, watching: 2, stuck: 0 });
  const cards = keptStates(found.get('se')!).get(6)!;
  expect(cards).toMatchObject({ final: false, watching: 18, stuck: 3, limits: [{ site: 'se' }] });
  // More than are noted one by one are in buckets, which hold all.
  expect(cards.ages!.oldest).toHaveLength(12);
  expect(cards.ages!.buckets!.reduce((sum, { count }) => sum + count, 0)).toBe(18);
  expect([...keptStates(found.get('fi')!).keys()]).toEqual([6]);
});

test('once for a moment, and not long after it', async () => {
  until(at + 5_000);
  await take();
  expect(await rows()).toHaveLength(0);
  until(at + 20_000);
  await take();
  await database.sql`update purchase_watch.purchases set status = 'stopped', next_poll_at = null, due_slot = null where site = 'fi'`;
  until(at + 40_000);
  await take();
  expect((await rows()).find(({ site }) => site === 'fi')!.watching).toBe(2);
  until(at + 10 * MINUTE + 3 * MINUTE);
  await take();
  expect(await rows(at + 10 * MINUTE)).toHaveLength(0);
  until(at + 20 * MINUTE + 20_000);
  await take();
  expect((await rows(at + 20 * MINUTE)).find(({ site }) => site === 'fi')!.watching).toBe(0);
});

test('an hour has the customers of its six moments, and the most who were stuck at one of them', async () => {
  const hour = Math.ceil(at / HOUR) * HOUR;
  for (const [minutes, came, stuck] of [
    [0, 1_000, 70],
    [10, 1, 4],
    [50, 2, 9],
    [60, 4, 3],
    [70, 1_000, 80],
  ] as const)
    await database.sql`
      insert into purchase_watch_internal.snapshots (at, site, came, watching, stuck, states)
      values (${hour + minutes * MINUTE}::timestamptz, null, ${came}, 0, ${stuck}, '[]')`;
  const hours = await snapshotHours(database.sql, { from: hour, to: hour + HOUR }, null);
  expect(hours).toEqual([{ to: hour + HOUR, came: 7, stuck: 9 }]);
});

test('rows move with a site that is renamed, and go when they are old', async () => {
  until(at + 20_000);
  await take();
  await syncSites(database.sql, ['sweden']);
  await moveHistory(database.sql, { from: 'se', to: 'sweden' });
  expect(await readSnapshots(database.sql, at, ['se'])).toHaveLength(1);
  expect((await readSnapshots(database.sql, at, ['sweden'])).find(({ site }) => site === 'sweden')!.watching).toBe(19);
  for (let left = 3; left > 0; left--) expect(await removeSnapshots(database.sql, { before: at + 1, limit: 1 })).toBe(1);
  expect(await removeSnapshots(database.sql, { before: at + 1, limit: 1 })).toBe(0);
});
