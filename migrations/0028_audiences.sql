-- Whom a subscriber reaches: people, who are told of incidents, or systems. The program knows which kinds of channels there are.
alter table purchase_watch.subscribers
  -- What the API makes is a system.
  add column audience text not null default 'systems' check (audience in ('people', 'systems')),
  drop constraint subscribers_kind_check,
  add constraint subscribers_kind_check check (kind ~ '^[a-z]{1,30}$');
update purchase_watch.subscribers set audience = 'people' where kind = 'slack';
comment on column purchase_watch.subscribers.audience is 'people are told of incidents, together and for days on end; systems of purchases, one event after the other.';
comment on column purchase_watch.subscriber_status.kind is 'The kind of channel that it is told by, such as webhook, slack or nats.';
