/** `rehearse`: which alerts would have been sent in a past time under other settings. */

import type { Command } from 'commander';
import { rehearse } from '../../actions/rehearse/rehearse.ts';
import { readMoment } from '../../actions/subscribers/moment.ts';
import { channelRules, channelSubscriber, DEFAULT_CHANNEL } from '../../config/channels.ts';
import { loadAlertSettings } from '../../config/rehearsed.ts';
import type { Settings } from '../../config/settings.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Instant } from '../../domain/values/time.ts';
import { readClock, type Sql } from '../../postgres/connection/database.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { checked } from '../subscribers/subscriber-options.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, printJson } from '../terminal/output.ts';
import { knownSite } from '../terminal/site.ts';
import { rehearsalBody, showRehearsal } from './show-rehearsal.ts';

interface Options {
  readonly from: string;
  readonly to?: string;
  readonly config?: string;
  readonly site?: string;
  readonly ignoreSilences?: true;
  readonly json?: true;
}

/** On no terminal a line for so many stays. */
const LINE_EVERY = 100_000;

async function rehearseCommand(context: CliContext, options: Options): Promise<void> {
  await withDatabase(context, async ({ sql, settings }) => {
    const { config, ignoreSilences = false } = options;
    const sites = (await listSites(sql)).filter(({ configured }) => configured).map(({ name }) => name);
    const tried = config === undefined ? settings : loadAlertSettings(context.env, config, sites);
    const site = options.site === undefined ? null : knownSite(options.site, sites);
    const { from, to } = await timeOf(sql, options);
    const { channels, invented } = await channelsOf(tried);
    const progress = progressOn(context);
    const rehearsed = await rehearse(sql, {
      from,
      to,
      policy: tried.policy,
      alerts: tried.slack,
      channels,
      site,
      silences: !ignoreSilences,
      onProgress: progress.show,
    }).finally(progress.clear);
    const body = rehearsalBody(rehearsed, { from, to, site, config: config ?? settings.configFile, ignoreSilences, invented });
    if (options.json) printJson(context, body);
    else showRehearsal(context, body);
  });
}

/** The time to go through, by the database's clock. */
async function timeOf(sql: Sql, options: Options): Promise<{ from: Instant; to: Instant }> {
  const { now } = await readClock(sql);
  const momentOf = (option: string, text: string): Instant =>
    checked(`${option} ${JSON.stringify(text.slice(0, 100))}`, readMoment(text, now));
  const from = momentOf('--from', options.from);
  const to = options.to === undefined ? now : momentOf('--to', options.to);
  if (from >= now) throw new AppError('invalid', `--from: ${options.from} is in the future; give a time that was, such as 7d`);
  if (to > now) throw new AppError('invalid', `--to: ${options.to} is still to come; only what was recorded can be gone through`);
  if (from >= to) throw new AppError('invalid', `--from: must be before --to, and ${options.from} is not before ${options.to}`);
  return { from, to };
}

/** The channels that are alerted. Without any the rehearsal would show no alert, so one that gets every alert is made up. */
async function channelsOf({ channels, slack }: Pick<Settings, 'channels' | 'slack'>) {
  const rules = channelRules({ channels });
  const everything = {
    name: channelSubscriber({ kind: 'slack', name: DEFAULT_CHANNEL }),
    sites: null,
    severity: 'warning' as const,
    stuck: slack.stuck,
  };
  return rules.length === 0 ? { channels: [everything], invented: true } : { channels: rules, invented: false };
}

function progressOn(context: CliContext): { show(stays: number, share: number): void; clear(): void } {
  const isShown = context.isTTY && context.env.TERM !== 'dumb';
  let said = 0;
  return {
    show: (stays, share) => {
      const text = `${Math.floor(share * 100)} %, ${counted(stays, 'stay')} …`;
      // A terminal shows it in place; elsewhere a line now and then is enough.
      if (isShown) context.stderr.write(`\r\u001b[K${text}`);
      else if (stays - said >= LINE_EVERY) {
        context.stderr.write(`${text}\n`);
        said = stays;
      }
    },
    clear: () => {
      if (isShown) context.stderr.write('\r\u001b[K');
    },
  };
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Goes through the recorded changes of state of a past time again and prints which messages about incidents and single stuck checkouts would have been sent, when and to which channel, beside what was really sent. With --config, the states, polling and slack of that file are tried. The 14 days before teach what is usual. Only reads, so a daemon may run meanwhile.',
    )
    .requiredOption('--from <moment>', 'from when: a duration back such as 7d, or a time with its zone')
    .option('--to <moment>', 'up to when; by default now')
    .option('--config <file>', 'settings to try; by default the present ones')
    .option('--site <name>', 'only this site')
    .option('--ignore-silences', 'as if there had been no silences')
    .option('--json', 'write JSON')
    .action((options: Options) => rehearseCommand(context, options));
  examples(command, [
    ['rehearse --from 7d', 'the last week under the present settings'],
    ['rehearse --from 7d --config new.yaml', 'the same week under settings to try'],
    ['rehearse --from 2026-11-20T00:00:00Z --to 2026-11-21T00:00:00Z --json', 'one day, for programs'],
  ]);
}
