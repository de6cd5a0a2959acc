-- Why the next poll of a purchase is due when it is: recorded in the statement that sets the time, by the code that decides it.

-- The daemon has the same words (src/domain/polling/poll-reason.ts); a test compares them.
create type purchase_watch_internal.poll_reason as enum ('first', 'renewed', 'growth', 'stuck_moment', 'give_up', 'failure', 'retry_after',
  'recheck', 'invoice', 'requested', 'site_readable', 'repaired');
comment on type purchase_watch_internal.poll_reason is 'What decided the time of a purchase''s next poll.';

-- The default comes apart: rows that are there already stay null, because what planned their next poll was not recorded.
alter table purchase_watch.purchases add column next_poll_reason purchase_watch_internal.poll_reason;
alter table purchase_watch.purchases alter column next_poll_reason set default 'first';
comment on column purchase_watch.purchases.next_poll_reason is 'What decided next_poll_at. Null: not polled any more, or planned before reasons were recorded.';

create or replace function purchase_watch_internal.watch_again(purchase_ids text[], sites text[]) returns table (purchase_id text, site text) language sql
security definer set search_path = pg_catalog, pg_temp as $$
  with renewed as (
    update purchase_watch.purchases p set status = 'watching', watched_since = now(), next_poll_at = now(), next_poll_reason = 'renewed', ended_at = null,
      due_slot = purchase_watch_internal.due_slot(now()), revision = p.revision + 1, failures = 0, unknowns = 0
    from unnest(purchase_ids, sites) as r (purchase_id, site)
    where p.site = coalesce(r.site, purchase_watch_internal.default_site()) and p.purchase_id = r.purchase_id and p.status in ('stopped', 'expired')
    returning p.id, p.shard, p.purchase_id, p.site),
  nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from renewed),
  woken as materialized (select pg_notify('purchase_watch_wake', 'purchases') from renewed limit 1)
  select r.purchase_id, r.site from renewed r, woken
$$;

create or replace view purchase_watch.current_purchases as
select p.purchase_id, p.site, p.status, p.state, purchase_watch_internal.state_name(p.state) as state_name, p.state_since, p.stuck_since,
  p.registered_at, p.registered_by, p.last_polled_at, p.next_poll_at, p.ended_at, p.polls, p.failures, p.last_error,
  p.reference, p.metadata, purchase_watch_internal.stored_number(d.fields, 'Price') as price,
  purchase_watch_internal.stored_text(d.fields, 'CurrencyCode') as currency,
  purchase_watch_internal.stored_text(d.fields, 'OrderReference') as order_reference, d.fields as details,
  p.next_poll_reason::text as next_poll_reason
from purchase_watch.purchases p left join purchase_watch_internal.purchase_details d on d.purchase = p.id
where p.site = any (array(select name from purchase_watch_internal.sites));
comment on column purchase_watch.current_purchases.next_poll_reason is 'Why it is polled then: first, renewed (registered again), growth (the plan of its state), stuck_moment (its limit ends), give_up (the last look), failure (the wait after failed polls), retry_after (the service asked for that wait), recheck (of a final state), invoice, requested (by hand), site_readable (its site can be read again) or repaired. Null when it is not polled any more, or when the poll was planned before reasons were recorded.';
