-- Subscribers that the API makes, secrets at rest, replays, idempotency.

alter table purchase_watch.subscribers
  add column origin text not null default 'configuration' check (origin in ('configuration', 'api')),
  add column description text check (length(description) between 1 and 500),
  -- Encrypted with SECRETS_KEY; null for configured subscribers, whose address and key stay in the configuration.
  add column url bytea,
  add column keys bytea,
  -- Until when a replaced key still signs; null when there is only one.
  add column old_keys_until timestamptz,
  -- Since when the row says what it says: every matching event from then on has a delivery.
  add column matching_since timestamptz not null default now(),
  add column deleted_at timestamptz,
  add check ((origin = 'api' and deleted_at is null) = (url is not null and keys is not null)),
  add check (deleted_at is null or not configured),
  drop constraint subscribers_name_key;
-- Deleted ones stay for the history of their deliveries; their names are free again.
create unique index subscribers_name on purchase_watch.subscribers (name) where deleted_at is null;
comment on table purchase_watch.subscribers is 'Who is told of what. Addresses and keys are encrypted, or stay in the configuration.';
comment on column purchase_watch.subscribers.configured is 'Whether it is told at present: named by the configuration, or made by the API and not deleted.';
comment on column purchase_watch.subscribers.origin is 'Where it comes from; what the configuration names can only be changed there.';
comment on column purchase_watch.subscribers.address_hash is 'Changes whenever address or key change: a channel is opened anew then.';

-- A delivery that is sent again starts its schedule anew; its attempts are numbered on.
alter table purchase_watch.deliveries add column attempts_before integer not null default 0;
comment on column purchase_watch.deliveries.attempts_before is 'Attempts made before it was last asked to be sent again.';

-- Lists by subscriber and status, newest first; and all that must be given up when a subscriber is deleted. By id + 0,
-- because the planner, asked for an order by id, likes to walk the primary key past everybody else's deliveries.
create index deliveries_listed on purchase_watch.deliveries (subscriber, status, (id + 0));
-- What fails at present: small, and empty while receivers are well.
create index deliveries_failing on purchase_watch.deliveries (subscriber, id) where status = 'pending' and attempts > attempts_before;

-- The first position whose event, and all after it, were made at or after a moment. Events are made nearly in the order
-- of their positions, so halving finds it without an index that every event would pay for; who needs it exactly asks for
-- a moment somewhat earlier and looks at the events themselves.
create function purchase_watch.position_at(moment timestamptz) returns bigint language plpgsql stable
security definer set search_path = pg_catalog, pg_temp as $$
declare
  low bigint := (select min(position) from purchase_watch.events);
  high bigint := (select max(position) from purchase_watch.events) + 1;
  middle bigint;
  found_position bigint;
  made timestamptz;
begin
  if low is null then return 0; end if;
  while low < high loop
    middle := low + (high - low) / 2;
    select e.position, e.created_at into found_position, made from purchase_watch.events e where e.position >= middle order by e.position limit 1;
    if made >= moment then high := middle; else low := found_position + 1; end if;
  end loop;
  return low;
end $$;
comment on function purchase_watch.position_at is 'About where in the events a moment lies.';

create table purchase_watch.idempotency_keys (
  created_at timestamptz not null default now(),
  -- While the first request is under way; after that moment it is taken for lost.
  busy_until timestamptz,
  status smallint,
  key_hash bytea not null,
  request_hash bytea not null,
  -- Encrypted where there is a SECRETS_KEY.
  answer bytea,
  scope text not null,
  primary key (scope, key_hash),
  check ((status is null) = (answer is null)),
  check ((status is null) = (busy_until is not null))
);
create index idempotency_keys_created on purchase_watch.idempotency_keys (created_at);
comment on table purchase_watch.idempotency_keys is 'Answers to requests with an Idempotency-Key, kept for a day so that a repeat gets the same one.';
