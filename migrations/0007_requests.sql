-- What people and programs asked for: erased purchases, answers to repeated requests, sign-ins to the console, and changes with an
-- operator's scope.

create table purchase_watch_internal.forgotten (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  purchase bigint,
  site text not null,
  sha256 text not null,
  by text not null,
  counts jsonb not null
);
create index forgotten_sha256 on purchase_watch_internal.forgotten (sha256);
comment on table purchase_watch_internal.forgotten is 'Purchases that were erased on request: when, by whom and how many rows, without their ids. Daemons read here which purchases to drop from memory: a notification may come from any login, so it is no proof.';
comment on column purchase_watch_internal.forgotten.id is 'In the order of the erasures.';
comment on column purchase_watch_internal.forgotten.purchase is 'The row''s own number, which says nothing about the purchase and is never used again.';
comment on column purchase_watch_internal.forgotten.sha256 is 'SHA-256 of the site, a slash and the Purchase ID, in hex: it answers whether a given one was erased, and reveals none.';
comment on column purchase_watch_internal.forgotten.by is 'The user of the operating system and the role of the database.';
comment on column purchase_watch_internal.forgotten.counts is 'How many rows of each kind were erased.';

create table purchase_watch_internal.idempotency_keys (
  created_at timestamptz not null default now(),
  busy_until timestamptz,
  status smallint,
  key_hash bytea not null,
  request_hash bytea not null,
  answer bytea,
  scope text not null,
  primary key (scope, key_hash),
  check ((status is null) = (answer is null)),
  check ((status is null) = (busy_until is not null))
);
create index idempotency_keys_created on purchase_watch_internal.idempotency_keys (created_at);
comment on table purchase_watch_internal.idempotency_keys is 'Answers to requests with an Idempotency-Key, kept for a day so that a repeat gets the same one.';
comment on column purchase_watch_internal.idempotency_keys.busy_until is 'While the first request is under way; after that moment it counts as lost. Null once it is answered.';
comment on column purchase_watch_internal.idempotency_keys.status is 'The status of the answer; null while the first request is under way.';
comment on column purchase_watch_internal.idempotency_keys.key_hash is 'A hash of the key.';
comment on column purchase_watch_internal.idempotency_keys.request_hash is 'A fingerprint of the request: another request with the same key is refused.';
comment on column purchase_watch_internal.idempotency_keys.answer is 'The answer; encrypted where there is a SECRETS_KEY.';
comment on column purchase_watch_internal.idempotency_keys.scope is 'Whose key it is and of which call.';

create table purchase_watch_internal.console_sessions (
  token_hash bytea primary key,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  key_name text not null,
  key_mark text not null,
  address text not null,
  id bigint generated always as identity unique,
  last_seen_at timestamptz not null default now(),
  person text
);
create index console_sessions_key on purchase_watch_internal.console_sessions (key_name);
create index console_sessions_expiry on purchase_watch_internal.console_sessions (expires_at);
comment on table purchase_watch_internal.console_sessions is 'Browsers that are signed in to the console. A row is deleted when its person signs out, or once it has expired.';
comment on column purchase_watch_internal.console_sessions.token_hash is 'SHA-256 of the token in the browser''s cookie; the token itself is nowhere else.';
comment on column purchase_watch_internal.console_sessions.created_at is 'When the person signed in.';
comment on column purchase_watch_internal.console_sessions.expires_at is 'When the session ends, whatever is done in it.';
comment on column purchase_watch_internal.console_sessions.key_name is 'The key of the API with which the person signed in; its scopes decide what the person may do.';
comment on column purchase_watch_internal.console_sessions.key_mark is 'A digest of the key as it was then: a key that was replaced under the same name ends its sessions.';
comment on column purchase_watch_internal.console_sessions.address is 'From where the person signed in.';
comment on column purchase_watch_internal.console_sessions.id is 'Names the session in the API; a token cannot be found by it.';
comment on column purchase_watch_internal.console_sessions.last_seen_at is 'When the session was last used, to the minute.';
comment on column purchase_watch_internal.console_sessions.person is 'The name that the person said at the sign-in or later; null where none was said.';

create table purchase_watch_internal.actions (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  key_name text,
  address text not null,
  via text not null check (via in ('api', 'console', 'cli')),
  call text not null,
  subject jsonb not null default '{}',
  outcome text not null check (outcome in ('done', 'failed')),
  person text
);
create index actions_at on purchase_watch_internal.actions (at);
create index actions_key on purchase_watch_internal.actions (key_name, id);
create index actions_via on purchase_watch_internal.actions (via, id);
create index actions_subject on purchase_watch_internal.actions ((subject ->> 'id'), id);
comment on table purchase_watch_internal.actions is 'Changes that people and programs made through API, console or commands with the rights of an operator, as GET /v1/actions answers them. Kept as long as events of no single purchase.';
comment on column purchase_watch_internal.actions.key_name is 'The key of the API that was used; null where none is configured, and of commands.';
comment on column purchase_watch_internal.actions.address is 'From where: the address of the caller, or of a command the account and the machine.';
comment on column purchase_watch_internal.actions.via is 'By which door: api, console or cli.';
comment on column purchase_watch_internal.actions.call is 'What was called: a call of the API, a command, or signing in and out.';
comment on column purchase_watch_internal.actions.subject is 'What it was about, by ids; nothing that a person wrote freely. The id of a purchase that is erased is taken out.';
comment on column purchase_watch_internal.actions.outcome is 'done, or failed: then it may have been done all the same. What was refused changed nothing and is not here.';
comment on column purchase_watch_internal.actions.person is 'The name that the person of the console''s session had said; null where none was said, for programs and for commands.';
