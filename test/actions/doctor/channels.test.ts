/** What doctor says of channels for people and of the dead man's switch. */
import { chmodSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Finding } from '../../../src/actions/overview/finding.ts';
import { noteSwitchCall } from '../../../src/postgres/shards/dead-mans-switch.ts';
import { switchOff } from '../../../src/postgres/subscribers/subscribers.ts';
import { runCommand } from '../../cli/run.ts';
import { temporaryFile } from '../../config/files.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { SLACK_ANSWERS, type SlackStandIn, startSlackStandIn } from '../../support/slack-stand-in.ts';

let database: TestDatabase;
let slack: SlackStandIn;
let ops: SlackStandIn;
beforeEach(async () => {
  [database, slack, ops] = await Promise.all([testDatabase(), startSlackStandIn(), startSlackStandIn()]);
});
afterEach(async () => {
  await Promise.all([slack.stop(), ops.stop()]);
  await database.drop();
});

/** Runs it with a site that nobody answers for; answers what it found, by what it is about. */
async function doctor(file: string, env: Record<string, string> = {}) {
  const sites =
    'sites: { se: { baseUrl: "http://127.0.0.1:9", clientId: a, clientSecret: b, timeout: 1s }, fi: { baseUrl: "http://127.0.0.1:9", clientId: a, clientSecret: b, timeout: 1s } }';
  const { stdout } = await runCommand(['doctor', '--json'], {
    ...{ DATABASE_URL: database.url, PORT: '0', PURCHASE_WATCH_CONFIG: temporaryFile(`${sites}\n${file}`) },
    ...{ OPS: ops.url, ...env },
  });
  expect(stdout).not.toMatch(/a-secret-path|a-secret-id/);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return (about: string): string[] =>
    findings.flatMap(({ about: each, verdict, found, todo }) => (each === about ? [`${verdict}: ${found} → ${todo}`] : []));
}

test('each channel is tried without a message, and what to set is named', async () => {
  ops.respondAlways(SLACK_ANSWERS.archived);
  slack.respondAlways({ status: 400, body: 'no_text' });
  const about = await doctor(`slack: { channels: { ops: { webhookUrl: "\${OPS}", sites: [se] } } }`, {
    SLACK_WEBHOOK_URL: slack.url,
  });
  expect(about('slack')).toEqual([expect.stringMatching(/^ok: the webhook is alive/)]);
  expect(about('slack ops')).toEqual([
    expect.stringMatching(/^failed: Slack answered 410 channel_is_archived.*set slack\.channels\.ops\.webhookUrl to it$/),
  ]);
  expect(about('settings').join('\n')).not.toContain('people are not alerted');
});

test('an address of Alertmanager with its path at the end is said to be one', async () => {
  ops.respondAlways({ status: 404, body: '' });
  const about = await doctor(`alertmanager: { channels: { ops: { webhookUrl: "\${OPS}/api/v2/alerts" } } }`);
  expect(about('alertmanager ops')).toContainEqual(
    expect.stringMatching(/^warning: the answer was 404, .*: set its own address, without \/api\/v2\/alerts/),
  );
});

test('an answer that is a name which every object has says nothing of a channel', async () => {
  slack.respondAlways({ status: 400, body: 'constructor' });
  const about = await doctor('', { SLACK_WEBHOOK_URL: slack.url });
  expect(about('slack')).toEqual([expect.stringMatching(/^warning: the answer was 400 constructor, not that of Slack/)]);
});

test('a site that no channel hears of is named', async () => {
  const about = await doctor(`slack: { channels: { ops: { webhookUrl: "\${OPS}", sites: [se] } } }`);
  expect(about('settings')).toContainEqual(
    expect.stringMatching(/^warning: people are not alerted of incidents at fi: no channel/),
  );
});

test('a site whose warnings no channel hears of is named', async () => {
  const about = await doctor(`slack: { channels: { ops: { webhookUrl: "\${OPS}", severity: critical } } }`);
  expect(about('settings')).toContainEqual(
    expect.stringMatching(
      /^warning: people are not alerted of warnings at se, fi: the channels for them have severity: critical/,
    ),
  );
  expect(about('settings').join('\n')).not.toContain('people are not alerted of incidents');
});

test('the dead man’s switch is not called from here; when it was called, and why not, is said', async () => {
  const file = 'slack: { deadMansSwitch: "https://alive.example/a-secret-id" }';
  const look = async () => (await doctor(file))("dead man's switch");
  expect(await look()).toEqual([expect.stringMatching(/^warning: it was never called → see that a daemon runs/)]);
  await noteSwitchCall(database.sql, Date.now() - 30_000);
  expect(await look()).toEqual([expect.stringMatching(/^ok: it was called [3-9]\d s ago/)]);
  await noteSwitchCall(database.sql, Date.now() - 600_000);
  const [row] = await database.sql<{ id: number }[]>`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('@slack', 'slack', 'people', 'a') returning id`;
  await database.sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      values ('evt_1', 'incident.opened', '', 0, now(), '{}') returning position)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status)
    select position, 0, ${row!.id}, 0, now() - interval '20 minutes', 'pending' from event`;
  expect(await look()).toEqual([
    expect.stringMatching(/^warning: it was called 10 min (?:\d+ s )?ago for the last time → deliveries to @slack do not leave/),
  ]);
  await switchOff(database.sql, { subscriber: row!.id, reason: 'no_service', addressHash: 'a' });
  expect(await look()).toEqual([
    expect.stringMatching(/^warning: it was called 10 min (?:\d+ s )?ago for the last time → no channel for people takes/),
  ]);
});

test('a settings file that every user may change is named', async () => {
  const path = temporaryFile('sites: { se: { baseUrl: "http://127.0.0.1:9", clientId: a, clientSecret: b, timeout: 1s } }');
  const settings = async (): Promise<string> => (await doctor('', { PURCHASE_WATCH_CONFIG: path }))('settings').join('\n');
  expect(await settings()).not.toContain('chmod');
  chmodSync(path, 0o666);
  expect(await settings()).toContain(`warning: every user of this machine may change ${path} → `);
  expect(await settings()).toContain(`chmod o-w ${path}`);
});
