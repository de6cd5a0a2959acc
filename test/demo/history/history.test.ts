/** The made-up past of the demo: whole for the audit, and seen in Trends, Then and the aftermath of its incident. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { learnedLimits } from '../../../src/actions/flow/stay-limits.ts';
import { readAftermath } from '../../../src/actions/incidents/aftermath.ts';
import { readThen } from '../../../src/actions/then/then.ts';
import { readTrends } from '../../../src/actions/trends/trends.ts';
import { countAftermath } from '../../../src/daemon/upkeep/aftermaths.ts';
import { demoSettings } from '../../../src/demo/cast/settings.ts';
import { storyBefore } from '../../../src/demo/history/customers.ts';
import { SEEDED_BY, writeHistory } from '../../../src/demo/history/history.ts';
import { DAY, MINUTE } from '../../../src/domain/values/time.ts';
import { retireEverything } from '../../../src/postgres/polling/retire.ts';
import { register } from '../../../src/postgres/purchases/purchases.ts';
import { databaseNow } from '../../../src/postgres/reports/overview.ts';
import { audit } from '../../../src/postgres/upkeep/audit.ts';
import { foldAppended } from '../../../src/postgres/upkeep/folding.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const SITES = ['demo-se', 'demo-fi'];
const home = mkdtempSync(join(tmpdir(), 'purchase-watch-history-'));
const HERE = 'http://127.0.0.1:1';
const secret = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';
const { policy } = demoSettings({ home, checkoutUrl: HERE, shopUrl: HERE, slackUrl: HERE, consoleUrl: HERE, secret }).settings;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  expect(await writeHistory(database.sql, { sites: SITES, policy })).toBe(true);
  await retireEverything(database.sql);
  // The daemon's upkeep does both.
  while (await foldAppended(database.sql));
  while (await countAftermath(database.sql, await databaseNow(database.sql)));
}, 240_000);
afterAll(async () => {
  await database.drop();
  rmSync(home, { recursive: true });
});

test('audit finds the counts equal to their purchases, and no gap; the seed is named in each purchase', {
  timeout: 120_000,
}, async () => {
  const result = await audit(database.sql, { site: null, since: null });
  expect(Object.entries(result).flatMap(([check, { gaps, first }]) => (gaps === 0 ? [] : [{ check, first }]))).toEqual([]);
  expect(result.outcome_hours.checked).toBeGreaterThan(1_000);
  const by =
    await database.sql`select registered_by, count(*) > 5000 as many, count(due_slot) as queued from purchase_watch.purchases group by 1`;
  expect([...by]).toEqual([{ registeredBy: SEEDED_BY, many: true, queued: 0 }]);
});

test('Trends compares a week with the one before, and says what got worse', async () => {
  const limits = await learnedLimits(database.sql, policy);
  const trends = await readTrends(database.sql, { range: '7d', site: null, zone: 'Europe/Stockholm', limits });
  expect(trends.total.customers).toBeGreaterThan(2_500);
  expect(trends.shares.every(({ customers, before }) => customers > 100 && before.customers > 100)).toBe(true);
  expect(trends.sentence).toContain('waiting for a Finnish bank');
  expect(trends.marks.map(({ text }) => text)).toContain('deploy 4.2 (seeded)');
});

test('Then shows the broken page, with customers stuck there, and calm hours before', async () => {
  const limits = await learnedLimits(database.sql, policy);
  const now = await databaseNow(database.sql);
  const { brokenTo, brokenFrom } = storyBefore(now);
  const read = (at: number) => readThen(database.sql, { at, now, site: null, limits, incidentsKept: 90 * DAY });
  const then = await read(brokenTo - 10 * MINUTE);
  expect(then.sentence).toMatch(/^demo-se: \d+ customers were stuck waiting for the card provider\.$/);
  expect(then.purchases!.stuck).toBeGreaterThanOrEqual(3);
  expect(then.incidents![0]!.told).toMatchObject({ count: 4, waiting: [{ currency: 'SEK' }] });
  expect((await read(brokenFrom - 30 * MINUTE)).incidents).toEqual([]);
  expect(then.hours.every(({ came }) => came !== null)).toBe(true);
  expect(then.activity.minutes.every(({ polls }) => polls > 0)).toBe(true);
  expect(then.flow!.states.find(({ stuck }) => stuck > 0)!.usual!.purchases).toBeGreaterThan(1_000);
});

test('the aftermath says what the incident cost', async () => {
  const { sentence } = await readAftermath(database.sql, 'inc_seeded');
  expect(sentence).toMatch(
    /^demo-se: \d+ of \d+ customers who got stuck waiting for the card provider did not pay; .* more than usual did not pay, worth about .*SEK\.$/,
  );
});

test('nothing is written into a database that somebody used', async () => {
  expect(await writeHistory(database.sql, { sites: SITES, policy })).toBe(false);
  const used = await testDatabase();
  try {
    await used.sql`insert into purchase_watch_internal.sites (name) values ('demo-se')`;
    await register(used.sql, [{ purchaseId: 'own', site: 'demo-se', reference: null, metadata: null }]);
    expect(await writeHistory(used.sql, { sites: SITES, policy })).toBe(false);
  } finally {
    await used.drop();
  }
});
