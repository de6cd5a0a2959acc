-- Incidents of stuck purchases: what becomes of stays, what is usual, what speaks for a broken page, and who heard what.

-- Every stay in a state that has a limit leaves one row here when it ends, and one when it becomes overdue. The judge takes
-- them and adds them up, so the table is nearly empty. No purchase can be told from a row: `customer` is a hash of its order.
create table purchase_watch.stays (
  id bigint generated always as identity primary key,
  customer bigint not null,
  entered_at timestamptz not null,
  at timestamptz not null,
  -- How long it took, between the last poll in the state and the first one after it, without time in which nobody could ask.
  shortest_ms bigint not null check (shortest_ms >= 0),
  longest_ms bigint not null check (longest_ms >= shortest_ms),
  state integer not null,
  -- Null: it is still there, and overdue.
  to_state integer,
  site text not null,
  -- well: left in time and well; other: left in time by time-out, cancel or error; late: left after it was overdue.
  outcome text not null check (outcome in ('well', 'other', 'overdue', 'late')),
  -- It was there already when the site was asked for the first time.
  first_sight boolean not null,
  -- It was overdue for long when it was found so: the limit is new, or shorter than before.
  found_late boolean not null,
  check ((to_state is null) = (outcome = 'overdue'))
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
comment on table purchase_watch.stays is 'How stays in states with a limit ended, or that they became overdue, until the judge has added them up.';

-- Dwell times of good exits by day, on a logarithmic scale (core/dwell.ts), for those of the shortest and of the longest time.
create table purchase_watch.dwell_days (
  site text not null references purchase_watch.sites,
  state integer not null,
  day date not null,
  bucket smallint not null,
  shortest integer not null default 0,
  longest integer not null default 0,
  primary key (site, state, day, bucket)
);
comment on table purchase_watch.dwell_days is 'How long customers who got on stayed in a state, by day: numbers of exits by length on a logarithmic scale. Nothing is added while an incident is open.';

create table purchase_watch.stay_days (
  site text not null references purchase_watch.sites,
  state integer not null,
  day date not null,
  -- Whether no incident was open: only these days say what is usual.
  calm boolean not null,
  well integer not null default 0,
  overdue integer not null default 0,
  other integer not null default 0,
  primary key (site, state, day, calm)
);
comment on table purchase_watch.stay_days is 'How many stays in a state ended well, became overdue, or ended otherwise, by day.';

create table purchase_watch.detections (
  site text not null references purchase_watch.sites,
  state integer not null,
  -- Text of core/detection.ts: the score, what it rests on, and the alarm that is on.
  memory text not null,
  primary key (site, state)
);
comment on table purchase_watch.detections is 'What speaks at the moment for a broken page, by site and state.';

alter table purchase_watch.incidents
  drop constraint incidents_about,
  -- The incident that tells of this one, too.
  add column parent text references purchase_watch.incidents on delete set null,
  add column severity smallint not null default 0,
  -- What it rests on: text of the alarm in core/detection.ts.
  add column alarm text,
  add column reopened_at timestamptz,
  -- Of those who were overdue, how many got on after all while it lasted.
  add column moved_on integer not null default 0,
  -- Subscribers that were told of it: they are told of its end.
  add column heard integer[] not null default '{}',
  -- Reminders since people last heard news.
  add column reminders smallint not null default 0,
  add column answer_cause text check (length(answer_cause) between 1 and 60),
  add column answer_note text check (length(answer_note) between 1 and 1000),
  add column answered_by text check (length(answered_by) between 1 and 200),
  add column answered_at timestamptz,
  -- Only a parent of stuck purchases has neither site nor subscriber: it is about several sites.
  add constraint incidents_about check (
    case kind when 'subscriber' then subscriber is not null and site is null and state is null
      when 'stuck' then subscriber is null else subscriber is null and site is not null end),
  add check ((answered_at is null) = (answered_by is null)),
  add check ((answered_at is null) = (answer_cause is null));
-- Whoever was told of what is open hears its end, too.
update purchase_watch.incidents i set heard = coalesce((
  select array_agg(s.id) from purchase_watch.subscribers s where s.configured and s.kind = 'slack' and s.name is distinct from i.subscriber), '{}')
where ended_at is null and said_at is not null;
create index incidents_of_several_sites on purchase_watch.incidents (position) where kind = 'stuck' and site is null;
create index incidents_children on purchase_watch.incidents (parent) where parent is not null;
create index incidents_ended on purchase_watch.incidents (ended_at) where ended_at is not null;
create index incidents_answered on purchase_watch.incidents (site, state, answered_at) where kind = 'stuck' and answered_at is not null;
create index incidents_answered_of_sites on purchase_watch.incidents (site, answered_at) where kind = 'stuck' and answered_at is not null;
comment on column purchase_watch.incidents.parent is 'The incident that tells of this one, too: several states of a site, or several sites.';
comment on column purchase_watch.incidents.answer_cause is 'What it was, as a person said; cited when it happens again.';

alter table purchase_watch.events
  -- The incident it tells of.
  add column incident text,
  -- Who is told of it, where that is not found by what subscribers want.
  add column recipients integer[];
create index events_of_incidents on purchase_watch.events (incident) where incident is not null;
comment on column purchase_watch.events.recipients is 'Subscribers that are told; null: all that want events of its type.';

alter table purchase_watch.sites
  add column first_success_at timestamptz,
  -- When somebody was first found waiting who had been there before us, and when that was told.
  add column first_look_since timestamptz,
  add column first_look_said_at timestamptz,
  -- Up to when digests were made.
  add column digest_at timestamptz;
update purchase_watch.sites set first_success_at = last_success_at, first_look_said_at = now() where last_success_at is not null;

-- Purchases of one order, beside those of one reference. A number stands for the order: what a service sends as its text may
-- be too long for an index, or no text in Postgres, and neither may keep a poll from being recorded.
create function purchase_watch.order_key(fields json) returns bigint language sql immutable parallel safe as $$
  select hashtextextended(nullif(btrim(purchase_watch.stored_text(fields, 'OrderReference')), ''), 0)
$$;
comment on function purchase_watch.order_key is 'A number for the order of a purchase, from its stored OrderReference; null when that is not stored or empty.';
create index purchase_details_order on purchase_watch.purchase_details (purchase_watch.order_key(fields));

-- When a channel for people took messages: these are in lanes of no purchase, so that nearly no delivery is in it.
create index deliveries_to_people on purchase_watch.deliveries (subscriber, settled_at) where status = 'delivered' and lane <= 0;
-- When the dead man's switch was called last (done_at). Whoever judges calls it.
insert into purchase_watch.leases (name) values ('heartbeat');

create or replace view purchase_watch.open_incidents as
select i.id as incident_id, i.kind, i.site, i.state, purchase_watch.state_name(i.state) as state_name, i.opened_at, i.since, i.count, i.peak,
  i.subscriber, i.parent,
  -- As core/incident.ts tells levels.
  case when i.kind = 'unreachable' or i.severity >= case i.kind when 'subscriber' then 3 else 1 end then 'critical' else 'warning' end as severity,
  coalesce(i.acknowledged_by, p.acknowledged_by, g.acknowledged_by) as owner
from purchase_watch.incidents i
left join purchase_watch.incidents p on p.id = i.parent and p.ended_at is null
left join purchase_watch.incidents g on g.id = p.parent and g.ended_at is null
where i.ended_at is null;
comment on column purchase_watch.open_incidents.site is 'The merchant account it belongs to; null when it is about several, or about a subscriber.';
comment on column purchase_watch.open_incidents.state is 'The number of the state in which purchases are stuck; null when it is about several, or about no state.';
comment on column purchase_watch.open_incidents.count is 'How many customers are overdue now; of a subscriber, deliveries that wait or were given up, counted to 1000.';
comment on column purchase_watch.open_incidents.parent is 'The incident that tells of this one, too: several states of a site, or several sites. Null when it is told by itself.';
comment on column purchase_watch.open_incidents.severity is 'warning or critical.';
comment on column purchase_watch.open_incidents.owner is 'Who looks after it or after the one that tells of it, or null.';
