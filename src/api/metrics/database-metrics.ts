/** Metrics of the database: whether it answers, and all that it counts for all replicas together. */

import type { DatabaseNumbers, DatabaseReading } from '../../actions/overview/database-numbers.ts';
import type { Metrics } from './metric.ts';
import { PURCHASE_METRICS } from './purchase-metrics.ts';
import { SUBSCRIBER_METRICS } from './subscriber-metrics.ts';

export const DATABASE_UP: Metrics<DatabaseReading> = {
  database_up: {
    help: 'Whether the database answers. While it does not, and while its tables are locked, what it would say is missing.',
    read: ({ answers }) => [{ value: answers ? 1 : 0 }],
  },
};

/** Numbers that the database has for all replicas together. */
export const DATABASE_METRICS: Metrics<DatabaseNumbers> = {
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
