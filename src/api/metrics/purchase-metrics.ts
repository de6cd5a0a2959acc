/** Metrics of purchases, of their sites and of incidents, which the database counts for all replicas. */

import type { DatabaseNumbers } from '../../actions/overview/database-numbers.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import { isKnownState, stateName } from '../../domain/purchases/states.ts';
import type { Sample } from '../../runtime/metrics.ts';
import type { Metrics } from './metric.ts';

export const PURCHASE_METRICS: Metrics<DatabaseNumbers> = {
  purchases: {
    labels: ['site', 'status', 'state', 'stuck'],
    help: 'Registered purchases. An unlisted state is its number; one that was not seen yet is none.',
    read: ({ totals }) =>
      totals.map(({ site, status, state, stuck, count }) => ({
        labels: { site, status, state: stateLabel(state), stuck: String(stuck) },
        value: count,
      })),
  },
  polls_due: {
    labels: ['site'],
    help: 'Purchases whose next poll is due, without first polls of bulk registrations. Counted to about ten thousand.',
    read: ({ lags }) => lags.map(({ site, due }) => ({ labels: { site }, value: due })),
  },
  poll_lag_seconds: {
    labels: ['site'],
    help: 'How long the oldest due poll has been waiting.',
    read: ({ lags }) => lags.map(({ site, oldest }) => ({ labels: { site }, value: oldest / 1_000 })),
  },
  checkouts_ended: {
    labels: ['site', 'state', 'outcome'],
    help: 'Purchases that ended in the 24 whole hours of `purchase-watch trends --range 24h`, by the state in which they waited last.',
    read: ({ ended }) =>
      ended.map(({ site, way, outcome, customers }) => ({
        labels: { site, state: stateLabel(way), outcome },
        value: customers,
      })),
  },
  checkouts_ended_amount: {
    labels: ['site', 'currency', 'outcome'],
    help: 'The sum of the stored prices of these purchases, in the currency.',
    read: ({ endedAmounts }) => endedAmounts.map(({ amount, ...labels }) => ({ labels, value: amount })),
  },
  site_up: {
    labels: ['site'],
    help: 'Whether purchases of the site can be read.',
    read: ({ sites }) =>
      sites.map(({ name, failingSince }) => ({ labels: { site: name }, value: failingSince === null ? 1 : 0 })),
  },
  site_last_read_seconds: {
    labels: ['site'],
    help: "How long ago an answer last showed a purchase's status; none before the first.",
    read: ({ at, sites }) =>
      sites.flatMap(({ name, lastReadAt }) =>
        lastReadAt === null ? [] : [{ labels: { site: name }, value: Math.max(at - lastReadAt, 0) / 1_000 }],
      ),
  },
  incidents_open: {
    labels: ['site', 'kind'],
    help: 'Open incidents that are part of no other one. Those of several sites, subscribers and replicas have no site.',
    read: (numbers) => perIncidentKind(numbers, (row) => row?.count ?? 0),
  },
  incidents_critical: {
    labels: ['site', 'kind'],
    help: 'Whether one of these incidents is critical.',
    read: (numbers) =>
      perIncidentKind(numbers, (row) =>
        row !== undefined && row.severity !== null && levelOf({ ...row, severity: row.severity }) === 'critical' ? 1 : 0,
      ),
  },
};

const SITE_INCIDENTS: readonly IncidentKind[] = ['stuck', 'unreachable'];
const SITELESS_INCIDENTS: readonly IncidentKind[] = ['stuck', 'subscriber', 'replica'];

/** A number for each kind of each site, those without an incident too, and then for the kinds that are of no site. */
function perIncidentKind(
  { sites, incidents }: DatabaseNumbers,
  read: (row: DatabaseNumbers['incidents'][number] | undefined) => number,
): readonly Sample[] {
  const sample = (site: string | null, kind: IncidentKind): Sample => ({
    labels: { site: site ?? '', kind },
    value: read(incidents.find((row) => row.site === site && row.kind === kind)),
  });
  return [
    ...sites.flatMap(({ name }) => SITE_INCIDENTS.map((kind) => sample(name, kind))),
    ...SITELESS_INCIDENTS.map((kind) => sample(null, kind)),
  ];
}

/** A state that the specification does not list is shown by its number: there are few, for each is a number of the service's own. */
function stateLabel(state: number | null): string {
  if (state === null) return 'none';
  return isKnownState(state) ? stateName(state) : String(state);
}
