-- Due times are of the database's clock. When that clock is set back while the owner of a shard stands still, what the owner
-- wrote rests until the clock catches up, unless the next owner knows how far the clock had come.
alter table purchase_watch.shards add column clock_reached timestamptz;
comment on column purchase_watch.shards.clock_reached is 'The database''s clock as the last owner knew it at the end, or before it was set back. A next owner that reads an earlier clock moves what is due in the shard back by the difference; null when nothing has to be moved.';
