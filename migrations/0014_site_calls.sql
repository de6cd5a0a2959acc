-- How each replica calls each site now, and when each session of the console was last used: for people who look.

create table purchase_watch_internal.site_calls (
  site text not null references purchase_watch_internal.sites,
  replica text not null references purchase_watch_internal.replicas on delete cascade,
  written_at timestamptz not null default now(),
  breaker text not null check (breaker in ('closed', 'open', 'recovering')),
  breaker_cause text check (breaker_cause in ('failing', 'throttled')),
  breaker_since timestamptz not null,
  next_probe_at timestamptz,
  calls_per_second float8 not null check (calls_per_second >= 0),
  ceiling float8 not null check (ceiling >= 0),
  has_token boolean not null,
  token_fetched_at timestamptz,
  token_expires_at timestamptz,
  token_refused_at timestamptz,
  token_refusal text,
  primary key (site, replica)
);
create index site_calls_replica on purchase_watch_internal.site_calls (replica);

comment on table purchase_watch_internal.site_calls is 'How each replica calls each site, as the replica wrote it last: every ten seconds while it calls the site. Rows go with their replica.';
comment on column purchase_watch_internal.site_calls.written_at is 'When the replica wrote the row. A replica that makes no calls and sees no change writes nothing.';
comment on column purchase_watch_internal.site_calls.breaker is 'closed: every call may leave. open: only probes may. recovering: calls return, twice as many each second.';
comment on column purchase_watch_internal.site_calls.breaker_cause is 'Why it is open: the site failed, or asked for fewer calls. Null when it is not open.';
comment on column purchase_watch_internal.site_calls.breaker_since is 'Since when the breaker is as it is.';
comment on column purchase_watch_internal.site_calls.next_probe_at is 'The earliest moment of the next probe; null when the breaker is not open, and while a probe is under way.';
comment on column purchase_watch_internal.site_calls.calls_per_second is 'Calls that left since the row before, as an average.';
comment on column purchase_watch_internal.site_calls.ceiling is 'The replica''s part of the site''s calls a second.';
comment on column purchase_watch_internal.site_calls.has_token is 'Whether the site''s calls need an access token; credentials go with each call otherwise.';
comment on column purchase_watch_internal.site_calls.token_fetched_at is 'When the present access token was fetched; null before the first one. The token itself is nowhere in the database.';
comment on column purchase_watch_internal.site_calls.token_expires_at is 'Until when the service said that the token is valid.';
comment on column purchase_watch_internal.site_calls.token_refused_at is 'When a token was last refused, or a call with a new token was.';
comment on column purchase_watch_internal.site_calls.token_refusal is 'Why, in a sentence; without credentials.';

alter table purchase_watch_internal.console_sessions
  add column id bigint generated always as identity unique,
  add column last_seen_at timestamptz not null default now();
comment on column purchase_watch_internal.console_sessions.id is 'Names the session in the API; a token cannot be found by it.';
comment on column purchase_watch_internal.console_sessions.last_seen_at is 'When the session was last used, to the minute.';

select purchase_watch.set_up_roles();
