/** Lists incidents. */

import { listedIncidentBody } from '../../actions/incidents/body.ts';
import { requireIncident } from '../../actions/incidents/incidents.ts';
import { type ListedIncident, withMoney } from '../../actions/incidents/money.ts';
import { comingEnd, lengthOf, placeOf, whatOf } from '../../actions/incidents/words.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import { apart, counted } from '../../domain/values/counts.ts';
import type { Instant } from '../../domain/values/time.ts';
import { readClock, type Sql } from '../../postgres/connection/database.ts';
import { type IncidentRow, listIncidents } from '../../postgres/incidents/list.ts';
import type { CliContext } from '../terminal/context.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { requireSite } from '../terminal/site.ts';
import { printTable } from '../terminal/table.ts';

interface Wanted {
  readonly all: boolean;
  readonly site?: string;
  readonly kind?: IncidentKind;
  readonly limit: number;
  /** The id of the one before. */
  readonly cursor?: string;
  readonly json: boolean;
}

/** Prints a page, the latest opened first. */
export async function printIncidents(
  context: CliContext,
  sql: Sql,
  { all, site, kind, limit, cursor, json }: Wanted,
): Promise<void> {
  await requireSite(sql, site);
  const before = cursor === undefined ? null : (await requireIncident(sql, cursor)).position;
  const filter = { status: all ? ('all' as const) : ('open' as const), site, kind };
  const rows = await listIncidents(sql, { filter, before, limit: limit + 1 });
  const page = await withMoney(sql, rows.slice(0, limit));
  const next = rows.length > limit ? page.at(-1)!.id : null;
  if (json) return printJson(context, { data: page.map(listedIncidentBody), nextCursor: next });
  if (page.length === 0)
    return void printLine(
      context,
      all ? 'No incidents.' : 'No incident is open. Those that are over: purchase-watch incidents --all',
    );
  const { now } = await readClock(sql);
  printTable(
    context,
    page,
    {
      incident: ({ id }) => id,
      severity: levelOf,
      where: placeOf,
      what: whatOf,
      'money waiting': ({ money }) => moneyText(money),
      status: (row) => statusOf(row, now),
      owner: ({ acknowledgedBy }) => acknowledgedBy,
    },
    { whole: ['what', 'status'] },
  );
  if (context.isTTY) printLine(context, '\nOne of them: purchase-watch incidents show <incident>');
  if (next !== null) printLine(context, `\nThere are more: --cursor ${next}`);
}

/** `16 482.50 SEK and 2 orders without an amount`. */
function moneyText(money: ListedIncident['money']): string {
  if (money === null) return '-';
  const { waiting, unpriced, atLeast } = money;
  const sums = waiting.map(({ amount, currency }) => `${apart(amount)} ${currency}`).join(', ');
  const unknown = unpriced === 0 ? '' : `${counted(unpriced, 'order')} without an amount`;
  const text = [sums, unknown].filter((part) => part !== '').join(' and ');
  return text === '' ? '-' : `${atLeast ? 'at least ' : ''}${text}`;
}

function statusOf(row: IncidentRow, now: Instant): string {
  const { endedAt, silencedUntil, parent } = row;
  const length = lengthOf(row, now);
  if (endedAt !== null) return `over after ${length}`;
  const end = comingEnd(row, now);
  return `open for ${length}${end === null ? '' : `, ${end}`}${silencedUntil === null ? '' : ', silenced'}${parent === null ? '' : `, part of ${parent}`}`;
}
