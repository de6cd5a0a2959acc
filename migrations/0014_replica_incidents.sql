-- Incidents about replicas: a daemon that runs and cannot do its work alerts people.

create table purchase_watch.replica_troubles (
  -- Rows of a replica that is gone go with it.
  replica text not null references purchase_watch.replicas on delete cascade,
  -- One of REPLICA_TROUBLES in core/replica-trouble.ts.
  reason text not null check (length(reason) between 1 and 60),
  -- Host and process id, for people.
  host text not null,
  since timestamptz not null,
  error text,
  primary key (replica, reason)
);
comment on table purchase_watch.replica_troubles is 'What keeps running daemons from their work now; a row is deleted when that is over.';

alter table purchase_watch.incidents
  drop constraint incidents_kind_check,
  drop constraint incidents_about,
  add constraint incidents_kind_check check (kind in ('stuck', 'unreachable', 'subscriber', 'replica')),
  -- Parents of stuck purchases and incidents of replicas have neither site nor subscriber.
  add constraint incidents_about check (
    case kind when 'subscriber' then subscriber is not null and site is null and state is null
      when 'replica' then subscriber is null and site is null and state is null
      when 'stuck' then subscriber is null else subscriber is null and site is not null end);
create index incidents_of_replicas on purchase_watch.incidents (position) where kind = 'replica';

alter table purchase_watch.silences
  drop constraint silences_kind_check,
  drop constraint silences_about,
  add constraint silences_kind_check check (kind in ('stuck', 'unreachable', 'subscriber', 'replica')),
  add constraint silences_about check (
    case when kind in ('subscriber', 'replica') then site is null and state is null and (kind = 'subscriber' or subscriber is null)
      else subscriber is null end);

create or replace view purchase_watch.open_incidents as
select i.id as incident_id, i.kind, i.site, i.state, purchase_watch.state_name(i.state) as state_name, i.opened_at, i.since, i.count, i.peak,
  i.subscriber, i.parent,
  -- As core/incident.ts tells levels.
  case when i.kind = 'unreachable' or i.severity >= case i.kind when 'subscriber' then 3 when 'replica' then 2 else 1 end
    then 'critical' else 'warning' end as severity,
  coalesce(i.acknowledged_by, p.acknowledged_by, g.acknowledged_by) as owner
from purchase_watch.incidents i
left join purchase_watch.incidents p on p.id = i.parent and p.ended_at is null
left join purchase_watch.incidents g on g.id = p.parent and g.ended_at is null
where i.ended_at is null;
comment on column purchase_watch.open_incidents.kind is 'stuck, unreachable, subscriber or replica.';
comment on column purchase_watch.open_incidents.site is 'The merchant account it belongs to; null when it is about several, about a subscriber or about replicas.';
comment on column purchase_watch.open_incidents.count is 'How many customers are overdue now; of a subscriber, deliveries that wait or were given up, counted to 1000; of replicas, those that cannot do their work.';
