-- A new era of the feed needs no lock on the table of events: whoever reads that table for minutes stopped every start after a restore.

-- The era that events are written in is the answer of a function, which the planner puts into each statement as a constant (so
-- an event pays nothing for it) and which is replaced without a lock on any table: statements planned before are planned again.
-- Stable and without settings of its own, for only such a function is put in place and its replacement noticed.
do $$ begin
  execute format('create function purchase_watch.era_written() returns smallint language sql stable as %L',
    (select format('select %s::smallint', era) from purchase_watch.feed_era));
end $$;
comment on function purchase_watch.era_written is 'The era that events are written in from now on; settle_feed_era raises it.';
alter table purchase_watch.events alter column era set default purchase_watch.era_written();

alter table purchase_watch.feed_era add column written smallint, add column written_since timestamptz;
update purchase_watch.feed_era set written = era;
alter table purchase_watch.feed_era alter column written set not null;
comment on column purchase_watch.feed_era.era is 'Readers get to see events up to this era.';
comment on column purchase_watch.feed_era.written is 'Events are written in this era; ahead of the other one until all that was planned before has ended.';
comment on column purchase_watch.feed_era.written_since is 'A moment after which no transaction began that writes in an older era; null while there is no such moment.';

-- As in 0004, in steps that are committed one after the other, and with null until the last of them is done: call it again then.
-- 1. Raise the era that is written. Statements that were planned before may go on and write in the old one.
-- 2. Note a moment, which is after that commit: transactions that begin later write in the new era.
-- 3. When no transaction that began earlier holds the lock that whoever inserts into events takes, let readers see the new era.
--    Until then nothing of the new era is shown: an event that comes late in the old one would be passed.
drop function purchase_watch.settle_feed_era();
create function purchase_watch.settle_feed_era() returns smallint language plpgsql
security definer set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  here text;
  known purchase_watch.feed_era;
begin
  begin
    here := (select system_identifier::text from pg_control_system());
    here := here || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
  exception when others then null; -- Managed services forbid one or the other.
  end;
  select * into known from purchase_watch.feed_era;
  if (here is null or known.origin = here) and known.written = known.era then return known.era; end if;
  -- Daemons that start together: one settles it, the others find it settled.
  select * into known from purchase_watch.feed_era for update;
  if here is not null and known.origin is distinct from here then
    execute format('create or replace function purchase_watch.era_written() returns smallint language sql stable as %L',
      format('select %s::smallint', known.written + 1));
    update purchase_watch.feed_era set written = known.written + 1, written_since = null, origin = here;
    return null;
  end if;
  if known.written = known.era then return known.era; end if;
  if known.written_since is null then
    update purchase_watch.feed_era set written_since = clock_timestamp();
    return null;
  end if;
  -- A session of which this role may not see when its transaction began counts.
  if exists (
    select from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'relation' and l.relation = 'purchase_watch.events'::regclass and l.mode = 'RowExclusiveLock'
      and l.database = (select d.oid from pg_database d where d.datname = current_database()) and l.pid <> pg_backend_pid()
      and (a.xact_start is null or a.xact_start <= known.written_since)) then
    return null;
  end if;
  update purchase_watch.feed_era set era = known.written;
  return known.written;
end $$;
comment on function purchase_watch.settle_feed_era is 'Begins a new era of the feed when the database was moved or set back. The daemon calls it at every start, again while it answers null.';
