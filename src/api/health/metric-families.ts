/** Every metric by name: what it means, and where its numbers come from. docs/metrics.md says the same, and a test compares. */
import type { MetricFamily } from '../../runtime/metrics.ts';
import type { DatabaseNumbers } from './database-numbers.ts';
import type { Metric, Replica } from './metric.ts';
import { PURCHASE_METRICS } from './purchase-metrics.ts';
import { REPLICA_METRICS } from './replica-metrics.ts';
import { SUBSCRIBER_METRICS } from './subscriber-metrics.ts';

export interface MetricSources extends Replica {
  /** As last read; null while the database does not answer. */
  numbers(): DatabaseNumbers | null;
}

const PREFIX = 'purchase_watch_';

const DATABASE_UP: Metric<DatabaseNumbers | null> = {
  type: 'gauge',
  name: 'database_up',
  labels: [],
  help: 'Whether the database answers; while it does not, what it would say is missing.',
  read: (numbers) => [{ value: numbers === null ? 0 : 1 }],
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
  ...PURCHASE_METRICS,
  ...SUBSCRIBER_METRICS,
  { type: 'gauge', name: 'replicas', labels: [], help: 'Daemons that are alive.', read: ({ replicas }) => [{ value: replicas }] },
];

/** All families, in the order of the page. What they hold of the work done is this replica's alone. */
export function metricFamilies({ numbers, ...replica }: MetricSources): MetricFamily[] {
  return [
    ...REPLICA_METRICS.map((metric) => family(metric, () => metric.read(replica))),
    family(DATABASE_UP, () => DATABASE_UP.read(numbers())),
    ...DATABASE_METRICS.map((metric) =>
      family(metric, () => {
        const now = numbers();
        return now === null ? [] : metric.read(now);
      }),
    ),
  ];
}

function family({ name, type, labels, help }: Omit<MetricFamily, 'read'>, read: MetricFamily['read']): MetricFamily {
  return { name: PREFIX + name, type, help, labels, read };
}
