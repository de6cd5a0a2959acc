/** One look of the judge with a real database: what it writes, whom it alerts, when it looks again. What is wrong is a replica's trouble. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createJudge } from '../../../src/daemon/judge/judge.ts';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { saveReplicaTroubles } from '../../../src/postgres/shards/replica-troubles.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { createStayLimits } from '../../../src/postgres/stays/limits.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { type TestClock, testClock } from '../../support/test-clock.ts';
import { aLog } from '../notifier/parts.ts';

const SWEEP = 5_000;
let database: TestDatabase;
let clock: TestClock;
beforeEach(async () => {
  database = await testDatabase();
  clock = testClock();
  await syncSites(database.sql, ['se']);
  await database.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('@slack', 'slack', 'people', 'a')`;
  for (const id of ['a', 'b']) await renewReplica(database.sql, { id, process: 'test', ttl: 3_600_000 });
});
afterEach(() => database.drop());

const SLACK: ChannelRule = { name: '@slack', sites: null, severity: 'warning' };
const DEFAULTS = { isReplicaPosted: (): boolean => false, groupWait: 0, digest: null as string | null, channels: [SLACK] };
function judging(replica = 'a', differs: Partial<typeof DEFAULTS & { sql: TestDatabase['sql'] }> = {}) {
  const { groupWait, sql, ...options } = { ...DEFAULTS, sql: database.sql, ...differs };
  const { log, logged } = aLog();
  const state = { woken: 0 };
  const judge = createJudge({
    ...{ sql, clock, log, replica, sessionLength: null, meters: createMeters(), ...options },
    ...{ limits: createStayLimits({ sql, clock, policy: DEFAULT_POLL_POLICY }), sites: [{ name: 'se', timeZone: 'UTC' }] },
    policy: { groupWait, quietFor: 0, groupInterval: 0, repeatInterval: 3_600_000 },
    onEvents: () => {
      state.woken += 1;
    },
  } as unknown as Parameters<typeof createJudge>[0]);
  return { judge, state, logged, events: () => logged.map(({ event }) => event) };
}
/** Replica a cannot do this. */
const troubled = (...reasons: ('reaches_no_site' | 'not_recording' | 'not_judging')[]) =>
  saveReplicaTroubles(
    database.sql,
    { replica: 'a', host: 'host-a' },
    reasons.map((reason) => ({ reason, since: clock.now() - 60_000, error: null })),
  );
const alerts = async () =>
  (
    await database.sql<{ type: string }[]>`
      select e.type from purchase_watch_internal.events e join purchase_watch_internal.deliveries d on d.event = e.position order by e.position`
  ).map(({ type }) => type);

test('while nothing is wrong it writes nothing and rests', async () => {
  const { judge, state } = judging();
  expect([await judge.tick(), state.woken, await alerts()]).toEqual([SWEEP, 0, []]);
});

test('people are alerted once of what begins, once more when it is worse, and of its end', async () => {
  const { judge, state, events } = judging();
  const lookAfter = async (...reasons: Parameters<typeof troubled>): Promise<string[]> => {
    await troubled(...reasons);
    clock.advance('1m');
    await judge.tick();
    return alerts();
  };
  expect(await lookAfter('not_judging')).toEqual(['incident.opened']);
  expect(await lookAfter('not_judging')).toEqual(['incident.opened']);
  expect(await lookAfter('not_judging', 'not_recording')).toEqual(['incident.opened', 'incident.grew']);
  expect(await lookAfter()).toEqual(['incident.opened', 'incident.grew', 'incident.ended']);
  expect([state.woken, events()]).toEqual([3, ['incident.opened', 'incident.grew', 'incident.ended']]);
});

test('what may yet be joined by more is gathered first, and the next look is when that is over', async () => {
  const { judge, logged } = judging('a', { groupWait: 3_000 });
  await troubled('not_recording');
  const rest = await judge.tick();
  expect([rest <= 3_000, await alerts(), logged]).toEqual([true, [], []]);
  clock.advance('3s');
  await judge.tick();
  expect(await alerts()).toEqual(['incident.opened']);
});

test('of two replicas one judges, and the other one once the first is gone', async () => {
  const [first, second] = [judging('a'), judging('b')];
  await first.judge.tick();
  await troubled('not_recording');
  expect([await second.judge.tick(), await alerts()]).toEqual([SWEEP, []]);
  await first.judge.tick();
  expect(await alerts()).toEqual(['incident.opened']);
  await database.sql`delete from purchase_watch_internal.replicas where id = 'a'`;
  clock.advance('1m');
  await second.judge.tick();
  expect(await alerts()).toEqual(['incident.opened', 'incident.ended']);
});

test('a look whose statement the database carries out after the next look alerts nobody once more', async () => {
  let isBroken = false;
  let runLate: PromiseLike<unknown> | null = null;
  const sql = new Proxy(database.sql, {
    apply: (target, self, given: [TemplateStringsArray, ...unknown[]]) => {
      const query = Reflect.apply(target, self, given);
      if (!isBroken || !given[0].join('').includes('select true as held from held')) return query;
      // The statement begins when it is awaited.
      runLate = query;
      return Promise.reject(new Error('the connection broke'));
    },
  });
  const { judge } = judging('a', { sql });
  await troubled('not_recording');
  await judge.tick();
  await troubled();
  clock.advance('1m');
  isBroken = true;
  await expect(judge.tick()).rejects.toThrow('the connection broke');
  isBroken = false;
  await judge.tick();
  expect(await alerts()).toEqual(['incident.opened', 'incident.ended']);
  await runLate;
  expect(await alerts()).toEqual(['incident.opened', 'incident.ended']);
});

test('what this replica posted by itself alerts nobody again', async () => {
  const { judge, events } = judging('a', { isReplicaPosted: () => true });
  await troubled('not_recording');
  await judge.tick();
  expect([await alerts(), events().includes('incident.opened')]).toEqual([[], false]);
});

test('without a channel that takes messages the log has what people should know, as an error', async () => {
  await database.sql`update purchase_watch_internal.subscribers set status = 'off'`;
  const { judge, logged } = judging();
  await troubled('not_recording');
  await judge.tick();
  expect(logged).toEqual([
    expect.objectContaining({ event: 'incident.opened', level: 'error', advice: expect.stringContaining('only the log') }),
  ]);
});

test('one channel that takes messages is enough, and an end that nobody gets is no error', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, status) values ('@pager', 'slack', 'people', 'a', 'off')`;
  const { judge, logged } = judging('a', { channels: [SLACK, { name: '@pager', sites: null, severity: 'critical' }] });
  for (const reasons of [['reaches_no_site'], ['reaches_no_site', 'not_recording'], []] as const) {
    await troubled(...reasons);
    if (reasons.length === 0) await sql`update purchase_watch_internal.subscribers set status = 'off'`;
    clock.advance('1m');
    await judge.tick();
  }
  expect(logged.map(({ level, event }) => [level, event])).toEqual([
    ['warn', 'incident.opened'],
    ['warn', 'incident.grew'],
    ['warn', 'incident.ended'],
  ]);
});

test('a look at a quiet system asks the database one statement', async () => {
  const { judge } = judging('a', { digest: '0 8 * * *' });
  // The first look takes the lease, and finds when the next digest is due.
  await judge.tick();
  const asked: string[] = [];
  database.sql.options.debug = (_: number, statement: string) => asked.push(statement);
  expect(await judge.tick()).toBe(SWEEP);
  expect(asked).toHaveLength(1);
});
