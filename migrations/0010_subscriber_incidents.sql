-- Incidents about subscribers: one that takes nothing, does not take everything, or was switched off is told to people.

alter table purchase_watch.incidents
  drop constraint incidents_kind_check,
  alter column site drop not null,
  add column subscriber text,
  -- How bad it was when people were last told: a step up is news.
  add column said_severity smallint,
  add constraint incidents_kind_check check (kind in ('stuck', 'unreachable', 'subscriber')),
  add constraint incidents_about check (
    case kind when 'subscriber' then subscriber is not null and site is null and state is null else subscriber is null and site is not null end);
drop index purchase_watch.incidents_open;
create unique index incidents_open on purchase_watch.incidents (kind, site, state, subscriber) nulls not distinct where ended_at is null;
create index incidents_of_subscribers on purchase_watch.incidents (position) where kind = 'subscriber';
comment on column purchase_watch.incidents.subscriber is 'The name of the subscriber it is about; then it has no site.';

alter table purchase_watch.silences
  drop constraint silences_kind_check,
  add column subscriber text,
  add constraint silences_kind_check check (kind in ('stuck', 'unreachable', 'subscriber')),
  add constraint silences_about check (
    case when kind = 'subscriber' then site is null and state is null else subscriber is null end);

-- Of trouble with a subscriber everybody hears who hears of incidents, but for that subscriber.
alter table purchase_watch.events add column about integer;
comment on column purchase_watch.events.about is 'The subscriber whose trouble it tells, which is not told of it.';

alter table purchase_watch.subscribers add column failed_at timestamptz;
comment on column purchase_watch.subscribers.failed_at is 'When it was switched off for what it answered; null when a person did it.';
update purchase_watch.subscribers set failed_at = matching_since
where status = 'off' and status_reason is distinct from 'It was switched off by hand.';

-- What was given up lately; only what is given up enters it.
create index deliveries_given_up on purchase_watch.deliveries (subscriber, settled_at) where status = 'exhausted';

create or replace view purchase_watch.open_incidents as
select id as incident_id, kind, site, state, purchase_watch.state_name(state) as state_name, opened_at, since, count, peak, subscriber
from purchase_watch.incidents where ended_at is null;
comment on column purchase_watch.open_incidents.kind is 'stuck, unreachable or subscriber.';
comment on column purchase_watch.open_incidents.site is 'The merchant account it belongs to; null when it is about a subscriber.';
comment on column purchase_watch.open_incidents.state is 'The number of the state in which purchases are stuck; null when it is about no state.';
comment on column purchase_watch.open_incidents.state_name is 'The name of that state; Unknown(n) when the specification does not list it.';
comment on column purchase_watch.open_incidents.count is 'How many purchases are affected now; of a subscriber, deliveries that wait or were given up, counted to 1000.';
comment on column purchase_watch.open_incidents.peak is 'How many were affected at worst.';
comment on column purchase_watch.open_incidents.subscriber is 'The name of the subscriber it is about, or null.';
