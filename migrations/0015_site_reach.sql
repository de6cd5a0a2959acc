-- Whether each replica can read purchases at each site, and why not.

create table purchase_watch.site_reach (
  site text not null references purchase_watch.sites,
  -- Reachability ends with the replica: another replica may have another way to the service.
  replica text not null references purchase_watch.replicas on delete cascade,
  -- The last answer to this replica that showed a purchase's status.
  last_read_at timestamptz,
  -- Since when no answer to this replica showed a purchase's status; null while answers do, or while nothing was asked.
  failing_since timestamptz,
  -- throttled: 429 to every call; malformed: answers that the specification does not show; unknown: the service knows none of
  -- the purchases; refused: 401 or 403; unreachable: no connection, time-outs, 5xx.
  reason text check (reason in ('throttled', 'malformed', 'unknown', 'refused', 'unreachable')),
  error text,
  primary key (site, replica),
  check ((failing_since is null) = (reason is null))
);
comment on table purchase_watch.site_reach is 'Whether each replica can read purchases at each site. Each replica writes its own rows, every few seconds at most.';
create index site_reach_replica on purchase_watch.site_reach (replica);

alter table purchase_watch.sites add column failing_reason text, add column last_read_at timestamptz;
comment on column purchase_watch.sites.failing_since is 'Since when no replica has read a purchase; null while one does. Derived from site_reach with every report.';

-- Sites that were failing when this column came are marked until their next report.
update purchase_watch.sites set failing_reason = 'unreachable' where failing_since is not null;

-- Purchases whose last polls failed: few while all is well. When a site can be read again, those that failed meanwhile are
-- polled at once, and nothing else may have to be looked through to find them.
create index purchases_failing on purchase_watch.purchases (site, id) where failures > 0;

create or replace view purchase_watch.site_status as
select name as site, configured, failing_since, last_success_at, last_error, failing_reason from purchase_watch.sites;
comment on column purchase_watch.site_status.failing_reason is 'Why it last failed: throttled, malformed, unknown, refused or unreachable; may be of the past, see failing_since.';
comment on column purchase_watch.site_status.failing_since is 'Since when no purchase of the site can be read; null while it answers.';
