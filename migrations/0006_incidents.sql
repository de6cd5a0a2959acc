-- Stays and what they show of a broken page; incidents, silences, alerts about single checkouts, and orders that were paid twice.

-- Stays -----------------------------------------------------------------------------------------------------------------

create table purchase_watch_internal.stays (
  id bigint generated always as identity primary key,
  customer bigint not null,
  purchase bigint,
  entered_at timestamptz not null,
  at timestamptz not null,
  shortest_ms bigint not null check (shortest_ms >= 0),
  longest_ms bigint not null check (longest_ms >= shortest_ms),
  state integer not null,
  to_state integer,
  site text not null,
  outcome text not null check (outcome in ('well', 'other', 'overdue', 'late')),
  first_sight boolean not null,
  found_late boolean not null,
  check ((to_state is null) = (outcome = 'overdue'))
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
comment on table purchase_watch_internal.stays is 'Stays in states with a limit: a row when one ends, and one when it becomes overdue. The judge adds the rows up and deletes them, so the table is nearly empty.';
comment on column purchase_watch_internal.stays.customer is 'A hash of the purchase''s order: purchases of one order count as one customer.';
comment on column purchase_watch_internal.stays.purchase is 'The purchase whose stay it is, so that people can be alerted of it by its id.';
comment on column purchase_watch_internal.stays.entered_at is 'When the stay began.';
comment on column purchase_watch_internal.stays.at is 'When the stay ended, or was found overdue.';
comment on column purchase_watch_internal.stays.shortest_ms is 'How long the stay took at least: up to the last poll in the state, without time in which the purchase could not be polled.';
comment on column purchase_watch_internal.stays.longest_ms is 'How long the stay took at most: up to the first poll after it, without such time.';
comment on column purchase_watch_internal.stays.to_state is 'The state after the stay; null while the purchase is still in the state, and overdue.';
comment on column purchase_watch_internal.stays.outcome is 'well: left in time and well; other: left in time by time-out, cancel or error; overdue; late: left after it was overdue.';
comment on column purchase_watch_internal.stays.first_sight is 'The purchase was in the state already when the site was polled for the first time.';
comment on column purchase_watch_internal.stays.found_late is 'The stay had been overdue for long when it was found so: the limit is new, or shorter than before.';

create table purchase_watch_internal.dwell_days (
  site text not null references purchase_watch_internal.sites,
  state integer not null,
  day date not null,
  bucket smallint not null,
  shortest integer not null default 0,
  longest integer not null default 0,
  primary key (site, state, day, bucket)
);
comment on table purchase_watch_internal.dwell_days is 'Dwell times of stays that ended well, by day: numbers of stays by length on a logarithmic scale. Nothing is added while an incident is open.';
comment on column purchase_watch_internal.dwell_days.day is 'The day in UTC.';
comment on column purchase_watch_internal.dwell_days.bucket is 'The place on the logarithmic scale of lengths.';
comment on column purchase_watch_internal.dwell_days.shortest is 'How many stays took at least such a time.';
comment on column purchase_watch_internal.dwell_days.longest is 'How many stays took at most such a time.';

create table purchase_watch_internal.stay_days (
  site text not null references purchase_watch_internal.sites,
  state integer not null,
  day date not null,
  calm boolean not null,
  well integer not null default 0,
  overdue integer not null default 0,
  other integer not null default 0,
  primary key (site, state, day, calm)
);
comment on table purchase_watch_internal.stay_days is 'How many stays in a state ended well, became overdue, or ended otherwise, by day.';
comment on column purchase_watch_internal.stay_days.day is 'The day in UTC.';
comment on column purchase_watch_internal.stay_days.calm is 'Whether no incident was open: only these rows say what is usual.';
comment on column purchase_watch_internal.stay_days.well is 'Stays that ended in time and well.';
comment on column purchase_watch_internal.stay_days.overdue is 'Stays that became overdue.';
comment on column purchase_watch_internal.stay_days.other is 'Stays that ended in time by time-out, cancel or error.';

create table purchase_watch_internal.detections (
  site text not null references purchase_watch_internal.sites,
  state integer not null,
  memory text not null,
  primary key (site, state)
);
comment on table purchase_watch_internal.detections is 'What speaks at the moment for a broken page, by site and state.';
comment on column purchase_watch_internal.detections.memory is 'JSON text that the judge reads and writes: the score, the stays that it rests on, and the alarm that is on.';

-- Incidents -------------------------------------------------------------------------------------------------------------

create table purchase_watch_internal.incidents (
  id text primary key,
  position bigint generated always as identity,
  kind text not null check (kind in ('stuck', 'unreachable', 'subscriber', 'replica')),
  site text references purchase_watch_internal.sites,
  state integer,
  subscriber text,
  parent text references purchase_watch_internal.incidents on delete set null,
  severity smallint not null default 0,
  alarm text,
  since timestamptz not null,
  opened_at timestamptz not null,
  reopened_at timestamptz,
  quiet_since timestamptz,
  ends_at timestamptz,
  ended_at timestamptz,
  count integer not null,
  peak integer not null,
  moved_on integer not null default 0,
  alerted_at timestamptz,
  alerted_count integer,
  alerted_severity smallint,
  reminders smallint not null default 0,
  announced_at timestamptz,
  heard integer[] not null default '{}',
  acknowledged_at timestamptz,
  acknowledged_by text check (length(acknowledged_by) between 1 and 200),
  acknowledged_note text check (length(acknowledged_note) between 1 and 1000),
  answered_at timestamptz,
  answered_by text check (length(answered_by) between 1 and 200),
  answer_cause text check (length(answer_cause) between 1 and 60),
  answer_note text check (length(answer_note) between 1 and 1000),
  check ((acknowledged_at is null) = (acknowledged_by is null)),
  check (acknowledged_note is null or acknowledged_at is not null),
  check ((answered_at is null) = (answered_by is null)),
  check ((answered_at is null) = (answer_cause is null)),
  -- Parents of stuck purchases and incidents of replicas have neither site nor subscriber.
  constraint incidents_about check (
    case kind when 'subscriber' then subscriber is not null and site is null and state is null
      when 'replica' then subscriber is null and site is null and state is null
      when 'stuck' then subscriber is null else subscriber is null and site is not null end)
);
create unique index incidents_open on purchase_watch_internal.incidents (kind, site, state, subscriber) nulls not distinct where ended_at is null;
create index incidents_listed on purchase_watch_internal.incidents (site, kind, position);
create index incidents_of_subscribers on purchase_watch_internal.incidents (position) where kind = 'subscriber';
create index incidents_of_replicas on purchase_watch_internal.incidents (position) where kind = 'replica';
create index incidents_of_several_sites on purchase_watch_internal.incidents (position) where kind = 'stuck' and site is null;
create index incidents_children on purchase_watch_internal.incidents (parent) where parent is not null;
create index incidents_ended on purchase_watch_internal.incidents (ended_at) where ended_at is not null;
create index incidents_answered on purchase_watch_internal.incidents (site, state, answered_at) where kind = 'stuck' and answered_at is not null;
create index incidents_answered_of_sites on purchase_watch_internal.incidents (site, answered_at) where kind = 'stuck' and answered_at is not null;
comment on table purchase_watch_internal.incidents is 'Many symptoms with one cause, and what people and systems got about it.';
comment on column purchase_watch_internal.incidents.position is 'The order of lists: as they were opened.';
comment on column purchase_watch_internal.incidents.kind is 'stuck: purchases of a site and state; unreachable: a site; subscriber; replica: daemons that cannot do their work.';
comment on column purchase_watch_internal.incidents.site is 'The site it is about; null when it is about several, about a subscriber or about replicas.';
comment on column purchase_watch_internal.incidents.state is 'The state in which purchases are stuck; null when it is about several, or about no state.';
comment on column purchase_watch_internal.incidents.subscriber is 'The name of the subscriber it is about; then it has no site.';
comment on column purchase_watch_internal.incidents.parent is 'The incident of which it is a part: of several states of a site, or of several sites. Only the parent is alerted.';
comment on column purchase_watch_internal.incidents.severity is 'How bad it is, from 0; open_incidents says which numbers are critical.';
comment on column purchase_watch_internal.incidents.alarm is 'JSON text of the alarm that it rests on.';
comment on column purchase_watch_internal.incidents.since is 'The earliest symptom.';
comment on column purchase_watch_internal.incidents.opened_at is 'When the judge opened it.';
comment on column purchase_watch_internal.incidents.reopened_at is 'When it was opened again after it had ended; null when it was not.';
comment on column purchase_watch_internal.incidents.quiet_since is 'Since when no symptom is left; it ends when that lasts.';
comment on column purchase_watch_internal.incidents.ends_at is 'When it ends if nothing goes wrong again; null while something is wrong, and once it has ended.';
comment on column purchase_watch_internal.incidents.ended_at is 'When it ended; null while it is open.';
comment on column purchase_watch_internal.incidents.count is 'How many are affected now.';
comment on column purchase_watch_internal.incidents.peak is 'How many were affected at worst.';
comment on column purchase_watch_internal.incidents.moved_on is 'Of those who were overdue, how many got on after all while it lasted.';
comment on column purchase_watch_internal.incidents.alerted_at is 'When people were last alerted of it; no silence keeps systems from their events, see announced_at.';
comment on column purchase_watch_internal.incidents.alerted_count is 'How many were affected when people were last alerted.';
comment on column purchase_watch_internal.incidents.alerted_severity is 'How bad it was at worst when people were alerted: a step up is news.';
comment on column purchase_watch_internal.incidents.reminders is 'Reminders since people were last alerted of news.';
comment on column purchase_watch_internal.incidents.announced_at is 'When systems got the event about it.';
comment on column purchase_watch_internal.incidents.heard is 'Subscribers that were alerted of it: they are alerted of its end.';
comment on column purchase_watch_internal.incidents.acknowledged_at is 'Since when a person looks after it: then there are no reminders.';
comment on column purchase_watch_internal.incidents.acknowledged_by is 'The person who looks after it.';
comment on column purchase_watch_internal.incidents.acknowledged_note is 'What that person wrote.';
comment on column purchase_watch_internal.incidents.answered_at is 'When a person answered what it was.';
comment on column purchase_watch_internal.incidents.answered_by is 'The person who answered.';
comment on column purchase_watch_internal.incidents.answer_cause is 'What it was, as that person answered; cited when it happens again.';
comment on column purchase_watch_internal.incidents.answer_note is 'What that person wrote.';

create table purchase_watch_internal.silences (
  id bigint generated always as identity primary key,
  created_at timestamptz not null default now(),
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  kind text check (kind in ('stuck', 'unreachable', 'subscriber', 'replica')),
  site text references purchase_watch_internal.sites,
  state integer,
  subscriber text,
  reason text not null check (length(reason) between 1 and 500),
  created_by text not null check (length(created_by) between 1 and 200),
  check (starts_at <= ends_at),
  constraint silences_about check (
    case when kind in ('subscriber', 'replica') then site is null and state is null and (kind = 'subscriber' or subscriber is null)
      else subscriber is null end)
);
create index silences_ends on purchase_watch_internal.silences (ends_at);
comment on table purchase_watch_internal.silences is 'While one of them matches an incident, people are not alerted of the incident.';
comment on column purchase_watch_internal.silences.starts_at is 'From when it holds.';
comment on column purchase_watch_internal.silences.ends_at is 'Until when it holds; brought forward when the silence is lifted.';
comment on column purchase_watch_internal.silences.kind is 'The kind of incidents it matches; null: any.';
comment on column purchase_watch_internal.silences.site is 'The site of incidents it matches; null: any.';
comment on column purchase_watch_internal.silences.state is 'The state of incidents it matches; null: any.';
comment on column purchase_watch_internal.silences.subscriber is 'The subscriber of incidents it matches, by name; null: any.';
comment on column purchase_watch_internal.silences.reason is 'Why, as the person wrote who made it.';
comment on column purchase_watch_internal.silences.created_by is 'The person who made it.';

-- Alerts about single checkouts -----------------------------------------------------------------------------------------

create table purchase_watch_internal.stuck_alerts (
  id bigint generated always as identity primary key,
  purchase bigint not null references purchase_watch.purchases on delete cascade,
  site text not null references purchase_watch_internal.sites,
  state integer not null,
  state_since timestamptz not null,
  stuck_at timestamptz not null,
  first_sight boolean not null,
  alerted_at timestamptz,
  alerted integer[] not null default '{}',
  mode text check (mode in ('auto', 'each')),
  counted_stays integer,
  stays_per_day real,
  is_last boolean not null default false,
  ended_at timestamptz,
  unreadable text check (length(unreadable) between 1 and 60),
  check ((alerted_at is null) = (mode is null)),
  unique (purchase, state_since)
);
create index stuck_alerts_open on purchase_watch_internal.stuck_alerts (id) where ended_at is null;
create index stuck_alerts_of_place on purchase_watch_internal.stuck_alerts (site, state, alerted_at) where alerted_at is not null;
comment on table purchase_watch_internal.stuck_alerts is 'Single stuck checkouts of which people are or were alerted (slack.stuck), each until its purchase is deleted: a row for each stay that became overdue while a channel for people takes such alerts.';
comment on column purchase_watch_internal.stuck_alerts.state_since is 'When the stay began.';
comment on column purchase_watch_internal.stuck_alerts.stuck_at is 'When a poll confirmed the purchase as stuck.';
comment on column purchase_watch_internal.stuck_alerts.first_sight is 'The purchase was in the state already when the site was polled for the first time.';
comment on column purchase_watch_internal.stuck_alerts.alerted_at is 'When people were alerted; null while it is collected for slack.groupWait.';
comment on column purchase_watch_internal.stuck_alerts.alerted is 'The subscribers that were alerted.';
comment on column purchase_watch_internal.stuck_alerts.mode is 'Why people were alerted of a single checkout: the setting was each, or auto and too little was known.';
comment on column purchase_watch_internal.stuck_alerts.counted_stays is 'How many stays were known then, for the setting auto.';
comment on column purchase_watch_internal.stuck_alerts.stays_per_day is 'How many stays a day there were then, for the setting auto.';
comment on column purchase_watch_internal.stuck_alerts.is_last is 'The alert said that incidents take over from here on.';
comment on column purchase_watch_internal.stuck_alerts.ended_at is 'When people were alerted that it is over.';
comment on column purchase_watch_internal.stuck_alerts.unreadable is 'Why the purchase could not be read, in a word such as wrong_shape; state_since and stuck_at are then when it became unreadable, and state is the last one that was seen, or 0. Null: the purchase was stuck.';

-- Orders that were paid twice ------------------------------------------------------------------------------------------

-- A purchase that becomes Completed leaves a row here; the judge reads the row, counts it, and keeps
-- it only if an event named the purchase, so the table stays small.
create table purchase_watch_internal.order_payments (
  purchase bigint primary key references purchase_watch.purchases on delete cascade,
  paid_at timestamptz not null,
  announced_at timestamptz
);
create index order_payments_new on purchase_watch_internal.order_payments (paid_at, purchase) where announced_at is null;
comment on table purchase_watch_internal.order_payments is 'Purchases that became Completed and are not judged yet, and those that an event order.paid_twice named: each is named for the first time once.';
comment on column purchase_watch_internal.order_payments.paid_at is 'When a poll first showed that the purchase is completed.';
comment on column purchase_watch_internal.order_payments.announced_at is 'When an event order.paid_twice named the purchase; null while the judge has not looked at it.';

create table purchase_watch_internal.order_counts (
  site text primary key references purchase_watch_internal.sites,
  paid integer not null,
  repeated integer not null,
  check (repeated between 0 and paid)
);
comment on table purchase_watch_internal.order_counts is 'How often purchases of a site are of an order that was paid before: at a site that reuses references by design that is no news. Both counts are halved now and then, so that they follow a change of habit.';
comment on column purchase_watch_internal.order_counts.paid is 'Completed purchases whose order is known.';
comment on column purchase_watch_internal.order_counts.repeated is 'Those of them whose order had a completed purchase already.';
