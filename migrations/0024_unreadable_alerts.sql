-- People are alerted of a purchase whose answers cannot be used, or not be recorded, as of a single stuck checkout.

alter table purchase_watch_internal.stuck_alerts add column unreadable text check (length(unreadable) between 1 and 60);
comment on column purchase_watch_internal.stuck_alerts.unreadable is 'Why the purchase could not be read, in a word such as wrong_shape; state_since and stuck_at are then when it became unreadable, and state is the last one that was seen, or 0. Null: the purchase was stuck.';
