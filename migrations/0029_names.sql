-- serves: 25

-- The name that a person gives, so that actions of people who share a key of the API can be told apart.
alter table purchase_watch_internal.console_sessions add column person text;
alter table purchase_watch_internal.actions add column person text;

comment on column purchase_watch_internal.console_sessions.person is 'The name that the person said at the sign-in or later; null where none was said.';
comment on column purchase_watch_internal.actions.person is 'The name that the person of the console''s session had said; null where none was said, for programs and for commands.';
