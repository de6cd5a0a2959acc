/** Every metric by name: what it means, and where its numbers come from. docs/metrics.md says the same, and a test compares. */

import type { DatabaseNumbers, DatabaseReading } from '../../actions/overview/database-numbers.ts';
import { type MetricFamily, PREFIX, processFamilies } from '../../runtime/metrics.ts';
import type { Metrics, Replica } from './metric.ts';
import { PURCHASE_METRICS } from './purchase-metrics.ts';
import { REPLICA_METRICS } from './replica-metrics.ts';
import { SUBSCRIBER_METRICS } from './subscriber-metrics.ts';

/** A replica, and the database as last read. */
export type MetricSources = Replica & { reading(): DatabaseReading };

const DATABASE_UP: Metrics<DatabaseReading> = {
  database_up: {
    help: 'Whether the database answers. While it does not, and while its tables are locked, what it would say is missing.',
    read: ({ answers }) => [{ value: answers ? 1 : 0 }],
  },
};

/** Numbers that the database has for all replicas together. */
const DATABASE_METRICS: Metrics<DatabaseNumbers> = {
  notification_queue_used_ratio: {
    help: "How full the database's queue of notifications is; at 1 nothing can be recorded.",
    read: ({ notificationQueue }) => [{ value: notificationQueue }],
  },
  database_oldest_transaction_seconds: {
    help: 'How long the oldest open transaction of the database has been open, of all that the role of DATABASE_URL may see (all with pg_read_all_stats).',
    read: ({ oldestTransaction }) => [{ value: oldestTransaction / 1_000 }],
  },
  retention_timestamp_seconds: {
    help: 'When the last run of retention that came to its end began, in seconds since 1970; missing before the first.',
    read: ({ retentionAt }) => (retentionAt === null ? [] : [{ value: retentionAt / 1_000 }]),
  },
  ...PURCHASE_METRICS,
  ...SUBSCRIBER_METRICS,
  replicas: {
    help: 'Daemons that are alive.',
    read: ({ replicas }) => [{ value: replicas }],
  },
};

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
