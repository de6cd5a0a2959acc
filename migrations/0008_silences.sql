-- Acknowledged incidents and silences.

alter table purchase_watch.incidents
  -- The order of lists: as they were opened.
  add column position bigint generated always as identity,
  -- People were told at said_at; no silence keeps machines from being told.
  add column announced_at timestamptz,
  add column acknowledged_at timestamptz,
  add column acknowledged_by text check (length(acknowledged_by) between 1 and 200),
  add column acknowledged_note text check (length(acknowledged_note) between 1 and 1000),
  add check ((acknowledged_at is null) = (acknowledged_by is null)),
  add check (acknowledged_note is null or acknowledged_at is not null);
update purchase_watch.incidents set announced_at = said_at;
create index incidents_listed on purchase_watch.incidents (site, kind, position);
comment on column purchase_watch.incidents.announced_at is 'When machines were told of it; people were told at said_at.';
comment on column purchase_watch.incidents.acknowledged_at is 'Since when somebody looks after it: then nobody is reminded.';

create table purchase_watch.silences (
  id bigint generated always as identity primary key,
  created_at timestamptz not null default now(),
  starts_at timestamptz not null,
  -- Brought forward when the silence is lifted.
  ends_at timestamptz not null,
  -- Null: whatever the incident has.
  state integer,
  site text references purchase_watch.sites,
  kind text check (kind in ('stuck', 'unreachable')),
  reason text not null check (length(reason) between 1 and 500),
  created_by text not null check (length(created_by) between 1 and 200),
  check (starts_at <= ends_at)
);
create index silences_ends on purchase_watch.silences (ends_at);
comment on table purchase_watch.silences is 'While one of them matches an incident, nothing is said of it to people.';
