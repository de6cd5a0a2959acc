import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { addExits } from '../../support/dwell-days.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('se', 'fi');
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.sql`truncate purchase_watch.purchases, purchase_watch_internal.incidents, purchase_watch_internal.transition_counts,
    purchase_watch_internal.dwell_days cascade`;
});

const command = (...argv: string[]) => runCommand(['flow', ...argv], { DATABASE_URL: database.url });

async function busyHour(): Promise<void> {
  const { sql } = database;
  // The bucket before the present one is within the hour, also when the present one ends meanwhile.
  await sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
    select 'se', date_bin('10 minutes', now(), 'epoch') - d * interval '24 hours' - interval '20 minutes', f, t, case d when 0 then n else usual end
    from generate_series(0, 3) d, (values (6, 2, 38, 81), (1, 6, 60, 62), (null, 9, 7, 7)) edge (f, t, n, usual)`;
  await sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
    values ('se', date_bin('10 minutes', now(), 'epoch') - interval '4 days', 0, 1, 1)`;
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, state, state_since, seen_at, stuck_since)
    select 'p-' || n, 'se', 6, now() - n * interval '4 minutes 1 second', now(), case when n > 3 then now() end from generate_series(1, 5) n`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, severity)
    values ('inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2', 'stuck', 'se', 6, now(), now() - interval '24 minutes 30 seconds', 2, 2, 1)`;
  await addExits(sql, Date.now(), [{ site: 'se', state: 6, exits: 412, dwell: 38_000 }]);
}

test('shows edges, states, who waits and incidents within 80 columns', async () => {
  await busyHour();
  const { exitCode, stdout } = await command('--site', 'se');
  expect(exitCode).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  // The line of names is prose, which a terminal is given in lines as wide as it is.
  expect(lines.slice(0, -1).filter((line) => line.length > 80)).toEqual([]);
  expect(lines[0]).toMatch(/^Changes of state from \d{4}-\d\d-\d\d \d\d:\d0 to \d\d:\d\d UTC, site se$/);
  expect(lines.slice(1).map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
    'usual: the mean of the same minutes on 3 of the last 14 days, weekends too',
    '',
    'from | to | count | usual',
    'in the check-out form | waiting for the card provider | 60 | 62',
    'waiting for the card provider | completed | 38 | 81',
    'first seen | waiting for a Finnish bank | 7 | 7',
    '',
    'state | now | stuck | came | usual | limit',
    'in the check-out form | 0 | 0 | 0 | none',
    'completed | 0 | 0 | 38 | final',
    expect.stringMatching(/^waiting for the card provider \| 5 \| 2 \| 60 \| 3\d s \| 15 min$/),
    'waiting for a Finnish bank | 0 | 0 | 7 | none',
    '',
    'state | longest | 95 % under | past half | past limit',
    expect.stringMatching(/^waiting for the card provider \| 2\d min( \d+ s)? \| 39 s \| 4 \| 2$/),
    '',
    expect.stringMatching(/^incident inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2, critical, since 2\d min ago$/),
    ' | at se waiting for the card provider',
    '',
    'Names of these states: in the check-out form (BeingProcessed), waiting for the card provider (WaitingForCardPayments), waiting for a Finnish bank (WaitingForFinnishDirectPayment)',
  ]);
});

test('--json writes what the API answers', async () => {
  await busyHour();
  const body = JSON.parse((await command('--json')).stdout);
  expect(body).toMatchObject({ site: null, usualDays: 3, notSeenYet: 0 });
  expect(body.edges[1]).toEqual({
    from: { value: 6, name: 'WaitingForCardPayments' },
    to: { value: 2, name: 'Completed' },
    count: 38,
    usual: 81,
  });
  expect(body.states.find(({ state }: { state: { value: number } }) => state.value === 6)).toMatchObject({
    usual: { purchases: 412 },
    limits: [{ site: 'se', limit: { source: 'configured', usualMs: expect.any(Number) } }],
    incidents: [{ id: 'inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2', severity: 'critical' }],
  });
});

test('says what is not there: no changes, nothing usual, purchases that were not seen yet', async () => {
  await database.sql`insert into purchase_watch.purchases (purchase_id, site) values ('p-1', 'se'), ('p-2', 'fi')`;
  const { stdout } = await command();
  expect(stdout.split('\n').slice(1)).toEqual([
    'What is usual at this time of day is not known before three days have been counted.',
    '',
    'No purchase changed its state.',
    '',
    'Not seen yet: 2',
    '',
  ]);
});

test('a site that is not there is refused', async () => {
  const { exitCode, stderr } = await command('--site', 'sweden');
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--site: "sweden" is not a site')]);
});
