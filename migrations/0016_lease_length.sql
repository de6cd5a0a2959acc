-- A lease ends when another replica has seen the row unchanged for the lease's length, so the length must be known.
-- 0: a daemon of an older version wrote the row; the reader's own length counts.
alter table purchase_watch.replicas add column lease_ms integer not null default 0 check (lease_ms >= 0);
comment on column purchase_watch.replicas.lease_ms is 'How long the lease lasts from each renewal, in milliseconds.';
comment on column purchase_watch.replicas.expires_at is 'When the lease ends by the database''s clock unless it is renewed; changes with each renewal.';
