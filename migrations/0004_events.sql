-- Events, and the order in which the feed shows them: complete up to a horizon, and kept when the database is moved.

create table purchase_watch_internal.feed_era (
  one boolean primary key default true check (one),
  era smallint not null,
  written smallint not null,
  written_since timestamptz,
  origin text
);
insert into purchase_watch_internal.feed_era (era, written) values (0, 0);
comment on table purchase_watch_internal.feed_era is 'The era of the feed that events written now belong to. The order of the feed is (era, xid, position): transaction ids count on within one cluster, and an event that a dump brought from another cluster carries an id of that one, so what is written afterwards belongs to a later era.';
comment on column purchase_watch_internal.feed_era.one is 'Keeps the table at one row.';
comment on column purchase_watch_internal.feed_era.era is 'Readers get to see events up to this era.';
comment on column purchase_watch_internal.feed_era.written is 'Events are written in this era; ahead of the other one until all that was planned before has ended.';
comment on column purchase_watch_internal.feed_era.written_since is 'A moment after which no transaction began that writes in an older era; null while there is no such moment.';
comment on column purchase_watch_internal.feed_era.origin is 'Which cluster and which timeline of it the era belongs to; null before the first start.';

-- The planner puts the function's answer into each statement as a constant, so an event pays nothing for it, and replacing
-- the function needs no lock on any table: statements planned before are planned again. Stable and without settings of its
-- own, because only such a function is put in place and its replacement noticed.
create function purchase_watch_internal.era_written() returns smallint language sql stable as 'select 0::smallint';
comment on function purchase_watch_internal.era_written is 'The era that events are written in from now on; settle_feed_era raises it.';

create table purchase_watch_internal.events (
  position bigint generated always as identity primary key,
  xid xid8 not null default pg_current_xact_id(),
  purchase bigint references purchase_watch.purchases on delete cascade,
  created_at timestamptz not null,
  sequence integer check (sequence > 0),
  previous integer,
  state integer,
  about integer,
  shard smallint not null check (shard between 0 and 63),
  era smallint not null default purchase_watch_internal.era_written(),
  id text not null unique,
  type text not null,
  site text not null,
  incident text,
  body text not null,
  recipients integer[],
  unique (purchase, sequence),
  check ((purchase is null) = (sequence is null)),
  -- Gapless: every event but the first needs the one before it.
  check (previous is not distinct from nullif(sequence - 1, 0)),
  foreign key (purchase, previous) references purchase_watch_internal.events (purchase, sequence)
);
-- One range per type: a reader that wants only a rare type pays for that type alone.
create index events_feed on purchase_watch_internal.events (type, era, xid, position);
-- Retention: events of a site are few among those of purchases, which do not enter this index.
create index events_of_sites on purchase_watch_internal.events (created_at) where purchase is null;
create index events_of_incidents on purchase_watch_internal.events (incident) where incident is not null;
comment on table purchase_watch_internal.events is 'What was announced, once, in order per purchase. Subscribers get exactly the body.';
comment on column purchase_watch_internal.events.position is 'A number for the event. Numbers are handed out before the commit, so they alone do not show what is complete.';
comment on column purchase_watch_internal.events.xid is 'The transaction that wrote the event. The feed goes by it, because positions are handed out before the commit.';
comment on column purchase_watch_internal.events.sequence is 'The event''s place among those of its purchase, from 1 without gaps; null for events of no single purchase.';
comment on column purchase_watch_internal.events.previous is 'The sequence of the event before, which must exist; null for the first.';
comment on column purchase_watch_internal.events.state is 'The state that the event is about, for subscribers that want some states only.';
comment on column purchase_watch_internal.events.about is 'The subscriber whose trouble the event reports; that subscriber does not get it.';
comment on column purchase_watch_internal.events.era is 'Raised when the database was moved or set back; transaction ids compare only within one era.';
comment on column purchase_watch_internal.events.id is 'The id that receivers get (webhook-id).';
comment on column purchase_watch_internal.events.type is 'What happened, such as purchase.state_changed.';
comment on column purchase_watch_internal.events.incident is 'The incident that the event reports.';
comment on column purchase_watch_internal.events.body is 'Text, not jsonb: the bytes announced are the bytes stored.';
comment on column purchase_watch_internal.events.recipients is 'Subscribers that get the event; null: all that want events of its type.';

-- In steps that are committed one after the other, and with null until the last of them is done: call it again then.
-- 1. Raise the era that is written. Statements that were planned before may go on and write in the old one.
-- 2. Note a moment, which is after that commit: transactions that begin later write in the new era.
-- 3. When no transaction that began earlier holds the lock that an insert into events takes, let readers see the new era.
--    Until then nothing of the new era is shown: an event that comes late in the old one would be passed.
create function purchase_watch_internal.settle_feed_era() returns smallint language plpgsql
security definer set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  here text;
  known purchase_watch_internal.feed_era;
begin
  begin
    here := (select system_identifier::text from pg_control_system());
    here := here || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
  exception when others then null; -- Managed services forbid one or the other.
  end;
  select * into known from purchase_watch_internal.feed_era;
  if (here is null or known.origin = here) and known.written = known.era then return known.era; end if;
  -- Daemons that start together: one settles it, the others find it settled.
  select * into known from purchase_watch_internal.feed_era for update;
  if here is not null and known.origin is distinct from here then
    execute format('create or replace function purchase_watch_internal.era_written() returns smallint language sql stable as %L',
      format('select %s::smallint', known.written + 1));
    update purchase_watch_internal.feed_era set written = known.written + 1, written_since = null, origin = here;
    return null;
  end if;
  if known.written = known.era then return known.era; end if;
  if known.written_since is null then
    update purchase_watch_internal.feed_era set written_since = clock_timestamp();
    return null;
  end if;
  -- A session of which this role may not see when its transaction began counts.
  if exists (
    select from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'relation' and l.relation = 'purchase_watch_internal.events'::regclass and l.mode = 'RowExclusiveLock'
      and l.database = (select d.oid from pg_database d where d.datname = current_database()) and l.pid <> pg_backend_pid()
      and (a.xact_start is null or a.xact_start <= known.written_since)) then
    return null;
  end if;
  update purchase_watch_internal.feed_era set era = known.written;
  return known.written;
end $$;
comment on function purchase_watch_internal.settle_feed_era is 'Begins a new era of the feed when this is another cluster than the one known (dump and restore), or another timeline of it (a backup or a standby took over, and may hand out ids that the lost part had used). The daemon calls it at every start, again while it answers null. Where Postgres does not reveal cluster and timeline, the era stays.';

-- Events of all transactions below the horizon are decided: a statement that begins AFTER this one sees those that were
-- committed, and no others will come. The transactions that may still write events are those that were running when the
-- snapshot was taken; but a snapshot knows every transaction of the whole cluster, and one that imports data for hours into
-- another database must not hold up the feed. So of the running ones only those count that hold a lock for writing on the
-- table of events (an insert takes exactly that one, whatever else its transaction holds). This is safe because
--   * whatever writes events is one statement, and a statement locks its tables before it gets a transaction id: a writer
--     in the snapshot held the lock when the snapshot was taken, and holds it until after it has ended for everybody;
--   * the locks are read after the snapshot, so a writer seen without that lock has ended by now;
--   * one that is in the snapshot and in no lock has just ended, or is just beginning: pg_xact_status tells them apart. Other
--     than 'in progress' it answers only when the transaction is out of the list that snapshots are taken from, so every
--     later statement sees what it committed.
-- For the same statement (or a snapshot taken earlier) the horizon is too high: it may be past a transaction that ended
-- between the snapshot and the reading of the locks. See docs/decisions/0010-event-feed.md.
create function purchase_watch_internal.feed_horizon() returns xid8 language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  snapshot pg_snapshot := pg_current_snapshot();
  lowest xid8;
begin
  if pg_snapshot_xmin(snapshot) = pg_snapshot_xmax(snapshot) then return pg_snapshot_xmax(snapshot); end if;
  -- Read once: the locks that relations have and those of the transactions must come from one look.
  with held as materialized (
    select l.virtualtransaction, l.transactionid, l.locktype = 'relation' and l.relation = 'purchase_watch_internal.events'::regclass
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
comment on function purchase_watch_internal.feed_horizon is 'Events of transactions below it are decided, for every statement that begins after the one that calls it.';

-- Each type is a range of one index, of which at most as many entries are read as are wanted, so a rare type costs what a
-- common one costs. Only an ordered reading of that index does this. A planner that takes a type for rare would collect and
-- sort all there is of it, so its other ways are switched off.
create function purchase_watch_internal.feed_page(
  wanted text[], after_era smallint, after_xid xid8, after_position bigint, below_era smallint, below_xid xid8, most integer)
returns table (era smallint, xid xid8, "position" bigint, type text) language plpgsql stable rows 100
security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
begin
  return query
  select r.era, r.xid, r.position, r.type from unnest(wanted) as w (type)
  cross join lateral (
    select e.era, e.xid, e.position, e.type from purchase_watch_internal.events e
    where e.type = w.type
      and (e.era, e.xid, e.position) > (after_era, after_xid, after_position) and (e.era, e.xid) < (below_era, below_xid)
    order by e.type, e.era, e.xid, e.position limit most) r
  order by r.era, r.xid, r.position limit most;
end $$;
comment on function purchase_watch_internal.feed_page is 'The places of the next events of some types in the feed: after one place, below another.';

-- Events are made nearly in the order of their positions, so halving finds the moment without an index that every event would
-- pay for. A caller that needs the exact position asks for a moment somewhat earlier and looks at the events themselves.
create function purchase_watch_internal.position_at(moment timestamptz) returns bigint language plpgsql stable
security definer set search_path = pg_catalog, pg_temp as $$
declare
  low bigint := (select min(position) from purchase_watch_internal.events);
  high bigint := (select max(position) from purchase_watch_internal.events) + 1;
  middle bigint;
  found_position bigint;
  made timestamptz;
begin
  if low is null then return 0; end if;
  while low < high loop
    middle := low + (high - low) / 2;
    select e.position, e.created_at into found_position, made from purchase_watch_internal.events e where e.position >= middle order by e.position limit 1;
    if made >= moment then high := middle; else low := found_position + 1; end if;
  end loop;
  return low;
end $$;
comment on function purchase_watch_internal.position_at is 'About where in the events a moment lies: the first position whose event, and all after it, were made at or after that moment.';
