import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SLACK_ANSWERS, type SlackStandIn, startSlackStandIn } from '../../support/slack-stand-in.ts';
import { startTeamsStandIn } from '../../support/teams-stand-in.ts';
import { runCommand } from '../run.ts';

async function slack(): Promise<SlackStandIn> {
  const started = await startSlackStandIn();
  onTestFinished(() => started.stop());
  return started;
}

const REMARK =
  'The channels and their addresses are those of the settings of this terminal; a daemon with other settings has others. The page /channels of the console tests those of the daemon.\n';

/** Settings with a channel of the variable and one of the file. */
function settings(variable: SlackStandIn, night: SlackStandIn): NodeJS.ProcessEnv {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-slack-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'settings.yaml');
  writeFileSync(file, `slack: { channels: { night: { webhookUrl: "\${NIGHT_URL}", severity: critical } } }\n`);
  return { PURCHASE_WATCH_CONFIG: file, SLACK_WEBHOOK_URL: variable.url, NIGHT_URL: night.url };
}

test.each<[readonly string[], readonly RegExp[]]>([
  [[], [/^🔴 TEST: test-shop: 14 customers stuck/, /^✅ TEST: .+ no longer stuck/, /^🟠 TEST: .+ 2 checkouts stuck/]],
  [['--longest'], [/^🔴 TEST: 200 sites at once/, /^✅ TEST: .+ no longer stuck/, /^🟠 TEST: .+ 30 checkouts stuck/]],
])('every channel gets messages that say that they are a test: %j', async (size, headlines) => {
  const [first, night] = [await slack(), await slack()];
  const { exitCode, stdout, stderr } = await runCommand(['slack', 'test', ...size], settings(first, night));
  expect([exitCode, stderr]).toEqual([0, REMARK]);
  expect(stdout).toBe(
    'ok      default: Slack took 3 messages; look at the channel.\nok      night: Slack took 3 messages; look at the channel.\n',
  );
  for (const { received } of [first, night]) {
    expect(received.map(({ problem }) => problem)).toEqual([null, null, null]);
    expect(received.map(({ text }) => text.split('\n')[0])).toEqual(headlines.map((each) => expect.stringMatching(each)));
    for (const { text } of received) expect(text).toContain('*This is a TEST*');
  }
});

test('a channel may be chosen, and one that does not exist is told by its nearest name', async () => {
  const [first, night] = [await slack(), await slack()];
  const env = settings(first, night);
  const { exitCode, stdout, stderr } = await runCommand(['slack', 'test', '--channel', 'night', '--json', '--quiet'], env);
  expect([exitCode, stderr, JSON.parse(stdout)]).toEqual([
    0,
    '',
    { ok: true, channels: [{ channel: 'night', ok: true, messages: 3, detail: null }] },
  ]);
  expect(first.received).toEqual([]);
  const wrong = await runCommand(['slack', 'test', '--channel', 'nihgt'], env);
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, 'error: --channel: there is no channel "nihgt"; did you mean night?\n']);
});

test('a channel that takes nothing fails alone, by name, with the reason and without its address', async () => {
  const [first, night] = [await slack(), await slack()];
  night.respond(SLACK_ANSWERS.noService);
  const { exitCode, stdout, stderr } = await runCommand(['slack', 'test', '--json'], settings(first, night));
  expect([exitCode, stderr]).toEqual([1, `${REMARK}error: Slack did not take every message, of 1 channel: night\n`]);
  const { ok, channels } = JSON.parse(stdout) as { ok: boolean; channels: object[] };
  expect([ok, channels[0]]).toEqual([false, { channel: 'default', ok: true, messages: 3, detail: null }]);
  expect(channels[1]).toMatchObject({ channel: 'night', ok: false, messages: 0, detail: expect.stringMatching(/no_service/) });
  expect(stdout).not.toContain('a-secret-path');
  expect(stdout).toContain('slack.channels.night.webhookUrl');
});

test('without a channel it says how to make one', async () => {
  const { exitCode, stderr } = await runCommand(['slack', 'test']);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/there is no Slack channel: .* set SLACK_WEBHOOK_URL/);
});

test('Teams gets the same messages as cards, and nothing of it goes to Slack', async () => {
  const [first, teams] = [await slack(), await startTeamsStandIn()];
  onTestFinished(() => teams.stop());
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-teams-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'settings.yaml');
  writeFileSync(file, `teams: { channels: { ops: { webhookUrl: "\${OPS_URL}" } } }\n`);
  const env = { PURCHASE_WATCH_CONFIG: file, SLACK_WEBHOOK_URL: first.url, OPS_URL: teams.url };
  const { exitCode, stdout, stderr } = await runCommand(['teams', 'test'], env);
  expect([exitCode, stderr, stdout]).toEqual([0, REMARK, 'ok      ops: Microsoft Teams took 3 messages; look at the channel.\n']);
  expect(teams.received.map(({ problem }) => problem)).toEqual([null, null, null]);
  for (const { texts } of teams.received) expect(texts).toContain('This is a TEST');
  expect(first.received).toEqual([]);
  const none = await runCommand(['teams', 'test'], { SLACK_WEBHOOK_URL: first.url });
  expect([none.exitCode, none.stderr]).toEqual([
    2,
    expect.stringContaining('there is no Microsoft Teams channel: make a workflow'),
  ]);
});
