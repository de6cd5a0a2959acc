-- Commands read the settings of their own terminal, and show limits, addresses and receivers by them. By these digests a command
-- notices that a running daemon uses other settings, and prints a remark.
alter table purchase_watch_internal.replicas add column settings_digests jsonb;
comment on column purchase_watch_internal.replicas.settings_digests is 'The version of the replica, and for each group of its settings, secrets included, the first two bytes of a SHA-256 digest: enough to notice other settings, too little to confirm a guess of a secret. Null: not known.';
