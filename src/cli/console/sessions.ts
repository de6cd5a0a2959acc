/** `sessions`: who is signed in to the console, and signing browsers out. */
import { type Command, Option } from 'commander';
import { rowIdOf } from '../../actions/row-ids.ts';
import { endOneSession, sessionBody, sessionName } from '../../actions/sessions.ts';
import { AppError } from '../../domain/values/errors.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { readClock } from '../../postgres/connection/database.ts';
import { endSessionsOf, listSessions } from '../../postgres/console/sessions.ts';
import { examples, ruled } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printTable } from '../terminal/table.ts';

const MOST_LISTED = 500;

interface JsonOption {
  readonly json?: true;
}

async function list(context: CliContext, { json }: JsonOption): Promise<void> {
  await withDatabase(context, async ({ sql }) => {
    const rows = await listSessions(sql, { before: null, limit: MOST_LISTED });
    if (json) return printJson(context, { data: rows.map((row) => sessionBody(row, null)) });
    if (rows.length === 0) return printLine(context, 'No browser is signed in to the console.');
    const { now } = await readClock(sql);
    printTable(
      context,
      ['session', 'key', 'person', 'from', 'signed in', 'last seen', 'ends'],
      rows.map(({ id, keyName, person, address, createdAt, lastSeenAt, expiresAt }) => [
        ...[sessionName(id), keyName, person, address],
        ...[createdAt, lastSeenAt, expiresAt].map((at) => relative(at, now)),
      ]),
    );
  });
}

async function end(
  context: CliContext,
  id: number | undefined,
  { all, key, json }: JsonOption & { readonly all?: true; readonly key?: string },
): Promise<void> {
  const isOne = id !== undefined;
  if ([isOne, all === true, key !== undefined].filter(Boolean).length !== 1)
    throw new AppError('invalid', 'say which: the id of a session, --key <name>, or --all');
  await withDatabase(context, async ({ sql }) => {
    if (isOne) await endOneSession(sql, id);
    const ended = isOne ? 1 : await endSessionsOf(sql, key ?? null);
    const subject = isOne ? { id: sessionName(id) } : { ...(key !== undefined && { key }), ended };
    await recordCommand(sql, 'sessions end', subject);
    if (json) return printJson(context, { ended });
    printLine(context, `${counted(ended, 'browser is', 'browsers are')} signed out`);
  });
}

/** Declares the command and what it can do. */
export function register(command: Command, context: CliContext): void {
  command.description('Shows who is signed in to the console: with which key, from where, and when a page was last asked for.');
  command
    .command('list', { isDefault: true })
    .summary('list the sessions, the latest first')
    .option('--json', 'write JSON')
    .action((options: JsonOption) => list(context, options));
  command
    .command('end')
    .summary('sign one browser out, those of a key, or all')
    .argument('[id]', 'the id of a session, such as ses_42', ruled(rowIdOf('ses')))
    .addOption(new Option('--key <name>', 'all that were opened with this key'))
    .addOption(new Option('--all', 'all of them'))
    .option('--json', 'write JSON')
    .action((id: number | undefined, options: JsonOption & { all?: true; key?: string }) => end(context, id, options));
  examples(command, [
    ['sessions', 'who is signed in'],
    ['sessions end ses_42', 'sign one out'],
    ['sessions end --all', 'everybody signs in again'],
  ]);
}
