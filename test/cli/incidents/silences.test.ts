import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

const HOUR = 3_600_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('se', 'fi');
  await database.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('shop', 'webhook', 'systems', 'x')`;
});
afterAll(() => database.drop());
beforeEach(() => database.sql`truncate purchase_watch_internal.silences`);

const command = (...argv: string[]) => runCommand(argv, { DATABASE_URL: database.url });
const WHY = ['--reason', 'The service moves.', '--by', 'Kim'];
const add = (...argv: string[]) => command('silences', 'add', ...argv, ...WHY);
const added = async (...argv: string[]) => JSON.parse((await add(...argv, '--json')).stdout);
const length = ({ startsAt, endsAt }: { startsAt: string; endsAt: string }): number => Date.parse(endsAt) - Date.parse(startsAt);

test('one is added, listed and ended', async () => {
  const { exitCode, stdout } = await add('--site', 'se', '--state', 'WaitingForCardPayments', '--for', '2h');
  expect(exitCode).toBe(0);
  const [, id] =
    /^(sil_\d+): stuck waiting for the card provider at se, until \S+Z \(.* more\)\n.*silences end sil_\d+\n$/.exec(stdout) ?? [];
  expect((await command('silences')).stdout).toMatch(
    new RegExp(`^${id} +active +stuck waiting for the card provider at se +until .* +Kim +The service moves\\.$`, 'm'),
  );
  expect((await command('silences', 'end', id!)).stdout).toBe(`${id} is over: people are alerted now of what is still wrong\n`);
  expect((await command('silences', 'end', id!)).stdout).toBe(`${id} was over already\n`);
  expect((await command('silences', 'list')).stdout).toBe(
    'No silence holds or is to come. Those that are over: purchase-watch silences --all\n',
  );
  expect((await command('silences', '--all')).stdout).toMatch(new RegExp(`^${id} +over `, 'm'));
});

test('a maintenance window begins later, and lasts from then', async () => {
  const window = await added('--kind', 'unreachable', '--from', '10m', '--for', '2h');
  expect(window).toMatchObject({ kind: 'unreachable', status: 'coming' });
  expect(length(window)).toBe(2 * HOUR);
  const at = new Date(Date.now() + 3 * HOUR).toISOString();
  const until = new Date(Date.now() + 4 * HOUR).toISOString();
  expect(await added('--site', 'fi', '--from', at, '--until', until)).toMatchObject({ startsAt: at, endsAt: until });
  const { stdout } = await command('silences');
  expect(stdout).toMatch(/ coming +no answer at all sites +from \S+Z until \S+Z +Kim /);
  expect(stdout).toMatch(/ coming +everything at fi +from /);
});

test.each<[readonly string[], string]>([
  [['--everything'], 'everything'],
  [['--kind', 'stuck'], 'stuck at all sites'],
  [['--kind', 'subscriber'], 'all subscribers'],
  [['--subscriber', 'shop'], 'subscriber shop'],
  [['--state', '6'], 'stuck waiting for the card provider at all sites'],
  [['--site', 'se', '--kind', 'unreachable'], 'no answer at se'],
])('%j is about %s', async (argv, about) => {
  expect((await add(...argv, '--for', '1h')).stdout).toContain(`: ${about}, until `);
});

test('one of a final state is added, with a warning', async () => {
  expect((await add('--site', 'se', '--state', 'Completed', '--for', '1h')).stdout).toMatch(
    /^sil_\d+: .*\. No purchase is ever stuck in the state completed, because that state is final: did you mean another state\?$/m,
  );
});

test('pages hold each once, newest first', async () => {
  for (let count = 0; count < 3; count++) await add('--site', 'se', '--for', '1h');
  const { data, nextCursor } = JSON.parse((await command('silences', '--limit', '2', '--json')).stdout);
  expect([data.length, nextCursor]).toEqual([2, data[1].id]);
  expect(JSON.parse((await command('silences', '--cursor', nextCursor, '--json')).stdout).data).toHaveLength(1);
});

describe('what is refused', () => {
  test.each<[readonly string[], RegExp]>([
    [['--for', '1h'], /--everything: must be given to silence all incidents/],
    [['--everything', '--site', 'se', '--for', '1h'], /--everything: cannot go with/],
    [['--site', 'see', '--for', '1h'], /--site: "see" is not a site \(did you mean se\?\)/],
    [['--state', 'Completted', '--for', '1h'], /--state: "Completted" is no state \(did you mean Completed\?\)/],
    [['--state', 'Waitng', '--for', '1h'], /--state: "Waitng" is no state \(did you mean WaitingForEidApp\?\)/],
    [['--kind', 'stock', '--for', '1h'], /--kind: "stock" is no kind of incident \(did you mean stuck\?\)/],
    [
      ['--subscriber', 'shpo', '--for', '1h'],
      /--subscriber: "shpo" is no subscriber \(did you mean shop\?\); "purchase-watch subscribers" lists them/,
    ],
    [['--kind', 'unreachable', '--state', '6', '--for', '1h'], /--state: "6" cannot go with kind unreachable/],
    [['--site', 'se'], /--for: is missing: say how long with --for 2h, or until when with --until/],
    [['--site', 'se', '--for', '31d'], /--for: must be at most 30 days ahead/],
    [['--site', 'se', '--until', 'tomorrow'], /--until: "tomorrow" must be a time with its zone/],
    [['--site', 'se', '--from', '2h', '--until', '1h'], /--from: "2h" must be before the end \(--until\)/],
    [['--site', 'se', '--until', '2020-01-01T00:00:00Z'], /--until: "2020-01-01T00:00:00Z" must be in the future; it is \d{4}-/],
    [
      ['--site', 'se', '--from', '2020-01-01T00:00:00Z', '--until', '2h'],
      /--from: "2020-01-01T00:00:00Z" must not be in the past; .* Leave it out to begin now/,
    ],
    [['--site', 'se', '--for', '1h', '--until', '2h'], /cannot be used with option/],
    [['--site', 'se', '--for', 'long'], /Expected a duration/],
  ])('%j', async (argv, message) => {
    const { exitCode, stderr } = await add(...argv);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect((await command('silences', '--all')).stdout).toBe('No silences.\n');
  });

  test('all at once', async () => {
    const { exitCode, stderr } = await command('silences', 'add', '--state', 'Completted', '--until', 'soon');
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(
        /^error: 4 problems\n {2}--state: "Completted" is no state .*\n {2}--until: "soon" must be .*\n {2}--reason: is missing; .*\n {2}--by: is missing; /,
      ),
    ]);
  });

  test('the end of one that is not there', async () => {
    const { exitCode, stderr } = await command('silences', 'end', 'sil_999');
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(/^error: there is no silence sil_999; .*"purchase-watch silences --all"/),
    ]);
    expect((await command('silences', 'end', '999')).exitCode).toBe(2);
    expect((await command('silences', 'ad')).stderr).toMatch(/Did you mean add/);
  });
});
