/** What the five dashboards show: a row a question, a panel an answer. `$rate` stands for Grafana's interval for rates. */

export interface Query {
  readonly expr: string;
  /** In Grafana's notation; the labels of the series without it. */
  readonly legend?: string;
  /** A daemon that is well has no series of it. */
  readonly mayBeEmpty?: boolean;
}

export interface PanelSpec {
  readonly title: string;
  /** What to do, or what it means; shown at the panel's mark. */
  readonly about: string;
  /** Grafana's name of the unit. */
  readonly unit: 'short' | 's' | 'reqps' | 'bytes' | 'percentunit' | 'dateTimeFromNow';
  readonly queries: readonly Query[];
  /** A number of now instead of a line over time. */
  readonly isNow?: boolean;
}

export interface DashboardSpec {
  readonly uid: string;
  readonly title: string;
  readonly rows: Readonly<Record<string, readonly PanelSpec[]>>;
}

const now = (title: string, about: string, expr: string, unit: PanelSpec['unit'] = 'short'): PanelSpec => ({
  ...{ title, about, unit, isNow: true },
  queries: [{ expr }],
});
const over = (title: string, about: string, unit: PanelSpec['unit'], ...queries: readonly Query[]): PanelSpec => ({
  ...{ title, about, unit, queries },
});
const quantile = (share: number, metric: string, by: string): Query => ({
  expr: `histogram_quantile(${share}, sum by (le, ${by}) (rate(${metric}_bucket[$rate])))`,
  legend: `{{${by}}} ${share * 100} %`,
});

const FLEET: DashboardSpec = {
  uid: 'purchase-watch-fleet',
  title: 'purchase-watch: fleet and database',
  rows: {
    'Is everything at work?': [
      now('Daemons alive', 'As the database knows them.', 'max(purchase_watch_replicas)'),
      now(
        'Shards with an owner',
        'Of 64; fewer for minutes: runbook PurchaseWatchShardsUnowned.',
        'sum(purchase_watch_shards_owned)',
      ),
      now('Database', '1 while it answers every daemon.', 'min(purchase_watch_database_up)'),
      now(
        'Alerts firing',
        'Of the rules in deploy/prometheus.',
        'count(ALERTS{alertname=~"PurchaseWatch.*", alertstate="firing"}) or vector(0)',
      ),
    ],
    Daemons: [
      over('Loops that fail', 'Runbook PurchaseWatchLoopUnhealthy.', 'short', {
        expr: '1 - purchase_watch_loop_healthy',
        legend: '{{instance}} {{loop}}',
      }),
      over('Shards', 'Steps are daemons that came or went.', 'short', {
        expr: 'purchase_watch_shards_owned',
        legend: '{{instance}}',
      }),
      over('Processor', 'Of one core.', 'percentunit', {
        expr: 'rate(process_cpu_seconds_total[$rate])',
        legend: '{{instance}}',
      }),
      over('Memory', 'Resident.', 'bytes', { expr: 'process_resident_memory_bytes', legend: '{{instance}}' }),
      over('Delay of the event loop', 'Above a tenth of a second the process has too much to do.', 's', {
        expr: 'nodejs_eventloop_lag_p99_seconds',
        legend: '{{instance}}',
      }),
      over('Versions', 'Two for more than an update: somebody forgot a machine.', 'short', {
        expr: 'count by (version) (purchase_watch_build_info)',
        legend: '{{version}}',
      }),
    ],
    Database: [
      over('Connections in use', 'Of each pool, over all daemons.', 'short', {
        expr: 'sum by (pool) (purchase_watch_database_connections{state="in_use"})',
        legend: '{{pool}}',
      }),
      over('Queries that wait for a connection', 'On average; runbook PurchaseWatchConnectionsWaiting.', 'short', {
        expr: 'sum by (pool) (rate(purchase_watch_database_wait_seconds_total[$rate]))',
        legend: '{{pool}}',
      }),
      over('Recording polls', 'A statement with its wait for a connection.', 's', {
        expr: 'histogram_quantile(0.99, sum by (le) (rate(purchase_watch_recording_duration_seconds_bucket[$rate])))',
        legend: '99 %',
      }),
      over('Polls that wait to be recorded', 'Above zero for long: the database is slow.', 'short', {
        expr: 'purchase_watch_polls_unrecorded',
        legend: '{{instance}}',
      }),
      over('Oldest open transaction', 'Runbook PurchaseWatchLongTransaction.', 's', {
        expr: 'max(purchase_watch_database_oldest_transaction_seconds)',
        legend: 'oldest',
      }),
      over('Queue of notifications', 'Runbook PurchaseWatchNotificationQueue.', 'percentunit', {
        expr: 'max(purchase_watch_notification_queue_used_ratio)',
        legend: 'used',
      }),
      now(
        'Last retention',
        'When the last whole run began.',
        'max(purchase_watch_retention_timestamp_seconds) * 1000',
        'dateTimeFromNow',
      ),
      now('Other databases', 'How often another database answered than before.', 'sum(purchase_watch_database_changes_total)'),
    ],
  },
};

const POLLING: DashboardSpec = {
  uid: 'purchase-watch-polling',
  title: 'purchase-watch: polling by site',
  rows: {
    'Is every site read?': [
      over('Sites that can be read', '0: runbook PurchaseWatchSiteBlind.', 'short', {
        expr: 'max by (site) (purchase_watch_site_up)',
        legend: '{{site}}',
      }),
      over('Polls late', 'The oldest due poll; above a minute: runbook PurchaseWatchPollsLate.', 's', {
        expr: 'max by (site) (purchase_watch_poll_lag_seconds)',
        legend: '{{site}}',
      }),
      over('Last answer', 'How long ago an answer last showed a status.', 's', {
        expr: 'min by (site) (purchase_watch_site_last_read_seconds)',
        legend: '{{site}}',
      }),
    ],
    Calls: [
      over('Polls', 'A second, by what they showed.', 'reqps', {
        expr: 'sum by (site, outcome) (rate(purchase_watch_polls_total[$rate]))',
        legend: '{{site}} {{outcome}}',
      }),
      over(
        'Duration of a poll',
        'From asking to the answer; exemplars are row ids.',
        's',
        quantile(0.5, 'purchase_watch_poll_duration_seconds', 'site'),
        quantile(0.99, 'purchase_watch_poll_duration_seconds', 'site'),
      ),
      over('Polls in flight', 'Near `concurrency` the service is slow.', 'short', {
        expr: 'sum by (site) (purchase_watch_polls_in_flight)',
        legend: '{{site}}',
      }),
      over('Polls due', 'Without first polls of bulk registrations.', 'short', {
        expr: 'max by (site) (purchase_watch_polls_due)',
        legend: '{{site}}',
      }),
    ],
    Purchases: [
      over('Watched', 'By state.', 'short', {
        expr: 'max by (site, state) (sum by (instance, site, state) (purchase_watch_purchases{status="watching"}))',
        legend: '{{site}} {{state}}',
      }),
      over('Changes', 'Of state, a second.', 'reqps', {
        expr: 'sum by (site) (rate(purchase_watch_state_changes_total[$rate]))',
        legend: '{{site}}',
      }),
      over('Not recorded because of a lock', 'Another session holds the row; the poll is made again.', 'reqps', {
        expr: 'sum by (site) (rate(purchase_watch_polls_row_locked_total[$rate]))',
        legend: '{{site}}',
      }),
      over('Set back', 'Rows that disagreed with their last announced change; somebody wrote into the tables.', 'reqps', {
        expr: 'sum by (site) (rate(purchase_watch_purchases_repaired_total[$rate]))',
        legend: '{{site}}',
      }),
    ],
  },
};

const DELIVERIES: DashboardSpec = {
  uid: 'purchase-watch-deliveries',
  title: 'purchase-watch: deliveries and subscribers',
  rows: {
    'Does every subscriber get its events?': [
      over('On', '0: switched off; runbook PurchaseWatchSubscriberOff.', 'short', {
        expr: 'max by (subscriber) (purchase_watch_subscriber_up{subscriber!~"@.*"})',
        legend: '{{subscriber}}',
      }),
      over('Paused', 'Runbook PurchaseWatchDeliveriesParked.', 'short', {
        expr: 'max by (subscriber) (purchase_watch_subscriber_paused{subscriber!~"@.*"})',
        legend: '{{subscriber}}',
      }),
      over('Not reached', 'Runbook PurchaseWatchSubscriberUnreached.', 'short', {
        expr: 'max by (subscriber) (purchase_watch_subscriber_unreached{subscriber!~"@.*"})',
        legend: '{{subscriber}}',
      }),
    ],
    Deliveries: [
      over('Waiting', 'Not settled, by why; counted to ten thousand.', 'short', {
        expr: 'max by (subscriber, status) (purchase_watch_deliveries_waiting{subscriber!~"@.*"})',
        legend: '{{subscriber}} {{status}}',
      }),
      over('Late', 'How long the oldest has been due.', 's', {
        expr: 'max by (subscriber) (purchase_watch_delivery_lag_seconds{subscriber!~"@.*"})',
        legend: '{{subscriber}}',
      }),
      over('Attempts', 'A second, by how they ended.', 'reqps', {
        expr: 'sum by (subscriber, outcome) (rate(purchase_watch_delivery_attempts_total[$rate]))',
        legend: '{{subscriber}} {{outcome}}',
      }),
      over(
        'From event to receipt',
        'Retries included; exemplars are the ids of events (webhook-id).',
        's',
        quantile(0.5, 'purchase_watch_event_to_receipt_seconds', 'subscriber'),
        quantile(0.99, 'purchase_watch_event_to_receipt_seconds', 'subscriber'),
      ),
      over('Failures in a row', 'While paused.', 'short', {
        expr: 'max by (subscriber) (purchase_watch_subscriber_failures{subscriber!~"@.*"})',
        legend: '{{subscriber}}',
      }),
      over('Events', 'Committed, a second.', 'reqps', {
        expr: 'sum by (type) (rate(purchase_watch_events_total[$rate]))',
        legend: '{{type}}',
      }),
    ],
  },
};

const PEOPLE: DashboardSpec = {
  uid: 'purchase-watch-people',
  title: 'purchase-watch: incidents and people',
  rows: {
    Incidents: [
      now('Open', 'Those that are part of no other one.', 'max(sum by (instance) (purchase_watch_incidents_open))'),
      over('Open by kind', 'Without a site: of several sites, of subscribers, of daemons.', 'short', {
        expr: 'max by (site, kind) (purchase_watch_incidents_open)',
        legend: '{{site}} {{kind}}',
      }),
      over('Stuck purchases', 'Customers who wait longer than the limit of their state.', 'short', {
        expr: 'max by (site, state) (sum by (instance, site, state) (purchase_watch_purchases{stuck="true"}))',
        legend: '{{site}} {{state}}',
        mayBeEmpty: true,
      }),
    ],
    'Do people hear of them?': [
      over('Channels that take messages', '0: runbook PurchaseWatchChannelBroken.', 'short', {
        expr: 'min by (channel) (purchase_watch_channel_up)',
        legend: '{{channel}}',
      }),
      over('Messages', 'A second, by how they ended.', 'reqps', {
        expr: 'sum by (subscriber, outcome) (rate(purchase_watch_delivery_attempts_total{subscriber=~"@.*"}[$rate]))',
        legend: '{{subscriber}} {{outcome}}',
        mayBeEmpty: true,
      }),
      over('Messages that wait', 'Also because of `maxPerHour`.', 'short', {
        expr: 'max by (subscriber, status) (purchase_watch_deliveries_waiting{subscriber=~"@.*"})',
        legend: '{{subscriber}} {{status}}',
      }),
      now(
        "Dead man's switch",
        'When it was called last.',
        'max(purchase_watch_dead_mans_switch_timestamp_seconds) * 1000',
        'dateTimeFromNow',
      ),
      over('Time until keys and certificates end', 'Runbook PurchaseWatchExpiresSoon.', 's', {
        expr: 'min by (kind, name) (purchase_watch_expires_timestamp_seconds - time())',
        legend: '{{kind}} {{name}}',
      }),
    ],
  },
};

/** Each customer once, however many daemons were asked and however many purchases the customer began. */
const ended = (by: string, outcomes: string, when = ''): string =>
  `sum by (${by}) (max by (site, state, outcome) (purchase_watch_checkouts_ended{outcome=~"${outcomes}"}${when}))`;
const sharePaid = (when = ''): string => `${ended('site', 'paid', when)} / ${ended('site', 'paid|not_paid|open', when)}`;
const amounts = (outcomes: string): string =>
  `sum by (site, currency) (max by (site, currency, outcome) (purchase_watch_checkouts_ended_amount{outcome=~"${outcomes}"}))`;

const CHECKOUTS: DashboardSpec = {
  uid: 'purchase-watch-checkouts',
  title: 'purchase-watch: how checkouts ended',
  rows: {
    'Do customers pay?': [
      over(
        'Share paid',
        'Of the customers whose checkout ended in 24 whole hours, beside those of a week before; few customers say little.',
        'percentunit',
        { expr: sharePaid(), legend: '{{site}}', mayBeEmpty: true },
        { expr: sharePaid(' offset 7d'), legend: '{{site}} a week before', mayBeEmpty: true },
      ),
      over('Customers', 'Whose checkout ended in 24 whole hours.', 'short', {
        expr: ended('site', 'paid|not_paid|open'),
        legend: '{{site}}',
        mayBeEmpty: true,
      }),
    ],
    'Where are they lost?': [
      over('Not paid, or open', 'By the state in which they waited last.', 'short', {
        expr: ended('site, state', 'not_paid|open'),
        legend: '{{site}} {{state}}',
        mayBeEmpty: true,
      }),
      over('Money not paid, or open', 'In each currency, of purchases whose price is stored.', 'short', {
        expr: amounts('not_paid|open'),
        legend: '{{site}} {{currency}}',
        mayBeEmpty: true,
      }),
      over('Money paid', 'In each currency, of purchases whose price is stored.', 'short', {
        expr: amounts('paid'),
        legend: '{{site}} {{currency}}',
        mayBeEmpty: true,
      }),
    ],
  },
};

export const DASHBOARDS: readonly DashboardSpec[] = [FLEET, POLLING, DELIVERIES, PEOPLE, CHECKOUTS];
