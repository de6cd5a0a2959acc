/**
 * By which column a row has its site: `site` itself, or the row of another table that has it; null for tables of no site, of
 * which each database of a group of sites has its own.
 */
const OF_SITES = {
  ...{ purchases: 'site', purchase_details: 'purchase', purchase_transitions: 'purchase', order_payments: 'purchase' },
  ...{
    events: 'site',
    deliveries: 'event',
    attempts: 'delivery',
    under_way: 'delivery',
    receiver_answers: 'delivery',
    nudges: 'site',
    stays: 'site',
  },
  ...{
    incidents: 'site',
    silences: 'site',
    marks: 'site',
    detections: 'site',
    stuck_alerts: 'site',
    unknown_states: 'site',
    forgotten: 'site',
  },
  ...{ site_calls: 'site', site_reach: 'site', sites: 'name', order_counts: 'site', dwell_days: 'site', stay_days: 'site' },
  ...{ activity: 'site', purchase_counts: 'site', count_changes: 'site' },
  ...{ transition_counts: 'site', transition_count_changes: 'site' },
  ...{
    outcomes: 'site',
    outcome_hours: 'site',
    outcome_hour_sums: 'site',
    outcome_day_sums: 'site',
    outcome_slices: 'site',
    outcomes_gone: 'site',
    waited_hours: 'site',
    outcome_changes: 'purchase',
    snapshots: 'site',
  },
  ...{ incident_members: 'site', aftermaths: 'incident' },
};
const OF_NONE = [
  ...[
    'actions',
    'console_sessions',
    'database_changes',
    'database_clock',
    'delivery_activity',
    'delivery_hours',
    'delivery_hour_changes',
    'feed_era',
    'idempotency_keys',
  ],
  ...[
    'leases',
    'migrations',
    'outcome_folds',
    'renewals',
    'replica_troubles',
    'replicas',
    'shards',
    'subscriber_health',
    'subscribers',
  ],
];

export const OWNERS: Readonly<Record<string, string | null>> = {
  ...OF_SITES,
  ...Object.fromEntries(OF_NONE.map((table) => [table, null])),
};
