-- Daemons read here which purchases to drop from memory: a notification may come from any login, so it is no proof.

alter table purchase_watch.forgotten
  add column id bigint generated always as identity primary key,
  add column purchase bigint;
comment on column purchase_watch.forgotten.id is 'In the order of the erasures.';
comment on column purchase_watch.forgotten.purchase is 'The row''s own number, which says nothing about the purchase and is never used again; null where an older version erased it.';
