-- serves: 9
-- How purchases stood every ten minutes, for the pages about the past.

create table purchase_watch_internal.snapshots (
  at timestamptz not null,
  came bigint not null,
  watching bigint not null,
  stuck bigint not null,
  site text,
  states text not null,
  unique nulls not distinct (site, at)
);
comment on table purchase_watch_internal.snapshots is 'How the watched purchases of each site, and of all together, stood every ten minutes. Counts alone; the last 15 days are kept.';
comment on column purchase_watch_internal.snapshots.at is 'The moment, a whole ten minutes; upkeep counted up to two minutes later.';
comment on column purchase_watch_internal.snapshots.came is 'First observations in the ten minutes before.';
comment on column purchase_watch_internal.snapshots.watching is 'Purchases that were watched.';
comment on column purchase_watch_internal.snapshots.stuck is 'How many of them were stuck.';
comment on column purchase_watch_internal.snapshots.site is 'Null: all sites together.';
comment on column purchase_watch_internal.snapshots.states is 'JSON text: for each state with watched purchases their number, how many were stuck, how long they had waited, and the usual time and the limit of then.';
