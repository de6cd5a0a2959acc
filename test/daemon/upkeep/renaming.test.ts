import { afterEach, beforeEach, expect, test } from 'vitest';
import { storyOf } from '../../../src/actions/incidents/incidents.ts';
import { whatOf } from '../../../src/actions/incidents/words.ts';
import { createUpkeep, type Upkeep } from '../../../src/daemon/upkeep/upkeep.ts';
import { UNNAMED } from '../../../src/domain/incidents/symptom.ts';
import { currentSymptoms } from '../../../src/postgres/incidents/incidents.ts';
import { listSites, syncSites } from '../../../src/postgres/polling/sites.ts';
import { foldTransitionCounts } from '../../../src/postgres/polling/transition-counts.ts';
import { explainFacts } from '../../../src/postgres/reports/explain.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { type TestClock, testClock } from '../../support/test-clock.ts';

let database: TestDatabase;
let clock: TestClock;
let log: string[];
let upkeep: Upkeep;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se', 'old']);
  clock = testClock({ isWhole: true });
  log = [];
  await renewReplica(database.sql, { id: 'a', process: 'test', ttl: 60_000 });
  const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
  const forever = Number.POSITIVE_INFINITY;
  upkeep = createUpkeep({
    ...{ sql: database.sql, clock, skipped: () => [], replica: 'a', log: createLogger({ level: 'info', destination }) },
    retention: { settled: forever, attempts: forever, events: forever, trends: forever, at: '0 0 1 1 *' },
  });
});
afterEach(() => database.drop());

async function keep(): Promise<void> {
  clock.advance('61s');
  while ((await upkeep.tick()) <= 1_000);
}
const unnamedFor = (minutes: number, renamedTo: string | null = null) => database.sql`
  update purchase_watch_internal.sites set unnamed_since = to_timestamp(${clock.now() / 1_000}::float8) - ${minutes} * interval '1 minute',
    renamed_to = ${renamedTo} where name = 'old'`;
const isConfigured = async () => {
  const [row] = await database.sql<[{ configured: boolean }]>`
    select configured from purchase_watch_internal.sites where name = 'old'`;
  return row.configured;
};
const ofSite = async (site: string) =>
  database.sql<{ id: string; status: string; sequence: number }[]>`
    select purchase_id as id, status, sequence from purchase_watch.purchases where site = ${site} order by purchase_id`;

test('ten minutes after no replica named a site any more, it is not configured; its purchases stay and are counted', async () => {
  await database.sql`insert into purchase_watch.purchases (purchase_id, site) values ('p-1', 'old')`;
  await unnamedFor(8);
  await keep();
  expect(await isConfigured()).toBe(true);
  await unnamedFor(11);
  await keep();
  expect(await isConfigured()).toBe(false);
  expect(log.join('')).toContain('site.retired');
  const [old] = await listSites(database.sql);
  expect(old).toMatchObject({ name: 'old', configured: false, unpolled: 1, failingReason: 'not_configured' });
  const [symptom] = await currentSymptoms(database.sql, clock.now());
  await database.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, count, peak, severity)
    values ('inc_old', ${symptom!.kind}, ${symptom!.site}, now(), now(), 1, 1, ${symptom!.severity})`;
  const story = await storyOf(database.sql, 'inc_old');
  expect(whatOf(story.incident)).toBe('no running daemon has the site in its settings');
  expect(story.advice.todo.join()).toContain('add the old name to `formerly`');
  await database.sql`delete from purchase_watch_internal.incidents`;
});

test('purchases of a former name move with what is learned of the site; an id of both names goes on at the new one', async () => {
  await database.sql`
    insert into purchase_watch.purchases (purchase_id, site)
    select 'p-' || n, 'old' from generate_series(1, 1201) n union all values ('both', 'old'), ('both', 'se')`;
  await database.sql`update purchase_watch.purchases set sequence = 5 where purchase_id = 'both' and site = 'old'`;
  await database.sql`
    insert into purchase_watch_internal.dwell_days (site, state, day, bucket, shortest, longest)
    values ('old', 6, '2026-11-01', 3, 10, 20), ('se', 6, '2026-11-01', 3, 1, 2)`;
  await database.sql`
    insert into purchase_watch_internal.transition_counts (bucket, count, from_state, to_state, site) values (now(), 7, 1, 2, 'old')`;
  const outcome = { hour: new Date(0), customers: 2, gone: 1, amount: 10, was_stuck: false, outcome: 'paid' };
  await database.sql`insert into purchase_watch_internal.outcome_hours ${database.sql([
    { ...outcome, site: 'old' },
    { ...outcome, site: 'se' },
  ])}`;
  const shards = database.sql`select purchase_id, shard from purchase_watch.purchases order by 1, 2`;
  const before = await shards;
  await unnamedFor(1, 'se');
  await keep();
  await keep();
  expect(await ofSite('old')).toEqual([{ id: 'both', status: 'stopped', sequence: 5 }]);
  expect(await ofSite('se')).toHaveLength(1_202);
  expect(log.join('')).toMatch(/"from":"old","to":"se","purchases":1201,.*site\.moved/);
  expect(log.join('')).toContain('site.doubles_stopped');
  // The order of deliveries rests on the shard.
  expect(await database.sql`select purchase_id, shard from purchase_watch.purchases order by 1, 2`).toEqual(before);
  expect(await database.sql`select site, shortest, longest from purchase_watch_internal.dwell_days`).toEqual([
    { site: 'se', shortest: 11, longest: 22 },
  ]);
  await foldTransitionCounts(database.sql);
  expect(await database.sql`select site, count::integer as count from purchase_watch_internal.transition_counts`).toEqual([
    { site: 'se', count: 7 },
  ]);
  expect(
    await database.sql`
    select site, customers::integer as customers, gone::integer as gone, amount::integer as amount from purchase_watch_internal.outcome_hours where outcome = 'paid'`,
  ).toEqual([{ site: 'se', customers: 4, gone: 2, amount: 20 }]);
  // The counters follow.
  const totals = await database.sql`
    select site, sum(count)::integer as count from purchase_watch.purchase_totals group by site order by site`;
  expect(totals).toEqual([
    { site: 'old', count: 1 },
    { site: 'se', count: 1_202 },
  ]);
});

test('a row that another session has locked is left; log, symptoms and explanation name the session, and not the setting', async () => {
  const { sql } = database;
  await sql`insert into purchase_watch.purchases (purchase_id, site) values ('free', 'old'), ('held', 'old')`;
  const other = await sql.reserve();
  const [{ pid }] = await other<[{ pid: number }]>`select pg_backend_pid() as pid`;
  await other`begin`;
  const [{ id }] = await other<[{ id: number }]>`
    select id::float8 as id from purchase_watch.purchases where purchase_id = 'held' for update`;
  await unnamedFor(2, 'se');
  await keep();
  await keep();
  expect((await ofSite('se')).map((row) => row.id)).toEqual(['free']);
  expect(log.join('')).toMatch(/"purchases":1,"left":1,.*site\.moved/);
  const lines = log.filter((line) => line.includes('site.move_locked'));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    from: 'old',
    to: 'se',
    purchases: 1,
    pid,
    advice: expect.stringContaining(`${pid}`),
  });
  // A lock that has just begun alerts nobody.
  const old = async () => (await listSites(sql)).find(({ name }) => name === 'old');
  expect(await old()).toMatchObject({ unpolled: 1, lockedBy: pid, failingSince: null });
  // An incident that was opened while no daemon knew the old name is not over before everything has moved.
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, count, peak) values ('inc_1', 'unreachable', 'old', now(), now(), 1, 1)`;
  expect(await old()).toMatchObject({ failingSince: expect.anything(), failingReason: 'not_moved' });
  await sql`delete from purchase_watch_internal.incidents`;
  await unnamedFor(20, 'se');
  expect(await old()).toMatchObject({
    ...{ failingSince: expect.anything(), failingReason: 'not_moved' },
    lastError: `1 purchase of site old is not polled yet: it moves to site se, which names old in "formerly", and session ${pid} of the database has locked rows that are to move.`,
  });
  // Lists say of such an incident that no daemon names the site, not that the service gives no answer.
  expect((await currentSymptoms(sql, clock.now())).map(({ site, severity }) => [site, severity])).toEqual([['old', UNNAMED]]);
  expect(await explainFacts(sql, { id, subscriber: null })).toMatchObject({
    site: { configured: false, renamedTo: 'se' },
    purchase: { lockedBy: pid },
  });
  await other`commit`;
  other.release();
  await keep();
  expect(await ofSite('se')).toHaveLength(2);
  expect(log.join('')).toMatch(/"purchases":1,"left":0,.*site\.moved/);
  expect(await currentSymptoms(sql, clock.now())).toEqual([]);
});
