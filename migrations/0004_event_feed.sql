-- The feed: an order that is complete up to a horizon, and stays so when the database is moved.

-- The order of the feed is (era, xid, position). Transaction ids count on within one cluster; an event that a dump brought
-- from elsewhere carries an id of there, so what is written here afterwards belongs to a later era. A constant, because
-- every event pays for its default; settle_feed_era raises it.
alter table purchase_watch.events add column era smallint not null default 0;
comment on column purchase_watch.events.era is 'Raised when the database was moved or set back; transaction ids compare only within one era.';
comment on column purchase_watch.events.xid is 'The transaction that wrote it. The feed goes by it, because positions are handed out before the commit.';

-- One range per type: who wants only a rare type pays for that type alone.
create index events_feed on purchase_watch.events (type, era, xid, position);

create table purchase_watch.feed_era (
  one boolean primary key default true check (one),
  era smallint not null,
  -- Which cluster and which life of it the era belongs to; null before the first start.
  origin text
);
comment on table purchase_watch.feed_era is 'The era that events written now belong to.';
insert into purchase_watch.feed_era (era) values (0);

-- Begins a new era when this is another cluster than the one known (dump and restore), or another timeline of it (a backup
-- or a standby took over, and may hand out ids that the lost part had used). Answers the era. When Postgres does not tell
-- where we are, the era stays.
create function purchase_watch.settle_feed_era() returns smallint language plpgsql
-- Waiting for the lock makes every writer of events wait behind us: rather give up and say so.
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
  if here is null or known.origin = here then return known.era; end if;
  -- Daemons that start together: one settles it, the others find it settled.
  select * into known from purchase_watch.feed_era for update;
  if known.origin = here then return known.era; end if;
  update purchase_watch.feed_era set era = known.era + 1, origin = here;
  execute format('alter table purchase_watch.events alter column era set default %s', known.era + 1);
  return known.era + 1;
end $$;
comment on function purchase_watch.settle_feed_era is 'Begins a new era of the feed when the database was moved or set back. The daemon calls it at every start.';

-- Events of all transactions below the horizon are decided: a statement that begins AFTER this one sees those that were
-- committed, and no others will come. The transactions that may still write events are those that were running when the
-- snapshot was taken; but a snapshot knows every transaction of the whole cluster, and one that imports data for hours into
-- another database must not hold up the feed. So of the running ones only those count that hold a lock for writing on the
-- table of events (whoever inserts takes exactly that one, whatever else it holds). This is safe because
--   * whatever writes events is one statement, and a statement locks its tables before it gets a transaction id: a writer
--     in the snapshot held the lock when the snapshot was taken, and holds it until after it has ended for everybody;
--   * the locks are read after the snapshot, so a writer seen without that lock has ended by now;
--   * one that is in the snapshot and in no lock has just ended, or is just beginning: it counts.
-- For the same statement (or a snapshot taken earlier) the horizon is too high: it may be past a transaction that ended
-- between the snapshot and the reading of the locks. See docs/decisions/0010-event-feed.md.
create function purchase_watch.feed_horizon() returns xid8 language plpgsql stable
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
    from pg_locks l where l.granted and l.locktype in ('relation', 'transactionid'))
  select min(r.x) into lowest from pg_snapshot_xip(snapshot) r (x)
  where not exists (
    select from held t where t.transactionid = r.x::xid
      and not exists (select from held w where w.writes and w.virtualtransaction = t.virtualtransaction));
  return coalesce(lowest, pg_snapshot_xmax(snapshot));
end $$;
comment on function purchase_watch.feed_horizon is 'Events of transactions below it are decided, for every statement that begins after the one that asks.';

-- The places of the next events of some types: after one place, below another. Each type is a range of one index, of which
-- at most as many entries are read as are wanted, so a rare type costs what a common one costs. Only an ordered reading of
-- that index does this. A planner that takes a type for rare would collect and sort all there is of it, so it is not asked.
create function purchase_watch.feed_page(
  wanted text[], after_era smallint, after_xid xid8, after_position bigint, below_era smallint, below_xid xid8, most integer)
returns table (era smallint, xid xid8, "position" bigint, type text) language plpgsql stable rows 100
security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
begin
  return query
  select r.era, r.xid, r.position, r.type from unnest(wanted) as w (type)
  cross join lateral (
    select e.era, e.xid, e.position, e.type from purchase_watch.events e
    where e.type = w.type
      and (e.era, e.xid, e.position) > (after_era, after_xid, after_position) and (e.era, e.xid) < (below_era, below_xid)
    order by e.type, e.era, e.xid, e.position limit most) r
  order by r.era, r.xid, r.position limit most;
end $$;
comment on function purchase_watch.feed_page is 'Where the next events of some types stand in the feed.';
