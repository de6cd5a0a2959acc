-- Retention and erasing.

alter table purchase_watch.leases add column done_at timestamptz;
comment on column purchase_watch.leases.done_at is 'For work at set times: up to when it has been done.';
-- What was due before this version is not made up for in the middle of a day.
update purchase_watch.leases set done_at = now() where name = 'keeper';

-- What is old enough to go. Attempts are appended in the order of their times, which makes this the cheapest of indexes;
-- events of a site are few among those of purchases, which do not enter theirs.
create index attempts_at on purchase_watch.attempts (at);
create index events_of_sites on purchase_watch.events (created_at) where purchase is null;

create table purchase_watch.forgotten (
  at timestamptz not null default now(),
  site text not null,
  -- SHA-256 of the site, a slash and the Purchase ID, in hex: it answers whether a given one was erased, and tells none.
  sha256 text not null,
  by text not null,
  counts jsonb not null
);
create index forgotten_sha256 on purchase_watch.forgotten (sha256);
comment on table purchase_watch.forgotten is 'Purchases that were erased on request: when, by whom and how many rows, without their ids.';
comment on column purchase_watch.forgotten.by is 'The user of the operating system and the role of the database.';
