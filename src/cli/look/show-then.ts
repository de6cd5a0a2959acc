/** Shows how everything was at a moment of the last 14 days. */

import { databaseNow } from '../../actions/database.ts';
import { learnedLimits } from '../../actions/flow/stay-limits.ts';
import { pastMoment, readMoment } from '../../actions/subscribers/moment.ts';
import { readThen, type Then } from '../../actions/then/then.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { CliContext } from '../terminal/context.ts';
import type { OpenDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine, printText } from '../terminal/output.ts';
import { requireSite } from '../terminal/site.ts';
import { printStates } from './flow.ts';

/** Prints the answer of `GET /v1/then` in words. Throws AppError `invalid` for a time that is none of the last 14 days. */
export async function showThen(
  context: CliContext,
  { sql, settings }: OpenDatabase,
  { at, site, json }: { at: string; site: string | undefined; json: boolean },
): Promise<void> {
  await requireSite(sql, site);
  const now = await databaseNow(sql);
  const read = readMoment(at, now);
  const moment = 'is' in read ? pastMoment(read.is, now) : read;
  if ('problem' in moment) throw new AppError('invalid', `--at ${at.slice(0, 80)}: ${moment.problem}`);
  const limits = await learnedLimits(sql, settings.policy);
  const then = await readThen(sql, {
    at: moment.is,
    now,
    site: site ?? null,
    limits,
    incidentsKept: settings.store.retention.events,
  });
  if (json) return printJson(context, then);
  printLine(
    context,
    `This is how it was at ${then.at.slice(0, 10)} ${then.at.slice(11, 16)} UTC${site === undefined ? '' : `, site ${site}`}`,
  );
  printText(context, `${then.sentence} ${then.rest}`);
  printIncidents(context, then);
  if (then.flow !== null) printStates(context, then.flow, 'then');
  printHour(context, then);
  printText(context, then.notKept);
}

function printIncidents(context: CliContext, { incidents }: Then): void {
  if (incidents === null || incidents.length === 0) return;
  printLine(context);
  for (const { id, where, what, severity, openMs, acknowledged } of incidents) {
    const care = acknowledged === null ? '' : `; ${acknowledged.by} had acknowledged it`;
    printText(context, `incident ${id}, ${severity}, had been open for ${humanDuration(openMs)}: ${where}: ${what}${care}`);
  }
}

/** The sixty minutes before, added up. */
function printHour(context: CliContext, { activity, flow }: Then): void {
  const sum = (key: 'polls' | 'failedPolls' | 'delivered' | 'failedAttempts') =>
    activity.minutes.reduce((total, minute) => total + minute[key], 0);
  const came = flow?.edges.reduce((total, { from, count }) => total + (from === null ? count : 0), 0);
  printLine(context);
  printText(
    context,
    `In the hour before: ${came === undefined ? '' : `${counted(came, 'customer')} came, `}${counted(sum('polls'), 'poll')} (${sum('failedPolls')} without an answer), ${counted(sum('delivered'), 'event')} delivered (${counted(sum('failedAttempts'), 'attempt')} failed)`,
  );
}
