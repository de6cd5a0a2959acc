-- serves: 9
-- How purchases ended, one row each, and the counts of it, for programs that read SQL.

create view purchase_watch.outcomes as
select p.purchase_id, p.site, o.hour, o.outcome, o.way as last_state, purchase_watch_internal.state_name(o.way) as last_state_name, o.was_stuck,
  o.method, o.country, o.currency, o.amount
from purchase_watch_internal.outcomes o
join purchase_watch.purchases p on p.id = o.purchase
where o.outcome is not null and p.site = any (array(select name from purchase_watch_internal.sites));
comment on view purchase_watch.outcomes is 'Purchases whose watching ended, each with how it is counted. A later poll, or another purchase of the order, may change a row.';

create view purchase_watch.outcome_hours as
select h.site, h.hour, h.outcome, h.way as last_state, purchase_watch_internal.state_name(h.way) as last_state_name, h.was_stuck,
  h.method, h.country, h.currency, h.customers as purchases, h.amount
from purchase_watch_internal.outcome_hours h
where h.customers > 0 and h.site = any (array(select name from purchase_watch_internal.sites));
comment on view purchase_watch.outcome_hours is 'How many purchases ended how, by hour: the counts of trends. Holds nothing of a person, and outlives the purchases.';

comment on column purchase_watch.outcomes.purchase_id is 'The Purchase ID that the checkout service gave.';
comment on column purchase_watch.outcome_hours.purchases is 'How many purchases ended so. Customers are those of paid, not_paid and open.';
comment on column purchase_watch.outcomes.amount is 'The stored Price; null when it is not stored or no number, or when it is counted as *.';
comment on column purchase_watch.outcome_hours.amount is 'The sum of the stored prices.';
do $comments$
declare
  meaning record;
  relation text;
begin
  foreach relation in array array['outcomes', 'outcome_hours'] loop
    for meaning in select * from (values
      ('site', 'The merchant account it belongs to.'),
      ('hour', 'The begin of the hour in which a poll first showed a final state; of purchases that were given up or stopped, the hour of that.'),
      ('outcome', 'paid; not_paid; open (given up or stopped); paid_by_another (another purchase of the order was paid) or again (the customer came again with a later purchase of the order, which ended, too).'),
      ('last_state', 'The number of the state in which it waited last; null when no poll showed one.'),
      ('last_state_name', 'The name of that state.'),
      ('was_stuck', 'Whether a poll found it stuck at some time.'),
      ('method', 'The stored field PaymentMethod; null when it is not stored, * when its site has more combinations of method, country and currency than the 64 that are counted apart.'),
      ('country', 'The stored field CountryCode, null and * as for method.'),
      ('currency', 'The stored field CurrencyCode, null and * as for method.')) as m (name, text)
    loop
      execute format('comment on column purchase_watch.%I.%I is %L', relation, meaning.name, meaning.text);
    end loop;
  end loop;
end $comments$;
