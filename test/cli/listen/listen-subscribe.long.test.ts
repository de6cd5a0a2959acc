/** `listen --subscribe`: a developer's process that is a subscriber of a running daemon while it runs. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { readSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { runCommand } from '../run.ts';
import { changed, listener, OTHER, SECRET, sender } from './listener.ts';

const KEY = 'an encryption key of many characters';
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ realClock: true, env: { SECRETS_KEY: KEY } });
  await t.app.start();
});
afterAll(() => t.stop());
const env = () => ({ DATABASE_URL: t.database.url, SECRETS_KEY: KEY, WEBHOOK_API_ALLOW_ADDRESSES: '127.0.0.0/8' });
const subscribers = () => readSubscribers(t.database.sql);

test('is a subscriber while it runs: the way is tried, events come, and it is gone at the end', async () => {
  const listening = await listener(['--subscribe', '--types', 'purchase.state_changed', '--states', 'Completed'], env());
  await listening.until(/a test came through after/);
  const own = (await subscribers()).find(({ name }) => name.startsWith('listen-'));
  expect(own).toMatchObject({
    name: expect.stringMatching(new RegExp(`-${listening.process.pid}$`)),
    types: ['purchase.state_changed'],
    states: [2],
  });
  const purchase = await t.watch({ script: [{ state: 'Completed' }] });
  await listening.until(new RegExp(`${purchase}.*completed`));
  expect(await listening.end('SIGINT')).toBe(0);
  expect(listening.out().split('\n')).toHaveLength(2);
  expect(listening.err()).toMatch(/^1 event in /m);
  expect((await subscribers()).map(({ name }) => name)).not.toContain(own!.name);
  expect(listening.err() + listening.out()).not.toContain('whsec_');
});

test('what is to be sent again after a failure comes again', async () => {
  const listening = await listener(['--subscribe', 'flaky', '--fail', '1', '--json', '--count', '1'], env());
  await listening.until(/a test came through/);
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await listening.until(new RegExp(purchase));
  await t.database.sql`update purchase_watch_internal.deliveries set due_at = now() where status = 'pending'`;
  expect(await listening.end()).toBe(0);
  const [first, second, ...more] = listening.out().trimEnd().split('\n');
  expect([second, more]).toEqual([first, []]);
});

test('a secret that is given, also in WEBHOOK_SECRET alone, is the one that signs for the program behind it', async () => {
  const app = await startReceiver({ secret: OTHER });
  onTestFinished(() => app.stop());
  for (const secret of [{ WEBHOOK_SECRET: OTHER }, { WEBHOOK_SECRET: `${OTHER} ${SECRET}` }]) {
    const listening = await listener(['--subscribe', 'fwd', '--forward', app.url], { ...env(), ...secret });
    await listening.until(/a test came through/);
    const purchase = await t.watch({ script: [{ state: 'New' }] });
    await listening.until(new RegExp(purchase));
    expect(await listening.end('SIGINT')).toBe(0);
    expect(listening.out() + listening.err()).not.toMatch(/whsec_|answered [45]|refused/);
  }
  expect(app.received.map(({ verified }) => verified)).toEqual([true, true]);
});

test('a secret that was made is shown to whoever forwards, for the program behind it', async () => {
  const listening = await listener(['--subscribe', 'fwd', '--forward', '9'], env());
  await listening.until(/^ {2}export WEBHOOK_SECRET=whsec_\S+$/m);
  await listening.end('SIGINT');
});

test('what it refuses until it is paused is said, with how long that lasts', async () => {
  const listening = await listener(['--subscribe', 'refusing', '--answer', '503'], { ...env(), WEBHOOK_SECRET: OTHER });
  await listening.until(/a test came through/);
  await t.database.sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
    select id, 4, 1, now(), now() + interval '1 hour', 'The receiver answered 503.' from purchase_watch_internal.subscribers where name = 'refusing'`;
  await sender(listening.url, [OTHER])('evt_1', changed('evt_1', 1));
  await listening.until(
    /^refusing is paused until \d\d:\d\d:\d\dZ \((1 h|59 min( \d+ s)?) more\) after 4 failures in a row; then one delivery tries\. At once: purchase-watch subscribers resume refusing$/m,
  );
  expect(await listening.end('SIGINT')).toBe(0);
  expect(listening.err().match(/is paused until/g)).toHaveLength(1);
});

test('a closed terminal leaves nobody behind, and one that was killed is named by the next', async () => {
  const closed = await listener(['--subscribe'], env());
  await closed.until(/a test came through/);
  closed.process.kill('SIGHUP');
  expect(await closed.end('SIGHUP')).toBe(0);
  expect((await subscribers()).map(({ name }) => name)).toEqual(['default', '@slack']);
  const killed = await listener(['--subscribe'], env());
  await killed.until(/a test came through/);
  await killed.end('SIGKILL');
  const [, , left] = await subscribers();
  const next = await listener(['--subscribe', 'next'], env());
  await next.until(/a test came through/);
  expect(next.err()).toContain(
    `${left!.name} is left over from a run that was killed; remove it with: purchase-watch subscribers remove ${left!.name} --yes\n`,
  );
  const removed = await runCommand(['subscribers', 'remove', left!.name, '--yes'], env());
  expect(removed.exitCode).toBe(0);
  expect(await next.end('SIGINT')).toBe(0);
  expect((await subscribers()).map(({ name }) => name)).toEqual(['default', '@slack']);
});

test('names the setting without which nothing may be called here, and leaves nobody behind', async () => {
  const { WEBHOOK_API_ALLOW_ADDRESSES: _, ...without } = env();
  const { exitCode, stderr } = await runCommand(['listen', '--port', '0', '--subscribe', 'me'], without);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(
    /a daemon may not call http:\/\/127\.0\.0\.1:\d+\/: 127\.0\.0\.1 is not a public address \(loopback\)\. Set WEBHOOK_API_ALLOW_ADDRESSES=127\.0\.0\.0\/8 in this terminal, and for the daemon/,
  );
  expect((await subscribers()).map(({ name }) => name)).not.toContain('me');
});

test.each<[readonly string[], RegExp]>([
  [['--subscribe', 'default'], /there is a subscriber "default" already/],
  [['--subscribe', '--types', 'purchase.stuk'], /--types "purchase\.stuk".*did you mean purchase\.stuck/],
  [['--subscribe', '--sites', 'defalt'], /--sites "defalt".*did you mean default/],
])('%j is refused', async (argv, message) => {
  expect((await runCommand(['listen', '--port', '0', ...argv], env())).stderr).toMatch(message);
});
