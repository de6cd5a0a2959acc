/** `sessions`: who is signed in to the console, and signing browsers out. */
import { readClock } from '../../actions/database.ts';
import { rowIdOf } from '../../actions/row-ids.ts';
import { endOneSession, endSessionsOf, listSessions, sessionBody, sessionName } from '../../actions/sessions.ts';
import { AppError } from '../../domain/values/errors.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { JSON_OPTION, ruled } from '../terminal/arguments.ts';
import { declare, group } from '../terminal/command.ts';
import { onDatabase, withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printTable } from '../terminal/table.ts';

const MOST_LISTED = 500;

const list = onDatabase(
  { summary: 'list the sessions, the latest first', options: [JSON_OPTION] },
  async (context, { json }, { sql }) => {
    const rows = await listSessions(sql, { before: null, limit: MOST_LISTED });
    if (json) return printJson(context, { data: rows.map((row) => sessionBody(row, null)) });
    if (rows.length === 0) return printLine(context, 'No browser is signed in to the console.');
    const { now } = await readClock(sql);
    printTable(context, rows, {
      session: ({ id }) => sessionName(id),
      key: ({ keyName }) => keyName,
      person: ({ person }) => person,
      from: ({ address }) => address,
      'signed in': ({ createdAt }) => relative(createdAt, now),
      'last seen': ({ lastSeenAt }) => relative(lastSeenAt, now),
      ends: ({ expiresAt }) => relative(expiresAt, now),
    });
  },
);

const end = declare(
  {
    summary: 'sign one browser out, those of a key, or all',
    arguments: [['[id]', 'the id of a session, such as ses_42', { read: ruled(rowIdOf('ses')) }]],
    options: [['--key <name>', 'all that were opened with this key'], ['--all', 'all of them'], JSON_OPTION],
  },
  async (context, { id, all, key, json }) => {
    const isOne = id !== undefined;
    if ([isOne, all, key !== undefined].filter(Boolean).length !== 1)
      throw new AppError('invalid', 'say which: the id of a session, --key <name>, or --all');
    await withDatabase(context, async ({ sql }) => {
      if (isOne) await endOneSession(sql, id);
      const ended = isOne ? 1 : await endSessionsOf(sql, key ?? null);
      const subject = isOne ? { id: sessionName(id) } : { ...(key !== undefined && { key }), ended };
      await recordCommand(sql, 'sessions end', subject);
      if (json) return printJson(context, { ended });
      printLine(context, `${counted(ended, 'browser is', 'browsers are')} signed out`);
    });
  },
);

export const register = group(
  {
    description: 'Shows who is signed in to the console: with which key, from where, and when a page was last asked for.',
    examples: [
      ['sessions', 'who is signed in'],
      ['sessions end ses_42', 'sign one out'],
      ['sessions end --all', 'everybody signs in again'],
    ],
  },
  { list, end },
);
