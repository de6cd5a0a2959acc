-- How daemons notice that the database went back: a standby took over without the last writes, or a backup was restored.

create table purchase_watch_internal.renewals (
  replica text primary key,
  number bigint not null,
  renewed_at timestamptz not null
) with (fillfactor = 50);
comment on table purchase_watch_internal.renewals is 'How often each replica has renewed its lease. A replica whose own memory holds a higher number than its row, or that finds no row, knows that the database went back. Only the replica itself writes its row; upkeep deletes rows that have stood unchanged for a month.';
comment on column purchase_watch_internal.renewals.number is 'Raised with each renewal.';
comment on column purchase_watch_internal.renewals.renewed_at is 'When the lease was renewed last: after the database went back, the latest of these says up to when the database knows what happened.';

create table purchase_watch_internal.database_changes (
  id text primary key,
  kind text not null check (kind in ('first', 'moved', 'went_back')),
  noticed_at timestamptz not null,
  replica text not null,
  host text not null,
  origin text,
  came_back_to timestamptz,
  known_until timestamptz,
  compared_at timestamptz
);
comment on table purchase_watch_internal.database_changes is 'Each time that daemons found another database behind the same address, one row, whichever replica noticed first.';
comment on column purchase_watch_internal.database_changes.id is 'Later rows have greater ids.';
comment on column purchase_watch_internal.database_changes.kind is 'first: the database as the first daemon found it. moved: another cluster or timeline, and no daemon misses a renewal of its own. went_back: a daemon misses renewals that the database had confirmed, and with them everything that was written later.';
comment on column purchase_watch_internal.database_changes.noticed_at is 'When a replica noticed it first, by the clock of the database as it is since then.';
comment on column purchase_watch_internal.database_changes.replica is 'The replica that noticed first.';
comment on column purchase_watch_internal.database_changes.host is 'Host and process id, for people.';
comment on column purchase_watch_internal.database_changes.origin is 'Cluster and timeline from then on; null where Postgres does not reveal them.';
comment on column purchase_watch_internal.database_changes.came_back_to is 'The latest moment from before of which the database knows anything; null when nothing was found, and for other kinds.';
comment on column purchase_watch_internal.database_changes.known_until is 'The last moment up to which the database had confirmed writes to a daemon that ran; null when no daemon ran.';
comment on column purchase_watch_internal.database_changes.compared_at is 'When a person noted that what was lost was compared and registered again; null until then.';

create function purchase_watch_internal.database_origin() returns text language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  here text;
begin
  here := (select system_identifier::text from pg_control_system());
  return here || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
exception when others then
  return here;
end $$;
comment on function purchase_watch_internal.database_origin is 'The cluster and its timeline, which another one follows when a standby takes over or a backup is restored; without the timeline, or null, where Postgres does not reveal them.';

select purchase_watch.set_up_roles();
