-- serves: 9
-- Sums of the counts of ends, so that ninety days are read in milliseconds.

create table purchase_watch_internal.outcome_hour_sums (
  hour timestamptz not null,
  customers bigint not null,
  gone bigint not null,
  outcome text not null,
  site text not null,
  primary key (site, hour, outcome)
);
comment on table purchase_watch_internal.outcome_hour_sums is 'outcome_hours added up by site, hour and outcome. Triggers of outcome_hours alone change rows.';
comment on column purchase_watch_internal.outcome_hour_sums.hour is 'As in outcome_hours.';
comment on column purchase_watch_internal.outcome_hour_sums.customers is 'As in outcome_hours.';
comment on column purchase_watch_internal.outcome_hour_sums.gone is 'As in outcome_hours.';
comment on column purchase_watch_internal.outcome_hour_sums.outcome is 'As in outcome_hours.';

create table purchase_watch_internal.outcome_day_sums (
  day timestamptz not null,
  customers bigint not null,
  gone bigint not null,
  amount numeric not null,
  way integer,
  was_stuck boolean not null,
  outcome text not null,
  site text not null,
  currency text,
  unique nulls not distinct (site, day, way, was_stuck, outcome, currency)
);
comment on table purchase_watch_internal.outcome_day_sums is 'outcome_hours added up by days of UTC, without method and country. Triggers of outcome_hours alone change rows.';
comment on column purchase_watch_internal.outcome_day_sums.day is 'The begin of the day in UTC.';
comment on column purchase_watch_internal.outcome_day_sums.customers is 'As in outcome_hours.';
comment on column purchase_watch_internal.outcome_day_sums.gone is 'As in outcome_hours.';
comment on column purchase_watch_internal.outcome_day_sums.amount is 'As in outcome_hours.';
comment on column purchase_watch_internal.outcome_day_sums.way is 'As in outcome_hours.';
comment on column purchase_watch_internal.outcome_day_sums.was_stuck is 'As in outcome_hours.';
comment on column purchase_watch_internal.outcome_day_sums.outcome is 'As in outcome_hours.';
comment on column purchase_watch_internal.outcome_day_sums.currency is 'As in outcome_hours.';

create function purchase_watch_internal.sum_outcomes() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  added text := case when tg_op <> 'DELETE' then 'select 1 as sign, * from added' end;
  removed text := case when tg_op <> 'INSERT' then 'select -1 as sign, * from removed' end;
  changed text := concat_ws(' union all ', added, removed);
begin
  -- All statements use one order, so that two never wait for each other.
  execute format($sum$
    with changed as materialized (%s),
    by_hour as (
      insert into purchase_watch_internal.outcome_hour_sums as s (site, hour, outcome, customers, gone)
      select site, hour, outcome, sum(sign * customers), sum(sign * gone) from changed group by 1, 2, 3
      having sum(sign * customers) <> 0 or sum(sign * gone) <> 0 order by 1, 2, 3
      on conflict (site, hour, outcome) do update set customers = s.customers + excluded.customers, gone = s.gone + excluded.gone)
    insert into purchase_watch_internal.outcome_day_sums as s (site, day, way, was_stuck, outcome, currency, customers, gone, amount)
    select site, date_bin('1 day', hour, 'epoch'), way, was_stuck, outcome, currency, sum(sign * customers), sum(sign * gone), sum(sign * amount)
    from changed group by 1, 2, 3, 4, 5, 6
    having sum(sign * customers) <> 0 or sum(sign * gone) <> 0 or sum(sign * amount) <> 0 order by 1, 2, 3, 4, 5, 6
    on conflict (site, day, way, was_stuck, outcome, currency) do update set
      customers = s.customers + excluded.customers, gone = s.gone + excluded.gone, amount = s.amount + excluded.amount $sum$, changed);
  if tg_op = 'DELETE' then
    delete from purchase_watch_internal.outcome_hour_sums s using (select distinct site, hour from removed) r
    where s.site = r.site and s.hour = r.hour and s.customers = 0;
    delete from purchase_watch_internal.outcome_day_sums s using (select distinct site, date_bin('1 day', hour, 'epoch') as day from removed) r
    where s.site = r.site and s.day = r.day and s.customers = 0;
  end if;
  return null;
end $$;
comment on function purchase_watch_internal.sum_outcomes is 'Trigger: keeps outcome_hour_sums and outcome_day_sums equal to the sums of outcome_hours.';
create trigger sum_added after insert on purchase_watch_internal.outcome_hours
referencing new table as added for each statement execute function purchase_watch_internal.sum_outcomes();
create trigger sum_changed after update on purchase_watch_internal.outcome_hours
referencing old table as removed new table as added for each statement execute function purchase_watch_internal.sum_outcomes();
create trigger sum_removed after delete on purchase_watch_internal.outcome_hours
referencing old table as removed for each statement execute function purchase_watch_internal.sum_outcomes();

create function purchase_watch_internal.empty_outcome_sums() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from purchase_watch_internal.outcome_hour_sums;
  delete from purchase_watch_internal.outcome_day_sums;
  return null;
end $$;
comment on function purchase_watch_internal.empty_outcome_sums is 'Trigger: empties the sums when outcome_hours is emptied.';
create trigger sum_emptied after truncate on purchase_watch_internal.outcome_hours
for each statement execute function purchase_watch_internal.empty_outcome_sums();

-- The triggers lock outcome_hours, so nothing is counted between them and these.
insert into purchase_watch_internal.outcome_hour_sums (site, hour, outcome, customers, gone)
select site, hour, outcome, sum(customers), sum(gone) from purchase_watch_internal.outcome_hours group by 1, 2, 3
having sum(customers) <> 0 or sum(gone) <> 0;
insert into purchase_watch_internal.outcome_day_sums (site, day, way, was_stuck, outcome, currency, customers, gone, amount)
select site, date_bin('1 day', hour, 'epoch'), way, was_stuck, outcome, currency, sum(customers), sum(gone), sum(amount)
from purchase_watch_internal.outcome_hours group by 1, 2, 3, 4, 5, 6
having sum(customers) <> 0 or sum(gone) <> 0 or sum(amount) <> 0;
