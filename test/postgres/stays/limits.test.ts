import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DEFAULT_POLL_POLICY, type PollPolicy, policyOf } from '../../../src/domain/polling/poll-plan.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { createStayLimits } from '../../../src/postgres/stays/limits.ts';
import { aStatePolicy } from '../../support/a-purchase.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { addExits } from '../../support/dwell-days.ts';
import { testClock } from '../../support/test-clock.ts';

const MINUTE = 60_000;
const [IDENTIFYING, CARD, NOBODY_KNOWS] = [4, 6, 17];
const auto = aStatePolicy({ stuckAfter: 15 * MINUTE, auto: true });
const withAuto = (differs: Partial<PollPolicy> = {}): PollPolicy => ({
  ...DEFAULT_POLL_POLICY,
  states: new Map([...DEFAULT_POLL_POLICY.states, [CARD, auto]]),
  ...differs,
});

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se', 'fi', 'no']);
});
beforeEach(async () => {
  await database.sql`truncate purchase_watch_internal.dwell_days`;
});
afterAll(() => database.drop());

const limitsOf = (policy: PollPolicy, clock = testClock()) => ({
  limits: createStayLimits({ sql: database.sql, clock, policy }),
  clock,
});
/** 130 s lies in a bucket that ends at 152.2 s: three times 153 s. */
const LEARNED = 3 * 153_000;

test('a limit is learned for each site, and those who know little have that of all together', async () => {
  const { limits, clock } = limitsOf(withAuto());
  expect(limits.limitOf('se', CARD)).toEqual({ ms: 15 * MINUTE, source: 'default', dwell: null });
  expect(policyOf(limits.policyFor('se'), CARD).stuckAfter).toBe(15 * MINUTE);
  await addExits(database.sql, clock.now(), [
    { site: 'se', state: CARD, daysAgo: 1, exits: 30, dwell: 130_000 },
    { site: 'se', state: CARD, daysAgo: 2, exits: 20, dwell: 130_000 },
    { site: 'fi', state: CARD, daysAgo: 1, exits: 49, dwell: 400_000 },
  ]);
  await limits.refresh();
  expect(limits.limitOf('se', CARD)).toMatchObject({ ms: LEARNED, source: 'learned', dwell: { purchases: 50, p95: 153_000 } });
  expect(limits.limitOf('fi', CARD)).toMatchObject({ ms: 3 * 431_000, source: 'pooled', dwell: { purchases: 99 } });
  expect(limits.limitOf('no', CARD)).toEqual(limits.limitOf('fi', CARD));
  const planned = ['se', 'fi', 'no'].map((site) => policyOf(limits.policyFor(site), CARD).stuckAfter);
  expect(planned).toEqual([LEARNED, 3 * 431_000, 3 * 431_000]);
  // All else is as it was.
  expect(limits.policyFor('se')).toMatchObject({ giveUpAfter: DEFAULT_POLL_POLICY.giveUpAfter });
  expect(policyOf(limits.policyFor('se'), IDENTIFYING)).toBe(policyOf(DEFAULT_POLL_POLICY, IDENTIFYING));
});

test('a limit that is configured stays, with what is known beside it', async () => {
  const { limits, clock } = limitsOf(DEFAULT_POLL_POLICY);
  await addExits(database.sql, clock.now(), [{ site: 'se', state: CARD, exits: 50, dwell: 130_000 }]);
  await limits.refresh();
  expect(limits.limitOf('se', CARD)).toMatchObject({ ms: 15 * MINUTE, source: 'configured', dwell: { purchases: 50 } });
  expect(limits.limitOf('fi', CARD)).toEqual({ ms: 15 * MINUTE, source: 'configured', dwell: null, isDefault: true });
  expect(limits.limitOf('se', 0)).toEqual({ ms: null, source: 'configured', dwell: null, isDefault: true });
  expect(limits.policyFor('se')).toBe(DEFAULT_POLL_POLICY);
});

test('each number that nobody listed has a limit of its own, where that is the default plan', async () => {
  const { limits, clock } = limitsOf(withAuto({ fallback: auto }));
  await addExits(database.sql, clock.now(), [{ site: 'se', state: NOBODY_KNOWS, exits: 50, dwell: 130_000 }]);
  await limits.refresh();
  expect(policyOf(limits.policyFor('se'), NOBODY_KNOWS)).toEqual({ ...auto, stuckAfter: LEARNED });
  expect(policyOf(limits.policyFor('fi'), NOBODY_KNOWS).stuckAfter).toBe(LEARNED);
  expect(policyOf(limits.policyFor('se'), 18)).toEqual(auto);
  expect(limits.limitOf('se', 18)).toMatchObject({ ms: 15 * MINUTE, source: 'default' });
});

test('what was learned is read again after five minutes, and exits of fifteen days ago are forgotten', async () => {
  const { limits, clock } = limitsOf(withAuto());
  expect(await limits.tick()).toBe(5 * MINUTE);
  await addExits(database.sql, clock.now(), [{ site: 'se', state: CARD, exits: 50, dwell: 130_000 }]);
  clock.advance('4m');
  expect(await limits.tick()).toBe(MINUTE);
  expect(limits.limitOf('se', CARD).source).toBe('default');
  clock.advance('1m');
  await limits.tick();
  expect(limits.limitOf('se', CARD).source).toBe('learned');
  clock.advance('14d');
  await limits.tick();
  expect(limits.limitOf('se', CARD).source).toBe('default');
});

test('what was known is kept while the database cannot be read, and it is tried again at once', async () => {
  const { limits, clock } = limitsOf(withAuto());
  await addExits(database.sql, clock.now(), [{ site: 'se', state: CARD, exits: 50, dwell: 130_000 }]);
  await limits.tick();
  await database.sql`alter table purchase_watch_internal.dwell_days rename to away`;
  try {
    clock.advance('5m');
    await expect(limits.tick()).rejects.toThrow(/dwell_days/);
    expect(limits.limitOf('se', CARD).source).toBe('learned');
    expect(policyOf(limits.policyFor('se'), CARD).stuckAfter).toBe(LEARNED);
  } finally {
    await database.sql`alter table purchase_watch_internal.away rename to dwell_days`;
  }
  await database.sql`truncate purchase_watch_internal.dwell_days`;
  await limits.tick();
  expect(limits.limitOf('se', CARD).source).toBe('default');
});
