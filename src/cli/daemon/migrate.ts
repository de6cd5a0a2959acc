/** `migrate`: brings the schema up to date without starting the daemon. */

import type { Command } from 'commander';
import { migrate, pendingMigrations } from '../../postgres/migrations/migrate.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { MIGRATIONS, withDatabase } from '../terminal/database.ts';
import { printable, printJson, printLine, styled } from '../terminal/output.ts';

interface MigrateOptions {
  readonly dryRun?: true;
  readonly json?: true;
}

async function migrateCommand(context: CliContext, { dryRun, json }: MigrateOptions): Promise<void> {
  await withDatabase(
    context,
    async ({ sql }) => {
      const onStep = (step: string) => context.stderr.write(`${printable(step)}\n`);
      const migrated = dryRun ? null : await migrate(sql, MIGRATIONS, onStep);
      const names = migrated === null ? await pendingMigrations(sql, MIGRATIONS) : migrated.applied;
      const advice = migrated?.advice;
      if (json)
        return printJson(context, dryRun ? { pending: names } : { applied: names, ...(advice === undefined ? {} : { advice }) });
      for (const name of names) printLine(context, `${dryRun ? 'pending' : 'applied'}  ${name}`);
      if (names.length === 0) printLine(context, 'the schema is up to date');
      if (advice !== undefined) printLine(context, styled(context, 'yellow', advice));
    },
    // A dry run changes nothing, so it makes no database either.
    dryRun ? { raw: 'existing' } : { raw: 'create' },
  );
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
