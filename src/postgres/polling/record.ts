/**
 * The transactions that write what polls showed. Each first locks the shard rows it relies on, with the epoch as this
 * replica knows it, and writes a purchase's row only if it is still the version that the decision rested on (`revision`
 * and `polls`). A result whose shard has a new owner, whose purchase was changed from outside, or that another record of
 * the same purchase overtook is refused, and the purchase is read again and due again. So a statement that the client
 * gave up, and that the database runs later, changes nothing. A database that went back hands row ids out again, to other
 * purchases, so each result names its purchase, too. A batch holds each row id once.
 */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import type { PollOutcome, StateTransition } from '../../domain/deciding/outcome.ts';
import { completedEvents } from '../../domain/events/make-event.ts';
import type { JudgedStay } from '../../domain/stays/stay.ts';
import { stringifyExact } from '../../domain/values/exact-json.ts';
import type { Instant } from '../../domain/values/time.ts';
import { type Columns, columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';
import {
  answeringDeliveries,
  type FreshRow,
  type NewDeliveries,
  NO_DELIVERIES,
  NOT_FRESH,
  newDeliveries,
} from '../deliveries/new-deliveries.ts';
import { held, type Writer } from '../deliveries/settle.ts';
import { announcingRows, type EventRow } from '../events/events.ts';
import { customerOf } from '../stays/customer.ts';
import { isOfFirstLoad } from '../stays/first-load.ts';
import { notingPayments } from '../stays/order-payments.ts';
import { eventRowsOf } from './poll-events.ts';
import { loadAttached } from './queue.ts';
import { countingTransitions } from './transition-counts.ts';
import { notingUnreadable } from './unreadable.ts';

/** A decided poll with the place of its row in the queue. */
export interface Decided {
  readonly outcome: PollOutcome;
  readonly askedAt: Instant;
  readonly now: Instant;
  /** The queue's slot: not later than that of the next poll; null when it is not polled any more. */
  readonly slot: number | null;
}

export interface Recorded {
  /** Row ids that were written. Purchases whose id is missing were refused. */
  readonly ids: ReadonlySet<number>;
  /** Shards that this replica does not hold any more. */
  readonly lostShards: readonly number[];
  readonly events: number;
  /** The new deliveries that need no read of the outbox. */
  readonly deliveries: NewDeliveries;
}

/**
 * Records polls that changed nothing but times and counters: one statement that changes no index. The commit waits for the disk
 * all the same: if a crash of the database undid a row's new slot, the row would lie behind its cursor, where only the patrol
 * finds it.
 */
export async function recordUnchanged(sql: Queries, decided: readonly Decided[], writer: Writer): Promise<Recorded> {
  // Rows that lie together are written together, which costs less.
  const batch = decided.toSorted((a, b) => a.outcome.purchase.id - b.outcome.purchase.id);
  const isAllWell = batch.every(({ outcome: { purchase, lastError } }) => purchase.failures === 0 && lastError === null);
  const rows = await sql<Found[]>`
    with ${held(sql, writer)},
    written as (
      update purchase_watch.purchases p set
        polls = r.polls, last_polled_at = r.now, next_poll_at = r.next, next_poll_reason = r.reason, due_slot = r.slot, excused_ms = r.excused,
        ${
          isAllWell
            ? sql`seen_at = r.now, failures = 0, unknowns = 0, last_error = null`
            : sql`
          seen_at = case when r.failures = 0 then r.now else p.seen_at end, failures = r.failures, unknowns = r.unknowns, last_error = r.error`
        }
      from ${columns(sql, batch, 'r', {
        id: ['bigint', (d) => d.outcome.purchase.id],
        shard: ['smallint', (d) => d.outcome.purchase.shard],
        revision: ['integer', (d) => d.outcome.purchase.revision],
        polls: ['bigint', (d) => d.outcome.purchase.polls],
        now: ['timestamptz', (d) => d.now],
        next: ['timestamptz', (d) => d.outcome.nextPollAt],
        reason: ['purchase_watch_internal.poll_reason', (d) => d.outcome.nextPollReason],
        slot: ['integer', (d) => d.slot],
        excused: ['bigint', (d) => d.outcome.purchase.excused],
        ...PURCHASE,
        ...(isAllWell ? {} : FAILURES),
      })}
      join held on held.id = r.shard
      where p.id = r.id and p.site || '/' || p.purchase_id = r.purchase and p.revision = r.revision and p.polls = r.polls - 1
      returning p.id)
    select id, null::smallint as shard from written union all select null, id from held`;
  return summarize(rows, writer);
}

/**
 * Records polls that changed something: state, status, details, and all events, all or nothing. Fields that only events need are
 * read before. One statement writes everything: every further round trip would delay the delivery of the change, and a
 * connection that is lost leaves nothing half done.
 */
export async function recordChanged(sql: Queries, decided: readonly Decided[], writer: Writer): Promise<Recorded> {
  const batch = await withAttached(sql, decided);
  const moves = batch.flatMap((d) =>
    d.outcome.transition === null ? [] : [{ id: d.outcome.purchase.id, ...d.outcome.transition }],
  );
  const stays = batch.flatMap((d) => (d.outcome.stay === null ? [] : [{ id: d.outcome.purchase.id, ...d.outcome.stay }]));
  const detailed = batch.filter((d) => d.outcome.detailsChanged);
  const oddities = batch.filter((d) => d.outcome.unknownState !== null);
  const unreadable = batch.filter((d) => d.outcome.isAlarming === true);
  const events = eventRowsOf(batch);
  // Every part sees the tables as they were before the statement, so each part after the update joins `written`.
  const guard = sql`case when e.purchase is null
    then exists (select from unknown u where u.site = e.site and u.state = e.state) else e.purchase in (select id from written) end`;
  const rows = await sql<(Found & FreshRow)[]>`
    with ${held(sql, writer)},
    written as (${updatePurchases(sql, batch)}),
    transition as (${insertTransitions(sql, moves)}),
    ${moves.length === 0 ? sql`` : sql`${countingTransitions(sql)},`}
    ${moves.some(({ to }) => to === COMPLETED) ? sql`${notingPayments(sql)},` : sql``}
    ${stays.length === 0 ? sql`` : sql`stay as (${insertStays(sql, stays)}),`}
    ${unreadable.length === 0 ? sql`` : sql`unread as (${notingUnreadable(sql, unreadable)}),`}
    detail as (${writeDetails(sql, detailed)}),
    unknown as (${noteUnknownStates(sql, oddities)}),
    ${announcingRows(sql, events, guard)},
    ${answeringDeliveries(sql)}
    select id, null::smallint as shard, ${sql.unsafe(NOT_FRESH)} from written
    union all select null, id, ${sql.unsafe(NOT_FRESH)} from held
    union all select null, null, ${sql.unsafe(NOT_FRESH)} from notified
    union all select null, null, fresh.* from fresh`;
  return summarize(rows, writer, events, newDeliveries(rows, events));
}

/**
 * Completes the events of a batch. Fields that memory does not hold are read by one query, and by none where no poll needs them:
 * a round trip more would delay the delivery of each change.
 */
async function withAttached(sql: Queries, batch: readonly Decided[]): Promise<readonly Decided[]> {
  const unknown = batch
    .map((d) => d.outcome)
    .filter(({ events, purchase, details }) => events.length > 0 && (purchase.hasMetadata || details === null));
  const attached = await loadAttached(sql, {
    ids: unknown.map(({ purchase }) => purchase.id),
    details: unknown.filter(({ details }) => details === null).map(({ purchase }) => purchase.id),
  });
  const isRead = new Set(unknown);
  return batch.map((d) => {
    const { reference, id } = d.outcome.purchase;
    const found = isRead.has(d.outcome) ? attached.get(id) : { reference, metadata: null, details: null };
    // A purchase that was erased meanwhile is not written.
    if (found === undefined) return d;
    return { ...d, outcome: { ...d.outcome, events: completedEvents(d.outcome.events, d.outcome.details, found) } };
  });
}

/** The purchase that the row must be of. The condition joins its two columns so that the planner keeps to the row's own key. */
const PURCHASE: Columns<Decided> = { purchase: ['text', ({ outcome: { purchase: p } }) => `${p.site}/${p.purchaseId}`] };

/** The columns of a row for failed polls. */
const FAILURES: Columns<Decided> = {
  failures: ['integer', (d) => d.outcome.purchase.failures],
  unknowns: ['integer', (d) => d.outcome.purchase.unknowns],
  error: ['text', (d) => d.outcome.lastError],
};

const updatePurchases = (sql: Queries, batch: readonly Decided[]) => sql`
    update purchase_watch.purchases p set
      polls = r.polls, last_polled_at = r.now, seen_at = r.seen,
      next_poll_at = r.next, next_poll_reason = r.reason, due_slot = r.slot, status = r.status, state = r.state,
      state_since = r.since, stuck_since = r.stuck, at_risk_since = r.risk, excused_ms = r.excused,
      failures = r.failures, unknowns = r.unknowns, invoice = r.invoice, sequence = r.sequence, last_error = r.error,
      ended_at = case when r.status in ('settled', 'expired', 'stopped') then coalesce(case when p.status = r.status then p.ended_at end, r.now) end
    from ${columns(sql, batch, 'r', {
      id: ['bigint', (d) => d.outcome.purchase.id],
      shard: ['smallint', (d) => d.outcome.purchase.shard],
      revision: ['integer', (d) => d.outcome.purchase.revision],
      polls: ['bigint', (d) => d.outcome.purchase.polls],
      now: ['timestamptz', (d) => d.now],
      seen: ['timestamptz', (d) => d.outcome.purchase.seenAt],
      next: ['timestamptz', (d) => d.outcome.nextPollAt],
      reason: ['purchase_watch_internal.poll_reason', (d) => d.outcome.nextPollReason],
      slot: ['integer', (d) => d.slot],
      status: ['text', (d) => d.outcome.purchase.status],
      state: ['integer', (d) => d.outcome.purchase.state],
      since: ['timestamptz', (d) => d.outcome.purchase.stateSince],
      stuck: ['timestamptz', (d) => d.outcome.purchase.stuckSince],
      risk: ['timestamptz', (d) => d.outcome.purchase.atRiskSince],
      excused: ['bigint', (d) => d.outcome.purchase.excused],
      failures: ['integer', (d) => d.outcome.purchase.failures],
      unknowns: ['integer', (d) => d.outcome.purchase.unknowns],
      sequence: ['integer', (d) => d.outcome.purchase.sequence],
      invoice: ['text', (d) => d.outcome.purchase.invoice],
      error: ['text', (d) => d.outcome.lastError],
      reference: ['text', (d) => d.outcome.purchase.reference],
      has_metadata: ['boolean', (d) => d.outcome.purchase.hasMetadata],
      ...PURCHASE,
    })}
    join held on held.id = r.shard
    -- An event repeats the reference that the daemon holds in memory. Where a person changed it in the row by SQL, the poll is not recorded.
    where p.reference is not distinct from r.reference and (p.metadata is not null) = r.has_metadata
      and p.id = r.id and p.site || '/' || p.purchase_id = r.purchase and p.revision = r.revision and p.polls = r.polls - 1
    returning p.id, p.site`;

// `from` is what this replica believes; where the last transition says otherwise, the foreign key refuses the whole batch.
const insertTransitions = (sql: Queries, moves: readonly (StateTransition & { readonly id: number })[]) => sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
    select r.id, r.sequence,
      (select max(t.sequence) from purchase_watch_internal.purchase_transitions t where t.purchase = r.id),
      r.from_state, r.to_state, r.not_before, r.not_after
    from ${columns(sql, moves, 'r', {
      id: ['bigint', (m) => m.id],
      sequence: ['integer', (m) => m.sequence],
      from_state: ['integer', (m) => m.from],
      to_state: ['integer', (m) => m.to],
      not_before: ['timestamptz', (m) => m.notBefore],
      not_after: ['timestamptz', (m) => m.notAfter],
    })}
    join written using (id)
    returning purchase, from_state, to_state, not_after`;

// `first_sight` marks a stay that may be longer than polls show: the first poll of a purchase of the site's first load found it.
const insertStays = (sql: Queries, stays: readonly (JudgedStay & { readonly id: number })[]) => sql`
    insert into purchase_watch_internal.stays (purchase, customer, entered_at, at, shortest_ms, longest_ms, state, to_state, site, outcome, first_sight, found_late)
    select r.id, ${customerOf(sql)},
      r.entered, r.at, r.shortest, r.longest, r.state, r.to_state, p.site, r.outcome,
      ${isOfFirstLoad(sql)} and (
        select t.from_sequence is null from purchase_watch_internal.purchase_transitions t where t.purchase = r.id order by t.sequence desc limit 1),
      r.found_late
    from ${columns(sql, stays, 'r', {
      id: ['bigint', (each) => each.id],
      entered: ['timestamptz', (each) => each.enteredAt],
      at: ['timestamptz', (each) => each.at],
      shortest: ['bigint', (each) => Math.round(each.shortest)],
      longest: ['bigint', (each) => Math.round(each.longest)],
      state: ['integer', (each) => each.state],
      to_state: ['integer', (each) => each.toState],
      outcome: ['text', (each) => each.outcome],
      found_late: ['boolean', (each) => each.foundLate],
    })}
    join written using (id)
    join purchase_watch.purchases p on p.id = r.id
    join purchase_watch_internal.sites s on s.name = p.site`;

const writeDetails = (sql: Queries, batch: readonly Decided[]) => sql`
    insert into purchase_watch_internal.purchase_details (purchase, fields)
    select id, fields::json
    from ${columns(sql, batch, 'r', {
      id: ['bigint', (d) => d.outcome.purchase.id],
      fields: ['text', (d) => stringifyExact(d.outcome.details ?? {})],
    })}
    join written using (id)
    on conflict (purchase) do update set fields = excluded.fields`;

/** A number of an unknown state is announced once per site, by the first statement that writes it. */
const noteUnknownStates = (sql: Queries, batch: readonly Decided[]) => sql`
    insert into purchase_watch_internal.unknown_states (site, state)
    select distinct r.site, r.state
    from ${columns(sql, batch, 'r', {
      id: ['bigint', (d) => d.outcome.purchase.id],
      site: ['text', (d) => d.outcome.purchase.site],
      state: ['integer', (d) => d.outcome.unknownState],
    })}
    join written using (id)
    -- All statements use this order, so that two never wait for each other.
    order by r.site, r.state
    on conflict do nothing returning site, state`;

/** A row that was written, or a shard that is held; both null in rows of other parts. */
interface Found {
  readonly id: number | null;
  readonly shard: number | null;
}

function summarize(
  rows: readonly Found[],
  { holdings }: Writer,
  events: readonly EventRow[] = [],
  deliveries = NO_DELIVERIES,
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
    deliveries,
  };
}
