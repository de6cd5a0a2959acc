-- Registering purchases, by SQL and by the daemon, and counting them.

-- Registering -----------------------------------------------------------------------------------------------------------

create function purchase_watch_internal.default_site() returns text language sql stable as $$
  select case when bool_or(name = 'default') then 'default' when count(*) = 1 then min(name) end
  from purchase_watch_internal.sites where configured
$$;
comment on function purchase_watch_internal.default_site is 'The site of a registration that names none: the one named default, or the only one; null when neither is there.';

-- Runs with the owner's rights: a role that may register needs no rights on the tables that the function reads.
create function purchase_watch_internal.prepare_purchase() returns trigger language plpgsql
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
    -- An object or a list within 64 others; so many brackets alone are longer than this.
    if size > 128 and jsonb_path_exists(new.metadata, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")') then
      raise exception using errcode = 'check_violation', message = 'metadata has more than 64 levels of lists and objects',
        hint = 'Insert an object with fewer levels.';
    end if;
  end if;
  if new.site is null then
    new.site := purchase_watch_internal.default_site();
    if new.site is null then
      raise exception using errcode = 'not_null_violation', message = 'site is missing, and there is no site named default',
        hint = format('Name one of the configured sites: %s.', coalesce((select string_agg(name, ', ' order by name) from purchase_watch_internal.sites where configured), 'none yet; start the daemon once'));
    end if;
  elsif not exists (select from purchase_watch_internal.sites where name = new.site and configured) then
    -- Common mistakes: other case, spaces around the name, a name cut short or with something behind it.
    select min(name) into known from purchase_watch_internal.sites
    where configured and (starts_with(name, lower(btrim(new.site))) or starts_with(lower(btrim(new.site)), name)) and btrim(new.site) <> '' having count(*) = 1;
    raise exception using errcode = 'foreign_key_violation', message = format('site %L is not configured', new.site),
      hint = coalesce('Did you mean ' || quote_literal(known) || '? ', '')
        || format('Configured sites: %s.', coalesce((select string_agg(name, ', ' order by name) from purchase_watch_internal.sites where configured), 'none yet; start the daemon once'));
  end if;
  new.registered_by := coalesce(new.registered_by, 'sql:' || session_user);
  -- Both parts are length-safe: a site name never holds a slash.
  new.shard := ((hashtextextended(new.site || '/' || new.purchase_id, 0) % 64) + 64) % 64;
  new.next_poll_at := coalesce(new.next_poll_at, new.registered_at);
  new.due_slot := purchase_watch_internal.due_slot(new.next_poll_at);
  return new;
end $$;
comment on function purchase_watch_internal.prepare_purchase is 'Trigger: completes a new purchase, or says what is wrong with it.';
create trigger prepare before insert on purchase_watch.purchases for each row execute function purchase_watch_internal.prepare_purchase();

create function purchase_watch_internal.watch_again(purchase_ids text[], sites text[]) returns table (purchase_id text, site text) language sql
security definer set search_path = pg_catalog, pg_temp as $$
  with renewed as (
    update purchase_watch.purchases p set status = 'watching', watched_since = now(), next_poll_at = now(), ended_at = null,
      due_slot = purchase_watch_internal.due_slot(now()), revision = p.revision + 1, failures = 0, unknowns = 0
    from unnest(purchase_ids, sites) as r (purchase_id, site)
    where p.site = coalesce(r.site, purchase_watch_internal.default_site()) and p.purchase_id = r.purchase_id and p.status in ('stopped', 'expired')
    returning p.id, p.shard, p.purchase_id, p.site),
  nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from renewed),
  woken as materialized (select pg_notify('purchase_watch_wake', 'purchases') from renewed limit 1)
  select r.purchase_id, r.site from renewed r, woken
$$;
comment on function purchase_watch_internal.watch_again is 'Of these purchases, watches those again that were stopped or had expired, has them polled at once, and answers which. For watch() and the daemon.';

create function purchase_watch.watch(purchase_id text, site text default null, reference text default null, metadata jsonb default null)
returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  row_id bigint;
begin
  insert into purchase_watch.purchases as p (purchase_id, site, reference, metadata)
  values (watch.purchase_id, watch.site, watch.reference, watch.metadata)
  on conflict do nothing returning p.id into row_id;
  if row_id is not null then return 'created'; end if;
  perform from purchase_watch_internal.watch_again(array[watch.purchase_id], array[watch.site]);
  return case when found then 'watched again' else 'existing' end;
end $$;
comment on function purchase_watch.watch is 'Registers a purchase; answers created, existing, or watched again (it was stopped or had expired). The daemon polls it at once.';

-- Counts ----------------------------------------------------------------------------------------------------------------

create table purchase_watch_internal.purchase_counts (
  count bigint not null,
  state integer,
  stuck boolean not null,
  status text not null,
  site text not null,
  unique nulls not distinct (site, status, state, stuck)
);
comment on table purchase_watch_internal.purchase_counts is 'Purchases by site, status, state and whether they are stuck; true together with count_changes.';
comment on column purchase_watch_internal.purchase_counts.count is 'How many purchases, without those in count_changes.';

-- A transaction that changes a purchase only appends here: a counter that every transaction updates would make them wait for
-- each other.
create table purchase_watch_internal.count_changes (
  change bigint not null,
  state integer,
  stuck boolean not null,
  status text not null,
  site text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
comment on table purchase_watch_internal.count_changes is 'What has to be added to purchase_counts; folded into it every few seconds.';
comment on column purchase_watch_internal.count_changes.change is 'How many purchases more, or fewer (negative).';

-- Runs, like the triggers below, with the owner's rights, so that a role that may register needs no rights on these tables.
create function purchase_watch_internal.nudge_registered() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from registered where due_slot is not null;
  if found then perform pg_notify('purchase_watch_wake', 'purchases'); end if;
  insert into purchase_watch_internal.count_changes (change, state, stuck, status, site)
  select count(*), state, stuck_since is not null, status, site from registered group by 2, 3, 4, 5;
  return null;
end $$;
comment on function purchase_watch_internal.nudge_registered is 'Trigger: wakes the daemon for new purchases and counts them.';
create trigger nudge after insert on purchase_watch.purchases
  referencing new table as registered for each statement execute function purchase_watch_internal.nudge_registered();

create function purchase_watch_internal.count_moved() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch_internal.count_changes (change, state, stuck, status, site)
  values (-1, old.state, old.stuck_since is not null, old.status, old.site), (1, new.state, new.stuck_since is not null, new.status, new.site);
  return null;
end $$;
-- With the condition a poll that changed nothing pays nothing.
create trigger count_moved after update on purchase_watch.purchases for each row
when (old.state is distinct from new.state or old.status <> new.status or (old.stuck_since is null) <> (new.stuck_since is null) or old.site <> new.site)
execute function purchase_watch_internal.count_moved();

create function purchase_watch_internal.count_removed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch_internal.count_changes (change, state, stuck, status, site)
  select -count(*), state, stuck_since is not null, status, site from removed group by 2, 3, 4, 5;
  return null;
end $$;
create trigger count_removed after delete on purchase_watch.purchases
referencing old table as removed for each statement execute function purchase_watch_internal.count_removed();

create function purchase_watch_internal.count_none() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from purchase_watch_internal.purchase_counts;
  delete from purchase_watch_internal.count_changes;
  return null;
end $$;
create trigger count_none after truncate on purchase_watch.purchases for each statement execute function purchase_watch_internal.count_none();

comment on function purchase_watch_internal.count_moved is 'Trigger: keeps the counters when a purchase changes its state or status.';
comment on function purchase_watch_internal.count_removed is 'Trigger: keeps the counters when purchases are deleted.';
comment on function purchase_watch_internal.count_none is 'Trigger: empties the counters when the purchases are.';

create table purchase_watch_internal.activity (
  minute timestamptz not null,
  polls bigint not null default 0,
  failed_polls bigint not null default 0,
  changes bigint not null default 0,
  site text not null,
  primary key (site, minute)
);
comment on table purchase_watch_internal.activity is 'What was done in each minute, over all replicas; the last day is kept.';
comment on column purchase_watch_internal.activity.minute is 'The minute''s begin.';
comment on column purchase_watch_internal.activity.polls is 'Polls, failed ones too.';
comment on column purchase_watch_internal.activity.failed_polls is 'Polls without a usable answer.';
comment on column purchase_watch_internal.activity.changes is 'Changes of state.';
