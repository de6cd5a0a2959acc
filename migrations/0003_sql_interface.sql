-- What people and programs touch with SQL: views with comments, roles with minimal rights, errors that help.

-- The name belongs to the view that shows purchases by their own id.
alter table purchase_watch.transitions rename to purchase_transitions;

-- As before, and clears when the watching ended.
create or replace function purchase_watch.watch_again(purchase_ids text[], sites text[]) returns void language sql
security definer set search_path = pg_catalog, pg_temp as $$
  with renewed as (
    update purchase_watch.purchases p set status = 'watching', watched_since = now(), next_poll_at = now(), ended_at = null,
      due_slot = purchase_watch.due_slot(now()), revision = p.revision + 1, failures = 0, unknowns = 0
    from unnest(purchase_ids, sites) as r (purchase_id, site)
    where p.site = coalesce(r.site, purchase_watch.default_site()) and p.purchase_id = r.purchase_id and p.status in ('stopped', 'expired')
    returning p.id, p.shard),
  nudged as (insert into purchase_watch.nudges (purchase, shard) select id, shard from renewed)
  select pg_notify('purchase_watch_wake', 'purchases') from renewed limit 1
$$;
