/** `migrate`: brings the schema up to date without starting the daemon. */

import type { Command } from 'commander';
import { migrate, pendingMigrations } from '../../postgres/migrations/migrate.ts';
import { EXIT_CODES, untilStopSignal } from '../../runtime/process/signals.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { MIGRATIONS, withDatabase } from '../terminal/database.ts';
import { printable, printJson, printLine, printRemark, styled } from '../terminal/output.ts';

interface MigrateOptions {
  readonly dryRun?: true;
  readonly json?: true;
}

async function migrateCommand(context: CliContext, options: MigrateOptions): Promise<void> {
  if (options.dryRun) {
    // It changes nothing, so it makes no database either.
    await withDatabase(
      context,
      async ({ sql }) => {
        const pending = await pendingMigrations(sql, MIGRATIONS);
        if (options.json) printJson(context, { pending });
        else printNames(context, 'pending', pending);
      },
      { raw: 'existing' },
    );
    return;
  }
  const ending = new AbortController();
  // A signal ends the statement on the server, too: a statement that waits there for a lock makes every other session wait.
  if (context.takeSignals !== undefined) void untilStopSignal(context.takeSignals).then((name) => ending.abort(name));
  try {
    await apply(context, options, ending.signal);
  } catch (error) {
    const { aborted, reason } = ending.signal;
    if (!aborted) throw error;
    printRemark(context, printable(error instanceof Error ? error.message : String(error)));
    process.exit(EXIT_CODES.get(reason));
  }
}

function apply(context: CliContext, options: MigrateOptions, signal: AbortSignal): Promise<void> {
  return withDatabase(
    context,
    async ({ sql }) => {
      const onStep = (step: string) => printRemark(context, printable(step));
      const { applied, advice } = await migrate(sql, MIGRATIONS, onStep, { signal });
      if (options.json) return printJson(context, { applied, ...(advice === undefined ? {} : { advice }) });
      printNames(context, 'applied', applied);
      if (advice !== undefined) printLine(context, styled(context, 'yellow', advice));
    },
    { raw: 'create' },
  );
}

function printNames(context: CliContext, word: 'pending' | 'applied', names: readonly string[]): void {
  for (const name of names) printLine(context, `${word}  ${name}`);
  if (names.length === 0) printLine(context, 'the schema is up to date');
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Applies the schema files that the database lacks, all in one transaction. The daemon does the same when it starts; use this where it may not.',
    )
    .option('--dry-run', 'only list what would be applied')
    .option('--json', 'write JSON')
    .action((options: MigrateOptions) => migrateCommand(context, options));
  examples(command, [
    ['migrate --dry-run', 'what is missing'],
    ['migrate', 'apply it'],
  ]);
}
