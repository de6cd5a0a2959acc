import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { audit } from '../../src/postgres/upkeep/audit.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { SLACK_ANSWERS } from '../support/slack-stand-in.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';

const MINUTE = 60_000;
const DOWN = { status: 503, body: 'closed' };

let t: TestApp;
let books: Receiver;
beforeEach(async () => {
  books = await startReceiver({ secret: SECRET });
  t = await startTestApp({
    change: (settings) => {
      const [shop] = settings.subscribers;
      Object.assign(settings, { subscribers: [shop, { ...shop, name: 'books', url: books.url }] });
    },
  });
});
afterEach(async () => {
  await t.stop();
  await books.stop();
});

const messages = (): string[] => t.slack.received.map(({ text }) => text);
const headlines = (): string[] => messages().map((text) => text.split('\n')[0]!);
const incidentsSent = (receiver: Receiver): string[] =>
  receiver.received.map(({ type }) => type).filter((type) => type.startsWith('incident.'));
const incidents = () =>
  t.database.sql`
    select subscriber, site, ended_at is not null as ended, alerted_at is not null as said from purchase_watch_internal.incidents order by position`;

/** So many purchases appear, and everybody is told of it. */
async function changes(count: number): Promise<void> {
  for (let made = 0; made < count; made++) await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  await t.app.deliverOnce();
}

/** The daemons judge and tell, without polls between: quicker than `live`. */
async function pass(duration: number, apps: readonly App[] = [t.app]): Promise<void> {
  for (const end = t.clock.now() + duration; t.clock.now() < end; ) {
    t.clock.advance(`${Math.min(30_000, end - t.clock.now())}ms`);
    for (const app of apps) {
      await app.judgeOnce();
      await app.deliverOnce();
    }
  }
}

describe('a receiver that takes nothing', () => {
  test('is told on Slack after a quarter of an hour, once, and so is that it takes events again', async () => {
    t.receiver.respondAlways(DOWN);
    await changes(6);
    await pass(14 * MINUTE);
    expect(messages()).toEqual([]);
    expect(await incidents()).toEqual([]);
    await pass(2 * MINUTE);
    expect(headlines()).toEqual([expect.stringMatching(/^🟠 default has taken nothing for 15 min( 30 s)?: 6 deliveries wait/)]);
    expect(messages()[0]).toMatch(/Deliveries waiting: 6\n[\s\S]*The receiver answered 503/);
    expect(t.slack.received[0]!.problem).toBeNull();
    await pass(60 * MINUTE);
    expect(messages()).toHaveLength(1);

    t.receiver.respondAlways({});
    await pass(70 * MINUTE);
    expect(headlines().slice(1)).toEqual([expect.stringMatching(/^✅ default: takes events again, after /)]);
    expect(await incidents()).toEqual([{ subscriber: 'default', site: null, ended: true, said: true }]);
    // Neither the one it is about nor any other program hears of it, and nobody else was kept waiting.
    expect([...incidentsSent(t.receiver), ...incidentsSent(books)]).toEqual([]);
    expect(books.received).toHaveLength(6);
    const { site_events } = await audit(t.database.sql, { site: null, since: null });
    expect(site_events).toMatchObject({ checked: 2, gaps: 0 });
  });

  test('is told once over restarts and with two replicas', async () => {
    t.receiver.respondAlways(DOWN);
    await changes(6);
    await pass(15 * MINUTE);
    const second = await t.another();
    await t.app.stop();
    const third = await t.another();
    await pass(5 * MINUTE, [second, third]);
    expect(headlines()).toEqual([expect.stringContaining('default has taken nothing')]);
    await second.stop();
    await pass(5 * MINUTE, [third]);
    t.receiver.respondAlways({});
    const fourth = await t.another();
    await pass(40 * MINUTE, [third, fourth]);
    expect(headlines().slice(1)).toEqual([expect.stringContaining('default: takes events again')]);
  });

  test('is an incident of its own beside another one that takes nothing', async () => {
    t.receiver.respondAlways(DOWN);
    books.respondAlways({ status: 500 });
    await changes(6);
    await pass(17 * MINUTE);
    expect(headlines().toSorted()).toEqual([
      expect.stringContaining('books has taken nothing'),
      expect.stringContaining('default has taken nothing'),
    ]);
    books.respondAlways({});
    await pass(30 * MINUTE);
    expect(headlines().slice(2)).toEqual([expect.stringContaining('books: takes events again')]);
    expect(await incidents()).toMatchObject([{ ended: false }, { ended: true }]);
  });

  test('that comes back within a quarter of an hour is nobody’s business', async () => {
    t.receiver.respondAlways(DOWN);
    await changes(6);
    await pass(5 * MINUTE);
    t.receiver.respondAlways({});
    await pass(30 * MINUTE);
    expect([messages(), await incidents()]).toEqual([[], []]);
    expect(new Set(t.receiver.received.map(({ id }) => id)).size).toBe(6);
  });
});

describe('a receiver that wants nothing any more', () => {
  test('is told at once, and its end when it was given another address', async () => {
    t.receiver.respond({ status: 410 });
    await changes(1);
    await pass(MINUTE);
    expect(headlines()).toEqual([expect.stringContaining('default was switched off')]);
    expect(messages()[0]).toContain('The receiver answered 410');
    await t.database
      .sql`update purchase_watch_internal.subscribers set status = 'active', status_reason = null where name = 'default'`;
    await t.database.sql`select pg_notify('purchase_watch_wake', 'subscribers')`;
    await pass(2 * MINUTE);
    expect(headlines().slice(1)).toEqual([expect.stringContaining('default: takes events again')]);
  });
});

test('deliveries that are given up are told, with how to send them again', async () => {
  // All is well but for the events of one purchase.
  await changes(5);
  const [event] = await t.database.sql<{ position: number }[]>`
    update purchase_watch_internal.deliveries set status = 'exhausted', settled_at = to_timestamp(${t.clock.now()}::float8 / 1000), last_error = 'The receiver answered 422.'
    where id = (select min(d.id) from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber where s.name = 'default')
    returning event::float8 as position`;
  expect(event).toBeDefined();
  await pass(MINUTE);
  expect(headlines()).toEqual(['🟠 default: 1 delivery was given up']);
  expect(messages()[0]).toMatch(/The receiver answered 422[\s\S]*replay --subscriber default --since \d{4}-/);
  await pass(61 * MINUTE);
  expect(headlines().slice(1)).toEqual([expect.stringContaining('default: no delivery was given up any more')]);
});

test('without Slack it is said in the log, as all that goes wrong, and the end too', async () => {
  const quiet = await startTestApp({ change: (settings) => Object.assign(settings, { channels: [] }) });
  try {
    quiet.receiver.respond({ status: 410 });
    const look = async (by: string): Promise<void> => {
      quiet.clock.advance(by);
      await quiet.app.judgeOnce();
      await quiet.app.deliverOnce();
    };
    await quiet.watch({ script: [{ state: 'New' }] });
    await quiet.app.pollOnce();
    await quiet.app.deliverOnce();
    for (let times = 0; times < 5; times++) await look('31s');
    const said = () => quiet.log.map((line) => JSON.parse(line)).filter(({ event }) => event.startsWith('incident.'));
    expect(said()).toEqual([expect.objectContaining({ level: 'error', event: 'incident.opened', subscriber: 'default' })]);
    await quiet.database.sql`update purchase_watch_internal.subscribers set configured = false`;
    for (let times = 0; times < 3; times++) await look('31s');
    expect(said().slice(1)).toEqual([
      expect.objectContaining({ level: 'warn', event: 'incident.ended', said: expect.stringContaining('taken away') }),
    ]);
  } finally {
    await quiet.stop();
  }
});

describe('Slack itself', () => {
  const errors = () =>
    t.log.map((line) => JSON.parse(line)).filter(({ level, event }) => level === 'error' && event.startsWith('incident.'));

  test('that refuses for good is told in the log and kept, and not on Slack; webhooks go on', async () => {
    t.slack.respondAlways(SLACK_ANSWERS.noService);
    // What Slack is told first is that a receiver wants nothing any more.
    t.receiver.respond({ status: 410 });
    await changes(2);
    await pass(MINUTE);
    expect(headlines()).toEqual([expect.stringContaining('default was switched off')]);
    await pass(5 * MINUTE);
    expect(t.slack.received).toHaveLength(1);
    expect(await incidents()).toEqual([
      { subscriber: 'default', site: null, ended: false, said: true },
      { subscriber: '@slack', site: null, ended: false, said: true },
    ]);
    expect(errors()).toEqual([
      expect.objectContaining({
        event: 'incident.opened',
        kind: 'subscriber',
        subscriber: '@slack',
        said: expect.stringMatching(
          /^@slack is switched off: Slack refuses this webhook for good \(no_service\).*subscribers show @slack$/,
        ),
        advice: expect.stringContaining('only the log has this'),
      }),
    ]);
    expect(JSON.stringify(t.log)).not.toContain('a-secret-path');
    await changes(3);
    expect(books.received).toHaveLength(5);
    const deliveries = await t.database.sql`
      select d.status from purchase_watch_internal.deliveries d join purchase_watch_internal.events e on e.position = d.event
      join purchase_watch_internal.subscribers s on s.id = d.subscriber where e.about = s.id`;
    expect(deliveries).toEqual([]);
    const { site_events } = await audit(t.database.sql, { site: null, since: null });
    expect(site_events).toMatchObject({ checked: 2, gaps: 0 });
  });

  test('that answers nothing useful for long is told in the log once, and what waits for it is sent when it is back', async () => {
    t.slack.respondAlways(SLACK_ANSWERS.broken);
    t.receiver.respond({ status: 410 });
    await changes(2);
    await pass(2 * 60 * MINUTE);
    // Tried again and again, each time with how long it has been by then.
    expect(headlines().length).toBeGreaterThan(10);
    expect(headlines().filter((line) => !/default (is still|was) switched off/.test(line))).toEqual([]);
    expect(errors().map(({ subscriber }) => subscriber)).toEqual(['@slack']);
    t.slack.respondAlways({});
    await pass(3 * 60 * MINUTE);
    expect(headlines().at(-1)).toContain('default is still switched off');
    expect(headlines().filter((line) => line.includes('@slack'))).toEqual([]);
    expect(errors()).toHaveLength(1);
    expect(await incidents()).toMatchObject([
      { subscriber: 'default', ended: false },
      { subscriber: '@slack', ended: true },
    ]);
  });
});
