/** A site by itself: what is set for it, its limits, and how long customers who got on stayed in each state. */
import type { SiteSettings } from '../../config/settings.ts';
import { NOTHING_PAID, type OrderCounts, reusesReferences } from '../../domain/incidents/paid-twice.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { boundsOf, dwellBody, dwellOf, shownLimit } from '../../domain/stays/dwell.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { orderCounts } from '../../postgres/incidents/paid-twice.ts';
import { readSiteCalls } from '../../postgres/polling/site-calls.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { readDwell, USUAL_WINDOW } from '../../postgres/stays/dwell.ts';
import type { StayLimits } from '../../postgres/stays/limits.ts';
import { siteCallsBody } from './site-calls.ts';

/** The answer of the API about one site; `settings`: undefined for a site that is no longer configured. */
export async function readSite(
  sql: Sql,
  { name, settings, limits }: { name: string; settings: SiteSettings | undefined; limits: StayLimits },
) {
  const [rows, calls, orders] = await Promise.all([
    databaseNow(sql).then((now) => readDwell(sql, now - USUAL_WINDOW, name)),
    readSiteCalls(sql, name),
    orderCounts(sql),
  ]);
  const byState = Map.groupBy(rows, ({ state }) => state);
  const policy = limits.policyFor(name);
  const limited = [...policy.states].flatMap(([state, { stuckAfter, final }]) => (stuckAfter !== null && !final ? [state] : []));
  const states = [...new Set([...byState.keys(), ...limited])].sort((a, b) => a - b);
  return {
    site: name,
    configured: settings !== undefined,
    settings: settings === undefined ? null : shownSettings(settings),
    replicas: calls.map(siteCallsBody),
    orders: ordersBody(orders.get(name)),
    states: states.map((state) => {
      const counts = byState.get(state) ?? [];
      return {
        state: { ...namedState(state) },
        limit: shownLimit(limits.limitOf(name, state), null),
        usual: dwellBody(dwellOf(counts)),
        stays: counts
          .filter(({ longest }) => longest > 0)
          .map(({ bucket, longest }) => {
            const { from, below } = boundsOf(bucket);
            return { fromMs: Math.round(from), belowMs: Math.round(below), count: longest };
          }),
      };
    }),
  };
}

/** How often orders repeat at a site, and whether that is by design; undefined: no purchase was paid there yet. */
export function ordersBody(counts: OrderCounts = NOTHING_PAID) {
  return { ...counts, reused: reusesReferences(counts) };
}

/** The settings of a site without addresses and names of accounts, which may hold secrets. */
function shownSettings({ auth, timeZone, maxRps, concurrency, timeout, invoices }: SiteSettings) {
  return { auth, timeZone, maxRps, concurrency, timeoutMs: timeout, invoices };
}
