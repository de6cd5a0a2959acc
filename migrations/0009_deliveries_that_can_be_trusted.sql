-- Health of subscribers, ranks of deliveries, attempts with whose fault they were, message brokers.

alter table purchase_watch.subscribers
  drop constraint subscribers_kind_check,
  add constraint subscribers_kind_check check (kind in ('webhook', 'slack', 'nats', 'rabbitmq')),
  add column format text not null default 'standard' check (format in ('standard', 'cloudevents')),
  -- Encrypted like url and keys: what else belongs to it and may be secret, such as headers of its own.
  add column options bytea;
comment on column purchase_watch.subscribers.format is 'What the body of a message is: standard, or a CloudEvent around the same data.';
comment on column purchase_watch.subscribers.options is 'Headers of its own and a private key, encrypted; null when it has none.';

-- A subscriber that takes nothing for a while is paused, longer each time, and then tried with one delivery.
create table purchase_watch.subscriber_health (
  subscriber integer primary key references purchase_watch.subscribers on delete cascade,
  -- Failures in a row that were the receiver's.
  failures integer not null default 0,
  -- Pauses in a row: how long the next one is.
  pauses integer not null default 0,
  failing_since timestamptz,
  paused_until timestamptz,
  -- One replica tries at a time; what it holds ends by itself.
  trying_until timestamptz,
  last_error text,
  -- Failures of ours in a row, which are not held against it; kept while a replica does not get through to it.
  our_failures integer not null default 0,
  our_failing_since timestamptz,
  our_error text,
  -- Who does not. What another replica gets through says nothing of its way.
  our_replica text
);
comment on table purchase_watch.subscriber_health is 'Subscribers that failed lately, and until when they are left alone. One that is well has no row.';

alter table purchase_watch.deliveries
  -- What goes first: 0 what is new, 1 what failed more than once, 2 what is sent again by a replay.
  add column rank smallint not null default 0 check (rank between 0 and 2),
  -- The attempt that was answered with yes; those that failed are rows of their own.
  add column took_ms integer,
  add column http_status smallint,
  add column excerpt text;
comment on column purchase_watch.deliveries.rank is 'What goes first: 0 what is new, 1 what failed more than once, 2 what is sent again by a replay.';
comment on column purchase_watch.deliveries.took_ms is 'How long the attempt took that delivered it; its number is attempts, its moment settled_at.';

drop index purchase_watch.deliveries_due;
create index deliveries_due on purchase_watch.deliveries (subscriber, shard, rank, due_at, event) where status = 'pending';
-- The order within a lane: what is replayed comes after what is not.
drop index purchase_watch.deliveries_lane;
create index deliveries_lane on purchase_watch.deliveries (subscriber, lane, (rank = 2), event) where status = 'pending';

alter table purchase_watch.attempts
  add column fault text check (fault in ('receiver', 'ours'));
comment on column purchase_watch.attempts.fault is 'Whose fault the failure was: the receiver''s, or ours (name server, proxy, no free socket), which is not held against it.';

-- What has been on its way for a moment or longer. Not logged: after a crash nothing is on its way.
create unlogged table purchase_watch.under_way (
  delivery bigint primary key,
  since timestamptz not null,
  epoch bigint not null,
  shard smallint not null,
  replica text not null
);
comment on table purchase_watch.under_way is 'Attempts that have been under way for a moment. A row counts while its replica owns the shard under that epoch.';
