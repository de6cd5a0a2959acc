-- Counts that cost nothing to read, lists that never scan, and when a purchase's watching ended.

alter table purchase_watch.purchases
  add column ended_at timestamptz,
  add column registered_by text check (length(registered_by) between 1 and 200);
comment on column purchase_watch.purchases.ended_at is 'When the watching ended (settled, expired or stopped); retention counts from here.';
comment on column purchase_watch.purchases.registered_by is 'api, cli, or sql: and the role that inserted it.';
update purchase_watch.purchases set ended_at = coalesce(state_since, registered_at) where status in ('settled', 'expired', 'stopped');
create index purchases_ended on purchase_watch.purchases (ended_at) where ended_at is not null;

-- Lists: every filter is a union of these groups, and within each the rows lie in the order of the list, newest first.
-- A state of null stands as the lowest integer, for an index finds no "is not distinct from". The id is negative so that
-- no other index offers the order: the planner would walk the primary key through a million rows to find a rare group.
drop index purchase_watch.purchases_state;
create index purchases_listed on purchase_watch.purchases
  (status, coalesce(state, -2147483648), (stuck_since is not null), (-id));
create index purchases_listed_by_site on purchase_watch.purchases
  (site, status, coalesce(state, -2147483648), (stuck_since is not null), (-id));
-- The oldest of each state.
create index purchases_oldest on purchase_watch.purchases (site, state, state_since) where status = 'watching' and state is not null;

-- Counts --------------------------------------------------------------------------------------------------------------

create table purchase_watch.purchase_counts (
  count bigint not null,
  state integer,
  stuck boolean not null,
  status text not null,
  site text not null,
  unique nulls not distinct (site, status, state, stuck)
);
comment on table purchase_watch.purchase_counts is 'Purchases by site, status and state; true together with count_changes.';

-- Whoever changes a purchase only appends here: a counter that every transaction updates would make them wait for each other.
create table purchase_watch.count_changes (
  change bigint not null,
  state integer,
  stuck boolean not null,
  status text not null,
  site text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
comment on table purchase_watch.count_changes is 'What has to be added to purchase_counts; folded into it every few seconds.';

insert into purchase_watch.purchase_counts (count, state, stuck, status, site)
select count(*), state, stuck_since is not null, status, site from purchase_watch.purchases group by 2, 3, 4, 5;

create view purchase_watch.purchase_totals as
select site, status, state, stuck, sum(n)::bigint as count
from (select site, status, state, stuck, count as n from purchase_watch.purchase_counts
      union all select site, status, state, stuck, change from purchase_watch.count_changes) c
group by site, status, state, stuck having sum(n) <> 0;
comment on view purchase_watch.purchase_totals is 'How many purchases there are, by site, status, state, and whether they are stuck. Reads counters, never the purchases.';

create or replace function purchase_watch.nudge_registered() returns trigger language plpgsql
-- Runs with the owner's rights, so that whoever may register needs no rights on these tables.
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch.nudges (purchase, shard) select id, shard from registered where due_slot is not null;
  if found then perform pg_notify('purchase_watch_wake', 'purchases'); end if;
  insert into purchase_watch.count_changes (change, state, stuck, status, site)
  select count(*), state, stuck_since is not null, status, site from registered group by 2, 3, 4, 5;
  return null;
end $$;

create function purchase_watch.count_moved() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch.count_changes (change, state, stuck, status, site)
  values (-1, old.state, old.stuck_since is not null, old.status, old.site), (1, new.state, new.stuck_since is not null, new.status, new.site);
  return null;
end $$;
-- The condition is what makes it free for a poll that changed nothing.
create trigger count_moved after update on purchase_watch.purchases for each row
when (old.state is distinct from new.state or old.status <> new.status or (old.stuck_since is null) <> (new.stuck_since is null) or old.site <> new.site)
execute function purchase_watch.count_moved();

create function purchase_watch.count_removed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch.count_changes (change, state, stuck, status, site)
  select -count(*), state, stuck_since is not null, status, site from removed group by 2, 3, 4, 5;
  return null;
end $$;
create trigger count_removed after delete on purchase_watch.purchases
referencing old table as removed for each statement execute function purchase_watch.count_removed();

create function purchase_watch.count_none() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from purchase_watch.purchase_counts;
  delete from purchase_watch.count_changes;
  return null;
end $$;
create trigger count_none after truncate on purchase_watch.purchases for each statement execute function purchase_watch.count_none();

-- Rates ---------------------------------------------------------------------------------------------------------------

create table purchase_watch.activity (
  minute timestamptz not null,
  polls bigint not null default 0,
  failed_polls bigint not null default 0,
  changes bigint not null default 0,
  site text not null,
  primary key (site, minute)
);
comment on table purchase_watch.activity is 'What was done in each minute, over all replicas; the last day is kept.';

insert into purchase_watch.leases (name) values ('keeper') on conflict do nothing;
