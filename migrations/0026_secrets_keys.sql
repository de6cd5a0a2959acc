-- Which keys a daemon opens stored secrets with, so that none is sealed under a key that a living daemon does not know.
-- Null: a daemon of an earlier version, which does not say.
alter table purchase_watch.replicas add column secrets_keys text[];
comment on column purchase_watch.replicas.secrets_keys is 'Names of the keys (SECRETS_KEY, SECRETS_KEY_PREVIOUS) with which it opens what is stored encrypted. No key can be told from its name.';
