/** `migrate`: brings the schema up to date without starting the daemon. */

import { LOCK_WITHIN, migrate, type PlannedFile, type PlannedLock, planMigration } from '../../actions/setup/migrate.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { EXIT_CODES, untilStopSignal } from '../../runtime/process/signals.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { MIGRATIONS, type OpenDatabase, withDatabase } from '../terminal/database.ts';
import { printable, printJson, printLine, printRemark, styled } from '../terminal/output.ts';

export const register = declare(
  {
    description:
      'Applies the schema files that the database lacks, each in a transaction of its own. The daemon does the same when it starts; use this where it may not, or to upgrade while older daemons run.',
    options: [['--plan', 'only say what would be applied, which locks it takes, and about for how long'], JSON_OPTION],
    examples: [
      ['migrate --plan', 'what is missing, and who would wait for it'],
      ['migrate', 'apply it'],
    ],
  },
  async (context, { plan, json }) => {
    if (plan) return showPlan(context, json);
    const ending = new AbortController();
    // A signal ends the statement on the server, too: a statement that waits there for a lock makes every other session wait.
    if (context.takeSignals !== undefined) void untilStopSignal(context.takeSignals).then((name) => ending.abort(name));
    try {
      await apply(context, json, ending.signal);
    } catch (error) {
      const { aborted, reason } = ending.signal;
      if (!aborted) throw error;
      printRemark(context, printable(error instanceof Error ? error.message : String(error)));
      process.exit(EXIT_CODES.get(reason));
    }
  },
);

function apply(context: CliContext, json: boolean, signal: AbortSignal): Promise<void> {
  const work = async ({ sql }: OpenDatabase): Promise<void> => {
    const onStep = (step: string) => printRemark(context, printable(step));
    const { applied, advice } = await migrate(sql, MIGRATIONS, onStep, { signal });
    if (json) return printJson(context, { applied, ...(advice === undefined ? {} : { advice }) });
    for (const name of applied) printLine(context, `applied  ${name}`);
    if (applied.length === 0) printLine(context, UP_TO_DATE);
    if (advice !== undefined) printLine(context, styled(context, 'yellow', advice));
  };
  return withDatabase(context, work, { raw: 'create' });
}

/** Changes nothing, so it makes no database either. */
function showPlan(context: CliContext, json: boolean): Promise<void> {
  const work = async ({ sql }: OpenDatabase): Promise<void> => {
    const pending = await planMigration(sql, MIGRATIONS);
    if (json) printJson(context, { pending });
    else printPlan(context, pending);
  };
  return withDatabase(context, work, { raw: 'existing' });
}

const UP_TO_DATE = 'the schema is up to date';

function printPlan(context: CliContext, files: readonly PlannedFile[]): void {
  if (files.length === 0) return void printLine(context, UP_TO_DATE);
  for (const file of files) {
    printLine(context, `pending  ${file.name}`);
    for (const line of linesOf(file)) printLine(context, `         ${line}`);
  }
  printLine(context);
  printLine(context, WAITS);
}

const WAITS = `Each file has a transaction of its own. For a lock it waits ${LOCK_WITHIN} ms; then it is tried again after a rest in which others go on.`;

function linesOf({ serves, isNeeded, locks, blocksFor }: PlannedFile): string[] {
  // An empty database has no tables that a session could wait for.
  const there = locks?.filter(({ bytes }) => bytes !== null) ?? [];
  const blocking = there.filter(({ blocks }) => blocks !== 'nothing');
  return [
    serves === null ? 'no daemon of an older version can go on: stop them first' : `daemons with schema ${serves} or later go on`,
    ...(isNeeded ? [] : ['daemons of this version also work without it']),
    ...(locks === null ? ['its locks are not known'] : there.map(lockLine)),
    blocking.length === 0 ? 'nobody waits for it' : `those wait about ${humanDuration(blocksFor)}, once it has its locks`,
  ];
}

function lockLine({ statement, table, lock, blocks, work, rows, bytes }: PlannedLock): string {
  const size = `${rows === null ? 'rows not counted yet' : `about ${Math.round(rows)} rows`}, ${Math.ceil((bytes ?? 0) / 1_000_000)} MB`;
  const stops = blocks === 'nothing' ? 'nothing waits' : `${blocks} wait`;
  return `${statement} ${table} (${size}): ${lock}, ${stops}; ${WORK[work]}`;
}

const WORK: Readonly<Record<PlannedLock['work'], string>> = {
  none: 'reads no rows',
  scan: 'reads every row',
  index: 'reads every row and builds an index',
  rewrite: 'writes the whole table again, with its indexes',
};
