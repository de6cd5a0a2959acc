/** `start`: the daemon, until it is told to stop. */
import type { Command } from 'commander';
import { examples } from './arguments.ts';
import type { CliContext } from './context.ts';

export function register(program: Command, { env }: CliContext): void {
  const command = program
    .command('start')
    .summary('run the daemon')
    .description(
      'Runs the daemon: brings the schema up to date, polls, decides, delivers and serves the API. Ctrl-C or SIGTERM ends it after what is under way; a second one at once.',
    )
    .option('--worker', 'without the API: for replicas that only poll and deliver')
    .action(async ({ worker = false }: { worker?: boolean }) => {
      const [{ createApp }, { loadSettings }, { createLogger }, { untilToldToStop }] = await Promise.all([
        import('../app.ts'),
        import('../config/settings.ts'),
        import('../runtime/logger.ts'),
        import('../runtime/signals.ts'),
      ]);
      const settings = loadSettings(env);
      const log = createLogger({ level: settings.logLevel });
      const stop = untilToldToStop();
      const app = await createApp(settings, { log, worker });
      try {
        await app.start();
        log.info({ sites: settings.sites.map((site) => site.name), api: app.url() }, 'started');
        log.info({ signal: await stop }, 'stopping');
      } finally {
        await app.stop();
      }
      log.info('stopped');
    });
  examples(command, [
    ['start', 'with the settings of the environment'],
    ['start --worker', 'a further replica on the same DATABASE_URL'],
  ]);
}
