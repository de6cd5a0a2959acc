/** Lists incidents. */

import { readClock } from '../../actions/database.ts';
import { listedIncidentBody } from '../../actions/incidents/body.ts';
import { type IncidentRow, listIncidents, requireIncident } from '../../actions/incidents/incidents.ts';
import { type ListedIncident, withMoney } from '../../actions/incidents/money.ts';
import { INCIDENT_KINDS, readIncidentId, readWord } from '../../actions/incidents/rules.ts';
import { comingEnd, lengthOf, placeOf, whatOf } from '../../actions/incidents/words.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import { apart, counted } from '../../domain/values/counts.ts';
import type { Instant } from '../../domain/values/time.ts';
import { JSON_OPTION, limitOption, ruled } from '../terminal/arguments.ts';
import { onDatabase } from '../terminal/database.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { requireSite } from '../terminal/site.ts';
import { printTable } from '../terminal/table.ts';

export const list = onDatabase(
  {
    summary: 'list those that are open, the latest first',
    options: [
      JSON_OPTION,
      ['--open', 'only open ones, as without it'],
      ['--all', 'also those that are over', { conflicts: ['open'] }],
      ['--site <name>', 'only of this site'],
      [
        '--kind <kind>',
        'only these',
        { choices: INCIDENT_KINDS, read: ruled((text) => readWord(text, INCIDENT_KINDS, 'kind of incident')) },
      ],
      limitOption(),
      ['--cursor <incident>', 'go on after this one', { read: ruled(readIncidentId) }],
    ],
  },
  async (context, { all, site, kind, limit, cursor, json }, { sql }) => {
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
  },
);

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
