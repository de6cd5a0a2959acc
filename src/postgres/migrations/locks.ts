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
0007_requests.sql
0008_views.sql
0009_roles.sql
0010_trends.sql | create table | purchase_watch.purchases | ShareRowExclusiveLock | none
0010_trends.sql | create trigger | purchase_watch_internal.purchase_details | ShareRowExclusiveLock | none
0011_stay_views.sql
0012_then.sql
0013_marks.sql
0014_outcome_lists.sql | create index concurrently | purchase_watch_internal.outcomes | ShareUpdateExclusiveLock | index
0015_trend_sums.sql | create trigger | purchase_watch_internal.outcome_hours | ShareRowExclusiveLock | none
0015_trend_sums.sql | insert, update or delete | purchase_watch_internal.outcome_hours | ShareRowExclusiveLock | scan
0016_aftermath.sql | create table | purchase_watch.purchases | ShareRowExclusiveLock | none
0016_aftermath.sql | create trigger | purchase_watch_internal.stays | ShareRowExclusiveLock | none
0017_at_risk.sql | alter table | purchase_watch.purchases | AccessExclusiveLock | none
`);
