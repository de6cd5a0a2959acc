-- Erased purchases, and answers to repeated requests.

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
