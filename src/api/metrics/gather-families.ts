/** Joins the tables of metrics beside this file into the families of the page /metrics. docs/metrics.md says the same as they do, and a test compares. */

import type { DatabaseReading } from '../../actions/overview/database-numbers.ts';
import { type MetricFamily, PREFIX, processFamilies } from '../../runtime/metrics.ts';
import { DATABASE_METRICS, DATABASE_UP } from './database-metrics.ts';
import type { Metrics, Replica } from './metric.ts';
import { REPLICA_METRICS } from './replica-metrics.ts';

/** A replica, and the database as last read. */
export type MetricSources = Replica & { reading(): DatabaseReading };

/** All families, in the order of the page. What they hold of the work done is this replica's alone. */
export function metricFamilies({ reading, ...replica }: MetricSources): MetricFamily[] {
  return [
    ...processFamilies(replica.version, false),
    ...familiesOf(REPLICA_METRICS, () => replica),
    ...familiesOf(DATABASE_UP, reading),
    ...familiesOf(DATABASE_METRICS, () => reading().numbers),
  ];
}

/** Without a source there are no numbers. */
function familiesOf<Source>(metrics: Metrics<Source>, source: () => Source | null): MetricFamily[] {
  return Object.entries(metrics).map(([name, { read, ...metric }]) => ({
    type: 'gauge',
    labels: [],
    ...metric,
    name: PREFIX + name,
    read: () => {
      const from = source();
      return from === null ? [] : read(from);
    },
  }));
}
