-- Alerts about single stuck checkouts, for sites where too little is known to judge a page by the share of stuck customers.

-- Rows of before have none: nobody was alerted of a single checkout then.
alter table purchase_watch.stays add column purchase bigint;
comment on column purchase_watch.stays.purchase is 'The purchase whose stay it is, so that people can be alerted of it by its id.';

-- One row for each stay that became overdue while a channel for people takes alerts about single checkouts.
create table purchase_watch.stuck_alerts (
  id bigint generated always as identity primary key,
  purchase bigint not null references purchase_watch.purchases on delete cascade,
  site text not null references purchase_watch.sites,
  state integer not null,
  -- When the stay began, and when a poll confirmed it as stuck.
  state_since timestamptz not null,
  stuck_at timestamptz not null,
  -- It was there already when the site was asked for the first time.
  first_sight boolean not null,
  -- When people were alerted, which subscribers, and why by itself; null while it is collected for `slack.groupWait`.
  alerted_at timestamptz,
  alerted integer[] not null default '{}',
  mode text check (mode in ('auto', 'each')),
  counted_stays integer,
  stays_per_day real,
  -- The alert said that incidents take over from here on.
  is_last boolean not null default false,
  -- When people were alerted that it is over.
  ended_at timestamptz,
  check ((alerted_at is null) = (mode is null)),
  unique (purchase, state_since)
);
create index stuck_alerts_open on purchase_watch.stuck_alerts (id) where ended_at is null;
create index stuck_alerts_of_place on purchase_watch.stuck_alerts (site, state, alerted_at) where alerted_at is not null;
comment on table purchase_watch.stuck_alerts is 'Single stuck checkouts of which people are or were alerted (slack.stuck), each until its purchase is deleted.';
