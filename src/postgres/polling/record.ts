/**
 * The transactions that write what polls showed. Each first locks the shard rows it relies on, with the epoch as this
 * replica knows it, and writes a purchase's row only if it is still the version that the decision rested on (`revision`
 * and `polls`). A result whose shard has a new owner, whose purchase was changed from outside, or that another record of
 * the same purchase overtook is refused, and the purchase is read again and due again. So a statement that the client
 * gave up, and that the database runs later, changes nothing.
 */

import type { PollOutcome, Transition } from '../../domain/deciding/outcome.ts';
import { completedEvents, draftOf } from '../../domain/events/events.ts';
import { namedState } from '../../domain/purchases/states.ts';
import type { Holding } from '../../domain/replicas/ownership.ts';
import type { Stay } from '../../domain/stays/stay.ts';
import { stringifyExact } from '../../domain/values/exact-json.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { announcing, type NewEvent, SITE_SHARD } from '../events/events.ts';
import { customerOf } from '../stays/customer.ts';
import { loadAttached } from './queue.ts';

/** A decided poll with where its row must lie in the queue. */
export interface Decided {
  readonly outcome: PollOutcome;
  readonly askedAt: Instant;
  readonly now: Instant;
  /** The queue's slot: not later than that of the next poll; null when it is not polled any more. */
  readonly slot: number | null;
}

export interface Recorded {
  /** Row ids that were written. What is missing was refused. */
  readonly ids: ReadonlySet<number>;
  /** Shards that are not ours any more. */
  readonly lostShards: readonly number[];
  readonly events: number;
}

export interface RecordContext {
  readonly replica: string;
  readonly holdings: readonly Holding[];
}

/**
 * Records polls that changed nothing but times and counters: one statement, no index touched. It waits for the disk all the
 * same: a row whose new slot a crash of the database takes back lies behind its cursor, where only the patrol finds it.
 */
export async function recordUnchanged(
  sql: Queries,
  batch: readonly Decided[],
  { replica, holdings }: RecordContext,
): Promise<Recorded> {
  const rows = await sql<{ id: number | null; shard: number | null }[]>`
    with held as materialized (${heldShards(sql, replica, holdings)}),
    written as (
      update purchase_watch.purchases p set
        polls = r.polls, last_polled_at = to_timestamp(r.now / 1000),
        seen_at = case when r.failures = 0 then to_timestamp(r.now / 1000) else p.seen_at end,
        next_poll_at = to_timestamp(r.next / 1000), due_slot = r.slot, excused_ms = r.excused,
        failures = r.failures, unknowns = r.unknowns, last_error = r.error
      from unnest(${numbers(batch, (d) => d.outcome.purchase.id)}::bigint[], ${numbers(batch, (d) => d.outcome.purchase.shard)}::smallint[],
        ${numbers(batch, (d) => d.outcome.purchase.revision)}::integer[], ${numbers(batch, (d) => d.outcome.purchase.polls)}::bigint[],
        ${numbers(batch, (d) => d.now)}::float8[], ${numbers(batch, (d) => d.outcome.nextPollAt)}::float8[], ${numbers(batch, (d) => d.slot)}::integer[],
        ${numbers(batch, (d) => d.outcome.purchase.excused)}::bigint[], ${numbers(batch, (d) => d.outcome.purchase.failures)}::integer[],
        ${numbers(batch, (d) => d.outcome.purchase.unknowns)}::integer[], ${batch.map((d) => d.outcome.lastError)}::text[])
        as r (id, shard, revision, polls, now, next, slot, excused, failures, unknowns, error)
      join held on held.id = r.shard
      where p.id = r.id and p.revision = r.revision and p.polls = r.polls - 1
      returning p.id)
    select id, null::smallint as shard from written union all select null, id from held`;
  return summarize(rows, holdings, []);
}

/**
 * Records polls that changed something: state, status, details, and everything that must be told, all or nothing. What only
 * events need is read before; all writing is one statement: every further round trip would be paid by whoever waits for the news, and a connection that is lost
 * leaves nothing half done.
 */
export async function recordChanged(
  sql: Queries,
  decided: readonly Decided[],
  { replica, holdings }: RecordContext,
): Promise<Recorded> {
  const batch = await withAttached(sql, decided);
  const moves = batch.flatMap((d) =>
    d.outcome.transition === null ? [] : [{ id: d.outcome.purchase.id, ...d.outcome.transition }],
  );
  const stays = batch.flatMap((d) => (d.outcome.stay === null ? [] : [{ id: d.outcome.purchase.id, ...d.outcome.stay }]));
  const detailed = batch.filter((d) => d.outcome.detailsChanged);
  const oddities = batch.filter((d) => d.outcome.unknownState !== null);
  const isBulk = batch.filter(isFirstSight).length >= BULK;
  const events = [...batch.flatMap((d) => purchaseEvents(d, isBulk && isFirstSight(d))), ...unknownStateEvents(oddities)];
  // Every part sees the tables as they were before the statement, so each that follows the update asks `written`.
  const guard = sql`case when e.purchase is null
    then exists (select from unknown u where u.site = e.site and u.state = e.state) else e.purchase in (select id from written) end`;
  const rows = await sql<{ id: number | null; shard: number | null }[]>`
    with held as materialized (${heldShards(sql, replica, holdings)}),
    written as (${updatePurchases(sql, batch)}),
    transition as (${insertTransitions(sql, moves)}),
    ${stays.length === 0 ? sql`` : sql`stay as (${insertStays(sql, stays)}),`}
    detail as (${writeDetails(sql, detailed)}),
    unknown as (${noteUnknownStates(sql, oddities)}),
    ${announcing(sql, events, guard)}
    select id, null::smallint as shard from written
    union all select null, id from held
    union all select null, null from told`;
  return summarize(rows, holdings, events);
}

/** Completes the events of a batch with what memory does not hold, read in one query and only where there are events. */
async function withAttached(sql: Queries, batch: readonly Decided[]): Promise<readonly Decided[]> {
  const announced = batch.map((d) => d.outcome).filter(({ events }) => events.length > 0);
  if (announced.length === 0) return batch;
  const attached = await loadAttached(sql, {
    ids: announced.map(({ purchase }) => purchase.id),
    details: announced.filter(({ details }) => details === null).map(({ purchase }) => purchase.id),
  });
  return batch.map((d) => {
    const found = attached.get(d.outcome.purchase.id);
    // A purchase that was erased meanwhile is not written.
    if (found === undefined) return d;
    return { ...d, outcome: { ...d.outcome, events: completedEvents(d.outcome.events, d.outcome.details, found) } };
  });
}

/** The shards of the given holdings that are still ours, locked against a takeover until the transaction ends. */
const heldShards = (sql: Queries, replica: string, holdings: readonly Holding[]) => sql<{ id: number }[]>`
  select s.id from purchase_watch_internal.shards s
  join unnest(${numbers(holdings, (h) => h.shard)}::smallint[], ${numbers(holdings, (h) => h.epoch)}::bigint[]) as h (id, epoch)
    on h.id = s.id and h.epoch = s.epoch
  where s.owner = ${replica} order by s.id for share of s`;

const updatePurchases = (sql: Queries, batch: readonly Decided[]) => sql`
    update purchase_watch.purchases p set
      polls = r.polls, last_polled_at = to_timestamp(r.now / 1000), seen_at = to_timestamp(r.seen / 1000),
      next_poll_at = to_timestamp(r.next / 1000), due_slot = r.slot, status = r.status, state = r.state,
      state_since = to_timestamp(r.since / 1000), stuck_since = to_timestamp(r.stuck / 1000), excused_ms = r.excused,
      failures = r.failures, unknowns = r.unknowns, invoice = r.invoice, sequence = r.sequence, last_error = r.error,
      ended_at = case when r.status in ('settled', 'expired', 'stopped') then coalesce(case when p.status = r.status then p.ended_at end, to_timestamp(r.now / 1000)) end
    from unnest(${numbers(batch, (d) => d.outcome.purchase.id)}::bigint[], ${numbers(batch, (d) => d.outcome.purchase.shard)}::smallint[], ${numbers(batch, (d) => d.outcome.purchase.revision)}::integer[],
      ${numbers(batch, (d) => d.outcome.purchase.polls)}::bigint[], ${numbers(batch, (d) => d.now)}::float8[], ${numbers(batch, (d) => d.outcome.purchase.seenAt)}::float8[],
      ${numbers(batch, (d) => d.outcome.nextPollAt)}::float8[], ${numbers(batch, (d) => d.slot)}::integer[],
      ${batch.map((d) => d.outcome.purchase.status)}::text[], ${numbers(batch, (d) => d.outcome.purchase.state)}::integer[],
      ${numbers(batch, (d) => d.outcome.purchase.stateSince)}::float8[], ${numbers(batch, (d) => d.outcome.purchase.stuckSince)}::float8[],
      ${numbers(batch, (d) => d.outcome.purchase.excused)}::bigint[], ${numbers(batch, (d) => d.outcome.purchase.failures)}::integer[],
      ${numbers(batch, (d) => d.outcome.purchase.unknowns)}::integer[], ${numbers(batch, (d) => d.outcome.purchase.sequence)}::integer[],
      ${batch.map((d) => d.outcome.purchase.invoice)}::text[], ${batch.map((d) => d.outcome.lastError)}::text[])
      as r (id, shard, revision, polls, now, seen, next, slot, status, state, since, stuck, excused, failures, unknowns, sequence, invoice, error)
    join held on held.id = r.shard
    where p.id = r.id and p.revision = r.revision and p.polls = r.polls - 1
    returning p.id`;

// `from` is what this replica believes; where the last transition says otherwise, the foreign key refuses the whole batch.
const insertTransitions = (sql: Queries, moves: readonly (Transition & { readonly id: number })[]) => sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
    select r.id, r.sequence,
      (select max(t.sequence) from purchase_watch_internal.purchase_transitions t where t.purchase = r.id),
      r.from_state, r.to_state, to_timestamp(r.not_before / 1000), to_timestamp(r.not_after / 1000)
    from unnest(${numbers(moves, (m) => m.id)}::bigint[], ${numbers(moves, (m) => m.sequence)}::integer[],
      ${numbers(moves, (m) => m.from)}::integer[], ${numbers(moves, (m) => m.to)}::integer[],
      ${numbers(moves, (m) => m.notBefore)}::float8[], ${numbers(moves, (m) => m.notAfter)}::float8[])
      as r (id, sequence, from_state, to_state, not_before, not_after)
    join written using (id)`;

// Who was there before us is known by a first transition that begins nowhere, of a purchase that was registered before the
// site had been asked, or soon after.
const insertStays = (sql: Queries, stays: readonly (Stay & { readonly id: number })[]) => sql`
    insert into purchase_watch_internal.stays (purchase, customer, entered_at, at, shortest_ms, longest_ms, state, to_state, site, outcome, first_sight, found_late)
    select r.id, ${customerOf(sql)},
      to_timestamp(r.entered / 1000), to_timestamp(r.at / 1000), r.shortest, r.longest, r.state, r.to_state, p.site, r.outcome,
      p.registered_at <= coalesce(s.first_success_at, now()) + interval '10 minutes' and (
        select t.from_sequence is null from purchase_watch_internal.purchase_transitions t where t.purchase = r.id order by t.sequence desc limit 1),
      r.found_late
    from unnest(${numbers(stays, (each) => each.id)}::bigint[], ${numbers(stays, (each) => each.enteredAt)}::float8[],
      ${numbers(stays, (each) => each.at)}::float8[], ${numbers(stays, (each) => Math.round(each.shortest))}::bigint[],
      ${numbers(stays, (each) => Math.round(each.longest))}::bigint[], ${numbers(stays, (each) => each.state)}::integer[],
      ${numbers(stays, (each) => each.toState)}::integer[], ${stays.map((each) => each.outcome)}::text[],
      ${`{${stays.map((each) => each.foundLate).join()}}`}::boolean[])
      as r (id, entered, at, shortest, longest, state, to_state, outcome, found_late)
    join written using (id)
    join purchase_watch.purchases p on p.id = r.id
    join purchase_watch_internal.sites s on s.name = p.site`;

const writeDetails = (sql: Queries, batch: readonly Decided[]) => sql`
    insert into purchase_watch_internal.purchase_details (purchase, fields)
    select id, fields::json
    from unnest(${numbers(batch, (d) => d.outcome.purchase.id)}::bigint[], ${batch.map((d) => stringifyExact(d.outcome.details ?? {}))}::text[]) as r (id, fields)
    join written using (id)
    on conflict (purchase) do update set fields = excluded.fields`;

/** A number nobody knows is announced once per site: the first statement to write it tells. */
const noteUnknownStates = (sql: Queries, batch: readonly Decided[]) => sql`
    insert into purchase_watch_internal.unknown_states (site, state)
    select distinct r.site, r.state
    from unnest(${numbers(batch, (d) => d.outcome.purchase.id)}::bigint[], ${batch.map((d) => d.outcome.purchase.site)}::text[],
      ${numbers(batch, (d) => d.outcome.unknownState)}::integer[]) as r (id, site, state)
    join written using (id)
    on conflict do nothing returning site, state`;

/** So many first sights in one statement are a bulk load: changes of known purchases are delivered before them. */
const BULK = 50;

const isFirstSight = ({ outcome }: Decided): boolean => outcome.transition !== null && outcome.transition.from === null;

function purchaseEvents({ outcome }: Decided, isBulk: boolean): NewEvent[] {
  const { id, site, shard } = outcome.purchase;
  return outcome.events.map((draft) => ({ draft, site, purchase: id, shard, isBulk }));
}

/** One event for each new number of a site, whichever purchases of the batch show it. */
function unknownStateEvents(batch: readonly Decided[]): NewEvent[] {
  const firsts = new Map(batch.toReversed().map((d) => [`${d.outcome.purchase.site} ${d.outcome.unknownState}`, d]));
  return [...firsts.values()].map(({ outcome: { purchase, unknownState }, now }) => {
    const { site, purchaseId } = purchase;
    const state = unknownState ?? 0;
    const draft = draftOf('site.unknown_state', { at: now, state }, { site, state: namedState(state), purchaseId });
    return { draft, site, purchase: null, shard: SITE_SHARD };
  });
}

function summarize(
  rows: readonly { id: number | null; shard: number | null }[],
  holdings: readonly Holding[],
  events: readonly NewEvent[],
): Recorded {
  const ids = new Set<number>();
  const held = new Set<number>();
  for (const { id, shard } of rows) {
    if (id !== null) ids.add(id);
    if (shard !== null) held.add(shard);
  }
  return {
    ids,
    lostShards: holdings.filter((h) => !held.has(h.shard)).map((h) => h.shard),
    events: events.filter(({ purchase }) => purchase !== null && ids.has(purchase)).length,
  };
}

/** A Postgres array literal of numbers; one string is far cheaper to send than an array of parameters. */
function numbers<T>(rows: readonly T[], value: (row: T) => number | null): string {
  return `{${rows.map((row) => value(row) ?? 'NULL').join()}}`;
}
