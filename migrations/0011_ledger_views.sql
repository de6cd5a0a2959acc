-- The ledger as people see it: where each delivery stands and why, and how each subscriber is.

-- What a replica noted before it was killed stays until its shard has another owner; it says nothing any more.
create function purchase_watch.deliveries_in_flight() returns table (delivery bigint, since timestamptz) language plpgsql stable rows 100
security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- A standby has nothing of a table that is not logged, and refuses to look.
  if pg_is_in_recovery() then return; end if;
  return query
  select u.delivery, u.since from purchase_watch.under_way u
  join purchase_watch.shards s on s.id = u.shard and s.owner = u.replica and s.epoch = u.epoch
  join purchase_watch.replicas r on r.id = u.replica and r.expires_at > now();
end $$;
comment on function purchase_watch.deliveries_in_flight is 'Deliveries of which an attempt has been under way for a moment, and since when.';

-- The same two answers as core/delivery-status.ts and core/standing.ts; a test compares them.
create function purchase_watch.parked_because(
  configured boolean, status text, status_reason text, paused_until timestamptz, failures integer, last_error text)
returns text language sql stable parallel safe as $$
  select case
    when not configured then 'not in the configuration any more'
    when status <> 'active' then 'switched off: ' || coalesce(status_reason, 'no reason is known')
    when paused_until is not null then
      case when paused_until > now() then 'paused until ' || to_char(paused_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
        else 'paused until one delivery gets through,' end
      || case failures when 1 then ' after one failure' else format(' after %s failures in a row', failures) end
      || coalesce(': ' || last_error, '') end
$$;
comment on function purchase_watch.parked_because is 'Why nothing is sent to a subscriber at present; null when it is told.';

create function purchase_watch.shown_status(status text, parked boolean, in_flight boolean) returns text language sql immutable parallel safe as $$
  select case when status <> 'pending' then status when in_flight then 'in_flight' when parked then 'parked' else 'pending' end
$$;
comment on function purchase_watch.shown_status is 'Where a delivery stands: what is stored says only whether it is settled.';

create or replace view purchase_watch.delivery_log as
select e.id as event_id, e.type, e.site, p.purchase_id, e.sequence, s.name as subscriber,
  purchase_watch.shown_status(d.status, b.reason is not null, f.delivery is not null) as status,
  d.attempts, d.due_at, d.settled_at, case when d.status <> 'suppressed' then d.last_error end as last_error,
  case when d.status = 'suppressed' then coalesce(d.last_error, 'The subscriber was switched off when the event was made.')
    when d.status = 'pending' and f.delivery is null then b.reason end as reason,
  d.took_ms, d.http_status::integer as http_status
from purchase_watch.deliveries d
join purchase_watch.events e on e.position = d.event
join purchase_watch.subscribers s on s.id = d.subscriber
left join purchase_watch.subscriber_health h on h.subscriber = s.id
left join purchase_watch.deliveries_in_flight() f on f.delivery = d.id
cross join lateral (
  select purchase_watch.parked_because(s.configured, s.status, s.status_reason, h.paused_until, h.failures, h.last_error) as reason) b
left join purchase_watch.purchases p on p.id = e.purchase and p.site = any (array(select name from purchase_watch.sites));

create view purchase_watch.subscriber_status as
select s.name as subscriber, s.kind,
  case when s.status <> 'active' then 'off' when h.paused_until is not null then 'paused' when h.our_failing_since is not null then 'unreached'
    when h.failures > 0 then 'failing' else 'ok' end as health,
  purchase_watch.parked_because(s.configured, s.status, s.status_reason, h.paused_until, h.failures, h.last_error) as reason,
  coalesce(h.failures, 0) as failures, h.failing_since, h.paused_until, h.last_error, h.our_failing_since, h.our_error
from purchase_watch.subscribers s left join purchase_watch.subscriber_health h on h.subscriber = s.id
where s.configured;
comment on view purchase_watch.subscriber_status is 'Who is told at present, and whether they take what they are sent.';

comment on column purchase_watch.delivery_log.status is 'pending (waits for its turn or its next try), in_flight, parked (the subscriber is paused or off), delivered, exhausted (the schedule is used up) or suppressed (it is never sent).';
comment on column purchase_watch.delivery_log.reason is 'Why it is parked or suppressed; null when it is neither.';
comment on column purchase_watch.delivery_log.took_ms is 'How long the attempt took that delivered it, in milliseconds; null for those delivered before this was kept there.';
comment on column purchase_watch.delivery_log.http_status is 'The answer to the attempt that delivered it.';
comment on column purchase_watch.subscriber_status.subscriber is 'The name of who is told.';
comment on column purchase_watch.subscriber_status.kind is 'webhook, slack, nats or rabbitmq.';
comment on column purchase_watch.subscriber_status.health is 'ok, failing, unreached (nothing gets through to it, for a reason of ours), paused (what is for it is parked) or off.';
comment on column purchase_watch.subscriber_status.reason is 'Why nothing is sent to it at present; null when it is told.';
comment on column purchase_watch.subscriber_status.failures is 'Failures in a row that were its own.';
comment on column purchase_watch.subscriber_status.failing_since is 'The first of these failures; null while it is well.';
comment on column purchase_watch.subscriber_status.paused_until is 'Nothing is sent before; then one delivery tries. Null when it is not paused.';
comment on column purchase_watch.subscriber_status.last_error is 'Why the last of them failed, in a sentence.';
comment on column purchase_watch.subscriber_status.our_failing_since is 'Since when nothing gets through to it, for a reason of ours (name server, proxy, network); null while something does.';
comment on column purchase_watch.subscriber_status.our_error is 'That reason, in a sentence.';
