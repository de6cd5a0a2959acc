/** Shows how replicas call sites: breakers, pace and tokens. */

import { relative } from '../../domain/values/relative-time.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { SiteCallsRow } from '../../postgres/polling/site-calls.ts';
import type { CliContext } from '../terminal/context.ts';
import { printLine } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

/** Of all sites only those whose calls are held back, or whose token was refused. */
export function printSiteCalls(
  context: CliContext,
  { calls, isOneSite, now }: { calls: readonly SiteCallsRow[]; isOneSite: boolean; now: Instant },
): void {
  const shown = calls.filter((row) => isOneSite || row.breaker !== 'closed' || isRefused(row));
  if (shown.length === 0) return;
  printLine(context);
  printTable(
    context,
    ['site', 'replica', 'breaker', 'next probe', 'calls a second', 'token'],
    shown.map((row) => [
      row.site,
      row.replica,
      `${row.breaker} since ${relative(row.since, now).replace(/ ago$/, '')}${row.cause === null ? '' : `, ${row.cause}`}`,
      row.nextProbeAt === null ? '-' : row.nextProbeAt <= now ? 'due' : relative(row.nextProbeAt, now),
      `${row.callsPerSecond} of ${row.ceiling}`,
      tokenText(row, now),
    ]),
  );
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
