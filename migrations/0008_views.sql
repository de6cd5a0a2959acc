-- Views: the interface for people and programs that read. Their names and columns stay; new columns come at the end.

-- What the views are made of ----------------------------------------------------------------------------------------------
-- A reader calls these through the views: set_up_roles lets the readers' role execute them.

-- Compares before it adds: a state may be any integer.
create function purchase_watch_internal.state_name(value integer) returns text language sql immutable parallel safe strict as $$
  select case when value between 0 and 14 then (array['New', 'BeingProcessed', 'Completed', 'Error', 'WaitingForIdentityProvider',
    'SessionTimedOut', 'WaitingForCardPayments', 'WaitingForEidApp', 'Cancelled', 'WaitingForFinnishDirectPayment',
    'WaitingCreditApproval', 'CreditNotApproved', 'WaitingForMobilePayment', 'PaymentHandledByMerchant',
    'ElectronicIdValidationRequired'])[value + 1] else format('Unknown(%s)', value) end
$$;
comment on function purchase_watch_internal.state_name is 'The name of a state number; Unknown(n) when the specification does not list it.';

-- What a replica noted before it was killed stays until its shard has another owner, and does not count any more.
create function purchase_watch_internal.deliveries_in_flight() returns table (delivery bigint, since timestamptz) language plpgsql stable rows 100
security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- A standby has nothing of a table that is not logged, and refuses to look.
  if pg_is_in_recovery() then return; end if;
  return query
  select u.delivery, u.since from purchase_watch_internal.under_way u
  join purchase_watch_internal.shards s on s.id = u.shard and s.owner = u.replica and s.epoch = u.epoch
  join purchase_watch_internal.replicas r on r.id = u.replica and r.expires_at > now();
end $$;
comment on function purchase_watch_internal.deliveries_in_flight is 'Deliveries of which an attempt has been under way for a moment, and since when.';

-- The daemon gives the same two answers (src/domain/deliveries); a test compares them.
create function purchase_watch_internal.parked_because(
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
comment on function purchase_watch_internal.parked_because is 'Why nothing is sent to a subscriber at present; null when it gets its events.';

create function purchase_watch_internal.shown_status(status text, parked boolean, in_flight boolean) returns text language sql immutable parallel safe as $$
  select case when status <> 'pending' then status when in_flight then 'in_flight' when parked then 'parked' else 'pending' end
$$;
comment on function purchase_watch_internal.shown_status is 'Where a delivery stands: what is stored says only whether it is settled.';

-- Views -------------------------------------------------------------------------------------------------------------------
-- The condition on the site is always true. It is there for the index, which begins with the site: with it, one purchase
-- is found by its ID alone, at each of the few sites in turn.
--
-- Views that leave rows out hide them from functions, too (security_barrier): otherwise a reader's own function in a
-- condition (a reader may make one in pg_temp) is called for rows before the view's condition leaves them out. Comparisons
-- that reveal nothing of what they saw, as = and < of text, numbers and times, still use the indexes. The other views hide
-- no row: their conditions always hold, and the planner may join them as if they were their tables.

create view purchase_watch.current_purchases as
select p.purchase_id, p.site, p.status, p.state, purchase_watch_internal.state_name(p.state) as state_name, p.state_since, p.stuck_since,
  p.registered_at, p.registered_by, p.last_polled_at, p.next_poll_at, p.ended_at, p.polls, p.failures, p.last_error,
  p.reference, p.metadata, purchase_watch_internal.stored_number(d.fields, 'Price') as price,
  purchase_watch_internal.stored_text(d.fields, 'CurrencyCode') as currency,
  purchase_watch_internal.stored_text(d.fields, 'OrderReference') as order_reference, d.fields as details,
  p.next_poll_reason::text as next_poll_reason
from purchase_watch.purchases p left join purchase_watch_internal.purchase_details d on d.purchase = p.id
where p.site = any (array(select name from purchase_watch_internal.sites));

-- `insert … returning` for programs that may register and not read. Mappers of objects to rows (ORMs) write it, and Postgres asks for
-- the right to read what is returned. On the table that right would be on the rows of every registrar, so programs get a view of
-- their own rows. A policy of row-level security on the table was the other way: it would keep `copy … from` from programs, and
-- `pg_dump` from roles that are not the owner.

-- Postgres writes an insert into this view as an insert into the table, so the triggers of the table run, and `on conflict do nothing`
-- sees the rows of every login. What is returned is the new row alone.
create view purchase_watch.registrations with (security_barrier) as
select id, purchase_id, site, reference, metadata, registered_at from purchase_watch.purchases where registered_by = 'sql:' || session_user;
create view purchase_watch.stuck_purchases with (security_barrier) as
select p.purchase_id, p.site, p.state, purchase_watch_internal.state_name(p.state) as state_name, p.state_since, p.stuck_since,
  p.last_polled_at, p.reference, p.metadata, d.fields as details, now() - p.state_since as waiting,
  purchase_watch_internal.stored_number(d.fields, 'Price') as price,
  purchase_watch_internal.stored_text(d.fields, 'CurrencyCode') as currency,
  purchase_watch_internal.stored_text(d.fields, 'OrderReference') as order_reference
from purchase_watch.purchases p left join purchase_watch_internal.purchase_details d on d.purchase = p.id
where p.stuck_since is not null and p.site = any (array(select name from purchase_watch_internal.sites));

create view purchase_watch.transitions as
select p.purchase_id, p.site, t.sequence, t.from_state, purchase_watch_internal.state_name(t.from_state) as from_name,
  t.to_state, purchase_watch_internal.state_name(t.to_state) as to_name, t.not_before, t.not_after
from purchase_watch_internal.purchase_transitions t join purchase_watch.purchases p on p.id = t.purchase
where p.site = any (array(select name from purchase_watch_internal.sites));

-- One row for each stay of a purchase in a state, for questions about how long customers wait where.
create view purchase_watch.stays as
select p.purchase_id, p.site, f.sequence, f.to_state as state, purchase_watch_internal.state_name(f.to_state) as state_name,
  f.not_after as entered_at, t.not_after as left_at, t.to_state, purchase_watch_internal.state_name(t.to_state) as to_name,
  extract(epoch from t.not_after - f.not_after)::float8 as seconds,
  (select e.created_at from purchase_watch_internal.events e
   where e.purchase = f.purchase and e.sequence > f.sequence and e.sequence < coalesce(t.sequence, 2147483647) and e.type = 'purchase.stuck'
   order by e.sequence limit 1) as stuck_at,
  t.sequence is null and p.status = 'watching' as is_waiting
from purchase_watch_internal.purchase_transitions f
join purchase_watch.purchases p on p.id = f.purchase
left join purchase_watch_internal.purchase_transitions t on t.purchase = f.purchase and t.from_sequence = f.sequence
where p.site = any (array(select name from purchase_watch_internal.sites));

-- Without events about incidents: channels for people make their messages of those, and no system gets them.
create view purchase_watch.event_log with (security_barrier) as
select e.id as event_id, e.type, e.site, p.purchase_id, e.sequence, e.created_at, e.body
from purchase_watch_internal.events e
left join purchase_watch.purchases p on p.id = e.purchase and p.site = any (array(select name from purchase_watch_internal.sites))
where e.type not like 'incident.%';

create view purchase_watch.delivery_log as
select e.id as event_id, e.type, e.site, p.purchase_id, e.sequence, s.name as subscriber,
  purchase_watch_internal.shown_status(d.status, b.reason is not null, f.delivery is not null) as status,
  d.attempts, d.due_at, d.settled_at, case when d.status <> 'suppressed' then d.last_error end as last_error,
  case when d.status = 'suppressed' then coalesce(d.last_error, 'The subscriber was switched off when the event was made.')
    when d.status = 'pending' and f.delivery is null then b.reason end as reason,
  d.took_ms, d.http_status::integer as http_status
from purchase_watch_internal.deliveries d
join purchase_watch_internal.events e on e.position = d.event
join purchase_watch_internal.subscribers s on s.id = d.subscriber
left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id
left join purchase_watch_internal.deliveries_in_flight() f on f.delivery = d.id
cross join lateral (
  select purchase_watch_internal.parked_because(s.configured, s.status, s.status_reason, h.paused_until, h.failures, h.last_error) as reason) b
left join purchase_watch.purchases p on p.id = e.purchase and p.site = any (array(select name from purchase_watch_internal.sites));

create view purchase_watch.subscriber_status with (security_barrier) as
select s.name as subscriber, s.kind,
  case when s.status <> 'active' then 'off' when h.paused_until is not null then 'paused' when h.our_failing_since is not null then 'unreached'
    when h.failures > 0 then 'failing' else 'ok' end as health,
  purchase_watch_internal.parked_because(s.configured, s.status, s.status_reason, h.paused_until, h.failures, h.last_error) as reason,
  coalesce(h.failures, 0) as failures, h.failing_since, h.paused_until, h.last_error, h.our_failing_since, h.our_error
from purchase_watch_internal.subscribers s left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id
where s.configured;

create view purchase_watch.open_incidents with (security_barrier) as
select i.id as incident_id, i.kind, i.site, i.state, purchase_watch_internal.state_name(i.state) as state_name, i.opened_at, i.since, i.count, i.peak,
  i.subscriber, i.parent,
  -- The daemon has the same levels (src/domain/incidents).
  case when i.kind = 'unreachable' or i.severity >= case i.kind when 'subscriber' then 3 when 'replica' then 2 else 1 end
    then 'critical' else 'warning' end as severity,
  coalesce(i.acknowledged_by, p.acknowledged_by, g.acknowledged_by) as owner
from purchase_watch_internal.incidents i
left join purchase_watch_internal.incidents p on p.id = i.parent and p.ended_at is null
left join purchase_watch_internal.incidents g on g.id = p.parent and g.ended_at is null
where i.ended_at is null;

create view purchase_watch.site_status as
select name as site, configured, failing_since, last_success_at, last_error, failing_reason from purchase_watch_internal.sites;

create view purchase_watch.purchase_totals as
select site, status, state, stuck, sum(n)::bigint as count, purchase_watch_internal.state_name(state) as state_name
from (select site, status, state, stuck, count as n from purchase_watch_internal.purchase_counts
      union all select site, status, state, stuck, change from purchase_watch_internal.count_changes) c
group by site, status, state, stuck having sum(n) <> 0;

-- Comments ----------------------------------------------------------------------------------------------------------------

comment on view purchase_watch.current_purchases is 'Every registered purchase as it is known now.';
comment on view purchase_watch.registrations is 'Purchases that the role you are logged in as registered by SQL. Programs insert into it, too, and get the row back by returning.';
comment on view purchase_watch.stuck_purchases is 'Purchases that are stuck now: a poll confirmed it at or after the limit of their state.';
comment on view purchase_watch.transitions is 'Changes of state, as two polls showed them: the state moved after not_before and no later than not_after.';
comment on view purchase_watch.stays is 'Stays of purchases in their states, each once: the ended ones, and the one in which each purchase is now.';
comment on view purchase_watch.event_log is 'What was announced, once, in order per purchase. Receivers get exactly the body.';
comment on view purchase_watch.delivery_log is 'What became of each event at each subscriber.';
comment on view purchase_watch.subscriber_status is 'Subscribers that get events at present, and whether they take what they are sent.';
comment on view purchase_watch.open_incidents is 'Many symptoms with one cause: what is wrong now.';
comment on view purchase_watch.site_status is 'The merchant accounts at the checkout service, and whether they answer.';
comment on view purchase_watch.purchase_totals is 'How many purchases there are, by site, status, state, and whether they are stuck. Reads counters, never the purchases.';

-- Columns that several views have, each explained once.
do $comments$
declare
  meaning record;
  place record;
begin
  for meaning in select * from (values
    ('purchase_id', 'The Purchase ID that the checkout service gave.'),
    ('site', 'The merchant account it belongs to.'),
    ('status', 'watching, settled (in a final state), unreadable (the service does not know it any more, or its answers make no sense), expired (given up) or stopped.'),
    ('state', 'The number of its state at the checkout service; null before the first observation.'),
    ('state_name', 'The name of that state; Unknown(n) when the specification does not list it.'),
    ('state_since', 'When the state was first observed in its present stay.'),
    ('stuck_since', 'Since when it counts as stuck; null when it does not.'),
    ('last_polled_at', 'The last poll, whatever the service answered.'),
    ('reference', 'Your own name for it, given at registration, such as an order number.'),
    ('metadata', 'The JSON object given at registration; comes back in every event.'),
    ('price', 'The stored field Price; null when it is not stored or not a number.'),
    ('currency', 'The stored field CurrencyCode; null when it is not stored.'),
    ('order_reference', 'The stored field OrderReference; null when it is not stored.'),
    ('details', 'The fields that store.fields names, as last seen, with the digits the service sent.'),
    ('sequence', 'Its place among the events of its purchase, from 1 without gaps; null for events of a site.'),
    ('event_id', 'The id of the event, as receivers get it (webhook-id) and as it is notified.'),
    ('type', 'What happened, such as purchase.state_changed.'),
    ('subscriber', 'The name of the subscriber.')) as m (name, text)
  loop
    for place in select c.relname from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'purchase_watch'::regnamespace and c.relkind = 'v' and a.attnum > 0 and a.attname = meaning.name
    loop
      execute format('comment on column purchase_watch.%I.%I is %L', place.relname, meaning.name, meaning.text);
    end loop;
  end loop;
end $comments$;

-- Columns of one view, and those that mean something else there.
comment on column purchase_watch.current_purchases.registered_at is 'When it was registered.';
comment on column purchase_watch.current_purchases.registered_by is 'api, cli, or sql: and the role that inserted it.';
comment on column purchase_watch.current_purchases.next_poll_at is 'When it is polled next; null: not any more.';
comment on column purchase_watch.current_purchases.next_poll_reason is 'Why it is polled then: first, renewed (registered again), growth (the plan of its state), stuck_moment (its limit ends), give_up (the last look), failure (the wait after failed polls), retry_after (the service asked for that wait), recheck (of a final state), invoice, requested (by hand), site_readable (its site can be read again) or repaired. Null when it is not polled any more, or when the poll was planned before reasons were recorded.';
comment on column purchase_watch.current_purchases.ended_at is 'When the watching ended; null while it is watched.';
comment on column purchase_watch.current_purchases.polls is 'How often it was polled.';
comment on column purchase_watch.current_purchases.failures is 'How many polls in a row had no usable answer.';
comment on column purchase_watch.current_purchases.last_error is 'What was wrong the last time, in a sentence; null when nothing was.';
comment on column purchase_watch.registrations.id is 'A number that the row gets, for programs that want a key of one column.';
comment on column purchase_watch.registrations.purchase_id is 'The Purchase ID that the checkout service gave.';
comment on column purchase_watch.registrations.site is 'The merchant account it belongs to; left out, the one named default, or the only one.';
comment on column purchase_watch.registrations.reference is 'Your own name for it, such as an order number.';
comment on column purchase_watch.registrations.metadata is 'The JSON object given at registration; comes back in every event.';
comment on column purchase_watch.registrations.registered_at is 'When it was registered.';
comment on column purchase_watch.stuck_purchases.waiting is 'How long it has been in this state by now.';
comment on column purchase_watch.transitions.sequence is 'The sequence of its event; events of other types lie between.';
comment on column purchase_watch.transitions.from_state is 'The number of the state before; null for the first observation.';
comment on column purchase_watch.transitions.from_name is 'The name of the state before.';
comment on column purchase_watch.transitions.to_state is 'The number of the state after.';
comment on column purchase_watch.transitions.to_name is 'The name of the state after.';
comment on column purchase_watch.transitions.not_before is 'When the state before was last seen: the change came after; null for the first observation.';
comment on column purchase_watch.transitions.not_after is 'When the new state was first seen: the change came no later.';
comment on column purchase_watch.stays.purchase_id is 'The Purchase ID that the checkout service gave.';
comment on column purchase_watch.stays.site is 'The merchant account it belongs to.';
comment on column purchase_watch.stays.sequence is 'The sequence of the event that announced the state: with purchase_id and site it names the stay.';
comment on column purchase_watch.stays.state is 'The number of the state.';
comment on column purchase_watch.stays.state_name is 'The name of the state.';
comment on column purchase_watch.stays.entered_at is 'When a poll first showed the state.';
comment on column purchase_watch.stays.left_at is 'When a poll first showed the state after it; null in the last state that is known.';
comment on column purchase_watch.stays.to_state is 'The number of the state after it.';
comment on column purchase_watch.stays.to_name is 'The name of the state after it.';
comment on column purchase_watch.stays.seconds is 'From entered_at to left_at.';
comment on column purchase_watch.stays.stuck_at is 'When the purchase was called stuck in this state; null when it never was.';
comment on column purchase_watch.stays.is_waiting is 'Whether the purchase is in this state now and is watched.';
comment on column purchase_watch.event_log.purchase_id is 'The purchase it is about; null for events of a site.';
comment on column purchase_watch.event_log.created_at is 'When it was written.';
comment on column purchase_watch.event_log.body is 'JSON text, byte for byte what receivers get.';
comment on column purchase_watch.delivery_log.purchase_id is 'The purchase it is about; null for events of a site.';
comment on column purchase_watch.delivery_log.status is 'pending (waits for its turn or its next try), in_flight, parked (the subscriber is paused or off), delivered, exhausted (the schedule is used up) or suppressed (it is never sent).';
comment on column purchase_watch.delivery_log.last_error is 'Why the last try failed, in a sentence; null when none did.';
comment on column purchase_watch.delivery_log.attempts is 'How often it was sent.';
comment on column purchase_watch.delivery_log.due_at is 'When it is, or was, due to be sent.';
comment on column purchase_watch.delivery_log.settled_at is 'When it was settled; null while it waits.';
comment on column purchase_watch.delivery_log.reason is 'Why it is parked or suppressed; null when it is neither.';
comment on column purchase_watch.delivery_log.took_ms is 'How long the attempt took that delivered it, in milliseconds.';
comment on column purchase_watch.delivery_log.http_status is 'The answer to the attempt that delivered it.';
comment on column purchase_watch.subscriber_status.failures is 'Failures in a row that were its own.';
comment on column purchase_watch.subscriber_status.last_error is 'Why the last of them failed, in a sentence.';
comment on column purchase_watch.subscriber_status.reason is 'Why nothing is sent to it at present; null when it gets its events.';
comment on column purchase_watch.subscriber_status.kind is 'The kind of its channel, such as webhook, slack or nats.';
comment on column purchase_watch.subscriber_status.health is 'ok, failing, unreached (nothing gets through to it, for a reason of ours), paused (what is for it is parked) or off.';
comment on column purchase_watch.subscriber_status.failing_since is 'The first of these failures; null while it is well.';
comment on column purchase_watch.subscriber_status.paused_until is 'Nothing is sent before; then one delivery tries. Null when it is not paused.';
comment on column purchase_watch.subscriber_status.our_failing_since is 'Since when nothing gets through to it, for a reason of ours (name server, proxy, network); null while something does.';
comment on column purchase_watch.subscriber_status.our_error is 'That reason, in a sentence.';
comment on column purchase_watch.open_incidents.site is 'The merchant account it belongs to; null when it is about several, about a subscriber or about replicas.';
comment on column purchase_watch.open_incidents.state is 'The number of the state in which purchases are stuck; null when it is about several, or about no state.';
comment on column purchase_watch.open_incidents.subscriber is 'The name of the subscriber it is about, or null.';
comment on column purchase_watch.open_incidents.kind is 'stuck, unreachable, subscriber or replica.';
comment on column purchase_watch.open_incidents.incident_id is 'The id of the incident.';
comment on column purchase_watch.open_incidents.opened_at is 'When it was noticed.';
comment on column purchase_watch.open_incidents.since is 'The earliest symptom.';
comment on column purchase_watch.open_incidents.count is 'How many customers are overdue now; of a subscriber, deliveries that wait or were given up, counted to 100 000; of replicas, those that cannot do their work.';
comment on column purchase_watch.open_incidents.peak is 'How many were affected at worst.';
comment on column purchase_watch.open_incidents.parent is 'The incident of which it is a part, about several states of a site or several sites: only that one is alerted. Null when it is no part.';
comment on column purchase_watch.open_incidents.severity is 'warning or critical.';
comment on column purchase_watch.open_incidents.owner is 'The person who looks after it or after its parent, or null.';
comment on column purchase_watch.site_status.site is 'Its name.';
comment on column purchase_watch.site_status.last_error is 'Why the last poll had no usable answer, in a sentence; may be of the past, see failing_since.';
comment on column purchase_watch.site_status.failing_since is 'Since when no purchase of the site, or hardly any, can be read; null while enough can.';
comment on column purchase_watch.site_status.configured is 'Whether the present configuration has it; purchases of others are not polled.';
comment on column purchase_watch.site_status.last_success_at is 'The last usable answer.';
comment on column purchase_watch.site_status.failing_reason is 'Why it last failed: throttled, malformed, unknown, refused or unreachable; may be of the past, see failing_since.';
comment on column purchase_watch.purchase_totals.count is 'How many there are now.';
comment on column purchase_watch.purchase_totals.stuck is 'Whether they are stuck.';
