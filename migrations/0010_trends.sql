-- serves: 9
-- How purchases ended, of each and counted by hour, and attempts of deliveries by hour.

create table purchase_watch_internal.outcomes (
  purchase bigint primary key references purchase_watch.purchases on delete cascade,
  hour timestamptz not null,
  amount numeric,
  way integer,
  waited smallint,
  was_stuck boolean not null,
  outcome text check (outcome in ('paid', 'paid_by_another', 'again', 'not_paid', 'open')),
  site text not null,
  method text,
  country text,
  currency text
);
comment on table purchase_watch_internal.outcomes is 'How each purchase whose watching ended is counted in outcome_hours and waited_hours. Folding alone changes rows.';
comment on column purchase_watch_internal.outcomes.hour is 'The begin of the hour in which a poll first showed a final state; of purchases that were given up or stopped, the hour of that.';
comment on column purchase_watch_internal.outcomes.amount is 'The stored Price; null when it is not stored or no number.';
comment on column purchase_watch_internal.outcomes.way is 'The state in which the purchase waited last; null when no poll showed one.';
comment on column purchase_watch_internal.outcomes.waited is 'How long it was seen in that state, as a bucket of src/domain/stays/dwell.ts; null when no final state followed.';
comment on column purchase_watch_internal.outcomes.was_stuck is 'A poll found the purchase stuck at some time.';
comment on column purchase_watch_internal.outcomes.outcome is 'paid; paid_by_another: another purchase of the order was paid; again: the customer came again with a later purchase of the order, which ended, too; not_paid; open: given up or stopped. Null: the purchase is watched again, and not counted.';
comment on column purchase_watch_internal.outcomes.method is 'The stored PaymentMethod; null when it is not stored, * when the site has more slices than are kept apart.';
comment on column purchase_watch_internal.outcomes.country is 'The stored CountryCode, as method.';
comment on column purchase_watch_internal.outcomes.currency is 'The stored CurrencyCode, as method.';

create table purchase_watch_internal.outcome_slices (
  site text not null,
  method text,
  country text,
  currency text,
  unique nulls not distinct (site, method, country, currency)
);
comment on table purchase_watch_internal.outcome_slices is 'The slices of each site that are kept apart, the first 64 that came; all others are counted together as *.';
comment on column purchase_watch_internal.outcome_slices.method is 'As in outcomes.';
comment on column purchase_watch_internal.outcome_slices.country is 'As in outcomes.';
comment on column purchase_watch_internal.outcome_slices.currency is 'As in outcomes.';

create table purchase_watch_internal.outcome_hours (
  hour timestamptz not null,
  customers bigint not null,
  gone bigint not null default 0,
  amount numeric not null,
  way integer,
  was_stuck boolean not null,
  outcome text not null,
  site text not null,
  method text,
  country text,
  currency text,
  unique nulls not distinct (site, hour, way, was_stuck, outcome, method, country, currency)
);
comment on table purchase_watch_internal.outcome_hours is 'How many purchases ended how, by hour. Holds nothing of a person, and outlives the purchases.';
comment on column purchase_watch_internal.outcome_hours.hour is 'As in outcomes.';
comment on column purchase_watch_internal.outcome_hours.way is 'As in outcomes.';
comment on column purchase_watch_internal.outcome_hours.was_stuck is 'As in outcomes.';
comment on column purchase_watch_internal.outcome_hours.outcome is 'As in outcomes.';
comment on column purchase_watch_internal.outcome_hours.method is 'As in outcomes.';
comment on column purchase_watch_internal.outcome_hours.country is 'As in outcomes.';
comment on column purchase_watch_internal.outcome_hours.currency is 'As in outcomes.';
comment on column purchase_watch_internal.outcome_hours.customers is 'How many purchases, those deleted since too.';
comment on column purchase_watch_internal.outcome_hours.gone is 'How many of them were deleted since.';
comment on column purchase_watch_internal.outcome_hours.amount is 'The sum of their stored amounts.';

create table purchase_watch_internal.waited_hours (
  hour timestamptz not null,
  customers bigint not null,
  way integer not null,
  bucket smallint not null,
  site text not null,
  primary key (site, hour, way, bucket)
);
comment on table purchase_watch_internal.waited_hours is 'How long purchases that reached a final state had waited in the state before, by the hour of outcome_hours.';
comment on column purchase_watch_internal.waited_hours.hour is 'As in outcomes.';
comment on column purchase_watch_internal.waited_hours.way is 'As in outcomes.';
comment on column purchase_watch_internal.waited_hours.customers is 'How many purchases.';
comment on column purchase_watch_internal.waited_hours.bucket is 'The bucket of src/domain/stays/dwell.ts.';

-- Like count_changes: a transaction that ends a purchase only appends here.
create table purchase_watch_internal.outcome_changes (
  purchase bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
comment on table purchase_watch_internal.outcome_changes is 'Purchases whose outcome has to be looked at again; folded into the counts every few seconds.';

create table purchase_watch_internal.outcomes_gone (
  hour timestamptz not null,
  way integer,
  was_stuck boolean not null,
  outcome text not null,
  site text not null,
  method text,
  country text,
  currency text
);
comment on table purchase_watch_internal.outcomes_gone is 'Counted purchases that were deleted, until the counts of the deleted are folded.';
comment on column purchase_watch_internal.outcomes_gone.hour is 'As in outcomes.';
comment on column purchase_watch_internal.outcomes_gone.way is 'As in outcomes.';
comment on column purchase_watch_internal.outcomes_gone.was_stuck is 'As in outcomes.';
comment on column purchase_watch_internal.outcomes_gone.outcome is 'As in outcomes.';
comment on column purchase_watch_internal.outcomes_gone.method is 'As in outcomes.';
comment on column purchase_watch_internal.outcomes_gone.country is 'As in outcomes.';
comment on column purchase_watch_internal.outcomes_gone.currency is 'As in outcomes.';

create table purchase_watch_internal.outcome_folds (
  only_row boolean primary key default true check (only_row),
  number bigint not null,
  filled_to bigint
) with (fillfactor = 50);
insert into purchase_watch_internal.outcome_folds (number, filled_to) values (0, 0);
comment on table purchase_watch_internal.outcome_folds is 'How often outcomes were folded. Two foldings never begin from the same number, so none counts a purchase that another one counts.';
comment on column purchase_watch_internal.outcome_folds.number is 'Raised with each folding.';
comment on column purchase_watch_internal.outcome_folds.filled_to is 'Up to which row of purchases upkeep has looked for purchases that ended before this version; null: no more are to be looked at.';
comment on column purchase_watch_internal.outcome_folds.only_row is 'Keeps the table at one row.';

create function purchase_watch_internal.note_outcome() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch_internal.outcome_changes (purchase) values (new.id);
  return null;
end $$;
comment on function purchase_watch_internal.note_outcome is 'Trigger: has the outcome of a purchase counted, or counted otherwise.';
create trigger note_outcome after update on purchase_watch.purchases for each row
when ((old.status <> new.status and (old.status not in ('watching', 'unreadable') or new.status not in ('watching', 'unreadable')))
  or (new.status not in ('watching', 'unreadable') and (old.state is distinct from new.state or old.sequence <> new.sequence)))
execute function purchase_watch_internal.note_outcome();

create function purchase_watch_internal.note_outcome_details() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch_internal.outcome_changes (purchase)
  select o.purchase from purchase_watch_internal.outcomes o where o.purchase = new.purchase;
  return null;
end $$;
comment on function purchase_watch_internal.note_outcome_details is 'Trigger: has a counted purchase counted again when its stored fields change.';
create trigger note_outcome after update on purchase_watch_internal.purchase_details for each row
execute function purchase_watch_internal.note_outcome_details();

create function purchase_watch_internal.note_outcomes_gone() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch_internal.outcomes_gone (hour, way, was_stuck, outcome, site, method, country, currency)
  select hour, way, was_stuck, outcome, site, method, country, currency from removed where outcome is not null;
  return null;
end $$;
comment on function purchase_watch_internal.note_outcomes_gone is 'Trigger: has counted purchases counted as deleted.';
create trigger note_gone after delete on purchase_watch_internal.outcomes
referencing old table as removed for each statement execute function purchase_watch_internal.note_outcomes_gone();

create function purchase_watch_internal.note_all_gone() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from purchase_watch_internal.outcomes_gone;
  update purchase_watch_internal.outcome_hours set gone = customers where gone <> customers;
  return null;
end $$;
comment on function purchase_watch_internal.note_all_gone is 'Trigger: counts all counted purchases as deleted when the table is emptied.';
create trigger note_all_gone after truncate on purchase_watch_internal.outcomes
for each statement execute function purchase_watch_internal.note_all_gone();

create table purchase_watch_internal.delivery_hours (
  hour timestamptz not null,
  attempts bigint not null,
  subscriber integer not null,
  status_class smallint not null,
  bucket smallint not null,
  delivered boolean not null,
  primary key (subscriber, hour, delivered, status_class, bucket)
);
comment on table purchase_watch_internal.delivery_hours is 'Attempts of deliveries by hour; true together with delivery_hour_changes.';
comment on column purchase_watch_internal.delivery_hours.hour is 'The begin of the hour.';
comment on column purchase_watch_internal.delivery_hours.attempts is 'How many attempts.';
comment on column purchase_watch_internal.delivery_hours.status_class is 'The first digit of the answer''s status; 0: no answer came.';
comment on column purchase_watch_internal.delivery_hours.bucket is 'How long the attempts took, in a bucket: 0 below 10 ms, and four for each doubling from there.';
comment on column purchase_watch_internal.delivery_hours.delivered is 'The receiver took the event.';

create table purchase_watch_internal.delivery_hour_changes (
  hour timestamptz not null,
  attempts bigint not null,
  subscriber integer not null,
  status_class smallint not null,
  bucket smallint not null,
  delivered boolean not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
comment on table purchase_watch_internal.delivery_hour_changes is 'What has to be added to delivery_hours; folded into it every few seconds.';
comment on column purchase_watch_internal.delivery_hour_changes.hour is 'As in delivery_hours.';
comment on column purchase_watch_internal.delivery_hour_changes.attempts is 'How many attempts one statement wrote.';
comment on column purchase_watch_internal.delivery_hour_changes.status_class is 'As in delivery_hours.';
comment on column purchase_watch_internal.delivery_hour_changes.bucket is 'As in delivery_hours.';
comment on column purchase_watch_internal.delivery_hour_changes.delivered is 'As in delivery_hours.';

create function purchase_watch_internal.took_bucket(took_ms integer) returns smallint language sql immutable parallel safe as $$
  select case when took_ms < 10 then 0 else least(1 + floor(ln(took_ms::float8 / 10) / ln(2::float8) * 4), 60) end::smallint
$$;
comment on function purchase_watch_internal.took_bucket is 'The bucket of a time in delivery_hours.';
