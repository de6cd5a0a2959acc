-- Sites, purchases and their changes of state.
-- Column order follows width (8 bytes first) in the tables that hold millions of rows: it saves padding.

-- Sites -----------------------------------------------------------------------------------------------------------------

create table purchase_watch_internal.sites (
  name text primary key check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  configured boolean not null default true,
  failing_since timestamptz,
  failing_reason text,
  first_success_at timestamptz,
  last_success_at timestamptz,
  last_read_at timestamptz,
  last_error text,
  first_look_since timestamptz,
  first_look_alerted_at timestamptz,
  digest_at timestamptz,
  unnamed_since timestamptz,
  renamed_to text references purchase_watch_internal.sites
);
comment on table purchase_watch_internal.sites is 'Merchant accounts at the checkout service. Made from the configuration at start; holds no credentials.';
comment on column purchase_watch_internal.sites.configured is 'Whether a living replica names the site, or did within the last ten minutes. Purchases of other sites keep their rows and are not polled.';
comment on column purchase_watch_internal.sites.failing_since is 'Since when no purchase, or hardly any, is read; null while enough are. Derived from site_reach with every report; the judge ends it when no purchase is left to poll.';
comment on column purchase_watch_internal.sites.failing_reason is 'Why the site failed last, in a word of site_reach.reason.';
comment on column purchase_watch_internal.sites.first_success_at is 'The first usable answer.';
comment on column purchase_watch_internal.sites.last_success_at is 'The last usable answer.';
comment on column purchase_watch_internal.sites.last_read_at is 'The last answer to any replica that showed a purchase''s status while enough purchases were read.';
comment on column purchase_watch_internal.sites.last_error is 'Why the last failed poll failed, in a sentence.';
comment on column purchase_watch_internal.sites.first_look_since is 'When a purchase was first found stuck that had been waiting before the site was polled for the first time.';
comment on column purchase_watch_internal.sites.first_look_alerted_at is 'When people were alerted of such purchases.';
comment on column purchase_watch_internal.sites.digest_at is 'Up to when digests were made.';
comment on column purchase_watch_internal.sites.unnamed_since is 'Since when no living replica names the site, so that its purchases are not polled; null while one does. After ten minutes the site is not configured any more.';
comment on column purchase_watch_internal.sites.renamed_to is 'The site of which this name is a former one, as a living replica''s settings say. While no replica names this site itself, its purchases move there, and registrations that name it are taken for that site.';

create table purchase_watch_internal.site_reach (
  site text not null references purchase_watch_internal.sites,
  replica text not null references purchase_watch_internal.replicas on delete cascade,
  last_read_at timestamptz,
  failing_since timestamptz,
  reason text check (reason in ('throttled', 'malformed', 'unknown', 'refused', 'unreachable')),
  error text,
  primary key (site, replica),
  check ((failing_since is null) = (reason is null))
);
create index site_reach_replica on purchase_watch_internal.site_reach (replica);
comment on table purchase_watch_internal.site_reach is 'Whether each replica can read purchases at each site. Each replica writes its own rows, every few seconds at most; they go with the replica, because another replica may have another way to the service.';
comment on column purchase_watch_internal.site_reach.last_read_at is 'The last answer to this replica that showed a purchase''s status while it read enough of the purchases that it polled.';
comment on column purchase_watch_internal.site_reach.failing_since is 'Since when this replica reads no purchase, or hardly any; null while it reads enough, or polls none.';
comment on column purchase_watch_internal.site_reach.reason is 'throttled: 429 to every call; malformed: answers that the specification does not show; unknown: the service knows none of the purchases; refused: 401 or 403; unreachable: no connection, time-outs, 5xx.';
comment on column purchase_watch_internal.site_reach.error is 'The last error, in a sentence.';

create table purchase_watch_internal.site_calls (
  site text not null references purchase_watch_internal.sites,
  replica text not null references purchase_watch_internal.replicas on delete cascade,
  written_at timestamptz not null default now(),
  breaker text not null check (breaker in ('closed', 'open', 'recovering')),
  breaker_cause text check (breaker_cause in ('failing', 'throttled')),
  breaker_since timestamptz not null,
  next_probe_at timestamptz,
  calls_per_second float8 not null check (calls_per_second >= 0),
  ceiling float8 not null check (ceiling >= 0),
  has_token boolean not null,
  token_fetched_at timestamptz,
  token_expires_at timestamptz,
  token_refused_at timestamptz,
  token_refusal text,
  primary key (site, replica)
);
create index site_calls_replica on purchase_watch_internal.site_calls (replica);
comment on table purchase_watch_internal.site_calls is 'How each replica calls each site, as the replica wrote it last: every ten seconds while it calls the site. Rows go with their replica.';
comment on column purchase_watch_internal.site_calls.written_at is 'When the replica wrote the row. A replica that makes no calls and sees no change writes nothing.';
comment on column purchase_watch_internal.site_calls.breaker is 'closed: every call may leave. open: only probes may. recovering: calls return, twice as many each second.';
comment on column purchase_watch_internal.site_calls.breaker_cause is 'Why it is open: the site failed, or asked for fewer calls. Null when it is not open.';
comment on column purchase_watch_internal.site_calls.breaker_since is 'Since when the breaker is as it is.';
comment on column purchase_watch_internal.site_calls.next_probe_at is 'The earliest moment of the next probe; null when the breaker is not open, and while a probe is under way.';
comment on column purchase_watch_internal.site_calls.calls_per_second is 'Calls that left since the row before, as an average.';
comment on column purchase_watch_internal.site_calls.ceiling is 'The replica''s part of the site''s calls a second.';
comment on column purchase_watch_internal.site_calls.has_token is 'Whether the site''s calls need an access token; credentials go with each call otherwise.';
comment on column purchase_watch_internal.site_calls.token_fetched_at is 'When the present access token was fetched; null before the first one. The token itself is nowhere in the database.';
comment on column purchase_watch_internal.site_calls.token_expires_at is 'Until when the service said that the token is valid.';
comment on column purchase_watch_internal.site_calls.token_refused_at is 'When a token was last refused, or a call with a new token was.';
comment on column purchase_watch_internal.site_calls.token_refusal is 'Why, in a sentence; without credentials.';

create table purchase_watch_internal.unknown_states (
  site text not null references purchase_watch_internal.sites,
  state integer not null,
  first_seen_at timestamptz not null default now(),
  primary key (site, state)
);
comment on table purchase_watch_internal.unknown_states is 'Numbers of states that the specification does not list, seen at a site: announced once each.';
comment on column purchase_watch_internal.unknown_states.first_seen_at is 'When a poll first showed the number.';

-- Purchases -------------------------------------------------------------------------------------------------------------

-- The daemon has the same words (src/domain/polling/poll-reason.ts); a test compares them.
create type purchase_watch_internal.poll_reason as enum ('first', 'renewed', 'growth', 'stuck_moment', 'give_up', 'failure', 'retry_after',
  'recheck', 'invoice', 'requested', 'site_readable', 'repaired');
comment on type purchase_watch_internal.poll_reason is 'What decided the time of a purchase''s next poll.';

create table purchase_watch.purchases (
  id bigint generated always as identity primary key,
  registered_at timestamptz not null default now(),
  watched_since timestamptz not null default now(),
  last_polled_at timestamptz,
  seen_at timestamptz,
  next_poll_at timestamptz,
  state_since timestamptz,
  stuck_since timestamptz,
  ended_at timestamptz,
  excused_ms bigint not null default 0 check (excused_ms >= 0),
  polls bigint not null default 0,
  due_slot integer,
  revision integer not null default 0,
  state integer,
  sequence integer not null default 0 check (sequence >= 0),
  failures integer not null default 0,
  unknowns integer not null default 0,
  next_poll_reason purchase_watch_internal.poll_reason default 'first',
  shard smallint not null check (shard between 0 and 63),
  bulk boolean,
  status text not null default 'watching' check (status in ('watching', 'settled', 'unreadable', 'expired', 'stopped')),
  site text not null references purchase_watch_internal.sites,
  purchase_id text not null check (length(purchase_id) between 1 and 200 and purchase_id !~ '[[:cntrl:]]' and purchase_id = btrim(purchase_id)),
  reference text check (length(reference) between 1 and 200),
  last_error text,
  registered_by text check (length(registered_by) between 1 and 200),
  invoice text check (invoice in ('wanted', 'ready', 'none')),
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
comment on column purchase_watch.purchases.registered_at is 'When the purchase was registered.';
comment on column purchase_watch.purchases.watched_since is 'When the purchase was registered, or watched again after it had been stopped or had expired.';
comment on column purchase_watch.purchases.last_polled_at is 'The last poll, whatever the service answered.';
comment on column purchase_watch.purchases.seen_at is 'Last poll that got a well-formed answer.';
comment on column purchase_watch.purchases.next_poll_at is 'When the purchase is polled next. Null: not polled any more.';
comment on column purchase_watch.purchases.next_poll_reason is 'What decided next_poll_at. Null: not polled any more, or planned before reasons were recorded.';
comment on column purchase_watch.purchases.state_since is 'When the present stay in the state was first observed.';
comment on column purchase_watch.purchases.stuck_since is 'When a poll found the purchase stuck; null when it is not.';
comment on column purchase_watch.purchases.ended_at is 'When the watching ended (settled, expired or stopped); retention counts from here.';
comment on column purchase_watch.purchases.excused_ms is 'Time of the present stay in which the purchase could not be polled. It never counts towards stuck.';
comment on column purchase_watch.purchases.polls is 'How often the purchase was polled.';
comment on column purchase_watch.purchases.due_slot is 'Where the queue finds the row: not later than the slot of next_poll_at, unless more is due than memory holds. Larger by 1000000000 until the first poll of a purchase of a bulk registration. Null: not polled any more.';
comment on column purchase_watch.purchases.bulk is 'True: registered together with more than 50 others. Its first poll goes after those of purchases that were registered one by one, and later polls after those of other purchases, except while its customer is at work. Null otherwise.';
comment on column purchase_watch.purchases.revision is 'Raised by every change from outside; a poll that began before it is not recorded.';
comment on column purchase_watch.purchases.state is 'The number of the state as last observed; null before the first observation.';
comment on column purchase_watch.purchases.sequence is 'The sequence of the purchase''s last event.';
comment on column purchase_watch.purchases.failures is 'How many polls in a row had no usable answer.';
comment on column purchase_watch.purchases.unknowns is 'How many polls in a row the service answered that it does not know the purchase.';
comment on column purchase_watch.purchases.status is 'watching, settled (in a final state), unreadable, expired (given up) or stopped.';
comment on column purchase_watch.purchases.purchase_id is 'The Purchase ID that the checkout service gave: all that an insert needs. 1 to 200 characters.';
comment on column purchase_watch.purchases.site is 'A configured site; left out, the one named default, or the only one.';
comment on column purchase_watch.purchases.reference is 'Your own name for the purchase, such as an order number. 1 to 200 characters.';
comment on column purchase_watch.purchases.last_error is 'Why the last poll had no usable answer, in a sentence; null when it had one.';
comment on column purchase_watch.purchases.registered_by is 'api, cli, or sql: and the role that inserted it.';
comment on column purchase_watch.purchases.invoice is 'wanted: read with the next poll. ready: announced by purchase.invoice_ready, once. none: there is none, or the daemon gave up. Null: not asked for.';
comment on column purchase_watch.purchases.metadata is 'A JSON object of up to 8192 characters that comes back in every event.';

-- The queue: one per site, so that a site that cannot be polled does not hold up the others.
create index purchases_due on purchase_watch.purchases (site, shard, due_slot, id) where due_slot is not null;
create index purchases_stuck on purchase_watch.purchases (site, state, state_since) where stuck_since is not null;
create index purchases_reference on purchase_watch.purchases (reference, id) where reference is not null;
create index purchases_ended on purchase_watch.purchases (ended_at) where ended_at is not null;
-- Lists: every filter is a union of these groups, and within each the rows lie in the order of the list, newest first.
-- A state of null stands as the lowest integer, for an index finds no "is not distinct from". The id is negative so that
-- no other index offers the order: the planner would walk the primary key through a million rows to find a rare group.
create index purchases_listed on purchase_watch.purchases
  (status, coalesce(state, -2147483648), (stuck_since is not null), (-id));
create index purchases_listed_by_site on purchase_watch.purchases
  (site, status, coalesce(state, -2147483648), (stuck_since is not null), (-id));
-- The oldest of each state.
create index purchases_oldest on purchase_watch.purchases (site, state, state_since) where status = 'watching' and state is not null;
-- Purchases whose last polls failed: few while all is well. When a site can be read again, those that failed meanwhile are
-- polled at once, and this index finds them without reading the others.
create index purchases_failing on purchase_watch.purchases (site, id) where failures > 0;

-- Lists by time, by the beginning of a name, and by amount (purchase_details below). No column of these indexes changes with a poll
-- that finds nothing new. The longest waiting purchases are found by purchases_oldest and purchases_stuck.
create index purchases_registered on purchase_watch.purchases (site, registered_at, id);

-- A name is found by its beginning, in any case and in a database of any collation: of "C", an index compares bytes, and lower()
-- leaves letters beyond ASCII to the list here, which no update of the system changes.
create function purchase_watch_internal.search_key(name text) returns text language sql immutable parallel safe as $$
  select case when octet_length(name) = length(name) then lower(left(name, 200) collate "C")
    else translate(lower(left(name, 200) collate "C"),
      'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯẞ',
      'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяß') end
$$;
comment on function purchase_watch_internal.search_key is 'The first 200 characters of a name in lower case: Latin, Greek and Cyrillic letters. Compared with collate "C".';
create index purchases_id_key on purchase_watch.purchases ((purchase_watch_internal.search_key(purchase_id) collate "C"));
create index purchases_reference_key on purchase_watch.purchases ((purchase_watch_internal.search_key(reference) collate "C")) where reference is not null;

create function purchase_watch_internal.due_slot(at timestamptz) returns integer
language sql immutable parallel safe strict as $$ select floor(extract(epoch from at) / 10)::integer $$;
comment on function purchase_watch_internal.due_slot is 'The slot of ten seconds in which the queue finds a time. The index holds the slot and not the time, so that a poll that changes nothing but times is a heap-only update.';

-- Purchases that are registered together with many others get their first polls after those that are registered one by one. The
-- queue keeps these first polls apart, behind all slots of other polls, so that no reading of the queue meets them before the others.
create function purchase_watch_internal.bulk_slot(at timestamptz) returns integer
language sql immutable parallel safe strict as $$ select 1000000000 + purchase_watch_internal.due_slot(at) $$;
comment on function purchase_watch_internal.bulk_slot is 'The slot of a first poll of a bulk registration.';

-- A bulk registration leaves one nudge for each site and shard, not one for each row: 100 000 of them would be read before the nudge of
-- a purchase that is registered a moment later.
create table purchase_watch_internal.nudges (
  id bigint generated always as identity primary key,
  purchase bigint not null,
  slot integer,
  shard smallint not null,
  site text
);
comment on table purchase_watch_internal.nudges is 'Which purchases changed from outside since the owner of their shard last looked. Only a hint: the index of the queue is the truth, and a new owner reads that.';
comment on column purchase_watch_internal.nudges.site is 'Of a bulk registration: the site. Null: the nudge is of one purchase.';
comment on column purchase_watch_internal.nudges.slot is 'Of a bulk registration: from this slot and this purchase on, the shard''s queue of first polls of bulk registrations has new rows.';

-- Stored fields and the number of their order ---------------------------------------------------------------------------

create table purchase_watch_internal.purchase_details (
  purchase bigint primary key references purchase_watch.purchases on delete cascade,
  fields json not null
);
comment on table purchase_watch_internal.purchase_details is 'The fields that store.fields names, as last seen, with the digits the service sent. Apart from the row that every poll rewrites.';
comment on column purchase_watch_internal.purchase_details.fields is 'json, not jsonb: the text stays as it was made, so that comparing texts shows a change.';

-- A service may send anything, and no value may break a list: escapes that are no text in Postgres (a zero byte, half a
-- character) would. The planner puts the body of such a function in its place, so it costs nothing unless selected.
create function purchase_watch_internal.stored_text(fields json, field text) returns text language sql immutable parallel safe as $$
  select case when replace(fields::text, '\\', '') !~* '\\u(0000|d[89a-f])' then fields ->> field end
$$;
comment on function purchase_watch_internal.stored_text is 'A stored field as text; null when it is not stored, or holds what is no text.';

create function purchase_watch_internal.stored_number(fields json, field text) returns numeric language sql immutable parallel safe as $$
  select case when replace(fields::text, '\\', '') !~* '\\u(0000|d[89a-f])'
    then case when fields ->> field ~ '^-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?$' then (fields ->> field)::numeric end end
$$;
comment on function purchase_watch_internal.stored_number is 'A stored field as a number; null when it is not stored or not a number.';

-- Purchases of one order are found beside those of one reference. A number stands for the order: what a service sends as its
-- text may be too long for an index, or no text in Postgres, and neither may keep a poll from being recorded.
create function purchase_watch_internal.order_key(fields json) returns bigint language sql immutable parallel safe as $$
  select hashtextextended(nullif(btrim(purchase_watch_internal.stored_text(fields, 'OrderReference')), ''), 0)
$$;
comment on function purchase_watch_internal.order_key is 'A number for the order of a purchase, from its stored OrderReference; null when that is not stored or empty.';
create index purchase_details_order on purchase_watch_internal.purchase_details (purchase_watch_internal.order_key(fields));
create index purchase_details_order_key on purchase_watch_internal.purchase_details
  ((purchase_watch_internal.search_key(purchase_watch_internal.stored_text(fields, 'OrderReference')) collate "C"));
create index purchase_details_amount on purchase_watch_internal.purchase_details
  ((left(nullif(btrim(purchase_watch_internal.stored_text(fields, 'CurrencyCode')), ''), 20)), (-purchase_watch_internal.stored_number(fields, 'Price')), purchase)
  where purchase_watch_internal.stored_number(fields, 'Price') is not null;

-- Changes of state ------------------------------------------------------------------------------------------------------

create table purchase_watch_internal.purchase_transitions (
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
  foreign key (purchase, from_sequence, from_state) references purchase_watch_internal.purchase_transitions (purchase, sequence, to_state),
  check ((from_sequence is null) = (from_state is null)),
  check (from_sequence < sequence),
  check (from_state <> to_state),
  check (not_before <= not_after)
);
comment on table purchase_watch_internal.purchase_transitions is 'Changes between two observations: the state moved after not_before and no later than not_after.';
comment on column purchase_watch_internal.purchase_transitions.not_before is 'The last poll that showed the state before; null for the first observation.';
comment on column purchase_watch_internal.purchase_transitions.not_after is 'The first poll that showed the new state.';
comment on column purchase_watch_internal.purchase_transitions.sequence is 'The sequence of the event that announces the change.';
comment on column purchase_watch_internal.purchase_transitions.from_sequence is 'The sequence of the transition before; null for the first one.';
comment on column purchase_watch_internal.purchase_transitions.from_state is 'The number of the state before; null for the first observation.';
comment on column purchase_watch_internal.purchase_transitions.to_state is 'The number of the new state.';
