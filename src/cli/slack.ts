/** `slack test`: proves that messages arrive, by the way that real ones take. */
import type { Command } from 'commander';
import { AppError } from '../core/errors.ts';
import { examples } from './arguments.ts';
import type { CliContext } from './context.ts';
import { printLine } from './output.ts';

const TIMEOUT = 10_000;

export function register(program: Command, context: CliContext): void {
  const slack = program
    .command('slack')
    .summary('check that Slack can be reached')
    .description('Checks that Slack can be reached.');
  const test = slack
    .command('test')
    .description('Posts a test message to SLACK_WEBHOOK_URL, built and sent as alerts are.')
    .action(async () => {
      const [{ loadSettings }, { createSlackChannel }, { eventBody }] = await Promise.all([
        import('../config/settings.ts'),
        import('../notifier/slack.ts'),
        import('../core/events.ts'),
      ]);
      const url = loadSettings(context.env).slack.webhookUrl;
      if (url === null) {
        throw new AppError(
          'configuration',
          'SLACK_WEBHOOK_URL is not set: make an incoming webhook in Slack (Apps, Incoming Webhooks) and set it',
        );
      }
      const channel = createSlackChannel({ url, consoleUrl: null, timeout: TIMEOUT });
      const id = 'evt_test';
      const body = eventBody(id, { type: 'subscriber.test', sequence: null, at: Date.now(), state: null, data: {} });
      const result = await channel.send({ id, type: 'subscriber.test', body }, { attempt: 1, now: Date.now() });
      await channel.close();
      if (result.kind !== 'delivered') throw new AppError('unavailable', `Slack did not take the message: ${result.detail}`);
      printLine(context, 'Slack took the message: look at the channel.');
    });
  examples(test, [['slack test', 'with SLACK_WEBHOOK_URL set']]);
}
