/** Shows whether each site answers, and where orders that were paid twice are not announced. */

import { type OrderCounts, reusesReferences, reuseText } from '../../domain/incidents/paid-twice.ts';
import { relative } from '../../domain/values/relative-time.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { SiteRow } from '../../postgres/polling/sites.ts';
import type { CliContext } from '../terminal/context.ts';
import { printLine, printText } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

interface Sites {
  readonly now: Instant;
  readonly sites: readonly SiteRow[];
  /** How often orders repeat, by site. */
  readonly orders: ReadonlyMap<string, OrderCounts>;
}

/** The sites as a table. */
export function printSites(context: CliContext, { sites, orders, now }: Sites): void {
  if (sites.length === 0) return void printLine(context, 'There are no sites yet: start the daemon once with your settings.');
  printTable(
    context,
    ['site', 'answers', 'last answer', 'trouble'],
    sites.map((site) => [site.name, answers(site, now), relative(site.lastSuccessAt, now), trouble(site)]),
  );
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

/** The last error stays in the row when the site answers again; then it is past. */
function trouble({ failingSince, lastError }: SiteRow): string {
  return failingSince === null ? '' : (lastError ?? '');
}
