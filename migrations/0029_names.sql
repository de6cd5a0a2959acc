-- serves: 25

-- People who share a key of the API are told apart by the names that they say.
alter table purchase_watch_internal.console_sessions add column person text;
alter table purchase_watch_internal.actions add column person text;

comment on column purchase_watch_internal.console_sessions.person is 'The name that the person said at the sign-in or later; null where none was said.';
comment on column purchase_watch_internal.actions.person is 'The name that the person of the console''s session had said; null where none was said, for programs and for commands.';
