-- Orders that were paid twice. A purchase that becomes Completed leaves a row here; the judge reads the row, counts it, and keeps
-- it only if an event named the purchase, so the table stays small.
create table purchase_watch_internal.order_payments (
  purchase bigint primary key references purchase_watch.purchases on delete cascade,
  paid_at timestamptz not null,
  announced_at timestamptz
);
create index order_payments_new on purchase_watch_internal.order_payments (paid_at, purchase) where announced_at is null;
comment on table purchase_watch_internal.order_payments is 'Purchases that became Completed and are not judged yet, and those that an event order.paid_twice named: each is named for the first time once.';
comment on column purchase_watch_internal.order_payments.paid_at is 'When a poll first showed that the purchase is completed.';
comment on column purchase_watch_internal.order_payments.announced_at is 'When an event order.paid_twice named the purchase; null while the judge has not looked at it.';

create table purchase_watch_internal.order_counts (
  site text primary key references purchase_watch_internal.sites,
  paid integer not null,
  repeated integer not null,
  check (repeated between 0 and paid)
);
comment on table purchase_watch_internal.order_counts is 'How often purchases of a site are of an order that was paid before: at a site that reuses references by design that is no news. Both counts are halved now and then, so that they follow a change of habit.';
comment on column purchase_watch_internal.order_counts.paid is 'Completed purchases whose order is known.';
comment on column purchase_watch_internal.order_counts.repeated is 'Those of them whose order had a completed purchase already.';
