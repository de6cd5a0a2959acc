/** `npm run schema` makes this file. Locks of each migration on tables that were there before it, as Postgres showed them. */
import type { LockTaken } from './files.ts';

export const LOCKS: ReadonlyMap<string, readonly LockTaken[]> = new Map([
  ['0001_replicas.sql', []],
  [
    '0002_purchases.sql',
    [{ statement: 'create table', table: 'purchase_watch_internal.replicas', lock: 'ShareRowExclusiveLock', work: 'none' }],
  ],
  [
    '0003_registration.sql',
    [{ statement: 'create trigger', table: 'purchase_watch.purchases', lock: 'ShareRowExclusiveLock', work: 'none' }],
  ],
  [
    '0004_events.sql',
    [{ statement: 'create table', table: 'purchase_watch.purchases', lock: 'ShareRowExclusiveLock', work: 'none' }],
  ],
  [
    '0005_deliveries.sql',
    [{ statement: 'create table', table: 'purchase_watch_internal.events', lock: 'ShareRowExclusiveLock', work: 'none' }],
  ],
  [
    '0006_incidents.sql',
    [
      { statement: 'create table', table: 'purchase_watch_internal.sites', lock: 'ShareRowExclusiveLock', work: 'none' },
      { statement: 'create table', table: 'purchase_watch.purchases', lock: 'ShareRowExclusiveLock', work: 'none' },
    ],
  ],
  ['0007_upkeep.sql', []],
  ['0008_views.sql', []],
  ['0009_roles.sql', []],
  [
    '0010_flow.sql',
    [{ statement: 'alter table', table: 'purchase_watch_internal.activity', lock: 'AccessExclusiveLock', work: 'none' }],
  ],
  [
    '0011_next_poll_reason.sql',
    [
      { statement: 'alter table', table: 'purchase_watch.purchases', lock: 'AccessExclusiveLock', work: 'none' },
      { statement: 'create view', table: 'purchase_watch.current_purchases', lock: 'AccessExclusiveLock', work: 'none' },
    ],
  ],
  ['0012_console.sql', []],
  ['0013_actions.sql', []],
  [
    '0014_site_calls.sql',
    [
      { statement: 'create table', table: 'purchase_watch_internal.replicas', lock: 'ShareRowExclusiveLock', work: 'none' },
      { statement: 'create table', table: 'purchase_watch_internal.sites', lock: 'ShareRowExclusiveLock', work: 'none' },
      {
        statement: 'alter table',
        table: 'purchase_watch_internal.console_sessions',
        lock: 'AccessExclusiveLock',
        work: 'rewrite',
      },
    ],
  ],
  [
    '0015_incident_ends_at.sql',
    [{ statement: 'alter table', table: 'purchase_watch_internal.incidents', lock: 'AccessExclusiveLock', work: 'none' }],
  ],
  ['0016_registrations.sql', []],
  [
    '0017_settings_digests.sql',
    [{ statement: 'alter table', table: 'purchase_watch_internal.replicas', lock: 'AccessExclusiveLock', work: 'none' }],
  ],
  ['0018_database_changes.sql', []],
  [
    '0019_named_settings.sql',
    [
      { statement: 'alter table', table: 'purchase_watch_internal.replicas', lock: 'AccessExclusiveLock', work: 'none' },
      { statement: 'alter table', table: 'purchase_watch_internal.sites', lock: 'AccessExclusiveLock', work: 'none' },
      { statement: 'alter table', table: 'purchase_watch_internal.subscribers', lock: 'AccessExclusiveLock', work: 'none' },
    ],
  ],
  [
    '0020_bulk.sql',
    [
      { statement: 'alter table', table: 'purchase_watch.purchases', lock: 'AccessExclusiveLock', work: 'none' },
      { statement: 'alter table', table: 'purchase_watch_internal.nudges', lock: 'AccessExclusiveLock', work: 'none' },
      { statement: 'create trigger', table: 'purchase_watch.purchases', lock: 'ShareRowExclusiveLock', work: 'none' },
    ],
  ],
  [
    '0021_delivery_mark.sql',
    [{ statement: 'alter table', table: 'purchase_watch_internal.deliveries', lock: 'AccessExclusiveLock', work: 'none' }],
  ],
  [
    '0022_odd_ids.sql',
    [{ statement: 'create trigger', table: 'purchase_watch.purchases', lock: 'ShareRowExclusiveLock', work: 'none' }],
  ],
  ['0023_keyed_digests.sql', []],
  [
    '0024_unreadable_alerts.sql',
    [{ statement: 'alter table', table: 'purchase_watch_internal.stuck_alerts', lock: 'AccessExclusiveLock', work: 'scan' }],
  ],
  [
    '0025_order_payments.sql',
    [
      { statement: 'create table', table: 'purchase_watch.purchases', lock: 'ShareRowExclusiveLock', work: 'none' },
      { statement: 'create table', table: 'purchase_watch_internal.sites', lock: 'ShareRowExclusiveLock', work: 'none' },
    ],
  ],
  ['0026_stays.sql', []],
  [
    '0027_purchase_list.sql',
    [
      {
        statement: 'create index concurrently',
        table: 'purchase_watch.purchases',
        lock: 'ShareUpdateExclusiveLock',
        work: 'index',
      },
      {
        statement: 'create index concurrently',
        table: 'purchase_watch_internal.purchase_details',
        lock: 'ShareUpdateExclusiveLock',
        work: 'index',
      },
    ],
  ],
  [
    '0028_receiver_answers.sql',
    [{ statement: 'create table', table: 'purchase_watch_internal.deliveries', lock: 'ShareRowExclusiveLock', work: 'none' }],
  ],
  [
    '0029_names.sql',
    [
      { statement: 'alter table', table: 'purchase_watch_internal.console_sessions', lock: 'AccessExclusiveLock', work: 'none' },
      { statement: 'alter table', table: 'purchase_watch_internal.actions', lock: 'AccessExclusiveLock', work: 'none' },
    ],
  ],
  ['0030_minutes_kept.sql', []],
]);
