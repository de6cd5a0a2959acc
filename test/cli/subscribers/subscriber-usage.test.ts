import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('default');
  await database.sql`insert into purchase_watch_internal.replicas (id, process, expires_at) values ('rep_1', 'x', now() + interval '1 hour')`;
  expect((await command('subscribers', 'add', 'shop', 'https://shop.example')).exitCode).toBe(0);
});
afterAll(() => database.drop());
const command = (...argv: string[]) =>
  runCommand(argv, { DATABASE_URL: database.url, SECRETS_KEY: 'an encryption key of many characters' });

test('a test of one that is paused waits, and says until when and how to end that', async () => {
  await database.sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
    select id, 6, 3, now(), now() + interval '2 hours', 'The receiver answered 503.' from purchase_watch_internal.subscribers where name = 'shop'`;
  const began = performance.now();
  const { exitCode, stderr } = await command('subscribers', 'test', 'shop');
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^error: the test \(dlv_\d+\) is kept and waits: shop is paused until \S+Z \(.* more\) after 6 failures in a row \(The receiver answered 503\); end that at once: purchase-watch subscribers resume shop/,
    ),
  ]);
  // Nothing is to be expected of a pause that lasts longer than the 20 s it would wait.
  expect(performance.now() - began).toBeLessThan(15_000);
  const { data } = JSON.parse((await command('deliveries', '--subscriber', 'shop', '--json')).stdout);
  expect(data).toMatchObject([{ status: 'parked', event: { type: 'subscriber.test' } }]);
});

test('resume says when there was nothing to end', async () => {
  expect((await command('subscribers', 'resume', 'shop')).stdout).toMatch(
    /^shop gets events: its parked deliveries are sent in order/,
  );
  expect(await command('subscribers', 'resume', 'shop')).toMatchObject({
    exitCode: 0,
    stdout: 'shop is not paused: nothing was changed\n',
  });
});

test.each([
  ['nothing to change', ['subscribers', 'change', 'shop'], /^error: nothing to change was given; /],
  ['nothing but JSON', ['subscribers', 'change', 'shop', '--json'], /^error: nothing to change was given; /],
  [
    'headers, and none',
    ['subscribers', 'change', 'shop', '--header', 'X-A: b', '--no-header'],
    /Give headers or take them away, not both/,
  ],
  [
    'none, and headers',
    ['subscribers', 'change', 'shop', '--no-header', '--header', 'X-A: b'],
    /Give headers or take them away, not both/,
  ],
])('%s is wrong usage', async (_, argv, message) => {
  const { exitCode, stderr } = await command(...argv);
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
});
