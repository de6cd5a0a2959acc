-- What people and programs changed with an operator's scope.

create table purchase_watch_internal.actions (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  key_name text,
  address text not null,
  via text not null check (via in ('api', 'console', 'cli')),
  call text not null,
  subject jsonb not null default '{}',
  outcome text not null check (outcome in ('done', 'failed'))
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

select purchase_watch.set_up_roles();
