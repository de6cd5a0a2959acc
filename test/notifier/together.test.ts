/** What waited for a channel for people goes out in one message, in the real notifier with a real database. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SITE_SHARD } from '../../src/store/events.ts';
import { startChannels, type TestChannels } from '../support/channels.ts';
import { SLACK_ANSWERS } from '../support/slack-stand-in.ts';

let t: TestChannels;
beforeEach(async () => {
  t = await startChannels();
});
afterEach(() => t.stop());

const sent = (): number => t.slack.received.length;
const texts = (): string[] => t.slack.received.map(({ text }) => text);
/** How many attempts each delivery took, in the order of the events. */
const attempts = async (): Promise<number[]> =>
  (await t.sql<{ attempts: number }[]>`select attempts from purchase_watch.deliveries order by event`).map((row) => row.attempts);

test('what is new goes one by one, a second apart', async () => {
  await t.announce(2);
  await t.daemon.deliver();
  expect(sent()).toBe(2);
  expect(t.slack.received[1]!.at - t.slack.received[0]!.at).toBeGreaterThan(900);
  expect(await t.statuses()).toEqual({ delivered: 2 });
});

test('more than three at once are one message, which names each of them', async () => {
  await t.announce(4);
  await t.daemon.deliver();
  expect(sent()).toBe(1);
  expect(t.slack.received[0]!.problem).toBeNull();
  for (const site of ['shop-0', 'shop-1', 'shop-2', 'shop-3']) expect(texts()[0]).toContain(site);
  expect(await t.statuses()).toEqual({ delivered: 4 });
  const moments = await t.sql`select distinct settled_at from purchase_watch.deliveries`;
  expect(moments).toHaveLength(1);
});

test('two that waited for more than a minute are one message, one that did is itself', async () => {
  await t.announce(2);
  t.clock.advance('61s');
  await t.daemon.deliver();
  expect(sent()).toBe(1);
  await t.announce(1);
  t.clock.advance('61s');
  await t.daemon.deliver();
  expect(texts()[1]).toMatch(/^\S+ shop-0: 3 /);
  expect(await t.statuses()).toEqual({ delivered: 3 });
});

test('of six hundred that wait, five hundred go out in the first message and the rest in the second', async () => {
  await t.announce(600);
  t.clock.advance('2m');
  await t.daemon.deliver();
  expect(sent()).toBe(2);
  expect(t.slack.received.map(({ problem }) => problem)).toEqual([null, null]);
  const together = t.log.map((line) => JSON.parse(line)).filter(({ event }) => event === 'delivery.together');
  expect(together.map(({ events }) => events)).toEqual([500, 100]);
  expect(await t.statuses()).toEqual({ delivered: 600 });
});

test('a 429 in the middle of a storm pauses the channel, and what comes meanwhile is one message afterwards', async () => {
  t.slack.respond({}, SLACK_ANSWERS.rateLimited);
  await t.announce(3);
  await t.daemon.deliver();
  expect(sent()).toBe(2);
  for (let times = 0; times < 3; times++) {
    t.clock.advance('2s');
    await t.announce(1);
    await t.daemon.deliver();
  }
  expect(sent()).toBe(2);
  t.clock.advance('5s');
  await t.daemon.deliver();
  expect(sent()).toBe(3);
  expect(await t.statuses()).toEqual({ delivered: 6 });
  // The one that was refused is the only one that was tried twice.
  expect(await attempts()).toEqual([1, 2, 1, 1, 1, 1]);
});

test('Slack away for an hour: everything in one message within minutes of its return', async () => {
  t.slack.respondAlways(SLACK_ANSWERS.broken);
  for (let step = 0; step < 12; step++) {
    if (step % 2 === 0) await t.announce(1);
    await t.daemon.deliver();
    t.clock.advance('5m');
  }
  expect((await t.statuses()).pending).toBe(6);
  const tries = sent();
  expect(tries).toBeGreaterThanOrEqual(10);
  t.slack.respondAlways({});
  for (let step = 0; step < 3; step++) {
    t.clock.advance('2m');
    await t.daemon.deliver();
  }
  expect(sent()).toBe(tries + 1);
  expect(await t.statuses()).toEqual({ delivered: 6 });
});

test('a daemon that loses its shard while Slack answers settles none of them, and the next one sends all', async () => {
  await t.announce(5);
  t.slack.respond({ delay: 300 });
  const sending = t.daemon.deliver();
  await t.slack.waitFor((received) => received.length === 1);
  // Another one takes over, as after a crash.
  await t.sql`insert into purchase_watch.replicas (id, process, expires_at) values ('rep_other', 'other', now() + interval '1 hour')`;
  await t.sql`update purchase_watch.shards set owner = 'rep_other', epoch = epoch + 1 where id = ${SITE_SHARD}`;
  await t.daemon.renew();
  await sending;
  await t.daemon.vanish();
  expect(await t.statuses()).toEqual({ pending: 5 });
  await t.sql`delete from purchase_watch.replicas where id = 'rep_other'`;
  const other = await t.another();
  await other.deliver();
  expect(sent()).toBe(2);
  expect(await t.statuses()).toEqual({ delivered: 5 });
  expect(texts()[1]).toBe(texts()[0]);
});

test('two daemons at work say everything once', async () => {
  const other = await t.another();
  await t.announce(5);
  for (let times = 0; times < 2; times++) {
    await Promise.all([t.daemon.deliver(), other.deliver()]);
    await t.announce(1);
    t.clock.advance('5s');
  }
  await Promise.all([t.daemon.deliver(), other.deliver()]);
  expect(sent()).toBe(3);
  expect(await t.statuses()).toEqual({ delivered: 7 });
});

test('when Slack refuses how the one message is built, its text is sent instead', async () => {
  t.slack.respond(SLACK_ANSWERS.invalidBlocks);
  await t.announce(4);
  await t.daemon.deliver();
  expect(t.slack.received.map(({ blocks }) => blocks !== undefined)).toEqual([true, false]);
  expect(await t.statuses()).toEqual({ delivered: 4 });
});
