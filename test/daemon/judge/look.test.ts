import { afterAll, beforeAll, expect, test } from 'vitest';
import { createJudge } from '../../../src/daemon/judge/judge.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { createStayLimits } from '../../../src/postgres/stays/limits.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { testClock } from '../../support/test-clock.ts';

const MINUTE = 60_000;
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
  await renewReplica(database.sql, { id: 'a', process: 'test', ttl: 10 * MINUTE });
});
afterAll(() => database.drop());

test('a look at a quiet system asks the database one statement', async () => {
  const { sql } = database;
  const clock = testClock();
  const judge = createJudge({
    sql,
    clock,
    log: createLogger({ level: 'silent' }),
    meters: createMeters(),
    replica: 'a',
    limits: createStayLimits({ sql, clock, policy: DEFAULT_POLL_POLICY }),
    sites: [{ name: 'se', timeZone: 'UTC' }],
    channels: [{ name: '@slack', sites: null, severity: 'warning' }],
    policy: { groupWait: 0, quietFor: 0, groupInterval: 0, repeatInterval: 0 },
    sessionLength: 20 * MINUTE,
    digest: '0 8 * * *',
    isReplicaPosted: () => false,
    onEvents: () => expect.unreachable('nothing was written'),
  });
  // The first look takes the lease, and finds when the next digest is due.
  await judge.tick();
  const asked: string[] = [];
  sql.options.debug = (_: number, statement: string) => asked.push(statement);
  expect(await judge.tick()).toBe(5_000);
  expect(asked).toHaveLength(1);
});
