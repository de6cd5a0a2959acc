-- The truth of purchase-watch: who is watched, what was seen, what was announced, and to whom.
-- Column order follows width (8 bytes first) in the tables that hold millions of rows: it saves padding.

comment on schema purchase_watch is 'purchase-watch: purchases at a checkout service without callbacks, their changes of state and who was told';

-- Sites ---------------------------------------------------------------------------------------------------------------

create table purchase_watch.sites (
  name text primary key check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  -- Whether the present configuration has it. Purchases of other sites keep their rows and are not polled.
  configured boolean not null default true,
  -- Set while no poll gets a usable answer; the judge turns it into an incident.
  failing_since timestamptz,
  last_success_at timestamptz,
  last_error text
);
comment on table purchase_watch.sites is 'Merchant accounts at the checkout service. Made from the configuration at start; holds no credentials.';

-- Purchases -----------------------------------------------------------------------------------------------------------

-- The width of a due slot. The queue's index holds the slot and not the exact time, so that a poll that changes nothing
-- but times leaves the index alone (a heap-only update); see docs/decisions.
create function purchase_watch.due_slot(at timestamptz) returns integer
language sql immutable parallel safe strict as $$ select floor(extract(epoch from at) / 10)::integer $$;

create table purchase_watch.purchases (
  id bigint generated always as identity primary key,
  registered_at timestamptz not null default now(),
  watched_since timestamptz not null default now(),
  last_polled_at timestamptz,
  seen_at timestamptz,
  next_poll_at timestamptz,
  state_since timestamptz,
  stuck_since timestamptz,
  excused_ms bigint not null default 0 check (excused_ms >= 0),
  polls bigint not null default 0,
  due_slot integer,
  revision integer not null default 0,
  state integer,
  sequence integer not null default 0 check (sequence >= 0),
  failures integer not null default 0,
  unknowns integer not null default 0,
  shard smallint not null check (shard between 0 and 63),
  status text not null default 'watching' check (status in ('watching', 'settled', 'unreadable', 'expired', 'stopped')),
  site text not null references purchase_watch.sites,
  purchase_id text not null check (length(purchase_id) between 1 and 200 and purchase_id !~ '[[:cntrl:]]' and purchase_id = btrim(purchase_id)),
  reference text check (length(reference) between 1 and 200),
  last_error text,
  metadata jsonb check (jsonb_typeof(metadata) = 'object' and length(metadata::text) <= 8192),
  unique (site, purchase_id),
  check ((state is null) = (state_since is null)),
  check ((due_slot is null) = (next_poll_at is null))
) with (
  -- Room on each page for the next version of its rows: polls stay heap-only updates.
  fillfactor = 90,
  -- Every poll leaves a dead version behind; a fifth of a large table is too long to wait.
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0
);
comment on table purchase_watch.purchases is 'Every registered purchase. To register one: insert with purchase_id, and site, reference, metadata if you like.';
comment on column purchase_watch.purchases.due_slot is 'Where the queue finds the row: not later than the slot of next_poll_at, unless more is due than memory holds. Null: not polled any more.';
comment on column purchase_watch.purchases.revision is 'Raised by every change from outside; a poll that began before it is not recorded.';
comment on column purchase_watch.purchases.excused_ms is 'Time of the present stay in which nobody could ask. It never counts towards stuck.';
comment on column purchase_watch.purchases.seen_at is 'Last poll that got a well-formed answer.';

-- The queue: one per site, so that a site that cannot be asked stands in nobody else's way.
create index purchases_due on purchase_watch.purchases (site, shard, due_slot, id) where due_slot is not null;
create index purchases_stuck on purchase_watch.purchases (site, state, state_since) where stuck_since is not null;
create index purchases_reference on purchase_watch.purchases (reference, id) where reference is not null;
create index purchases_state on purchase_watch.purchases (status, state, id);

-- Stored fields of the answer, apart from the row that every poll rewrites.
create table purchase_watch.purchase_details (
  purchase bigint primary key references purchase_watch.purchases on delete cascade,
  -- json, not jsonb: the text stays as it was made, so that a change can be told by comparing texts.
  fields json not null
);
comment on table purchase_watch.purchase_details is 'The fields that store.fields names, as last seen, with the digits the service sent.';

-- Which purchases changed from outside since their shard's owner last looked. Only a hint: the queue''s index is the truth,
-- and a new owner reads that.
create table purchase_watch.nudges (
  id bigint generated always as identity primary key,
  purchase bigint not null,
  shard smallint not null
);

-- The site of whoever names none: the one named default, or the only one. Null when neither is there.
create function purchase_watch.default_site() returns text language sql stable as $$
  select case when bool_or(name = 'default') then 'default' when count(*) = 1 then min(name) end
  from purchase_watch.sites where configured
$$;

create function purchase_watch.prepare_purchase() returns trigger language plpgsql as $$
begin
  if new.purchase_id is null or btrim(new.purchase_id) = '' then
    raise exception using errcode = 'check_violation', message = 'purchase_id is empty',
      hint = 'Insert the Purchase ID that the checkout service gave when the purchase was negotiated.';
  elsif length(new.purchase_id) > 200 then
    raise exception using errcode = 'check_violation', message = format('purchase_id has %s characters; at most 200 are accepted', length(new.purchase_id)),
      hint = 'Insert the Purchase ID alone, without a URL or other text around it.';
  elsif new.purchase_id <> btrim(new.purchase_id) or new.purchase_id ~ '[[:cntrl:]]' then
    raise exception using errcode = 'check_violation', message = 'purchase_id begins or ends with a space, or holds a control character',
      hint = 'Insert the Purchase ID alone; a line break or tab from a file often sticks to it.';
  end if;
  if new.site is null then
    new.site := purchase_watch.default_site();
    if new.site is null then
      raise exception using errcode = 'not_null_violation', message = 'site is missing, and there is no site named default',
        hint = format('Name one of the configured sites: %s.', coalesce((select string_agg(name, ', ' order by name) from purchase_watch.sites where configured), 'none yet; start the daemon once'));
    end if;
  elsif not exists (select from purchase_watch.sites where name = new.site and configured) then
    raise exception using errcode = 'foreign_key_violation', message = format('site %L is not configured', new.site),
      hint = format('Configured sites: %s.', coalesce((select string_agg(name, ', ' order by name) from purchase_watch.sites where configured), 'none yet; start the daemon once'));
  end if;
  -- Both parts are length-safe: a site name never holds a slash.
  new.shard := ((hashtextextended(new.site || '/' || new.purchase_id, 0) % 64) + 64) % 64;
  new.next_poll_at := coalesce(new.next_poll_at, new.registered_at);
  new.due_slot := purchase_watch.due_slot(new.next_poll_at);
  return new;
end $$;
create trigger prepare before insert on purchase_watch.purchases for each row execute function purchase_watch.prepare_purchase();

create function purchase_watch.nudge_registered() returns trigger language plpgsql
-- Runs with the owner's rights, so that whoever may register needs no rights on this table.
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into purchase_watch.nudges (purchase, shard) select id, shard from registered where due_slot is not null;
  if found then perform pg_notify('purchase_watch_wake', 'purchases'); end if;
  return null;
end $$;
create trigger nudge after insert on purchase_watch.purchases
  referencing new table as registered for each statement execute function purchase_watch.nudge_registered();

-- Watches stopped and expired purchases again, and has them asked for at once.
create function purchase_watch.watch_again(purchase_ids text[], sites text[]) returns void language sql
security definer set search_path = pg_catalog, pg_temp as $$
  with renewed as (
    update purchase_watch.purchases p set status = 'watching', watched_since = now(), next_poll_at = now(),
      due_slot = purchase_watch.due_slot(now()), revision = p.revision + 1, failures = 0, unknowns = 0
    from unnest(purchase_ids, sites) as r (purchase_id, site)
    where p.site = coalesce(r.site, purchase_watch.default_site()) and p.purchase_id = r.purchase_id and p.status in ('stopped', 'expired')
    returning p.id, p.shard),
  nudged as (insert into purchase_watch.nudges (purchase, shard) select id, shard from renewed)
  select pg_notify('purchase_watch_wake', 'purchases') from renewed limit 1
$$;

-- A stopped or expired purchase that is registered again is watched again; one that is watched stays as it is.
create function purchase_watch.watch(purchase_id text, site text default null, reference text default null, metadata jsonb default null)
returns text language plpgsql as $$
#variable_conflict use_column
declare
  row_id bigint;
begin
  insert into purchase_watch.purchases as p (purchase_id, site, reference, metadata)
  values (watch.purchase_id, watch.site, watch.reference, watch.metadata)
  on conflict do nothing returning p.id into row_id;
  if row_id is not null then return 'created'; end if;
  perform purchase_watch.watch_again(array[watch.purchase_id], array[watch.site]);
  return 'existing';
end $$;
comment on function purchase_watch.watch is 'Registers a purchase; answers created or existing. The daemon polls it at once.';

-- Changes and announcements -------------------------------------------------------------------------------------------

create table purchase_watch.transitions (
  purchase bigint not null references purchase_watch.purchases on delete cascade,
  not_before timestamptz,
  not_after timestamptz not null,
  sequence integer not null check (sequence > 0),
  from_sequence integer,
  from_state integer,
  to_state integer not null,
  primary key (purchase, sequence, to_state),
  -- The chain: one first transition, each other one begins where exactly one earlier one ended.
  unique nulls not distinct (purchase, from_sequence),
  foreign key (purchase, from_sequence, from_state) references purchase_watch.transitions (purchase, sequence, to_state),
  check ((from_sequence is null) = (from_state is null)),
  check (from_sequence < sequence),
  check (from_state <> to_state),
  check (not_before <= not_after)
);
comment on table purchase_watch.transitions is 'Changes between two observations: the state moved after not_before and no later than not_after.';

create table purchase_watch.events (
  position bigint generated always as identity primary key,
  -- For the feed: positions are handed out before the commit, so only the transaction tells what is complete.
  xid xid8 not null default pg_current_xact_id(),
  purchase bigint references purchase_watch.purchases on delete cascade,
  created_at timestamptz not null,
  sequence integer check (sequence > 0),
  previous integer,
  -- The state it is about, for subscribers that want to hear of some states only.
  state integer,
  shard smallint not null check (shard between 0 and 63),
  id text not null unique,
  type text not null,
  site text not null,
  -- Text, not jsonb: the bytes announced are the bytes stored.
  body text not null,
  unique (purchase, sequence),
  check ((purchase is null) = (sequence is null)),
  -- Gapless: every event but the first needs the one before it.
  check (previous is not distinct from nullif(sequence - 1, 0)),
  foreign key (purchase, previous) references purchase_watch.events (purchase, sequence)
);
comment on table purchase_watch.events is 'What was announced, once, in order per purchase. Subscribers get exactly the body.';

-- Numbers of states that the specification does not list, seen at a site: announced once each.
create table purchase_watch.unknown_states (
  site text not null references purchase_watch.sites,
  state integer not null,
  first_seen_at timestamptz not null default now(),
  primary key (site, state)
);

-- Telling -------------------------------------------------------------------------------------------------------------

create table purchase_watch.subscribers (
  id integer generated always as identity primary key,
  name text not null unique,
  kind text not null check (kind in ('webhook', 'slack')),
  -- Null: all that this kind is told by default.
  types text[],
  sites text[],
  states integer[],
  configured boolean not null default true,
  status text not null default 'active' check (status in ('active', 'off')),
  status_reason text,
  -- Hash of the address, to notice that a switched-off subscriber was given another one.
  address_hash text not null,
  created_at timestamptz not null default now()
);
comment on table purchase_watch.subscribers is 'Who is told of what. Addresses and keys of configured subscribers stay in the configuration.';

create table purchase_watch.deliveries (
  id bigint generated always as identity primary key,
  event bigint not null references purchase_watch.events on delete cascade,
  -- What must stay in order for one subscriber: the purchase's row id, or 0 for events of no single purchase.
  lane bigint not null,
  due_at timestamptz not null,
  settled_at timestamptz,
  subscriber integer not null references purchase_watch.subscribers,
  attempts integer not null default 0,
  shard smallint not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'exhausted', 'suppressed')),
  last_error text,
  unique (event, subscriber),
  check ((status = 'pending') = (settled_at is null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
comment on table purchase_watch.deliveries is 'One event for one subscriber: pending until delivered, exhausted (schedule used up) or suppressed (subscriber off).';

-- One due list per subscriber and shard, oldest first.
create index deliveries_due on purchase_watch.deliveries (subscriber, shard, due_at, event) where status = 'pending';
-- A lane's deliveries go out in the order of their events.
create index deliveries_lane on purchase_watch.deliveries (subscriber, lane, event) where status = 'pending';

create table purchase_watch.attempts (
  delivery bigint not null references purchase_watch.deliveries on delete cascade,
  at timestamptz not null,
  number integer not null check (number > 0),
  took_ms integer not null,
  http_status integer,
  outcome text not null,
  -- The receiver's answer, shortened.
  excerpt text,
  primary key (delivery, number)
);

-- Incidents -----------------------------------------------------------------------------------------------------------

create table purchase_watch.incidents (
  id text primary key,
  kind text not null check (kind in ('stuck', 'unreachable')),
  site text not null references purchase_watch.sites,
  state integer,
  opened_at timestamptz not null,
  -- The earliest symptom.
  since timestamptz not null,
  ended_at timestamptz,
  -- Since when there is no symptom left; the incident ends when that lasts.
  quiet_since timestamptz,
  count integer not null,
  peak integer not null,
  said_at timestamptz,
  said_count integer
);
create unique index incidents_open on purchase_watch.incidents (kind, site, state) nulls not distinct where ended_at is null;
comment on table purchase_watch.incidents is 'Many symptoms with one cause, and what was said of it.';

-- Who does what: replicas, shards, named leases -------------------------------------------------------------------------

create table purchase_watch.replicas (
  id text primary key,
  -- Where the process runs, so that another on the same machine can tell that it is gone.
  process text not null,
  started_at timestamptz not null default now(),
  expires_at timestamptz not null
);
comment on table purchase_watch.replicas is 'Running daemons. A replica that does not renew its row in time loses its shards.';

create table purchase_watch.shards (
  id smallint primary key check (id between 0 and 63),
  epoch bigint not null default 0,
  owner text
);
insert into purchase_watch.shards (id) select generate_series(0, 63);
comment on table purchase_watch.shards is 'Shares of all purchases, each polled and told by one replica at a time; the epoch fences results that come too late.';

create table purchase_watch.leases (
  name text primary key,
  epoch bigint not null default 0,
  owner text
);
insert into purchase_watch.leases (name) values ('judge');
comment on table purchase_watch.leases is 'Work that belongs to no single purchase and is done by one replica at a time.';

-- Views: an interface ---------------------------------------------------------------------------------------------------

create function purchase_watch.state_name(value integer) returns text language sql immutable parallel safe strict as $$
  select coalesce((array['New', 'BeingProcessed', 'Completed', 'Error', 'WaitingForIdentityProvider', 'SessionTimedOut',
    'WaitingForCardPayments', 'WaitingForEidApp', 'Cancelled', 'WaitingForFinnishDirectPayment', 'WaitingCreditApproval',
    'CreditNotApproved', 'WaitingForMobilePayment', 'PaymentHandledByMerchant', 'ElectronicIdValidationRequired'])[value + 1],
    format('Unknown(%s)', value))
$$;

create view purchase_watch.stuck_purchases as
select p.purchase_id, p.site, p.state, purchase_watch.state_name(p.state) as state_name, p.state_since, p.stuck_since,
  p.last_polled_at, p.reference, p.metadata, d.fields as details
from purchase_watch.purchases p left join purchase_watch.purchase_details d on d.purchase = p.id
where p.stuck_since is not null;
comment on view purchase_watch.stuck_purchases is 'Purchases that are stuck now: a poll confirmed it at or after the limit of their state.';
