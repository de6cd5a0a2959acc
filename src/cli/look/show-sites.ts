/** Shows sites: whether each answers, where orders that were paid twice are not announced, and how replicas call them (breakers, pace and tokens). */

import type { SiteCallsRow, SiteRow } from '../../actions/sites/sites.ts';
import { type OrderCounts, reusesReferences, reuseText } from '../../domain/incidents/paid-twice.ts';
import { relative } from '../../domain/values/relative-time.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { CliContext } from '../terminal/context.ts';
import { printLine, printText } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

/** The sites as a table; `orders`: how often orders repeat, by site. */
export function printSites(
  context: CliContext,
  { sites, orders, now }: { sites: readonly SiteRow[]; orders: ReadonlyMap<string, OrderCounts>; now: Instant },
): void {
  if (sites.length === 0) return void printLine(context, 'There are no sites yet: start the daemon once with your settings.');
  printTable(context, sites, {
    site: ({ name }) => name,
    answers: (site) => answers(site, now),
    'last answer': ({ lastSuccessAt }) => relative(lastSuccessAt, now),
    // The last error stays in the row when the site answers again.
    trouble: ({ failingSince, lastError }) => (failingSince === null ? '' : (lastError ?? '')),
  });
  for (const { name } of sites) {
    const counts = orders.get(name);
    if (counts === undefined || !reusesReferences(counts)) continue;
    printText(context, `At ${name} orders paid twice are not announced: ${reuseText(counts)}.`);
  }
}

function answers({ configured, unpolled, renamedTo, failingSince, lastSuccessAt }: SiteRow, now: Instant): string {
  if (unpolled > 0) return renamedTo === null ? 'not polled: no running daemon names it' : `moves to ${renamedTo}`;
  if (!configured) return 'not configured any more';
  if (failingSince !== null) return `no, since ${relative(failingSince, now).replace(/ ago$/, '')}`;
  return lastSuccessAt === null ? 'not asked yet' : 'yes';
}

/** Writes how a site is called; among all sites only those whose calls are held back, or whose token was refused. */
export function printSiteCalls(
  context: CliContext,
  { calls, now }: { calls: readonly SiteCallsRow[]; now: Instant },
  isOneSite: boolean,
): void {
  const shown = calls.filter((row) => isOneSite || row.breaker !== 'closed' || isRefused(row));
  if (shown.length === 0) return;
  printLine(context);
  printTable(context, shown, {
    site: ({ site }) => site,
    replica: ({ replica }) => replica,
    breaker: ({ breaker, since, cause }) =>
      `${breaker} since ${relative(since, now).replace(/ ago$/, '')}${cause === null ? '' : `, ${cause}`}`,
    'next probe': ({ nextProbeAt: at }) => (at === null ? '-' : at <= now ? 'due' : relative(at, now)),
    'calls a second': ({ callsPerSecond, ceiling }) => `${callsPerSecond} of ${ceiling}`,
    token: (row) => tokenText(row, now),
  });
}

const isRefused = ({ token }: SiteCallsRow): boolean =>
  token !== null && token.refusedAt !== null && token.refusedAt > (token.fetchedAt ?? 0);

function tokenText(row: SiteCallsRow, now: Instant): string {
  const { token } = row;
  if (token === null) return 'none: credentials go with each call';
  const { fetchedAt, expiresAt, refusedAt, refusal } = token;
  const fetched = fetchedAt === null ? 'not fetched' : `fetched ${relative(fetchedAt, now)}, ends ${relative(expiresAt, now)}`;
  return isRefused(row) ? `${fetched}; refused ${relative(refusedAt, now)}: ${refusal}` : fetched;
}
