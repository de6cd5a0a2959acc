-- Sign-ins to the console.

create table purchase_watch_internal.console_sessions (
  token_hash bytea primary key,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  key_name text not null,
  key_mark text not null,
  address text not null
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

select purchase_watch.set_up_roles();
