-- A transaction that has ended holds the feed up no more, whoever wrote what.

-- As in 0004, but for the transactions that are in the snapshot and in no lock. It was said of them that they have just ended
-- or are just beginning, and all counted; on a busy cluster some neighbour has always just ended. pg_xact_status tells them
-- apart: other than 'in progress' it answers only when the transaction is out of the list that snapshots are taken from, so
-- every later statement sees what it committed. See docs/decisions/0010-event-feed.md.
create or replace function purchase_watch.feed_horizon() returns xid8 language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  snapshot pg_snapshot := pg_current_snapshot();
  lowest xid8;
begin
  if pg_snapshot_xmin(snapshot) = pg_snapshot_xmax(snapshot) then return pg_snapshot_xmax(snapshot); end if;
  -- Read once: the locks that relations have and those of the transactions must come from one look.
  with held as materialized (
    select l.virtualtransaction, l.transactionid, l.locktype = 'relation' and l.relation = 'purchase_watch.events'::regclass
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.mode = 'RowExclusiveLock' as writes
    from pg_locks l where l.granted and l.locktype in ('relation', 'transactionid')),
  -- Asked last, so that those count as ended that ended while the locks were read.
  maybe_writing as materialized (
    select r.x from pg_snapshot_xip(snapshot) r (x)
    where not exists (
      select from held t where t.transactionid = r.x::xid
        and not exists (select from held w where w.writes and w.virtualtransaction = t.virtualtransaction)))
  select min(m.x) into lowest from maybe_writing m where pg_xact_status(m.x) = 'in progress';
  return coalesce(lowest, pg_snapshot_xmax(snapshot));
end $$;
