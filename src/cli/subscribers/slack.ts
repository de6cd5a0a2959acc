/** `slack test`: proves that messages arrive and how they look, by the way that real ones take. */

import { setTimeout as rest } from 'node:timers/promises';
import type { Command } from 'commander';
import { nearest } from '../../config/kinds/nearest.ts';
import type { ChannelSettings } from '../../config/settings.ts';
import { AppError } from '../../domain/values/errors.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { counted, printJson, printLine, styled } from '../terminal/output.ts';

interface TestOptions {
  readonly channel?: string;
  readonly json?: true;
}

/** How it went with one channel. */
interface Tested {
  readonly channel: string;
  readonly ok: boolean;
  /** Messages that Slack took. */
  readonly messages: number;
  /** Why it took no more; null when it took all. */
  readonly detail: string | null;
}

const TIMEOUT = 10_000;
/** Slack drops messages that come faster, even when it answers 200. */
const SPACING = 1_000;

async function test(context: CliContext, { channel, json }: TestOptions): Promise<void> {
  const [{ loadSettings }, { channelSetting }] = await Promise.all([
    import('../../config/load-settings.ts'),
    import('../../config/slack.ts'),
  ]);
  const settings = loadSettings(context.env);
  const chosen = chooseChannels(settings.slack.channels, channel ?? null);
  const tested = await Promise.all(chosen.map((each) => testChannel(each, channelSetting(settings, each.name))));
  const failed = tested.filter(({ ok }) => !ok);
  if (json) printJson(context, { ok: failed.length === 0, channels: tested });
  else for (const each of tested) printLine(context, sentence(context, each));
  if (failed.length > 0) {
    const names = failed.map((each) => each.channel).join(', ');
    throw new AppError('unavailable', `Slack did not take every message, of ${counted(failed.length, 'channel')}: ${names}`);
  }
}

function chooseChannels(channels: readonly ChannelSettings[], wanted: string | null): readonly ChannelSettings[] {
  if (channels.length === 0) {
    throw new AppError(
      'configuration',
      'there is no Slack channel: make an incoming webhook in Slack (Apps, Incoming Webhooks) and set SLACK_WEBHOOK_URL to its address, or name channels under slack.channels in the settings file',
    );
  }
  if (wanted === null) return channels;
  const names = channels.map(({ name }) => name);
  const found = channels.filter(({ name }) => name === wanted);
  if (found.length > 0) return found;
  const meant = nearest(wanted, names);
  const hint = meant === null ? `there are ${names.join(', ')}` : `did you mean ${meant}?`;
  throw new AppError('invalid', `--channel: there is no channel "${wanted}"; ${hint}`);
}

/** Sends until Slack refuses one. */
async function testChannel({ name, webhookUrl }: ChannelSettings, setting: string): Promise<Tested> {
  const [{ createSlackChannel }, { exampleEvents }] = await Promise.all([
    import('../../channels/slack/slack.ts'),
    import('../../channels/slack/examples.ts'),
  ]);
  const channel = createSlackChannel({ url: webhookUrl, consoleUrl: null, timeout: TIMEOUT, setting });
  let messages = 0;
  try {
    for (const event of exampleEvents(Date.now())) {
      if (messages > 0) await rest(SPACING);
      const result = await channel.send(event, { attempt: 1, now: Date.now() });
      if (result.kind !== 'delivered') return { channel: name, ok: false, messages, detail: result.detail };
      messages += 1;
    }
    return { channel: name, ok: true, messages, detail: null };
  } finally {
    await channel.close();
  }
}

function sentence(context: CliContext, { channel, ok, messages, detail }: Tested): string {
  return ok
    ? `${styled(context, 'green', 'ok')}      ${channel}: Slack took ${counted(messages, 'message')}; look at the channel.`
    : `${styled(context, 'red', 'failed')}  ${channel}: ${detail}`;
}

/** Declares the command. */
export function register(program: Command, context: CliContext): void {
  const slack = program
    .command('slack')
    .summary('see that messages arrive in Slack, and how they look')
    .description('Shows that messages arrive in Slack, and how they look.');
  const command = slack
    .command('test')
    .summary('post three messages, marked as a test')
    .description(
      'Posts three messages that are marked as a test to every configured channel: an incident at its very longest, one that is over, and single stuck checkouts. They are built and sent as alerts are. Needs no daemon and no database.',
    )
    .option('--channel <name>', 'only this channel; that of SLACK_WEBHOOK_URL is called default')
    .option('--json', 'write JSON')
    .action((options: TestOptions) => test(context, options));
  examples(command, [
    ['slack test', 'all channels; exit code 1 when Slack did not take a message'],
    ['slack test --channel night', 'one channel of slack.channels in the settings file'],
    ['slack test --json', 'for programs'],
  ]);
}
