/** Several channels: one breaks for good, and people hear of it in another one. */
import { expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Settings } from '../../src/config/settings.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { SLACK_ANSWERS, startSlackStandIn } from '../support/slack-stand-in.ts';
import { startSmtpServer } from '../support/smtp-stand-in.ts';
import { startTeamsStandIn } from '../support/teams-stand-in.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const DOWN = { status: 410 };

/** Delivers what is due, and half a minute later judges. */
async function pass({ app, clock }: TestApp): Promise<void> {
  await app.deliverOnce();
  clock.advance('31s');
  await app.judgeOnce();
}

test('a channel that is gone is told in the others and in the log, and not in itself', async () => {
  const ops = await startSlackStandIn();
  const t = await startTestApp({
    change: (settings) => {
      const [first] = settings.channels;
      settings.channels = [first!, { ...first!, name: 'ops', webhookUrl: ops.url }];
    },
  });
  onTestFinished(async () => {
    await t.stop();
    await ops.stop();
  });
  ops.respondAlways(SLACK_ANSWERS.noService);
  // What both are told first: a receiver wants nothing any more.
  t.receiver.respond(DOWN);
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  for (let step = 0; step < 8; step++) await pass(t);
  await t.app.deliverOnce();
  expect(ops.received).toHaveLength(1);
  const headlines = t.slack.received.map(({ text }) => text.split('\n')[0]);
  expect(headlines).toEqual([
    expect.stringContaining('default was switched off'),
    expect.stringContaining('@slack-ops was switched off'),
  ]);
  const text = t.slack.received[1]!.text;
  expect(text).toContain('no_service');
  const lines = t.log.map((line) => JSON.parse(line));
  expect(lines.filter(({ event }) => event === 'subscriber.switched_off')).toContainEqual(
    expect.objectContaining({ level: 'error', subscriber: '@slack-ops' }),
  );
  expect(t.log.join('')).not.toContain('a-secret-path');
});

test('an incident and its end come by e-mail, each once, under one id an event', async () => {
  const smtp = await startSmtpServer();
  const t = await startTestApp({
    change: (settings) => {
      const [first] = settings.channels;
      const office = {
        ...first!,
        kind: 'email',
        name: 'office',
        webhookUrl: smtp.url,
        from: 'watch@example.com',
        to: ['shop@example.com'],
      } as const;
      settings.channels = [first!, office];
    },
  });
  onTestFinished(async () => {
    await t.stop();
    await smtp.stop();
  });
  t.receiver.respond(DOWN);
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  for (let step = 0; step < 4; step++) await pass(t);
  expect(smtp.received.map(({ to, headers }) => ({ to, subject: /Subject: (.*)/.exec(headers)?.[1] }))).toEqual([
    { to: ['shop@example.com'], subject: expect.stringContaining('=?UTF-8?') },
  ]);
  expect(smtp.received[0]!.text).toContain('default was switched off');
  expect(t.log.join('')).not.toContain('secret-of-mail');
});

test('Teams is told what Slack is told, and each hears when the other one is gone', async () => {
  const teams = await startTeamsStandIn();
  const t = await startTestApp({
    change: (settings) => {
      const [first] = settings.channels;
      settings.channels = [first!, { ...first!, kind: 'teams', webhookUrl: teams.url }];
    },
  });
  onTestFinished(async () => {
    await t.stop();
    await teams.stop();
  });
  t.receiver.respond(DOWN);
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  for (let step = 0; step < 4; step++) await pass(t);
  expect(teams.received).toEqual([
    expect.objectContaining({ problem: null, summary: expect.stringContaining('default was switched off') }),
  ]);
  t.slack.respondAlways(SLACK_ANSWERS.noService);
  await t.app.sql`update purchase_watch_internal.subscribers set status = 'active', status_reason = null where name = 'default'`;
  for (let step = 0; step < 60; step++) await pass(t);
  const summaries = teams.received.map(({ summary }) => summary);
  expect(summaries).toContainEqual(expect.stringContaining('@slack was switched off'));
  expect(t.log.join('')).not.toContain('a-secret-signature');
});

/** The daemon with another address for Slack, as after a restart; it shares the clock. */
async function withAddress(t: TestApp, webhookUrl: string) {
  const [first] = t.settings.channels;
  const settings: Settings = { ...t.settings, channels: [{ ...first!, webhookUrl }] };
  const log = createLogger({
    level: 'debug',
    destination: { write: (line: string) => t.log.push(line) } as unknown as NodeJS.WritableStream,
  });
  const app = await createApp(settings, { clock: t.clock, random: () => 0.5, log });
  onTestFinished(async () => void (await app.stop()));
  return app;
}

/** Has Slack refuse the address for good, with the first thing that is told. */
async function switchOff(t: TestApp): Promise<void> {
  t.slack.respondAlways(SLACK_ANSWERS.noService);
  t.receiver.respond(DOWN);
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  for (let step = 0; step < 4; step++) {
    await t.app.deliverOnce();
    t.clock.advance('31s');
    await t.app.judgeOnce();
  }
  await t.app.deliverOnce();
  expect(await statusOf(t)).toBe('off');
}

async function statusOf(t: TestApp): Promise<string> {
  const [row] = await t.app.sql<
    { status: string }[]
  >`select status from purchase_watch_internal.subscribers where name = '@slack'`;
  return row!.status;
}

/** The site stops answering, or answers again, and the judge has time to see it. */
async function site(t: TestApp, is: 'down' | 'up', app: Pick<TestApp['app'], 'sql' | 'judgeOnce' | 'deliverOnce'> = t.app) {
  const at = app.sql`to_timestamp(${t.clock.now()}::float8 / 1000)`;
  // A site without anything to ask is no incident.
  await app.sql`insert into purchase_watch.purchases (purchase_id) values ('p-1') on conflict do nothing`;
  if (is === 'down')
    await app.sql`update purchase_watch_internal.sites set failing_since = ${at}, last_error = 'HTTP 503' where name = 'default'`;
  else
    await app.sql`update purchase_watch_internal.sites set failing_since = null, last_success_at = ${at} where name = 'default'`;
  for (let step = 0; step < 4; step++) {
    t.clock.advance('31s');
    await app.judgeOnce();
    await app.deliverOnce();
  }
}

test('a channel that was off hears with its new address what goes on, in one message', async () => {
  const fresh = await startSlackStandIn();
  const t = await startTestApp();
  onTestFinished(async () => {
    await t.stop();
    await fresh.stop();
  });
  await switchOff(t);
  await site(t, 'down');
  await t.app.stop();
  const app = await withAddress(t, fresh.url);
  t.clock.advance('10m');
  await app.deliverOnce();
  expect(fresh.received).toHaveLength(1);
  expect(fresh.received[0]!.text).toContain('default: no usable answer from the checkout service for 12 min');
  await site(t, 'up', app);
  expect(fresh.received.at(-1)!.text).toContain('the checkout service answers again');
});

test('a channel that was off is not alarmed by what is over when it is back', async () => {
  const fresh = await startSlackStandIn();
  const t = await startTestApp();
  onTestFinished(async () => {
    await t.stop();
    await fresh.stop();
  });
  t.slack.respondAlways(SLACK_ANSWERS.noService);
  await site(t, 'down');
  expect(await statusOf(t)).toBe('off');
  await site(t, 'up');
  t.clock.advance('26h');
  await t.app.stop();
  const app = await withAddress(t, fresh.url);
  await app.deliverOnce();
  expect(fresh.received).toHaveLength(1);
  expect(fresh.received[0]!.text).toMatch(/^✅ /);
  expect(fresh.received[0]!.text).not.toContain('🔴');
});

test('a daemon that still has the old address neither uses it nor switches the new one off', async () => {
  const fresh = await startSlackStandIn();
  const t = await startTestApp();
  onTestFinished(async () => {
    await t.stop();
    await fresh.stop();
  });
  await switchOff(t);
  const tried = t.slack.received.length;
  const other = await withAddress(t, fresh.url);
  expect(await statusOf(t)).toBe('active');
  t.clock.advance('6s');
  await t.app.deliverOnce();
  expect([t.slack.received.length, await statusOf(t)]).toEqual([tried, 'active']);
  const said = t.log.map((line) => JSON.parse(line)).filter(({ event }) => event === 'subscriber.unreachable');
  expect(said).toEqual([expect.objectContaining({ subscriber: '@slack', detail: expect.stringContaining('Another daemon') })]);
  await t.app.stop();
  const again = await withAddress(t, fresh.url);
  t.clock.advance('1m');
  await again.deliverOnce();
  await other.deliverOnce();
  expect(fresh.received).toHaveLength(1);
});
