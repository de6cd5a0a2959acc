-- What a pause of a subscriber rests on, so that it ends with the setting that cures it.

alter table purchase_watch.subscriber_health
  -- The word for the last failure, as in attempts.outcome.
  add column cause text,
  -- Of an address that was refused: a digest of the addresses that were allowed then.
  add column allowed text;
comment on column purchase_watch.subscriber_health.cause is 'The word for the last failure before the pause.';
