import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { runStory, STORY_ID } from '../../support/explained-purchase.ts';
import { databaseOf, onDatabase } from '../command.ts';
import { runCommand } from '../run.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf();
  await runStory(database.sql);
});
afterAll(() => database.drop());
const audit = (...argv: string[]) => onDatabase(database, ['audit', ...argv]);

test('a whole database is proven line by line', async () => {
  const { exitCode, stdout, stderr } = await audit();
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout.split('\n')).toEqual([
    'whole  2 transitions, each with its event and the same states',
    'whole  2 announced changes, each with its transition',
    'whole  1 purchase, their events numbered without a gap',
    'whole  1 purchase, each change beginning where the one before ended',
    "whole  3 deliveries that subscribers want of purchases' events, each there once",
    'whole  0 events of sites and incidents, each delivered once per subscriber that wants it',
    'whole  3 deliveries, none without its event, and no event or transition without its purchase',
    'whole  1 counter, each equal to what it counts',
    'whole  0 ended purchases, each counted by how its rows say that it ended',
    'whole  0 counts of an hour, each equal to the purchases that it counts',
    'whole  0 sums of an hour or a day, each equal to its counts',
    expect.stringMatching(/^looked at in \d/),
    '',
  ]);
});

test('the page about troubles shows what it prints', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/troubleshooting.md'), 'utf8');
  const [, example] = /\$ purchase-watch audit\n([\s\S]*?)```/.exec(page)!;
  const shape = (text: string) => text.replace(/looked at in .*/, '').replace(/^whole {2}[\d ]+|(?<=\w)s\b/gm, '');
  expect(shape(example!)).toBe(shape((await audit()).stdout));
});

test('gaps are listed with their ids, and fail the command', async () => {
  await database.sql`delete from purchase_watch_internal.attempts`;
  await database.sql`delete from purchase_watch_internal.deliveries where status = 'pending'`;
  const { exitCode, stdout, stderr } = await audit();
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^gaps {3}3 deliveries that subscribers want .*: not so 1 time$/m);
  expect(stdout).toContain(`se ${STORY_ID} #3: purchase.stuck has no delivery for shop`);
  expect(stderr).toMatch(/^error: 1 gap found; docs\/troubleshooting\.md says what to do$/m);
  const json = await audit('--json');
  expect(json.exitCode).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    whole: false,
    gaps: 1,
    checks: {
      deliveries: { checked: 3, gaps: 1, first: [{ site: 'se', purchaseId: STORY_ID, sequence: 3 }] },
      chains: { gaps: 0 },
    },
  });
  // Nothing of it is that recent.
  expect((await audit('--since', '1s')).exitCode).toBe(0);
});

test('gaps beyond the first twenty are counted', async () => {
  await database.sql`
    insert into purchase_watch.purchases (purchase_id, sequence) select 'many-' || n, 1 from generate_series(1, 23) n`;
  const { stdout } = await audit('--site', 'se');
  expect(stdout).toMatch(/^gaps {3}24 purchases, their events numbered without a gap: not so 23 times$/m);
  expect(stdout.match(/counts 1 events and has none/g)).toHaveLength(20);
  expect(stdout).toMatch(/^ +and 3 more$/m);
});

test('a terminal shows how far it is, and clears it', async () => {
  const { stderr } = await runCommand(['audit', '--site', 'se'], { DATABASE_URL: database.url, NO_COLOR: '1' }, { isTTY: true });
  expect(stderr).toMatch(/^\r\u001b\[K24 purchases ….*\r\u001b\[Kerror: /s);
});

test.each<[readonly string[], number, RegExp]>([
  [['--site', 'see'], 2, /did you mean se\?/],
  [['--since', 'yesterday'], 2, /Expected a duration/],
])('%j is refused', async (argv, exitCode, message) => {
  const answer = await audit(...argv);
  expect(answer).toMatchObject({ exitCode, stdout: '' });
  expect(answer.stderr).toMatch(message);
});
