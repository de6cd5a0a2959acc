-- What pictures of the flow need: transitions counted by time, deliveries counted by minute, and how late polls were.

-- Transitions -----------------------------------------------------------------------------------------------------------

create table purchase_watch_internal.transition_counts (
  bucket timestamptz not null,
  count bigint not null,
  from_state integer,
  to_state integer not null,
  site text not null,
  unique nulls not distinct (site, bucket, from_state, to_state)
);
comment on table purchase_watch_internal.transition_counts is 'Changes of state by site, time and states; true together with transition_count_changes. The last 15 days are kept.';
comment on column purchase_watch_internal.transition_counts.bucket is 'The begin of the ten minutes in which a poll first showed the new state.';
comment on column purchase_watch_internal.transition_counts.count is 'How many changes, without those in transition_count_changes.';
comment on column purchase_watch_internal.transition_counts.from_state is 'The number of the state before; null for the first observation.';
comment on column purchase_watch_internal.transition_counts.to_state is 'The number of the new state.';

-- Like count_changes: a transaction that records changes only appends here, so that none waits for another.
create table purchase_watch_internal.transition_count_changes (
  bucket timestamptz not null,
  count bigint not null,
  from_state integer,
  to_state integer not null,
  site text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
comment on table purchase_watch_internal.transition_count_changes is 'What has to be added to transition_counts; folded into it every few seconds.';
comment on column purchase_watch_internal.transition_count_changes.bucket is 'The begin of the ten minutes in which a poll first showed the new state.';
comment on column purchase_watch_internal.transition_count_changes.count is 'How many changes one statement recorded.';
comment on column purchase_watch_internal.transition_count_changes.from_state is 'The number of the state before; null for the first observation.';
comment on column purchase_watch_internal.transition_count_changes.to_state is 'The number of the new state.';

-- Activity --------------------------------------------------------------------------------------------------------------

alter table purchase_watch_internal.activity add column greatest_lag_ms bigint not null default 0;
comment on column purchase_watch_internal.activity.greatest_lag_ms is 'The longest time in milliseconds by which a poll began after it was due.';

create table purchase_watch_internal.delivery_activity (
  minute timestamptz not null,
  delivered bigint not null default 0,
  failed_attempts bigint not null default 0,
  subscriber text not null,
  primary key (minute, subscriber)
);
comment on table purchase_watch_internal.delivery_activity is 'Attempts of deliveries in each minute, over all replicas; the last day is kept.';
comment on column purchase_watch_internal.delivery_activity.minute is 'The minute''s begin.';
comment on column purchase_watch_internal.delivery_activity.delivered is 'Attempts whose event the receiver took.';
comment on column purchase_watch_internal.delivery_activity.failed_attempts is 'Attempts that failed, the last of a schedule too.';
comment on column purchase_watch_internal.delivery_activity.subscriber is 'The name of the subscriber.';
