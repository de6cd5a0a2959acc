-- Registering purchases, by SQL and by the daemon, and counting them.

-- Registering -----------------------------------------------------------------------------------------------------------

-- A site that no replica names is not polled, so a registration without a site does not go there while another site is named.
create function purchase_watch_internal.default_site() returns text language sql stable as $$
  select case when bool_or(name = 'default') then 'default' when count(*) = 1 then min(name)
    else (select s.renamed_to from purchase_watch_internal.sites s where s.name = 'default' and s.unnamed_since is not null) end
  from purchase_watch_internal.sites where configured and (unnamed_since is null
    or not exists (select from purchase_watch_internal.sites where configured and unnamed_since is null))
$$;
comment on function purchase_watch_internal.default_site is 'The site of a registration that names none: the one named default, the only one, or the one that was named default formerly; null when none is there.';

create function purchase_watch_internal.present_site(site text) returns text language sql stable as $$
  select coalesce((
    select s.renamed_to from purchase_watch_internal.sites s
    where s.name = present_site.site and s.unnamed_since is not null and s.renamed_to is not null), present_site.site)
$$;
comment on function purchase_watch_internal.present_site is 'The site that a name means: another one for a former name of that site, otherwise the name itself.';

create function purchase_watch_internal.site_names() returns text language sql stable as $$
  select coalesce(string_agg(name, ', ' order by name), 'none yet; start the daemon once')
  from purchase_watch_internal.sites where configured and unnamed_since is null
$$;
comment on function purchase_watch_internal.site_names is 'The names of the sites that a living replica names, for people.';

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
  new.site := purchase_watch_internal.present_site(new.site);
  if new.site is null then
    new.site := purchase_watch_internal.default_site();
    if new.site is null then
      raise exception using errcode = 'not_null_violation', message = 'site is missing, and there is no site named default',
        hint = format('Name one of the configured sites: %s.', purchase_watch_internal.site_names());
    end if;
  elsif not exists (select from purchase_watch_internal.sites where name = new.site and configured) then
    -- Common mistakes: other case, spaces around the name, a name cut short or with something behind it.
    select min(name) into known from purchase_watch_internal.sites
    where configured and (starts_with(name, lower(btrim(new.site))) or starts_with(lower(btrim(new.site)), name)) and btrim(new.site) <> '' having count(*) = 1;
    raise exception using errcode = 'foreign_key_violation', message = format('site %L is not configured', new.site),
      hint = coalesce('Did you mean ' || quote_literal(known) || '? ', '')
        || format('Configured sites: %s.', purchase_watch_internal.site_names());
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

create function purchase_watch_internal.prepare_bulk() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.due_slot := 1000000000 + new.due_slot;
  return new;
end $$;
comment on function purchase_watch_internal.prepare_bulk is 'Trigger: queues a purchase of a bulk registration behind those that are registered one by one.';
-- Triggers of one kind run in the order of their names: this one after "prepare", which fills in due_slot.
create trigger prepare_bulk before insert on purchase_watch.purchases for each row when (new.bulk)
execute function purchase_watch_internal.prepare_bulk();

-- The same texts as newIdProblem of the daemon refuses. A trigger, because a constraint would also refuse each change of a row that is there already.
create function purchase_watch_internal.id_problem(id text) returns text language sql immutable parallel safe
set search_path = pg_catalog, pg_temp as $$
  select case
    when id in ('.', '..') then 'is . or .., which no web address can hold'
    when id ~ '[\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'
      then 'holds a character that cannot be seen'
    when id ~* '^purchase[ _-]?id$' then 'is the title of a column'
    when id ~ '^["''\u2018-\u201f\u00ab\u00bb\u2039\u203a]|["''\u2018-\u201f\u00ab\u00bb\u2039\u203a]$' then 'begins or ends with a quotation mark'
    when id ~ '[,;|]' then 'holds a separator of columns (, ; or |)'
    when id ~* '^-?[0-9]([.,][0-9]+)?E\+[0-9]+$' then 'is a number that a spreadsheet rounded'
    when id ~ '^#([A-Z\u00c0-\u00de\u0400-\u042f0-9/]+[!?]|[A-Z\u0400-\u042f]+/[A-Z\u0400-\u042f]+|NV|#+)$' then 'is what a spreadsheet shows in the place of a value'
  end
$$;
comment on function purchase_watch_internal.id_problem is 'Why this text is no Purchase ID that a checkout service gives; null when it may be one.';

create function purchase_watch_internal.refuse_odd_id() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  problem constant text := purchase_watch_internal.id_problem(new.purchase_id);
begin
  if problem is not null then
    raise exception using errcode = 'check_violation', message = format('purchase_id %L %s', new.purchase_id, problem),
      hint = 'Insert the Purchase ID that the checkout service gave when the purchase was negotiated.';
  end if;
  return new;
end $$;
comment on function purchase_watch_internal.refuse_odd_id is 'Trigger: refuses texts that are no Purchase ID, as the other doors do.';
-- Hexadecimal ids, which most services give, need no look.
create trigger refuse_odd_id before insert on purchase_watch.purchases for each row when (new.purchase_id !~ '^[0-9a-f-]+$')
execute function purchase_watch_internal.refuse_odd_id();

create function purchase_watch_internal.watch_again(purchase_ids text[], sites text[], is_bulk boolean default false)
returns table (purchase_id text, site text) language sql security definer set search_path = pg_catalog, pg_temp as $$
  with renewed as (
    update purchase_watch.purchases p set status = 'watching', watched_since = now(), next_poll_at = now(), next_poll_reason = 'renewed', ended_at = null,
      due_slot = case when is_bulk then purchase_watch_internal.bulk_slot(now()) else purchase_watch_internal.due_slot(now()) end,
      bulk = case when is_bulk then true end, revision = p.revision + 1, failures = 0, unknowns = 0
    from unnest(purchase_ids, sites) as r (purchase_id, site)
    where p.site = coalesce(purchase_watch_internal.present_site(r.site), purchase_watch_internal.default_site()) and p.purchase_id = r.purchase_id and p.status in ('stopped', 'expired')
    returning p.id, p.shard, p.purchase_id, p.site, p.due_slot),
  nudged as (
    insert into purchase_watch_internal.nudges (purchase, shard, site, slot)
    select id, shard, null, null from renewed where not is_bulk
    union all
    (select distinct on (w.site, w.shard) w.id, w.shard, w.site, w.due_slot from renewed w where is_bulk order by w.site, w.shard, w.id)),
  woken as materialized (select pg_notify('purchase_watch_wake', 'purchases') from renewed limit 1)
  select r.purchase_id, r.site from renewed r, woken
$$;
comment on function purchase_watch_internal.watch_again is 'Of these purchases, watches those again that were stopped or had expired, has them polled at once, in bulk after those of others, and answers which. For watch() and the daemon.';

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
-- A statement of a shop with more than 50 rows is a bulk registration. Rows with a time of their own for the first poll are queued at
-- that time. The rows are found by an array, for which the planner chooses the primary key at any size.
create function purchase_watch_internal.nudge_registered() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  is_bulk boolean := (select count(*) > 50 from registered where bulk is null and next_poll_at = registered_at);
begin
  if is_bulk then
    update purchase_watch.purchases p set bulk = true, due_slot = purchase_watch_internal.bulk_slot(p.next_poll_at)
    where p.id = any (array(select r.id from registered r where r.bulk is null and r.next_poll_at = r.registered_at));
  end if;
  insert into purchase_watch_internal.nudges (purchase, shard, site, slot)
  select id, shard, null, null from registered r where r.due_slot is not null and r.bulk is null and not (is_bulk and r.next_poll_at = r.registered_at)
  union all
  (select distinct on (r.site, r.shard) r.id, r.shard, r.site, purchase_watch_internal.bulk_slot(r.next_poll_at) from registered r
  where r.bulk or (is_bulk and r.next_poll_at = r.registered_at) order by r.site, r.shard, 4, r.id);
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

create table purchase_watch_internal.transition_counts (
  bucket timestamptz not null,
  count bigint not null,
  from_state integer,
  to_state integer not null,
  site text not null,
  unique nulls not distinct (site, bucket, from_state, to_state)
);
comment on table purchase_watch_internal.transition_counts is 'Changes of state by site, time and states; true together with transition_count_changes. The last 15 days are kept.';
comment on column purchase_watch_internal.transition_counts.bucket is 'The begin of the ten minutes in which a poll first showed the new state.';
comment on column purchase_watch_internal.transition_counts.count is 'How many changes, without those in transition_count_changes.';
comment on column purchase_watch_internal.transition_counts.from_state is 'The number of the state before; null for the first observation.';
comment on column purchase_watch_internal.transition_counts.to_state is 'The number of the new state.';

-- Like count_changes: a transaction that records changes only appends here, so that none waits for another.
create table purchase_watch_internal.transition_count_changes (
  bucket timestamptz not null,
  count bigint not null,
  from_state integer,
  to_state integer not null,
  site text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
comment on table purchase_watch_internal.transition_count_changes is 'What has to be added to transition_counts; folded into it every few seconds.';
comment on column purchase_watch_internal.transition_count_changes.bucket is 'The begin of the ten minutes in which a poll first showed the new state.';
comment on column purchase_watch_internal.transition_count_changes.count is 'How many changes one statement recorded.';
comment on column purchase_watch_internal.transition_count_changes.from_state is 'The number of the state before; null for the first observation.';
comment on column purchase_watch_internal.transition_count_changes.to_state is 'The number of the new state.';

create table purchase_watch_internal.activity (
  minute timestamptz not null,
  polls bigint not null default 0,
  failed_polls bigint not null default 0,
  changes bigint not null default 0,
  greatest_lag_ms bigint not null default 0,
  site text not null,
  primary key (site, minute)
);
comment on table purchase_watch_internal.activity is 'What was done in each minute, over all replicas; fifteen days are kept.';
comment on column purchase_watch_internal.activity.minute is 'The minute''s begin.';
comment on column purchase_watch_internal.activity.polls is 'Polls, failed ones too.';
comment on column purchase_watch_internal.activity.failed_polls is 'Polls without a usable answer.';
comment on column purchase_watch_internal.activity.changes is 'Changes of state.';
comment on column purchase_watch_internal.activity.greatest_lag_ms is 'The longest time in milliseconds by which a poll began after it was due.';
