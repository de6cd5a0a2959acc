-- Subscribers, their health, and the deliveries of events to them.

create table purchase_watch_internal.subscribers (
  id integer generated always as identity primary key,
  name text not null,
  description text check (length(description) between 1 and 500),
  kind text not null check (kind ~ '^[a-z]{1,30}$'),
  audience text not null default 'systems' check (audience in ('people', 'systems')),
  format text not null default 'standard' check (format in ('standard', 'cloudevents')),
  types text[],
  sites text[],
  states integer[],
  origin text not null default 'configuration' check (origin in ('configuration', 'api')),
  configured boolean not null default true,
  status text not null default 'active' check (status in ('active', 'off')),
  status_reason text,
  address_hash text not null,
  url bytea,
  keys bytea,
  options bytea,
  old_keys_until timestamptz,
  created_at timestamptz not null default now(),
  matching_since timestamptz not null default now(),
  failed_at timestamptz,
  unnamed_since timestamptz,
  deleted_at timestamptz,
  check ((origin = 'api' and deleted_at is null) = (url is not null and keys is not null)),
  check (deleted_at is null or not configured)
);
-- Deleted ones stay for the history of their deliveries; their names are free again.
create unique index subscribers_name on purchase_watch_internal.subscribers (name) where deleted_at is null;
comment on table purchase_watch_internal.subscribers is 'Receivers of events. Addresses and keys are encrypted with SECRETS_KEY, or stay in the configuration.';
comment on column purchase_watch_internal.subscribers.description is 'What a person wrote about the subscriber.';
comment on column purchase_watch_internal.subscribers.kind is 'The kind of channel, such as webhook, slack or nats. The program knows which kinds there are.';
comment on column purchase_watch_internal.subscribers.audience is 'people get incidents, together and for days on end; systems get events of purchases, one after the other. What the API makes is a system.';
comment on column purchase_watch_internal.subscribers.format is 'What the body of a message is: standard, or a CloudEvent around the same data.';
comment on column purchase_watch_internal.subscribers.types is 'Types of events that the subscriber gets; null: all that its kind gets by default.';
comment on column purchase_watch_internal.subscribers.sites is 'Sites whose events the subscriber gets; null: all.';
comment on column purchase_watch_internal.subscribers.states is 'States whose events the subscriber gets; null: all.';
comment on column purchase_watch_internal.subscribers.origin is 'Where the subscriber comes from; what the configuration names can only be changed there.';
comment on column purchase_watch_internal.subscribers.configured is 'Whether the subscriber gets events at present: named by the configuration, or made by the API and not deleted.';
comment on column purchase_watch_internal.subscribers.status is 'off: the subscriber gets nothing until a person switches it on.';
comment on column purchase_watch_internal.subscribers.status_reason is 'Why the subscriber is off, in a sentence.';
comment on column purchase_watch_internal.subscribers.address_hash is 'Changes whenever address or key change: the channel is opened again then, and a switched-off subscriber is known to have another address.';
comment on column purchase_watch_internal.subscribers.url is 'The address, encrypted; null for configured subscribers.';
comment on column purchase_watch_internal.subscribers.keys is 'The keys that sign, encrypted; null for configured subscribers.';
comment on column purchase_watch_internal.subscribers.options is 'Headers of its own and a private key, encrypted; null when it has none.';
comment on column purchase_watch_internal.subscribers.old_keys_until is 'Until when a replaced key still signs; null when there is only one.';
comment on column purchase_watch_internal.subscribers.matching_since is 'Since when types, sites and states are as they are: every matching event from then on has a delivery.';
comment on column purchase_watch_internal.subscribers.failed_at is 'When the subscriber was switched off for what it answered; null when a person did it.';
comment on column purchase_watch_internal.subscribers.unnamed_since is 'Since when no living replica names the subscriber of the settings, so that nothing is sent to it; null while one does. After ten minutes the subscriber is not configured any more.';
comment on column purchase_watch_internal.subscribers.deleted_at is 'When the API deleted the subscriber. The row stays for the history of its deliveries; its name is free again.';

create table purchase_watch_internal.subscriber_health (
  subscriber integer primary key references purchase_watch_internal.subscribers on delete cascade,
  failures integer not null default 0,
  pauses integer not null default 0,
  failing_since timestamptz,
  paused_until timestamptz,
  trying_until timestamptz,
  last_error text,
  cause text,
  allowed text,
  our_failures integer not null default 0,
  our_failing_since timestamptz,
  our_error text,
  our_replica text
);
comment on table purchase_watch_internal.subscriber_health is 'Subscribers that failed lately, and until when they are paused: longer each time, then one delivery tries. One that is well has no row.';
comment on column purchase_watch_internal.subscriber_health.failures is 'Failures in a row that were the receiver''s.';
comment on column purchase_watch_internal.subscriber_health.pauses is 'Pauses in a row: they decide how long the next one is.';
comment on column purchase_watch_internal.subscriber_health.failing_since is 'The first of these failures.';
comment on column purchase_watch_internal.subscriber_health.paused_until is 'Nothing is sent before; null when the subscriber is not paused.';
comment on column purchase_watch_internal.subscriber_health.trying_until is 'Until when one replica may try the subscriber; ends by itself when that replica fails.';
comment on column purchase_watch_internal.subscriber_health.last_error is 'Why the last of these failures happened, in a sentence.';
comment on column purchase_watch_internal.subscriber_health.cause is 'The word for the last failure before the pause, as in attempts.outcome: a pause ends with the setting that cures it.';
comment on column purchase_watch_internal.subscriber_health.allowed is 'Of an address that was refused: a digest of the addresses that were allowed then.';
comment on column purchase_watch_internal.subscriber_health.our_failures is 'Failures on our side in a row (DNS, proxy), which do not pause the subscriber; kept while a replica cannot reach it.';
comment on column purchase_watch_internal.subscriber_health.our_failing_since is 'The first of these failures.';
comment on column purchase_watch_internal.subscriber_health.our_error is 'Why the last of these failures happened, in a sentence.';
comment on column purchase_watch_internal.subscriber_health.our_replica is 'The replica that counted these failures: another replica may have another way to the receiver.';

-- A database that went back, as in a failover to a standby that lacked the last seconds, hands ids out again: of deliveries and of
-- the positions of their events. A daemon that sent a delivery which the database lost must not settle the one that was given its
-- id: the mark tells them apart.
create table purchase_watch_internal.deliveries (
  id bigint generated always as identity primary key,
  event bigint not null references purchase_watch_internal.events on delete cascade,
  lane bigint not null,
  due_at timestamptz not null,
  settled_at timestamptz,
  subscriber integer not null references purchase_watch_internal.subscribers,
  attempts integer not null default 0,
  attempts_before integer not null default 0,
  took_ms integer,
  mark integer default floor(random() * 4294967296 - 2147483648)::integer,
  shard smallint not null,
  rank smallint not null default 0 check (rank between 0 and 2),
  http_status smallint,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'exhausted', 'suppressed')),
  last_error text,
  excerpt text,
  unique (event, subscriber),
  check ((status = 'pending') = (settled_at is null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
comment on table purchase_watch_internal.deliveries is 'One event for one subscriber: pending until delivered, exhausted (schedule used up) or suppressed (subscriber off).';
comment on column purchase_watch_internal.deliveries.event is 'The event''s position.';
comment on column purchase_watch_internal.deliveries.lane is 'What must stay in order for one subscriber: the purchase''s row id, or a number that is not above 0 for events of no single purchase.';
comment on column purchase_watch_internal.deliveries.due_at is 'When the delivery is, or was, due to be sent.';
comment on column purchase_watch_internal.deliveries.settled_at is 'When the delivery got its last status; null while it is pending.';
comment on column purchase_watch_internal.deliveries.attempts is 'How often the delivery was sent.';
comment on column purchase_watch_internal.deliveries.attempts_before is 'Attempts made before a person last had it sent again: its schedule begins again then, its attempts are numbered on.';
comment on column purchase_watch_internal.deliveries.took_ms is 'How long the attempt took that delivered it; its number is attempts, its moment settled_at. Attempts that failed are rows of their own.';
comment on column purchase_watch_internal.deliveries.mark is 'A random number by which the delivery differs from one that had its id before: a database that went back hands ids out again. Null in rows that are older than the column.';
comment on column purchase_watch_internal.deliveries.rank is 'Which deliveries go first: 0 new ones, 1 those that failed more than once, 2 those that a replay sends again.';
comment on column purchase_watch_internal.deliveries.http_status is 'The answer to the attempt that delivered it.';
comment on column purchase_watch_internal.deliveries.status is 'What is stored says only whether the delivery is settled; shown_status says where it stands.';
comment on column purchase_watch_internal.deliveries.last_error is 'Why the last attempt failed, or why it is suppressed, in a sentence.';
comment on column purchase_watch_internal.deliveries.excerpt is 'The receiver''s answer to the attempt that delivered it, shortened.';

-- One due list per subscriber and shard, by rank, oldest first.
create index deliveries_due on purchase_watch_internal.deliveries (subscriber, shard, rank, due_at, event) where status = 'pending';
-- A lane's deliveries go out in the order of their events; what is replayed comes after what is not.
create index deliveries_lane on purchase_watch_internal.deliveries (subscriber, lane, (rank = 2), event) where status = 'pending';
-- Lists by subscriber and status, newest first; and all that must be given up when a subscriber is deleted. By id + 0,
-- because the planner, asked for an order by id, likes to walk the primary key past everybody else's deliveries.
create index deliveries_listed on purchase_watch_internal.deliveries (subscriber, status, (id + 0));
-- What fails at present: small, and empty while receivers are well.
create index deliveries_failing on purchase_watch_internal.deliveries (subscriber, id) where status = 'pending' and attempts > attempts_before;
-- What was given up lately; only what is given up enters it.
create index deliveries_given_up on purchase_watch_internal.deliveries (subscriber, settled_at) where status = 'exhausted';
-- When a channel for people took messages: these are in lanes of no purchase, so that nearly no delivery is in it.
create index deliveries_to_people on purchase_watch_internal.deliveries (subscriber, settled_at) where status = 'delivered' and lane <= 0;

create table purchase_watch_internal.attempts (
  delivery bigint not null references purchase_watch_internal.deliveries on delete cascade,
  at timestamptz not null,
  number integer not null check (number > 0),
  took_ms integer not null,
  http_status integer,
  outcome text not null,
  excerpt text,
  fault text check (fault in ('receiver', 'ours')),
  primary key (delivery, number)
);
-- For retention. Attempts are appended in the order of their times, which makes this the cheapest of indexes.
create index attempts_at on purchase_watch_internal.attempts (at);
comment on table purchase_watch_internal.attempts is 'Each attempt of a delivery that failed: when, what came back, how long it took. The one that delivered is in the delivery''s row until the delivery is sent again.';
comment on column purchase_watch_internal.attempts.number is 'Which attempt of the delivery, from 1.';
comment on column purchase_watch_internal.attempts.took_ms is 'How long the attempt took.';
comment on column purchase_watch_internal.attempts.http_status is 'The status of the answer; null when there was none.';
comment on column purchase_watch_internal.attempts.outcome is 'A word for what happened.';
comment on column purchase_watch_internal.attempts.excerpt is 'The receiver''s answer, shortened.';
comment on column purchase_watch_internal.attempts.fault is 'Whose fault the failure was: the receiver''s, or ours (name server, proxy, no free socket), which does not count against the receiver.';

-- What receivers answered to attempts that failed, whole: a ring of 64 for each subscriber, so that no number of attempts makes the
-- table grow. The place in the ring is delivery % 64: a later failure of the same delivery replaces the earlier one.
create table purchase_watch_internal.receiver_answers (
  delivery bigint not null unique references purchase_watch_internal.deliveries on delete cascade,
  at timestamptz not null,
  subscriber integer not null,
  number integer not null check (number > 0),
  slot smallint not null check (slot between 0 and 63),
  answer text not null check (octet_length(answer) between 1 and 8192),
  primary key (subscriber, slot)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 500);
comment on table purchase_watch_internal.receiver_answers is 'The whole answers to attempts that failed lately: at most 64 for each subscriber, and of a delivery the last. The excerpts of all attempts are in attempts.';
comment on column purchase_watch_internal.receiver_answers.at is 'When the attempt ended.';
comment on column purchase_watch_internal.receiver_answers.number is 'Which attempt of the delivery, from 1.';
comment on column purchase_watch_internal.receiver_answers.slot is 'The place in the subscriber''s ring: delivery % 64.';
comment on column purchase_watch_internal.receiver_answers.answer is 'Status line, headers and body, without secrets, cookies and credentials; 8 192 bytes at most.';

-- Not logged: after a crash of the server no attempt is under way.
create unlogged table purchase_watch_internal.under_way (
  delivery bigint primary key,
  since timestamptz not null,
  epoch bigint not null,
  shard smallint not null,
  replica text not null
);
comment on table purchase_watch_internal.under_way is 'Attempts that have been under way for a moment. A row counts while its replica owns the shard under that epoch.';
comment on column purchase_watch_internal.under_way.epoch is 'The shard''s epoch when the attempt began.';

create table purchase_watch_internal.delivery_activity (
  minute timestamptz not null,
  delivered bigint not null default 0,
  failed_attempts bigint not null default 0,
  subscriber text not null,
  primary key (minute, subscriber)
);
comment on table purchase_watch_internal.delivery_activity is 'Attempts of deliveries in each minute, over all replicas; fifteen days are kept.';
comment on column purchase_watch_internal.delivery_activity.minute is 'The minute''s begin.';
comment on column purchase_watch_internal.delivery_activity.delivered is 'Attempts whose event the receiver took.';
comment on column purchase_watch_internal.delivery_activity.failed_attempts is 'Attempts that failed, the last of a schedule too.';
comment on column purchase_watch_internal.delivery_activity.subscriber is 'The name of the subscriber.';
