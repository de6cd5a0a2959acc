-- When an incident that is quiet ends: the daemon knows its settings, and who reads the database does not.

alter table purchase_watch_internal.incidents add column ends_at timestamptz;
comment on column purchase_watch_internal.incidents.ends_at is 'When it ends if nothing goes wrong again; null while something is wrong, and once it has ended.';
