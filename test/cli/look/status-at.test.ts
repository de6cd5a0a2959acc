/** `status --at`: what `GET /v1/then` answers, in words. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { addSnapshots } from '../../support/full-world/snapshots.ts';
import { runCommand } from '../run.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
  await addSnapshots(database.sql, ['se']);
  await database.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, severity, since, opened_at, count, peak)
    values ('inc_then', 'stuck', 'se', 6, 1, now() - interval '10 hours', now() - interval '10 hours', 0, 31)`;
});
afterAll(() => database.drop());

const status = (...argv: readonly string[]) => runCommand(['status', ...argv], { DATABASE_URL: database.url });

test('shows the sentence, the incidents, the states and the hour before', async () => {
  const { stdout, exitCode } = await status('--at', '9h', '--site', 'se');
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(
    /^This is how it was at \d{4}-\d\d-\d\d \d\d:\d0 UTC, site se\nse: 12 customers were stuck waiting for the card provider\. 12 of 54 watched purchases were stuck\.\n/,
  );
  expect(stdout).toMatch(/incident inc_then, critical, had been open for 5\d min/);
  expect(stdout).toMatch(/state +then +stuck +came/);
  expect(stdout).toMatch(/waiting for the card provider +26 +12/);
  expect(stdout.replace(/\s+/g, ' ')).toContain('In the hour before: 0 customers came, 0 polls (0 without an answer)');
  expect(stdout).toMatch(/Not kept of the past: which replicas ran/);
});

test('answers for programs what the API does', async () => {
  const found = JSON.parse((await status('--at', '9h', '--json')).stdout);
  expect(found).toMatchObject({ severity: 'critical', purchases: { watching: 54, stuck: 12 }, site: null });
  expect(found.hours).toHaveLength(336);
});

test.each([
  [['--at', '15d'], /--at 15d: is more than 14 days ago; give a time from /],
  [['--at', 'noon'], /--at noon: must be a time with its zone/],
  [['--at', '1h', '--watch'], /--at: not with --watch/],
  [['p-1', '--at', '1h'], /--at: not with an id/],
  [['--at', '1h', '--site', 'xx'], /xx/],
])('%j is refused with what to do', async (argv, text) => {
  const { stderr, exitCode } = await status(...argv);
  expect(exitCode).not.toBe(0);
  expect(stderr).toMatch(text);
});
