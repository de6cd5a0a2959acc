import { afterAll, beforeAll, expect, test } from 'vitest';
import { incidentsNow } from '../../../src/postgres/incidents/current.ts';
import { openIncidents } from '../../../src/postgres/incidents/incidents.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const AT = 1_800_000_000_000;
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['se', 'no']);
  const moment = sql`to_timestamp(${AT}::float8 / 1000)`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, parent, opened_at, since, count, peak, severity, ended_at, quiet_since,
      acknowledged_at, acknowledged_by)
    select id, kind, site, state, parent, ${moment}, ${moment}, count, peak, severity, case when over then ${moment} end,
      case when quiet then ${moment} end, case when taken then ${moment} end, case when taken then 'Kim' end
    from (values
      ('inc_all', 'stuck', null, null::integer, null, 12, 20, 1, false, false, true),
      ('inc_se', 'stuck', 'se', null, 'inc_all', 9, 15, 0, false, false, false),
      ('inc_se4', 'stuck', 'se', 4, 'inc_se', 2, 6, 0, false, false, false),
      ('inc_se6', 'stuck', 'se', 6, 'inc_se', 7, 9, 0, false, false, false),
      ('inc_no6', 'stuck', 'no', 6, 'inc_all', 0, 5, 0, false, true, false),
      ('inc_down', 'unreachable', 'no', null, null, 1, 1, 0, true, false, false))
      as v (id, kind, site, state, parent, count, peak, severity, over, quiet, taken)`;
});
afterAll(() => database.drop());

test('incidents are read as they are now, with how bad, over or not, and in whose care', async () => {
  const now = await incidentsNow(database.sql, ['inc_se6', 'inc_down', 'inc_all', 'inc_gone', 'inc_se6']);
  expect([...now.keys()].sort()).toEqual(['inc_all', 'inc_down', 'inc_se6']);
  const nobody = { acknowledged: null, parts: [] };
  expect(now.get('inc_se6')).toEqual({
    count: 7,
    peak: 9,
    since: AT,
    endedAt: null,
    level: 'warning',
    hasParent: true,
    ...nobody,
  });
  expect(now.get('inc_down')).toMatchObject({ level: 'critical', endedAt: AT, hasParent: false });
  expect(now.get('inc_all')).toMatchObject({ level: 'critical', acknowledged: { by: 'Kim', note: null, at: AT } });
});

test('of one that tells of others, the states of sites below it come along, the largest first', async () => {
  const now = await incidentsNow(database.sql, ['inc_all', 'inc_se']);
  const [card, identity] = [
    { site: 'se', state: 6, count: 7, peak: 9, ended: false },
    { site: 'se', state: 4, count: 2, peak: 6, ended: false },
  ];
  expect(now.get('inc_se')!.parts).toEqual([card, identity]);
  expect(now.get('inc_all')!.parts).toEqual([card, identity, { site: 'no', state: 6, count: 0, peak: 5, ended: true }]);
});

test('of none, nothing is asked, and of very many, only as many as a message holds', async () => {
  expect((await incidentsNow(database.sql, [])).size).toBe(0);
  const many = Array.from({ length: 500 }, (_, index) => `inc_${index}`);
  expect((await incidentsNow(database.sql, [...many, 'inc_all'])).size).toBe(0);
});

test('the judge reads open incidents and those that ended lately, however many are kept', async () => {
  await database.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, quiet_since, count, peak)
    select 'inc_old' || n, 'stuck', 'se', 4, at, at, at, at, 0, 5
    from generate_series(1, 10000) n cross join lateral (select to_timestamp(${AT}::float8 / 1000) - n * interval '20 minutes' as at) t`;
  await database.sql`analyze purchase_watch_internal.incidents`;
  const found: string[] = [];
  const { scanned, fetched } = await rowsRead(database.sql, 'incidents', async (tx) => {
    found.push(...(await openIncidents(tx, AT)).map(({ id }) => id));
  });
  expect(found.sort()).toEqual(['inc_all', 'inc_no6', 'inc_old1', 'inc_se', 'inc_se4', 'inc_se6']);
  expect([scanned, fetched < 50]).toEqual([0, true]);
});
