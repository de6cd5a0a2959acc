-- serves: 25

-- One row for each stay of a purchase in a state, for questions about how long customers wait where.
create view purchase_watch.stays as
select p.purchase_id, p.site, f.sequence, f.to_state as state, purchase_watch_internal.state_name(f.to_state) as state_name,
  f.not_after as entered_at, t.not_after as left_at, t.to_state, purchase_watch_internal.state_name(t.to_state) as to_name,
  extract(epoch from t.not_after - f.not_after)::float8 as seconds,
  (select e.created_at from purchase_watch_internal.events e
   where e.purchase = f.purchase and e.sequence > f.sequence and e.sequence < coalesce(t.sequence, 2147483647) and e.type = 'purchase.stuck'
   order by e.sequence limit 1) as stuck_at,
  t.sequence is null and p.status = 'watching' as is_waiting
from purchase_watch_internal.purchase_transitions f
join purchase_watch.purchases p on p.id = f.purchase
left join purchase_watch_internal.purchase_transitions t on t.purchase = f.purchase and t.from_sequence = f.sequence
where p.site = any (array(select name from purchase_watch_internal.sites));

comment on view purchase_watch.stays is 'Stays of purchases in their states, each once: the ended ones, and the one in which each purchase is now.';
comment on column purchase_watch.stays.purchase_id is 'The Purchase ID that the checkout service gave.';
comment on column purchase_watch.stays.site is 'The merchant account it belongs to.';
comment on column purchase_watch.stays.sequence is 'The sequence of the event that announced the state: with purchase_id and site it names the stay.';
comment on column purchase_watch.stays.state is 'The number of the state.';
comment on column purchase_watch.stays.state_name is 'The name of the state.';
comment on column purchase_watch.stays.entered_at is 'When a poll first showed the state.';
comment on column purchase_watch.stays.left_at is 'When a poll first showed the state after it; null in the last state that is known.';
comment on column purchase_watch.stays.to_state is 'The number of the state after it.';
comment on column purchase_watch.stays.to_name is 'The name of the state after it.';
comment on column purchase_watch.stays.seconds is 'From entered_at to left_at.';
comment on column purchase_watch.stays.stuck_at is 'When the purchase was called stuck in this state; null when it never was.';
comment on column purchase_watch.stays.is_waiting is 'Whether the purchase is in this state now and is watched.';
