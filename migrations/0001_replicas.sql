-- Replicas, the shards and leases that they own, the database's clock, and how a database that went back is noticed.

comment on schema purchase_watch is 'What people and programs use of purchase-watch: the table of purchases, views and functions.';
comment on schema purchase_watch_internal is 'What the daemon of purchase-watch keeps for itself. It may change with any version.';
comment on table purchase_watch_internal.migrations is 'The schema files that were applied, with the hash of their content.';

create table purchase_watch_internal.replicas (
  id text primary key,
  process text not null,
  started_at timestamptz not null default now(),
  expires_at timestamptz not null,
  lease_ms integer not null default 0 check (lease_ms >= 0),
  leaving boolean not null default false,
  secrets_keys text[],
  settings_digests jsonb,
  named jsonb
);
comment on table purchase_watch_internal.replicas is 'Running daemons. A replica that does not renew its row in time loses its shards.';
comment on column purchase_watch_internal.replicas.process is 'Where the process runs, so that another replica on the same machine can see that the process is gone.';
comment on column purchase_watch_internal.replicas.expires_at is 'When the lease ends by the database''s clock unless it is renewed; changes with each renewal.';
comment on column purchase_watch_internal.replicas.lease_ms is 'How long the lease lasts from each renewal, in milliseconds: it ends when another replica has seen the row unchanged for that long. 0: unknown, the reader''s own length counts.';
comment on column purchase_watch_internal.replicas.leaving is 'The replica is stopping, reaches no site, or another one names all that it names and more: it takes no shards, and releases each as soon as no work is under way on it.';
comment on column purchase_watch_internal.replicas.secrets_keys is 'Names of the keys (SECRETS_KEY, SECRETS_KEY_PREVIOUS) with which the replica opens what is stored encrypted; none is sealed with a key that a running replica does not know. A name does not reveal its key. Null: not known.';
comment on column purchase_watch_internal.replicas.settings_digests is 'The version of the replica, the names of its keys, and for each of its settings by name two bytes of a SHA-256 digest of what the command config shows of it, followed, where the replica has a key, by two bytes of an HMAC of everything under that key. Without the key no guess of a secret can be tested. Null: not known.';
comment on column purchase_watch_internal.replicas.named is 'What the replica''s settings name: sites, each with its former names, and subscribers with their filters and the hash of their address. Holds no secret. Null: a daemon of an older version, which may name anything.';

create table purchase_watch_internal.replica_troubles (
  replica text not null references purchase_watch_internal.replicas on delete cascade,
  reason text not null check (length(reason) between 1 and 60),
  host text not null,
  since timestamptz not null,
  error text,
  primary key (replica, reason)
);
comment on table purchase_watch_internal.replica_troubles is 'What keeps running daemons from their work now; a row is deleted when the trouble is over or its replica is gone.';
comment on column purchase_watch_internal.replica_troubles.reason is 'Which work the replica cannot do, in a word such as not_recording.';
comment on column purchase_watch_internal.replica_troubles.host is 'Host and process id, for people.';
comment on column purchase_watch_internal.replica_troubles.error is 'The last error, in a sentence.';

create table purchase_watch_internal.shards (
  id smallint primary key check (id between 0 and 63),
  epoch bigint not null default 0,
  owner text
);
insert into purchase_watch_internal.shards (id) select generate_series(0, 63);
comment on table purchase_watch_internal.shards is 'Shares of all purchases. One replica at a time polls the purchases of a shard and delivers their events.';
comment on column purchase_watch_internal.shards.epoch is 'How often the shard has changed hands; results with an older epoch are refused.';
comment on column purchase_watch_internal.shards.owner is 'The replica that owns the shard; null when none does. The lease is in the replica''s row.';

create table purchase_watch_internal.leases (
  name text primary key,
  epoch bigint not null default 0,
  owner text,
  done_at timestamptz
);
insert into purchase_watch_internal.leases (name) values ('judge'), ('dead_mans_switch');
-- What was due before there was a daemon is not made up for.
insert into purchase_watch_internal.leases (name, done_at) values ('upkeep', now());
comment on table purchase_watch_internal.leases is 'Work that belongs to no single purchase and is done by one replica at a time: the judge, upkeep, and the calls of the dead man''s switch, which the judge''s replica makes.';
comment on column purchase_watch_internal.leases.epoch is 'How often the lease has changed hands or was given up.';
comment on column purchase_watch_internal.leases.owner is 'The replica that does the work; null when none does.';
comment on column purchase_watch_internal.leases.done_at is 'For work at set times: up to when it has been done.';

create table purchase_watch_internal.database_clock (
  only_row boolean primary key default true check (only_row),
  skipped tstzmultirange not null default '{}'
);
insert into purchase_watch_internal.database_clock default values;
comment on table purchase_watch_internal.database_clock is 'How the database''s clock stepped while daemons ran, as they measured it.';
comment on column purchase_watch_internal.database_clock.only_row is 'Keeps the table at one row.';
comment on column purchase_watch_internal.database_clock.skipped is 'The times that the clock skipped forward over, and was not set back over since. Such time makes nothing older: no watch expires and nothing is deleted by it.';

-- How daemons notice that the database went back: a standby took over without the last writes, or a backup was restored.

create table purchase_watch_internal.renewals (
  replica text primary key,
  number bigint not null,
  renewed_at timestamptz not null
) with (fillfactor = 50);
comment on table purchase_watch_internal.renewals is 'How often each replica has renewed its lease. A replica whose own memory holds a higher number than its row, or that finds no row, knows that the database went back. Only the replica itself writes its row; upkeep deletes rows that have stood unchanged for a month.';
comment on column purchase_watch_internal.renewals.number is 'Raised with each renewal.';
comment on column purchase_watch_internal.renewals.renewed_at is 'When the lease was renewed last; not set back with the clock until upkeep has moved the tables. After the database went back, the latest of these says up to when the database knows what happened.';

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
