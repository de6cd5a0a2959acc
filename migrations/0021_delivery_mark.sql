-- A database that went back, as in a failover to a standby that lacked the last seconds, hands ids out again: of deliveries and of
-- the positions of their events. A daemon that sent a delivery which the database lost must not settle the one that was given its
-- id. The column and its default in two steps: together they would rewrite the table.
alter table purchase_watch_internal.deliveries add column mark integer;
alter table purchase_watch_internal.deliveries alter column mark set default floor(random() * 4294967296 - 2147483648)::integer;
comment on column purchase_watch_internal.deliveries.mark is 'A random number by which the delivery differs from one that had its id before: a database that went back hands ids out again. Null in rows that are older than the column.';
