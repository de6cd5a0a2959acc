-- When the database's clock steps forward, the time in between may not have passed: no watch expires and nothing is deleted by it.
-- Kept, so that a restart does not forget it.
create table purchase_watch.database_clock (
  only_row boolean primary key default true check (only_row),
  stepped_ms bigint not null default 0,
  skipped tstzmultirange not null default '{}'
);
insert into purchase_watch.database_clock default values;
comment on table purchase_watch.database_clock is 'How the database''s clock stepped while daemons ran, as they measured it.';
comment on column purchase_watch.database_clock.stepped_ms is 'The sum of all steps, back negative: a replica that sees a step sees here whether another one has noted it.';
comment on column purchase_watch.database_clock.skipped is 'The times that the clock skipped and was not set back over since. What ages does not age by them.';
