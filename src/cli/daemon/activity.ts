/** `activity`: what was done in each minute. */

import { type Command, InvalidArgumentError } from 'commander';
import { DEFAULT_MINUTES, MOST_MINUTES, readActivity } from '../../actions/flow/activity.ts';
import { requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';
import { knownSite } from '../terminal/site.ts';
import { printTable } from '../terminal/table.ts';

interface Options {
  readonly site?: string;
  readonly subscriber?: string;
  readonly minutes: number;
  readonly json?: true;
}

type Minute = Awaited<ReturnType<typeof readActivity>>['minutes'][number];

async function activity(context: CliContext, { site, subscriber, minutes, json }: Options): Promise<void> {
  await withDatabase(context, async ({ sql }) => {
    const sites = site === undefined ? [] : await listSites(sql);
    if (site !== undefined)
      knownSite(
        site,
        sites.map(({ name }) => name),
      );
    if (subscriber !== undefined) await requireSubscriber(sql, subscriber);
    const found = await readActivity(sql, { site: site ?? null, subscriber: subscriber ?? null, minutes });
    if (json) return printJson(context, found);
    const busy = found.minutes.filter(isBusy);
    const about = [
      site === undefined ? 'all sites' : `site ${site}`,
      subscriber === undefined ? 'all subscribers' : `subscriber ${subscriber}`,
    ];
    printLine(
      context,
      `The last ${counted(minutes, 'minute')} up to ${found.at.slice(0, 16).replace('T', ' ')} UTC, ${about.join(', ')}`,
    );
    if (busy.length === 0) return void printLine(context, 'Nothing was polled or delivered.');
    printLine(context);
    printMinutes(context, busy);
    const calm = minutes - busy.length;
    if (calm > 0) printLine(context, `\nNothing was polled or delivered in ${counted(calm, 'other minute')}.`);
  });
}

function isBusy({ polls, changes, delivered, failedAttempts }: Minute): boolean {
  return polls + changes + delivered + failedAttempts > 0;
}

function printMinutes(context: CliContext, minutes: readonly Minute[]): void {
  printTable(
    context,
    ['minute', 'polls', 'failed', 'changes', 'longest lag', 'delivered', 'failed attempts'],
    minutes.map((each) => [
      each.at.slice(11, 16),
      each.polls,
      each.failedPolls,
      each.changes,
      each.greatestLagMs === null ? null : humanDuration(each.greatestLagMs),
      each.delivered,
      each.failedAttempts,
    ]),
  );
}

function minutesArgument(text: string): number {
  const minutes = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (minutes < 1 || minutes > MOST_MINUTES) throw new InvalidArgumentError(`Expected a whole number from 1 to ${MOST_MINUTES}.`);
  return minutes;
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Polls, changes of state, the longest lag, deliveries and failed attempts of each of the last minutes, over all replicas. Replicas write what they did every ten seconds, so the last minute is not whole yet.',
    )
    .option('--site <name>', 'polls and changes of this site alone')
    .option('--subscriber <name>', 'deliveries to this subscriber alone')
    .option(
      '--minutes <count>',
      `how many minutes, the present one included; ${MOST_MINUTES} at most`,
      minutesArgument,
      DEFAULT_MINUTES,
    )
    .option('--json', 'write JSON, as GET /v1/activity answers')
    .action((options: Options) => activity(context, options));
  examples(command, [
    ['activity', 'the last hour'],
    ['activity --site se --minutes 10', 'the last ten minutes of a site'],
    ["activity --json | jq '[.minutes[].failedPolls] | add'", 'for programs'],
  ]);
}
