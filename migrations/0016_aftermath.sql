-- serves: 9
-- Who was in each incident of stuck purchases, and how many of those who came to its states paid.

create table purchase_watch_internal.incident_members (
  id bigint generated always as identity primary key,
  purchase bigint references purchase_watch.purchases on delete set null,
  customer bigint not null,
  came timestamptz not null,
  stuck_at timestamptz not null,
  ended_at timestamptz,
  amount numeric,
  state integer not null,
  site text not null,
  incident text,
  outcome text check (outcome in ('paid', 'paid_by_another', 'not_paid', 'open')),
  currency text
);
create index incident_members_of_incident on purchase_watch_internal.incident_members (incident, customer);
create index incident_members_of_purchase on purchase_watch_internal.incident_members (purchase);
create index incident_members_waiting on purchase_watch_internal.incident_members (site, state, stuck_at) where incident is null;
comment on table purchase_watch_internal.incident_members is 'Stays that a poll found stuck, each with the incident that it was a part of. Of a deleted purchase a row keeps the end and the amount, and nothing that names the purchase or the customer.';
comment on column purchase_watch_internal.incident_members.purchase is 'The purchase; null: the purchase was deleted since.';
comment on column purchase_watch_internal.incident_members.customer is 'The same in all rows of one customer in an incident: a hash of the order, as in stays; once a purchase was deleted, the id of a row, less than zero.';
comment on column purchase_watch_internal.incident_members.came is 'When a poll first showed the state.';
comment on column purchase_watch_internal.incident_members.stuck_at is 'When a poll found the purchase stuck there.';
comment on column purchase_watch_internal.incident_members.state is 'The state that the purchase was stuck in.';
comment on column purchase_watch_internal.incident_members.incident is 'The incident of this state of this site; null: the purchase was found stuck while none was open, or none yet.';
comment on column purchase_watch_internal.incident_members.ended_at is 'Of a deleted purchase: when its watching ended.';
comment on column purchase_watch_internal.incident_members.amount is 'Of a deleted purchase: the stored Price.';
comment on column purchase_watch_internal.incident_members.currency is 'Of a deleted purchase: the stored CurrencyCode.';
comment on column purchase_watch_internal.incident_members.outcome is 'Of a deleted purchase: how the purchase ended, as far as that was known. Otherwise null: the purchase says it.';

create function purchase_watch_internal.note_member() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch_internal.incident_members (purchase, customer, came, stuck_at, state, site)
  values (new.purchase, new.customer, new.entered_at, new.at, new.state, new.site);
  return null;
end $$;
comment on function purchase_watch_internal.note_member is 'Trigger: keeps a stay that was found stuck; stays themselves are deleted within seconds.';
create trigger note_member after insert on purchase_watch_internal.stays for each row
when (new.outcome = 'overdue' and new.purchase is not null) execute function purchase_watch_internal.note_member();

create function purchase_watch_internal.unname_members() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  update purchase_watch_internal.incident_members m set customer = -f.first
  from (
    select o.incident, o.customer, min(o.id) as first
    from purchase_watch_internal.incident_members own
    join purchase_watch_internal.incident_members o on o.incident = own.incident and o.customer = own.customer
    where own.purchase = old.id group by 1, 2) f
  where m.incident = f.incident and m.customer = f.customer;
  update purchase_watch_internal.incident_members m
  set purchase = null, customer = case when incident is null then -id else customer end, ended_at = old.ended_at,
    outcome = coalesce((
      select case o.outcome when 'again' then 'not_paid' else o.outcome end
      from purchase_watch_internal.outcomes o where o.purchase = old.id), case
      -- Deleted while watched: its order may have been paid meanwhile.
      when exists (
        select from purchase_watch.purchases o where o.reference = old.reference and o.site = old.site and o.id <> old.id
          and o.state = 2 and o.state_since > old.registered_at - interval '1 day')
      or exists (
        select from purchase_watch_internal.purchase_details own
        join purchase_watch_internal.purchase_details d on purchase_watch_internal.order_key(d.fields) = purchase_watch_internal.order_key(own.fields)
        join purchase_watch.purchases o on o.id = d.purchase
        where own.purchase = old.id and o.site = old.site and o.id <> old.id
          and o.state = 2 and o.state_since > old.registered_at - interval '1 day')
      then 'paid_by_another' else 'open' end),
    amount = (
      select purchase_watch_internal.stored_number(d.fields, 'Price')
      from purchase_watch_internal.purchase_details d where d.purchase = old.id),
    currency = (
      select left(nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'CurrencyCode')), ''), 20)
      from purchase_watch_internal.purchase_details d where d.purchase = old.id)
  where purchase = old.id;
  return old;
end $$;
comment on function purchase_watch_internal.unname_members is 'Trigger: before a purchase is deleted, keeps how it ended in the incidents that it was in, without naming it.';
create trigger unname_members before delete on purchase_watch.purchases for each row
execute function purchase_watch_internal.unname_members();

create table purchase_watch_internal.aftermaths (
  incident text primary key,
  counted_at timestamptz not null,
  counts text not null
);
comment on table purchase_watch_internal.aftermaths is 'For each ended incident of stuck purchases, how many came to its states and paid, beside the days before; counted again for a week. Holds nothing of a person.';
comment on column purchase_watch_internal.aftermaths.incident is 'The id of the incident.';
comment on column purchase_watch_internal.aftermaths.counted_at is 'Up to when it was counted.';
comment on column purchase_watch_internal.aftermaths.counts is 'JSON text that upkeep writes: the counts that the loss is reckoned from.';
