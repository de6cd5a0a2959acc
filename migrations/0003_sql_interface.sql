-- What people and programs touch with SQL: views with comments, roles with minimal rights, errors that help.

-- The name belongs to the view that shows purchases by their own id.
alter table purchase_watch.transitions rename to purchase_transitions;

-- Registering -----------------------------------------------------------------------------------------------------------

-- Completes and checks a new row. It runs with the owner's rights: whoever may register needs no rights on what it reads.
create or replace function purchase_watch.prepare_purchase() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  known text;
  size integer;
begin
  if new.purchase_id is null or btrim(new.purchase_id) = '' then
    raise exception using errcode = 'check_violation', message = 'purchase_id is empty',
      hint = 'Insert the Purchase ID that the checkout service gave when the purchase was negotiated.';
  elsif length(new.purchase_id) > 200 then
    raise exception using errcode = 'check_violation', message = format('purchase_id has %s characters; at most 200 are accepted', length(new.purchase_id)),
      hint = 'Insert the Purchase ID alone, without a URL or other text around it.';
  elsif new.purchase_id <> btrim(new.purchase_id) or new.purchase_id ~ '[[:cntrl:]]' then
    raise exception using errcode = 'check_violation', message = 'purchase_id begins or ends with a space, or holds a control character',
      hint = 'Insert the Purchase ID alone; a line break or tab from a file often sticks to it.';
  end if;
  if new.reference is not null and length(new.reference) not between 1 and 200 then
    raise exception using errcode = 'check_violation',
      message = case new.reference when '' then 'reference is empty' else format('reference has %s characters; at most 200 are accepted', length(new.reference)) end,
      hint = 'Insert your own name for the purchase, such as an order number, or leave the column out (null).';
  end if;
  if new.metadata is not null then
    if jsonb_typeof(new.metadata) <> 'object' then
      raise exception using errcode = 'check_violation', message = format('metadata is a JSON %s; it must be an object', jsonb_typeof(new.metadata)),
        hint = 'Insert an object such as {"cart": 7}, or leave the column out.';
    end if;
    size := length(new.metadata::text);
    if size > 8192 then
      raise exception using errcode = 'check_violation', message = format('metadata has %s characters as text; at most 8192 are accepted', size),
        hint = 'Keep large things in a system of your own, and put their key into metadata.';
    end if;
  end if;
  if new.site is null then
    new.site := purchase_watch.default_site();
    if new.site is null then
      raise exception using errcode = 'not_null_violation', message = 'site is missing, and there is no site named default',
        hint = format('Name one of the configured sites: %s.', coalesce((select string_agg(name, ', ' order by name) from purchase_watch.sites where configured), 'none yet; start the daemon once'));
    end if;
  elsif not exists (select from purchase_watch.sites where name = new.site and configured) then
    -- Mistakes that are no riddle: other case, spaces around it, a name cut short or with something behind it.
    select min(name) into known from purchase_watch.sites
    where configured and (starts_with(name, lower(btrim(new.site))) or starts_with(lower(btrim(new.site)), name)) and btrim(new.site) <> '' having count(*) = 1;
    raise exception using errcode = 'foreign_key_violation', message = format('site %L is not configured', new.site),
      hint = coalesce('Did you mean ' || quote_literal(known) || '? ', '')
        || format('Configured sites: %s.', coalesce((select string_agg(name, ', ' order by name) from purchase_watch.sites where configured), 'none yet; start the daemon once'));
  end if;
  new.registered_by := coalesce(new.registered_by, 'sql:' || session_user);
  -- Both parts are length-safe: a site name never holds a slash.
  new.shard := ((hashtextextended(new.site || '/' || new.purchase_id, 0) % 64) + 64) % 64;
  new.next_poll_at := coalesce(new.next_poll_at, new.registered_at);
  new.due_slot := purchase_watch.due_slot(new.next_poll_at);
  return new;
end $$;

-- As before, clears when the watching ended, and answers which ones are watched again.
drop function purchase_watch.watch_again;
create function purchase_watch.watch_again(purchase_ids text[], sites text[]) returns table (purchase_id text, site text) language sql
security definer set search_path = pg_catalog, pg_temp as $$
  with renewed as (
    update purchase_watch.purchases p set status = 'watching', watched_since = now(), next_poll_at = now(), ended_at = null,
      due_slot = purchase_watch.due_slot(now()), revision = p.revision + 1, failures = 0, unknowns = 0
    from unnest(purchase_ids, sites) as r (purchase_id, site)
    where p.site = coalesce(r.site, purchase_watch.default_site()) and p.purchase_id = r.purchase_id and p.status in ('stopped', 'expired')
    returning p.id, p.shard, p.purchase_id, p.site),
  nudged as (insert into purchase_watch.nudges (purchase, shard) select id, shard from renewed),
  told as materialized (select pg_notify('purchase_watch_wake', 'purchases') from renewed limit 1)
  select r.purchase_id, r.site from renewed r, told
$$;

-- A stopped or expired purchase that is registered again is watched again; one that is watched stays as it is.
create or replace function purchase_watch.watch(purchase_id text, site text default null, reference text default null, metadata jsonb default null)
returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  row_id bigint;
begin
  insert into purchase_watch.purchases as p (purchase_id, site, reference, metadata)
  values (watch.purchase_id, watch.site, watch.reference, watch.metadata)
  on conflict do nothing returning p.id into row_id;
  if row_id is not null then return 'created'; end if;
  perform from purchase_watch.watch_again(array[watch.purchase_id], array[watch.site]);
  return case when found then 'watched again' else 'existing' end;
end $$;

comment on function purchase_watch.watch is 'Registers a purchase; answers created, existing, or watched again (it was stopped or had expired). The daemon polls it at once.';
comment on function purchase_watch.watch_again is 'Of these purchases, watches those again that were stopped or had expired, has them asked for at once, and answers which. For watch() and the daemon.';
comment on function purchase_watch.default_site is 'The site of whoever names none: the one named default, or the only one; null when neither is there.';
comment on function purchase_watch.due_slot is 'The slot of ten seconds in which the queue finds a time.';
comment on function purchase_watch.prepare_purchase is 'Trigger: completes a new purchase, or says what is wrong with it.';
comment on function purchase_watch.nudge_registered is 'Trigger: wakes the daemon for new purchases and counts them.';
comment on function purchase_watch.count_moved is 'Trigger: keeps the counters when a purchase changes its state or status.';
comment on function purchase_watch.count_removed is 'Trigger: keeps the counters when purchases are deleted.';
comment on function purchase_watch.count_none is 'Trigger: empties the counters when the purchases are.';

-- What the views are made of ----------------------------------------------------------------------------------------------

comment on function purchase_watch.state_name is 'The name of a state number; Unknown(n) when the specification does not list it.';

-- Anything may be in what a service sent, and must not break a list: escapes that are no text in Postgres (a zero byte,
-- half a character) would. The planner puts the body of such a function in its place, so it costs nothing unless selected.
create function purchase_watch.stored_text(fields json, field text) returns text language sql immutable parallel safe as $$
  select case when replace(fields::text, '\\', '') !~* '\\u(0000|d[89a-f])' then fields ->> field end
$$;
comment on function purchase_watch.stored_text is 'A stored field as text; null when it is not stored, or holds what is no text.';
create function purchase_watch.stored_number(fields json, field text) returns numeric language sql immutable parallel safe as $$
  select case when replace(fields::text, '\\', '') !~* '\\u(0000|d[89a-f])'
    then case when fields ->> field ~ '^-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?$' then (fields ->> field)::numeric end end
$$;
comment on function purchase_watch.stored_number is 'A stored field as a number; null when it is not stored or not a number.';

-- Views: an interface -----------------------------------------------------------------------------------------------------
-- The condition on the site is always true. It is there for the index, which begins with the site: with it, one purchase
-- is found by its ID alone, at each of the few sites in turn.

create view purchase_watch.current_purchases as
select p.purchase_id, p.site, p.status, p.state, purchase_watch.state_name(p.state) as state_name, p.state_since, p.stuck_since,
  p.registered_at, p.registered_by, p.last_polled_at, p.next_poll_at, p.ended_at, p.polls, p.failures, p.last_error,
  p.reference, p.metadata, purchase_watch.stored_number(d.fields, 'Price') as price,
  purchase_watch.stored_text(d.fields, 'CurrencyCode') as currency,
  purchase_watch.stored_text(d.fields, 'OrderReference') as order_reference, d.fields as details
from purchase_watch.purchases p left join purchase_watch.purchase_details d on d.purchase = p.id
where p.site = any (array(select name from purchase_watch.sites));

create or replace view purchase_watch.stuck_purchases as
select p.purchase_id, p.site, p.state, purchase_watch.state_name(p.state) as state_name, p.state_since, p.stuck_since,
  p.last_polled_at, p.reference, p.metadata, d.fields as details, now() - p.state_since as waiting,
  purchase_watch.stored_number(d.fields, 'Price') as price,
  purchase_watch.stored_text(d.fields, 'CurrencyCode') as currency,
  purchase_watch.stored_text(d.fields, 'OrderReference') as order_reference
from purchase_watch.purchases p left join purchase_watch.purchase_details d on d.purchase = p.id
where p.stuck_since is not null and p.site = any (array(select name from purchase_watch.sites));

create view purchase_watch.transitions as
select p.purchase_id, p.site, t.sequence, t.from_state, purchase_watch.state_name(t.from_state) as from_name,
  t.to_state, purchase_watch.state_name(t.to_state) as to_name, t.not_before, t.not_after
from purchase_watch.purchase_transitions t join purchase_watch.purchases p on p.id = t.purchase
where p.site = any (array(select name from purchase_watch.sites));

-- Events about incidents are what Slack's messages are made of; no subscriber sees them.
create view purchase_watch.event_log as
select e.id as event_id, e.type, e.site, p.purchase_id, e.sequence, e.created_at, e.body
from purchase_watch.events e
left join purchase_watch.purchases p on p.id = e.purchase and p.site = any (array(select name from purchase_watch.sites))
where e.type not like 'incident.%';

create view purchase_watch.delivery_log as
select e.id as event_id, e.type, e.site, p.purchase_id, e.sequence, s.name as subscriber, d.status, d.attempts, d.due_at,
  d.settled_at, d.last_error
from purchase_watch.deliveries d
join purchase_watch.events e on e.position = d.event
join purchase_watch.subscribers s on s.id = d.subscriber
left join purchase_watch.purchases p on p.id = e.purchase and p.site = any (array(select name from purchase_watch.sites));

create view purchase_watch.open_incidents as
select id as incident_id, kind, site, state, purchase_watch.state_name(state) as state_name, opened_at, since, count, peak
from purchase_watch.incidents where ended_at is null;

create view purchase_watch.site_status as
select name as site, configured, failing_since, last_success_at, last_error from purchase_watch.sites;

create or replace view purchase_watch.purchase_totals as
select site, status, state, stuck, sum(n)::bigint as count, purchase_watch.state_name(state) as state_name
from (select site, status, state, stuck, count as n from purchase_watch.purchase_counts
      union all select site, status, state, stuck, change from purchase_watch.count_changes) c
group by site, status, state, stuck having sum(n) <> 0;

-- Comments: of each column once, for all views that have it ---------------------------------------------------------------

comment on view purchase_watch.current_purchases is 'Every registered purchase as it is known now.';
comment on view purchase_watch.stuck_purchases is 'Purchases that are stuck now: a poll confirmed it at or after the limit of their state.';
comment on view purchase_watch.transitions is 'Changes of state, as two polls showed them: the state moved after not_before and no later than not_after.';
comment on view purchase_watch.event_log is 'What was announced, once, in order per purchase. Receivers get exactly the body.';
comment on view purchase_watch.delivery_log is 'What became of each event at each subscriber.';
comment on view purchase_watch.open_incidents is 'Many symptoms with one cause: what is wrong now.';
comment on view purchase_watch.site_status is 'The merchant accounts at the checkout service, and whether they answer.';
comment on view purchase_watch.purchase_totals is 'How many purchases there are, by site, status, state, and whether they are stuck. Reads counters, never the purchases.';

do $comments$
declare
  meaning record;
  place record;
begin
  for meaning in select * from (values
    ('purchase_id', 'The Purchase ID that the checkout service gave.'),
    ('site', 'The merchant account it belongs to.'),
    ('status', 'watching, settled (in a final state), unreadable (the service knows it no more, or answers nonsense), expired (given up) or stopped.'),
    ('state', 'The number of its state at the checkout service; null before the first observation.'),
    ('state_name', 'The name of that state; Unknown(n) when the specification does not list it.'),
    ('state_since', 'When the state was first observed in its present stay.'),
    ('stuck_since', 'Since when it counts as stuck; null when it does not.'),
    ('registered_at', 'When it was registered.'),
    ('registered_by', 'api, cli, or sql: and the role that inserted it.'),
    ('last_polled_at', 'The last time the service was asked, whatever it answered.'),
    ('next_poll_at', 'When it will be asked next; null: not any more.'),
    ('ended_at', 'When the watching ended; null while it is watched.'),
    ('polls', 'How often the service was asked.'),
    ('failures', 'How many polls in a row had no usable answer.'),
    ('last_error', 'What was wrong the last time, in a sentence; null when nothing was.'),
    ('reference', 'The name that whoever registered it gave it, such as an order number.'),
    ('metadata', 'The JSON object that whoever registered it attached; comes back in every event.'),
    ('price', 'The stored field Price; null when it is not stored or not a number.'),
    ('currency', 'The stored field CurrencyCode; null when it is not stored.'),
    ('order_reference', 'The stored field OrderReference; null when it is not stored.'),
    ('details', 'The fields that store.fields names, as last seen, with the digits the service sent.'),
    ('waiting', 'How long it has been in this state by now.'),
    ('sequence', 'Its place among the events of its purchase, from 1 without gaps; null for events of a site.'),
    ('from_state', 'The number of the state before; null for the first observation.'),
    ('from_name', 'The name of the state before.'),
    ('to_state', 'The number of the state after.'),
    ('to_name', 'The name of the state after.'),
    ('not_before', 'When the state before was last seen: the change came after; null for the first observation.'),
    ('not_after', 'When the new state was first seen: the change came no later.'),
    ('event_id', 'The id of the event, as receivers get it (webhook-id) and as it is notified.'),
    ('type', 'What happened, such as purchase.state_changed.'),
    ('created_at', 'When it was written.'),
    ('body', 'JSON text, byte for byte what receivers get.'),
    ('subscriber', 'The name of who is told.'),
    ('attempts', 'How often it was sent.'),
    ('due_at', 'When it is, or was, due to be sent.'),
    ('settled_at', 'When it was settled; null while it waits.'),
    ('incident_id', 'The id of the incident.'),
    ('kind', 'stuck or unreachable.'),
    ('opened_at', 'When it was noticed.'),
    ('since', 'The earliest symptom.'),
    ('count', 'How many there are now.'),
    ('peak', 'How many purchases were affected at worst.'),
    ('configured', 'Whether the present configuration has it; purchases of others are not polled.'),
    ('failing_since', 'Since when no poll gets a usable answer; null while it answers.'),
    ('last_success_at', 'The last usable answer.'),
    ('stuck', 'Whether they are stuck.')) as m (name, text)
  loop
    for place in select c.relname from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'purchase_watch'::regnamespace and c.relkind = 'v' and a.attnum > 0 and a.attname = meaning.name
    loop
      execute format('comment on column purchase_watch.%I.%I is %L', place.relname, meaning.name, meaning.text);
    end loop;
  end loop;
end $comments$;
comment on column purchase_watch.event_log.purchase_id is 'The purchase it is about; null for events of a site.';
comment on column purchase_watch.delivery_log.purchase_id is 'The purchase it is about; null for events of a site.';
comment on column purchase_watch.delivery_log.status is 'pending, delivered, exhausted (the schedule is used up) or suppressed (the subscriber is off).';
comment on column purchase_watch.delivery_log.last_error is 'Why the last try failed, in a sentence; null when none did.';
comment on column purchase_watch.open_incidents.state is 'The number of the state in which purchases are stuck; null when the site does not answer.';
comment on column purchase_watch.open_incidents.count is 'How many purchases are affected now.';
comment on column purchase_watch.site_status.site is 'Its name.';
comment on column purchase_watch.site_status.last_error is 'Why the last poll had no usable answer, in a sentence; may be of the past, see failing_since.';
comment on column purchase_watch.transitions.sequence is 'The sequence of its event; events of other types lie between.';

comment on column purchase_watch.purchases.purchase_id is 'The Purchase ID that the checkout service gave: all that an insert needs. 1 to 200 characters.';
comment on column purchase_watch.purchases.site is 'A configured site; left out, the one named default, or the only one.';
comment on column purchase_watch.purchases.reference is 'Your own name for the purchase, such as an order number. 1 to 200 characters.';
comment on column purchase_watch.purchases.metadata is 'A JSON object of up to 8192 characters that comes back in every event.';
comment on table purchase_watch.nudges is 'Which purchases changed from outside since the owner of their shard last looked. Only a hint.';
comment on table purchase_watch.unknown_states is 'Numbers of states that the specification does not list, seen at a site: announced once each.';
comment on table purchase_watch.attempts is 'Each try of a delivery: when, what came back, how long it took.';
comment on table purchase_watch.migrations is 'The schema files that were applied, with the hash of their content.';

-- Roles -------------------------------------------------------------------------------------------------------------------

-- Runs at the end of every migration, for a new function may be called by everybody until that is taken back. The views
-- are found, not listed: whatever view a later migration adds is for the reader, with the functions that it calls.
create function purchase_watch.set_up_roles() returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  registrar constant text := 'purchase_watch_registrar';
  reader constant text := 'purchase_watch_reader';
  role text;
  right_to_give text;
  missing text[] := '{}';
  shut text[] := '{}';
  advice text;
begin
  if not pg_has_role((select relowner from pg_class where oid = 'purchase_watch.purchases'::regclass), 'usage') then
    raise exception using errcode = 'insufficient_privilege', message = 'only the owner of the tables can give rights on them',
      hint = format('Call it as %I.', (select relowner::regrole::text from pg_class where oid = 'purchase_watch.purchases'::regclass));
  end if;
  -- The lock of migrations: rights are given by one session at a time.
  perform pg_advisory_xact_lock(7236019444);
  revoke all on all functions in schema purchase_watch from public;
  foreach role in array array[registrar, reader] loop
    -- Roles belong to the whole cluster: another database may have made this one, or be making it now.
    if to_regrole(role) is null then
      begin
        execute format('create role %I nologin', role);
        execute format('comment on role %I is %L', role, case role
          when registrar then 'May register purchases with purchase-watch, and nothing else.'
          else 'May read the views of purchase-watch, and nothing else.' end);
      exception when duplicate_object or unique_violation or insufficient_privilege or internal_error then null;
      end;
    end if;
    if to_regrole(role) is null then
      missing := missing || role;
      continue;
    end if;
    execute format('revoke all on all tables in schema purchase_watch from %I', role);
    execute format('revoke all on all functions in schema purchase_watch from %I', role);
    begin
      execute format('grant usage on schema purchase_watch to %I', role);
    exception when insufficient_privilege then null;
    end;
    if not has_schema_privilege(role, 'purchase_watch', 'usage') then shut := shut || role; end if;
  end loop;
  if registrar <> all (missing) then
    grant insert (purchase_id, site, reference, metadata) on purchase_watch.purchases to purchase_watch_registrar;
    grant execute on function purchase_watch.watch to purchase_watch_registrar;
  end if;
  if reader <> all (missing) then
    for right_to_give in
      select format('select on purchase_watch.%I', relname) from pg_class
      where relnamespace = 'purchase_watch'::regnamespace and relkind = 'v'
      union select format('execute on function %s', f.oid::regprocedure)
      from pg_class v join pg_rewrite r on r.ev_class = v.oid join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
      join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid
      where v.relnamespace = 'purchase_watch'::regnamespace and v.relkind = 'v' and f.pronamespace = v.relnamespace
    loop
      execute format('grant %s to purchase_watch_reader', right_to_give);
    end loop;
  end if;
  advice := nullif(concat_ws(' ',
    case when missing <> '{}' then format('An administrator has to make the roles first: %s; then call purchase_watch.set_up_roles() again.',
      (select string_agg(format('create role %I nologin', name), '; ') from unnest(missing) as name)) end,
    case when shut <> '{}' then format('The owner of the schema has to open it: grant usage on schema purchase_watch to %s.',
      array_to_string(shut, ', ')) end), '');
  if advice is not null then raise notice '%', advice; end if;
  return advice;
end $$;
comment on function purchase_watch.set_up_roles is 'Makes the roles purchase_watch_registrar and purchase_watch_reader where they are missing, and gives each its rights and no others. Answers null, or what an administrator has to do. Every migration ends with it.';
