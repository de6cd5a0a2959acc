/** Every metric by name: what it means, and where its numbers come from. docs/metrics.md says the same, and a test compares. */
import { type MetricFamily, PREFIX, processFamilies } from '../../runtime/metrics.ts';
import type { DatabaseNumbers, DatabaseReading } from './database-numbers.ts';
import type { Metric, Replica } from './metric.ts';
import { PURCHASE_METRICS } from './purchase-metrics.ts';
import { REPLICA_METRICS } from './replica-metrics.ts';
import { SUBSCRIBER_METRICS } from './subscriber-metrics.ts';

export interface MetricSources extends Replica {
  /** As last read. */
  reading(): DatabaseReading;
}

const DATABASE_UP: Metric<DatabaseReading> = {
  type: 'gauge',
  name: 'database_up',
  labels: [],
  help: 'Whether the database answers. While it does not, and while its tables are locked, what it would say is missing.',
  read: ({ answers }) => [{ value: answers ? 1 : 0 }],
};

/** Numbers that the database has for all replicas together. */
const DATABASE_METRICS: readonly Metric<DatabaseNumbers>[] = [
  {
    type: 'gauge',
    name: 'notification_queue_used_ratio',
    labels: [],
    help: "How full the database's queue of notifications is; at 1 nothing can be recorded.",
    read: ({ notificationQueue }) => [{ value: notificationQueue }],
  },
  {
    type: 'gauge',
    name: 'database_oldest_transaction_seconds',
    labels: [],
    help: 'How long the oldest open transaction of the database has been open, of all that the role of DATABASE_URL may see (all with pg_read_all_stats).',
    read: ({ oldestTransaction }) => [{ value: oldestTransaction / 1_000 }],
  },
  {
    type: 'gauge',
    name: 'retention_timestamp_seconds',
    labels: [],
    help: 'When the last run of retention that came to its end began, in seconds since 1970; missing before the first.',
    read: ({ retentionAt }) => (retentionAt === null ? [] : [{ value: retentionAt / 1_000 }]),
  },
  ...PURCHASE_METRICS,
  ...SUBSCRIBER_METRICS,
  { type: 'gauge', name: 'replicas', labels: [], help: 'Daemons that are alive.', read: ({ replicas }) => [{ value: replicas }] },
];

/** All families, in the order of the page. What they hold of the work done is this replica's alone. */
export function metricFamilies({ reading, ...replica }: MetricSources): MetricFamily[] {
  return [
    ...processFamilies(replica.version, false),
    ...REPLICA_METRICS.map((metric) => family(metric, () => metric.read(replica))),
    family(DATABASE_UP, () => DATABASE_UP.read(reading())),
    ...DATABASE_METRICS.map((metric) =>
      family(metric, () => {
        const { numbers } = reading();
        return numbers === null ? [] : metric.read(numbers);
      }),
    ),
  ];
}

function family(metric: Omit<MetricFamily, 'read'>, read: MetricFamily['read']): MetricFamily {
  return { ...metric, name: PREFIX + metric.name, read };
}
