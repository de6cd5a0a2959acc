/** What waited for a channel for people goes out in one message, in the real notifier with a real database. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SITE_SHARD } from '../../../src/postgres/events/events.ts';
import { startChannels, type TestChannels } from '../../support/channels.ts';
import { SLACK_ANSWERS } from '../../support/slack-stand-in.ts';

/** A dozen messages and the second after each already fill half of what a test usually has. */
const SLOW = 90_000;

let t: TestChannels;
beforeEach(async () => {
  t = await startChannels();
});
afterEach(() => t.stop());

const sent = (): number => t.slack.received.length;
const texts = (): string[] => t.slack.received.map(({ text }) => text);
/** How many attempts each delivery took, in the order of the events. */
const attempts = async (): Promise<number[]> =>
  (await t.sql<{ attempts: number }[]>`select attempts from purchase_watch_internal.deliveries order by event`).map(
    (row) => row.attempts,
  );

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
  const moments = await t.sql`select distinct settled_at from purchase_watch_internal.deliveries`;
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

test('Slack away for an hour: everything in one message within minutes of its return', { timeout: SLOW }, async () => {
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
  // Long enough for all that happens meanwhile, on a slow machine too.
  t.slack.respond({ delay: 3_000 });
  const sending = t.daemon.deliver();
  await t.slack.waitFor((received) => received.length === 1);
  // Another one takes over, as after a crash.
  await t.sql`insert into purchase_watch_internal.replicas (id, process, expires_at) values ('rep_other', 'other', now() + interval '1 hour')`;
  await t.sql`update purchase_watch_internal.shards set owner = 'rep_other', epoch = epoch + 1 where id = ${SITE_SHARD}`;
  await t.daemon.renew();
  await sending;
  await t.daemon.vanish();
  expect(await t.statuses()).toEqual({ pending: 5 });
  await t.sql`delete from purchase_watch_internal.replicas where id = 'rep_other'`;
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

test('a single message that comes an hour late says so, and why', { timeout: SLOW }, async () => {
  t.slack.respondAlways(SLACK_ANSWERS.broken);
  await t.announce(1);
  for (let step = 0; step < 13; step++) {
    await t.daemon.deliver();
    t.clock.advance('5m');
  }
  t.slack.respondAlways({});
  t.clock.advance('2m');
  await t.daemon.deliver();
  expect(await t.statuses()).toEqual({ delivered: 1 });
  expect(texts().at(-1)).toContain('This comes late, because Slack did not take it at once: it was due <!date^');
});

test('one that nobody could send when it was made says that it comes late, and not that Slack refused it', async () => {
  await t.announce(1);
  t.clock.advance('1h');
  await t.daemon.deliver();
  expect(texts()).toEqual([expect.stringContaining('This comes late: nobody could send it when it was due, <!date^')]);
});

test('what is one message because so much came at once does not blame Slack', async () => {
  await t.announce(4);
  await t.daemon.deliver();
  expect(texts()[0]).toContain('4 messages in one, because they came at once.');
  expect(texts()[0]).not.toMatch(/Slack did not|were due/);
});

test('a daemon that takes over waits out the second after the last message of the one before', async () => {
  await t.announce(1);
  await t.daemon.deliver();
  await t.daemon.vanish();
  const other = await t.another();
  await t.announce(1);
  await other.deliver();
  expect(sent()).toBe(2);
  expect(t.slack.received[1]!.at - t.slack.received[0]!.at).toBeGreaterThan(900);
});

test('what comes late tells of each incident how it is when it leaves', async () => {
  await t.announce(2);
  const at = t.clock.now();
  // Of the first one 42 customers are stuck by now; the other one has ended, which is told of its own later.
  await t.sql`
    insert into purchase_watch_internal.sites (name) values ('shop-0'), ('shop-1') on conflict do nothing`;
  await t.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, severity, ended_at) values
      (${`inc_${at}_0`}, 'stuck', 'shop-0', 6, to_timestamp(${at - 600_000}::float8 / 1000), to_timestamp(${at - 600_000}::float8 / 1000), 42, 50, 1, null),
      (${`inc_${at}_1`}, 'stuck', 'shop-1', 6, to_timestamp(${at - 600_000}::float8 / 1000), to_timestamp(${at - 600_000}::float8 / 1000), 0, 9, 0,
        to_timestamp(${at + 600_000}::float8 / 1000))`;
  t.clock.advance('30m');
  await t.daemon.deliver();
  expect(sent()).toBe(1);
  expect(texts()[0]).toMatch(/^🔴 shop-0: 42 customers stuck waiting for the card provider, the oldest for 40 min\n/);
  expect(texts()[0]).toContain('42 customers (50 at the worst)');
  expect(texts()[0]).toMatch(/\*Came and went meanwhile\*\n• ✅ shop-1: up to 9 customers were stuck/);
});

test('what is not known any more is told as of when it was written', async () => {
  await t.announce(1);
  t.clock.advance('4h');
  await t.daemon.deliver();
  expect(texts()[0]).toMatch(/^🟠 shop-0: 3 customers stuck waiting for the card provider, the oldest for 10 min\n/);
  expect(texts()[0]).toContain('As of: <!date^');
});

test('when Slack refuses how the one message is built, its text is sent instead', async () => {
  t.slack.respond(SLACK_ANSWERS.invalidBlocks);
  await t.announce(4);
  await t.daemon.deliver();
  expect(t.slack.received.map(({ blocks }) => blocks !== undefined)).toEqual([true, false]);
  expect(t.slack.received[1]!.at - t.slack.received[0]!.at).toBeGreaterThan(900);
  expect(await t.statuses()).toEqual({ delivered: 4 });
});
