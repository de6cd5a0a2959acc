/** `watch`: registers purchases. */

import { type Command, InvalidArgumentError } from 'commander';
import { daemonsDiffer, livingDaemons } from '../../actions/running-daemons.ts';
import { checkRegistration, type Defaults } from '../../api/registrations/registrations.ts';
import { type FirstPolls, longestFirstPolls, SINGLES_FIRST, withinText } from '../../domain/polling/first-polls.ts';
import { NO_DAEMON } from '../../domain/replicas/daemon-silence.ts';
import { type ShardTurns, turnsText } from '../../domain/replicas/named.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { MOST_SINGLE, type Registration, register as registerPurchases } from '../../postgres/purchases/purchases.ts';
import { firstPolls } from '../../postgres/reports/first-polls.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, printable, printJson, printLine, styled } from '../terminal/output.ts';
import { progressOn } from '../terminal/progress.ts';
import { knownSite } from '../terminal/site.ts';
import { type RegistrationCounts, registerFile } from './register-file.ts';
import { watchSettledPurchases } from './watch-settled.ts';

interface WatchOptions {
  readonly site?: string;
  readonly reference?: string;
  readonly metadata?: string;
  readonly file?: string;
  readonly settled?: string;
  readonly yes?: true;
  readonly dryRun?: true;
  readonly json?: true;
}

interface Problem {
  readonly line: number;
  readonly problem: string;
}

interface FileResult extends RegistrationCounts {
  readonly problems: readonly Problem[];
}

/** More ids than this are summed up instead of listed. */
const LISTED = 20;
/** So much of a wrong id is repeated. */
const SHOWN = 60;
/** Bad lines that JSON lists at most; standard error lists all bad lines. */
const MOST_PROBLEMS = 1_000;

async function watch(
  context: CliContext,
  ids: readonly string[],
  { settled, yes, dryRun, ...options }: WatchOptions,
): Promise<void> {
  if (settled !== undefined) {
    if (ids.length > 0 || options.file !== undefined)
      throw new AppError('invalid', '--settled: cannot go with purchase IDs or --file');
    return watchSettledPurchases(context, { settled, ...(yes && { yes }), ...(dryRun && { dryRun }), ...options });
  }
  if (yes || dryRun) throw new AppError('invalid', `--${yes ? 'yes' : 'dry-run'}: only with --settled`);
  if (ids.length === 0 && options.file === undefined) {
    throw new AppError('invalid', 'name at least one purchase ID, or a file with --file (- reads standard input)');
  }
  await withDatabase(context, async ({ sql }) => {
    const listed = await listSites(sql);
    const former = new Set(
      listed.filter(({ configured, renamedTo }) => !configured && renamedTo !== null).map(({ name }) => name),
    );
    const sites = listed.filter(({ name, configured }) => configured || former.has(name)).map(({ name }) => name);
    const unnamed = listed.map(({ name }) => name).filter((name) => !sites.includes(name));
    const { site = null, reference = null, metadata = null } = options;
    if (site !== null) knownSite(site, sites, unnamed);
    const defaults: Defaults = { site, reference, metadata, sites, former, unnamed };

    // What a person typed is registered as a whole or not at all.
    const checked = ids.map((purchaseId) => checkRegistration({ purchaseId }, defaults));
    const problems = checked.flatMap((each, index) =>
      'problem' in each ? [`${JSON.stringify(ids[index]!.slice(0, SHOWN))}: ${each.problem}`] : [],
    );
    if (problems.length > 0) throw new AppError('invalid', [...new Set(problems)].join('\n'));
    const registrations = checked as Registration[];
    const answers = await registerPurchases(sql, registrations, { by: 'cli', former });
    const isListed = ids.length <= LISTED;
    const { json = false, file } = options;
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
    const typed: RegistrationCounts = { created, existing: ids.length - created, watchedAgain, rejected: 0 };
    const fromFile = file === undefined ? null : await watchFile(context, sql, { file, defaults, silent: json || quiet });
    await printResult(context, sql, {
      counts: fromFile === null ? typed : sum(typed, fromFile),
      problems: fromFile?.problems ?? null,
      purchases: registrations.map(({ purchaseId }, index) => ({ purchaseId, result: answers[index]! })),
      json,
      quiet,
      summarized: fromFile !== null || !isListed,
    });
  });
}

function summary({ created, existing }: Pick<RegistrationCounts, 'created' | 'existing'>): string {
  return `${counted(created, 'new', 'new')}, ${counted(existing, 'known before', 'known before')}`;
}

function sum(a: RegistrationCounts, b: RegistrationCounts): RegistrationCounts {
  return {
    created: a.created + b.created,
    existing: a.existing + b.existing,
    watchedAgain: a.watchedAgain + b.watchedAgain,
    rejected: a.rejected + b.rejected,
  };
}

async function watchFile(
  context: CliContext,
  sql: Sql,
  { file, defaults, silent }: { file: string; defaults: Defaults; silent: boolean },
): Promise<FileResult> {
  const stderr: NodeJS.WritableStream & { isTTY?: boolean } = context.stderr;
  const progress = progressOn({ stream: stderr, inPlace: stderr.isTTY === true && context.env.TERM !== 'dumb' });
  const problems: Problem[] = [];
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
    return { ...counts, problems };
  } catch (error) {
    // What is wrong with the file, or with the command, has an error of its own.
    if (!(error instanceof AppError)) progress.say(`${soFar} Running the same again is safe, and registers the rest.`);
    throw error;
  } finally {
    progress.end();
  }
}

interface Result {
  readonly counts: RegistrationCounts;
  readonly problems: readonly Problem[] | null;
  readonly purchases: readonly { readonly purchaseId: string; readonly result: string }[];
  readonly json: boolean;
  readonly quiet: boolean;
  readonly summarized: boolean;
}

async function printResult(
  context: CliContext,
  sql: Sql,
  { counts, problems, purchases, json, quiet, summarized }: Result,
): Promise<void> {
  const daemons = await livingDaemons(sql);
  const isBulk = counts.created + counts.existing > MOST_SINGLE;
  const firsts = isBulk ? longestFirstPolls(await firstPolls(sql)) : null;
  if (json)
    printJson(context, {
      ...counts,
      purchases,
      ...(problems === null ? {} : { problems }),
      ...(firsts === null ? {} : { firstPolls: { waiting: firsts.waiting, withinMs: firsts.within } }),
      daemons: daemons.length,
    });
  else if (!quiet) {
    const again = counts.watchedAgain === 0 ? '' : `, ${counts.watchedAgain} of them watched again`;
    const registered = counts.created + counts.existing;
    if (summarized && registered + counts.rejected > 0) printLine(context, `${summary(counts)}${again}`);
    if (registered === 0) return refuse(counts);
    if (daemons.length === 0) printLine(context, styled(context, 'yellow', `Registered, but ${NO_DAEMON}.`));
    else if (counts.created + counts.watchedAgain > 0)
      printLine(context, styled(context, 'gray', whenPolled(firsts, daemonsDiffer(daemons)?.turns ?? null)));
  }
  refuse(counts);
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

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Registers purchases, so that the daemon polls them from now on. Safe to run twice: what is registered already stays as it is, and what was stopped is watched again. With --quiet writes problems only.',
    )
    .argument('[id...]', 'Purchase IDs as the checkout service gave them')
    .option('--site <name>', 'the site they belong to; needed when there are several and none is named default', notEmpty)
    .option('--reference <text>', 'your own name for them, such as an order number', notEmpty)
    .option('--metadata <json>', 'a JSON object that comes back in every event')
    .option('--file <path>', 'read more from a file (- is standard input): ids, CSV with a header, or JSON lines', notEmpty)
    .option('--settled <state>', 'instead, watch settled purchases again that are in a state that is not final any more')
    .option('--yes', 'with --settled: do not ask')
    .option('--dry-run', 'with --settled: only count them')
    .option('--json', 'write JSON')
    .action((ids: string[], options: WatchOptions) => watch(context, ids, options));
  command.addHelpText(
    'after',
    `
Files: one purchase a line. A CSV begins with a header that names purchase_id and, if you like, site, reference and
metadata; JSON lines have purchaseId and the same. Lines that cannot be registered are listed by number, the others are
registered (exit code 1, also when none is). A million ids take no more memory than a thousand.`,
  );
  examples(command, [
    ['watch 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'one purchase'],
    ['watch 3f6b8a52 --site se --reference ORD-1', 'at one of several sites, with your order number'],
    ['watch --file orders.csv', 'many'],
    ['watch --file - < ids.txt', 'from another program'],
    ['watch --settled Completed --dry-run', 'how many are settled in a state that is not final any more'],
  ]);
}
