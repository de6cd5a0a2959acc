-- Purchases that are registered together with many others get their first polls after those that are registered one by one. The
-- queue keeps these first polls apart, behind all slots of other polls, so that no reading of the queue meets them before the others.

alter table purchase_watch.purchases add column bulk boolean;
comment on column purchase_watch.purchases.bulk is 'True: registered together with more than 50 others. Its first poll goes after those of purchases that were registered one by one, and later polls after those of other purchases, except while its customer is at work. Null otherwise.';
comment on column purchase_watch.purchases.due_slot is 'Where the queue finds the row: not later than the slot of next_poll_at, unless more is due than memory holds. Larger by 1000000000 until the first poll of a purchase of a bulk registration. Null: not polled any more.';

-- A bulk registration leaves one nudge for each site and shard, not one for each row: 100 000 of them would be read before the nudge of
-- a purchase that is registered a moment later.
alter table purchase_watch_internal.nudges add column site text, add column slot integer;
comment on column purchase_watch_internal.nudges.site is 'Of a bulk registration: the site. Null: the nudge is of one purchase.';
comment on column purchase_watch_internal.nudges.slot is 'Of a bulk registration: from this slot and this purchase on, the shard''s queue of first polls of bulk registrations has new rows.';

create function purchase_watch_internal.bulk_slot(at timestamptz) returns integer
language sql immutable parallel safe strict as $$ select 1000000000 + purchase_watch_internal.due_slot(at) $$;
comment on function purchase_watch_internal.bulk_slot is 'The slot of a first poll of a bulk registration.';

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

-- As before, and a statement of a shop with more than 50 rows is a bulk registration. Rows with a time of their own for the first
-- poll are queued at that time. The rows are found by an array, for which the planner chooses the primary key at any size.
create or replace function purchase_watch_internal.nudge_registered() returns trigger language plpgsql
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

drop function purchase_watch_internal.watch_again(text[], text[]);
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

select purchase_watch.set_up_roles();
