/** `npm run schema` makes this file. Locks of each migration on tables that were there before it, as Postgres showed them. */
import { locksIn } from './files.ts';

export const LOCKS = locksIn(`
0001_replicas.sql
0002_purchases.sql | create table | purchase_watch_internal.replicas | ShareRowExclusiveLock | none
0003_registration.sql | create trigger | purchase_watch.purchases | ShareRowExclusiveLock | none
0004_events.sql | create table | purchase_watch.purchases | ShareRowExclusiveLock | none
0005_deliveries.sql | create table | purchase_watch_internal.events | ShareRowExclusiveLock | none
0006_incidents.sql | create table | purchase_watch_internal.sites | ShareRowExclusiveLock | none
0006_incidents.sql | create table | purchase_watch.purchases | ShareRowExclusiveLock | none
0007_upkeep.sql
0008_views.sql
0009_roles.sql
0010_flow.sql | alter table | purchase_watch_internal.activity | AccessExclusiveLock | none
0011_next_poll_reason.sql | alter table | purchase_watch.purchases | AccessExclusiveLock | none
0011_next_poll_reason.sql | create view | purchase_watch.current_purchases | AccessExclusiveLock | none
0012_console.sql
0013_actions.sql
0014_site_calls.sql | create table | purchase_watch_internal.replicas | ShareRowExclusiveLock | none
0014_site_calls.sql | create table | purchase_watch_internal.sites | ShareRowExclusiveLock | none
0014_site_calls.sql | alter table | purchase_watch_internal.console_sessions | AccessExclusiveLock | rewrite
0015_incident_ends_at.sql | alter table | purchase_watch_internal.incidents | AccessExclusiveLock | none
0016_registrations.sql
0017_settings_digests.sql | alter table | purchase_watch_internal.replicas | AccessExclusiveLock | none
0018_database_changes.sql
0019_named_settings.sql | alter table | purchase_watch_internal.replicas | AccessExclusiveLock | none
0019_named_settings.sql | alter table | purchase_watch_internal.sites | AccessExclusiveLock | none
0019_named_settings.sql | alter table | purchase_watch_internal.subscribers | AccessExclusiveLock | none
0020_bulk.sql | alter table | purchase_watch.purchases | AccessExclusiveLock | none
0020_bulk.sql | alter table | purchase_watch_internal.nudges | AccessExclusiveLock | none
0020_bulk.sql | create trigger | purchase_watch.purchases | ShareRowExclusiveLock | none
0021_delivery_mark.sql | alter table | purchase_watch_internal.deliveries | AccessExclusiveLock | none
0022_odd_ids.sql | create trigger | purchase_watch.purchases | ShareRowExclusiveLock | none
0023_keyed_digests.sql
0024_unreadable_alerts.sql | alter table | purchase_watch_internal.stuck_alerts | AccessExclusiveLock | scan
0025_order_payments.sql | create table | purchase_watch.purchases | ShareRowExclusiveLock | none
0025_order_payments.sql | create table | purchase_watch_internal.sites | ShareRowExclusiveLock | none
0026_stays.sql
0027_purchase_list.sql | create index concurrently | purchase_watch.purchases | ShareUpdateExclusiveLock | index
0027_purchase_list.sql | create index concurrently | purchase_watch_internal.purchase_details | ShareUpdateExclusiveLock | index
0028_receiver_answers.sql | create table | purchase_watch_internal.deliveries | ShareRowExclusiveLock | none
0029_names.sql | alter table | purchase_watch_internal.console_sessions | AccessExclusiveLock | none
0029_names.sql | alter table | purchase_watch_internal.actions | AccessExclusiveLock | none
0030_minutes_kept.sql
`);
