/** `watch`: registers purchases. */

import { InvalidArgumentError } from 'commander';
import type { Sql } from '../../actions/database.ts';
import {
  firstPolls,
  MOST_SINGLE,
  type Registration,
  register as registerPurchases,
} from '../../actions/registrations/register.ts';
import { checkRegistration, type Defaults } from '../../actions/registrations/registrations.ts';
import { replicasDiffer, runningReplicas } from '../../actions/running-replicas.ts';
import { listSites, type SiteRow } from '../../actions/sites/sites.ts';
import { type FirstPolls, longestFirstPolls, SINGLES_FIRST, withinText } from '../../domain/polling/first-polls.ts';
import { NO_DAEMON } from '../../domain/replicas/daemon-silence.ts';
import { type ShardTurns, turnsText } from '../../domain/replicas/named.ts';
import { AppError } from '../../domain/values/errors.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, printable, printJson, printLine, styled } from '../terminal/output.ts';
import { progressOn } from '../terminal/progress.ts';
import { knownSite } from '../terminal/site.ts';
import { type RegistrationCounts, registerFile } from './register-file.ts';
import { watchSettledPurchases } from './watch-settled.ts';

/** More ids than this are summed up instead of listed. */
const LISTED = 20;
/** So much of a wrong id is repeated. */
const SHOWN = 60;
/** Bad lines that JSON lists at most; standard error lists all bad lines. */
const MOST_PROBLEMS = 1_000;

export const register = declare(
  {
    description:
      'Registers purchases, so that the daemon polls them from now on. Safe to run twice: what is registered already stays as it is, and what was stopped is watched again. With --quiet writes problems only.',
    arguments: [['[id...]', 'Purchase IDs as the checkout service gave them']],
    options: [
      ['--site <name>', 'the site they belong to; needed when there are several and none is named default', { read: notEmpty }],
      ['--reference <text>', 'your own name for them, such as an order number', { read: notEmpty }],
      ['--metadata <json>', 'a JSON object that comes back in every event'],
      ['--file <path>', 'read more from a file (- is standard input): ids, CSV with a header, or JSON lines', { read: notEmpty }],
      ['--settled <state>', 'instead, watch settled purchases again that are in a state that is not final any more'],
      ['--yes', 'with --settled: do not ask'],
      ['--dry-run', 'with --settled: only count them'],
      JSON_OPTION,
    ],
    after: `
Files: one purchase a line. A CSV begins with a header that names purchase_id and, if you like, site, reference and
metadata; JSON lines have purchaseId and the same. Lines that cannot be registered are listed by number, the others are
registered (exit code 1, also when none is). A million ids take no more memory than a thousand.`,
    examples: [
      ['watch 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'one purchase'],
      ['watch 3f6b8a52 --site se --reference ORD-1', 'at one of several sites, with your order number'],
      ['watch --file orders.csv', 'many'],
      ['watch --file - < ids.txt', 'from another program'],
      ['watch --settled Completed --dry-run', 'how many are settled in a state that is not final any more'],
    ],
  },
  async (context, { id: ids, site = null, reference = null, metadata = null, file, settled, yes, dryRun, json }) => {
    if (settled !== undefined) {
      if (ids.length > 0 || file !== undefined) throw new AppError('invalid', '--settled: cannot go with purchase IDs or --file');
      return watchSettledPurchases(context, { settled, site, yes, dryRun, json });
    }
    if (yes || dryRun) throw new AppError('invalid', `--${yes ? 'yes' : 'dry-run'}: only with --settled`);
    if (ids.length === 0 && file === undefined)
      throw new AppError('invalid', 'name at least one purchase ID, or a file with --file (- reads standard input)');
    await withDatabase(context, async ({ sql }) => {
      const listed = await listSites(sql);
      const isFormer = ({ configured, renamedTo }: SiteRow): boolean => !configured && renamedTo !== null;
      const former = new Set(listed.filter(isFormer).map(({ name }) => name));
      const sites = listed.filter(({ name, configured }) => configured || former.has(name)).map(({ name }) => name);
      const unnamed = listed.map(({ name }) => name).filter((name) => !sites.includes(name));
      if (site !== null) knownSite(site, sites, unnamed);
      await watchIds(context, sql, { ids, file, json, defaults: { site, reference, metadata, sites, former, unnamed } });
    });
  },
);

interface Wanted {
  readonly ids: readonly string[];
  readonly file: string | undefined;
  readonly json: boolean;
  readonly defaults: Defaults;
}

async function watchIds(context: CliContext, sql: Sql, { ids, file, json, defaults }: Wanted): Promise<void> {
  // Ids that a person typed are registered all or not at all.
  const checked = ids.map((purchaseId) => checkRegistration({ purchaseId }, defaults));
  const problems = checked.flatMap((each, index) =>
    'problem' in each ? [`${JSON.stringify(ids[index]!.slice(0, SHOWN))}: ${each.problem}`] : [],
  );
  if (problems.length > 0) throw new AppError('invalid', [...new Set(problems)].join('\n'));
  const registrations = checked as Registration[];
  const answers = await registerPurchases(sql, registrations, { by: 'cli', former: defaults.former ?? new Set() });
  const isListed = ids.length <= LISTED;
  const quiet = context.isQuiet === true;
  if (isListed && !json && !quiet) {
    const width = Math.max(8, ...answers.map((answer) => answer.length));
    answers.forEach((answer, index) => {
      const colour = answer === 'existing' ? 'gray' : 'green';
      printLine(context, `${styled(context, colour, answer.padEnd(width))}  ${printable(ids[index]!)}`);
    });
  }
  const created = answers.filter((answer) => answer === 'created').length;
  const watchedAgain = answers.filter((answer) => answer === 'watched again').length;
  const fromFile = file === undefined ? null : await watchFile(context, sql, { file, defaults, silent: json || quiet });
  const counts = {
    created: created + (fromFile?.counts.created ?? 0),
    existing: ids.length - created + (fromFile?.counts.existing ?? 0),
    watchedAgain: watchedAgain + (fromFile?.counts.watchedAgain ?? 0),
    rejected: fromFile?.counts.rejected ?? 0,
  };
  const replicas = await runningReplicas(sql);
  const isBulk = counts.created + counts.existing > MOST_SINGLE;
  const firsts = isBulk ? longestFirstPolls(await firstPolls(sql)) : null;
  if (json)
    printJson(context, {
      ...counts,
      purchases: registrations.map(({ purchaseId }, index) => ({ purchaseId, result: answers[index]! })),
      ...(fromFile === null ? {} : { problems: fromFile.problems }),
      ...(firsts === null ? {} : { firstPolls: { waiting: firsts.waiting, withinMs: firsts.within } }),
      replicas: replicas.length,
    });
  else if (!quiet) printResult(context, counts, { summarized: fromFile !== null || !isListed, replicas, firsts });
  refuse(counts);
}

function summary({ created, existing }: Pick<RegistrationCounts, 'created' | 'existing'>): string {
  return `${counted(created, 'new', 'new')}, ${counted(existing, 'known before', 'known before')}`;
}

async function watchFile(
  context: CliContext,
  sql: Sql,
  { file, defaults, silent }: { file: string; defaults: Defaults; silent: boolean },
) {
  const stderr: NodeJS.WritableStream & { isTTY?: boolean } = context.stderr;
  const progress = progressOn(stderr, { inPlace: stderr.isTTY === true && context.env.TERM !== 'dumb' });
  const problems: { readonly line: number; readonly problem: string }[] = [];
  let soFar = 'Nothing was registered.';
  try {
    const counts = await registerFile(sql, {
      file,
      stdin: context.stdin,
      defaults,
      onProblem: (problem, line) => {
        if (line !== null && problems.length < MOST_PROBLEMS) problems.push({ line, problem });
        progress.say(printable(line === null ? problem : `line ${line}: ${problem}`));
      },
      onProgress: (reached, done) => {
        soFar = `All up to line ${reached.lines} is registered: ${summary(done)}.`;
        if (!silent) progress.reached(reached);
      },
    });
    return { counts, problems };
  } catch (error) {
    // A wrong file, or a wrong command, has an error of its own.
    if (!(error instanceof AppError)) progress.say(`${soFar} Running the same again is safe, and registers the rest.`);
    throw error;
  } finally {
    progress.end();
  }
}

interface Result {
  readonly summarized: boolean;
  readonly replicas: Awaited<ReturnType<typeof runningReplicas>>;
  readonly firsts: FirstPolls | null;
}

function printResult(context: CliContext, counts: RegistrationCounts, { summarized, replicas, firsts }: Result): void {
  const again = counts.watchedAgain === 0 ? '' : `, ${counts.watchedAgain} of them watched again`;
  const registered = counts.created + counts.existing;
  if (summarized && registered + counts.rejected > 0) printLine(context, `${summary(counts)}${again}`);
  if (registered === 0) return;
  if (replicas.length === 0) printLine(context, styled(context, 'yellow', `Registered, but ${NO_DAEMON}.`));
  else if (counts.created + counts.watchedAgain > 0)
    printLine(context, styled(context, 'gray', whenPolled(firsts, replicasDiffer(replicas)?.turns ?? null)));
}

/** `firsts`: how many first polls are to come, after a bulk registration. */
function whenPolled(firsts: FirstPolls | null, turns: ShardTurns | null): string {
  if (turns !== null)
    return `Registered, but the running daemons have different settings: ${turnsText(turns)}. Give every daemon the same settings.`;
  if (firsts === null) return 'A running daemon polls them within seconds.';
  const { site, waiting } = firsts;
  return `A daemon is running: ${counted(waiting, 'purchase')} of site ${site} that were registered together ${waiting === 1 ? 'gets its first poll' : 'get their first polls'} ${withinText(firsts)}; ${SINGLES_FIRST}.`;
}

function refuse({ created, existing, rejected }: RegistrationCounts): void {
  if (created + existing + rejected === 0)
    throw new AppError('conflict', 'the file holds no purchase IDs; nothing was registered');
  if (rejected > 0) throw new AppError('conflict', `${counted(rejected, 'line')} could not be registered (see above)`);
}

function notEmpty(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It is empty.');
  return text;
}
