/** Pauses end when their reason does: what Slack asked for, what we refused, or a secret that the receiver refused. */
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { addSubscriber, changeSubscriber, rotateSecret } from '../../src/actions/subscribers/subscribers.ts';
import { statusesOf, watchMany } from '../support/changes.ts';
import { startChannels } from '../support/channels.ts';
import { startSteeredReceiver } from '../support/steered-receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const EVERYTHING = { types: null, sites: null, states: null, description: null };

let t: TestApp | undefined;
afterEach(async () => {
  await t?.stop();
  t = undefined;
});

/** Until when a subscriber is paused, by the database; null while it is not. */
async function pausedUntil({ database }: TestApp, name: string): Promise<number | null> {
  const [row] = await database.sql<{ until: number | null }[]>`
    select (extract(epoch from h.paused_until) * 1000)::float8 as until from purchase_watch_internal.subscriber_health h
    join purchase_watch_internal.subscribers s on s.id = h.subscriber where s.name = ${name}`;
  return row?.until ?? null;
}

/** Delivers for some minutes, until failures pause a subscriber. */
async function failUntilPaused(daemon: TestApp, name: string): Promise<void> {
  for (let minute = 0; minute < 40 && (await pausedUntil(daemon, name)) === null; minute++) {
    daemon.clock.advance('1m');
    await daemon.app.deliverOnce();
  }
  expect(await pausedUntil(daemon, name)).not.toBeNull();
}

test('when Slack asks for fewer messages the next try is when it asked for it, however often, and takes along what came', async () => {
  const channels = await startChannels();
  onTestFinished(channels.stop);
  const { clock, slack, daemon } = channels;
  const limit = { status: 429, headers: { 'retry-after': '2' }, body: 'rate_limited' };
  slack.respond(limit, limit, limit, limit, limit);
  await channels.announce(1);
  await daemon.deliver();
  expect(slack.received).toHaveLength(1);
  for (let tries = 2; tries <= 6; tries++) {
    clock.advance('1900ms');
    await daemon.deliver();
    expect(slack.received).toHaveLength(tries - 1);
    if (tries === 6) await channels.announce(2);
    clock.advance('200ms');
    await daemon.deliver();
    expect(slack.received).toHaveLength(tries);
  }
  expect(await channels.statuses()).toEqual({ delivered: 3 });
  expect(slack.received.at(-1)!.text).toContain('3 messages in one, because Slack did not take them at once');
  const [{ attempts, counted }] = await channels.sql<[{ attempts: number; counted: number }]>`
    select attempts, attempts - attempts_before as counted from purchase_watch_internal.deliveries order by id limit 1`;
  expect([attempts, counted]).toEqual([6, 1]);
});

test('a pause for an address that was refused ends at the start of a daemon that allows it, and not before', async () => {
  let allowed: string[] = [];
  t = await startTestApp({
    inventsEvents: true,
    change: ({ webhooks }) => {
      allowed = [...webhooks.allowAddresses];
      Object.assign(webhooks, { allowAddresses: [] });
    },
  });
  await watchMany(t, 5);
  await failUntilPaused(t, 'default');
  const until = await pausedUntil(t, 'default');
  await t.app.stop();

  const same = await t.another();
  await same.deliverOnce();
  expect(await pausedUntil(t, 'default')).toBe(until);
  await same.stop();
  expect(t.receiver.received).toEqual([]);

  Object.assign(t.settings.webhooks, { allowAddresses: allowed });
  const other = await t.another();
  await other.deliverOnce();
  expect(t.receiver.received).toHaveLength(5);
  expect(t.log.join('')).toContain('other addresses are allowed now');
});

test.each([
  ['secret', (means: Parameters<typeof rotateSecret>[0], now: number) => rotateSecret(means, 'books', { overlap: 60_000, now })],
  [
    'header',
    (means: Parameters<typeof rotateSecret>[0]) => changeSubscriber(means, 'books', { headers: { authorization: 'Bearer 7' } }),
  ],
])(
  'a pause for a %s that the receiver refused ends with another one',
  async (_what, cure) => {
    const receiver = await startSteeredReceiver();
    onTestFinished(receiver.stop);
    t = await startTestApp({ inventsEvents: true, env: { SECRETS_KEY: 'an encryption key of many characters' } });
    const means = { sql: t.app.sql, secrets: secretsOf(t.settings) };
    await addSubscriber(means, { name: 'books', url: receiver.url, ...EVERYTHING });
    receiver.steer(() => ({ status: 401 }));
    await watchMany(t, 5);
    await failUntilPaused(t, 'books');
    receiver.steer(() => ({ status: 200 }));
    await t.app.deliverOnce();
    expect((await statusesOf(t, 'books')).delivered).toBeUndefined();
    await cure(means, t.clock.now());
    await t.app.deliverOnce();
    expect(await statusesOf(t, 'books')).toEqual({ delivered: 5 });
  },
  60_000,
);
