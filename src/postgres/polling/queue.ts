/** The queue as a shard's owner reads it: purchases by shard and due slot, and the nudges for purchases that changed from outside. */

import type { PollReason } from '../../domain/polling/poll-reason.ts';
import { type Attached, DIGEST_LENGTH, type Purchase } from '../../domain/purchases/purchase.ts';
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';
import { held, type Writer } from '../deliveries/settle.ts';
import { FIRST_BULK_SLOT } from '../migrations/names.ts';

/** Width of a due slot; the same as in `purchase_watch_internal.due_slot`. */
const SLOT_WIDTH = 10_000;

export function dueSlot(at: Instant): number {
  return Math.floor(at / SLOT_WIDTH);
}

/** No slot is later; the largest integer of the database. */
export const LAST_SLOT = 2_147_483_647;

/** Whether a slot is that of a first poll of a bulk registration. */
export function isBulkSlot(slot: number): boolean {
  return slot >= FIRST_BULK_SLOT;
}

/** How far a shard has been read: every row at or before (slot, id) is in memory, or was moved behind the cursor since. */
export interface Cursor {
  readonly shard: number;
  readonly slot: number;
  readonly id: number;
}

/** A purchase with its due time and its row's place in the queue; both are null when the purchase is not polled any more. */
export interface QueuedPurchase {
  readonly purchase: Purchase;
  readonly nextPollAt: Instant | null;
  readonly slot: number | null;
  /** Why it is polled then, where that was recorded. */
  readonly reason: PollReason | null;
  /** Whether it was registered together with many others. */
  readonly isBulk: boolean;
}

type Row = Purchase & Omit<QueuedPurchase, 'purchase'>;

// Rows are read as flat columns and times as epoch milliseconds: one object a row, nothing to convert.
const COLUMNS = `
  p.id, p.site, p.purchase_id, p.shard, p.revision, p.polls, p.status, p.state, p.state_since, p.excused_ms as excused,
  p.stuck_since, p.at_risk_since, p.seen_at, p.watched_since, p.failures, p.unknowns, p.invoice, p.sequence,
  left(encode(sha256(convert_to(d.fields::text, 'UTF8')), 'base64'), ${DIGEST_LENGTH}) as details_digest,
  p.reference, p.metadata is not null as has_metadata,
  p.next_poll_at, p.due_slot as slot, p.next_poll_reason as reason, p.bulk is true as is_bulk`;

/** A read of one site's queue. */
export interface QueueRead {
  readonly site: string;
  readonly cursors: readonly Cursor[];
  /** The last slot. */
  readonly through: number;
  /** Rows of a shard, at most. */
  readonly limit: number;
}

/**
 * Reads queues of sites on from each cursor, in slot order: an index range each, whatever the table's size, and one
 * statement for all. Answers, for each read, the rows and the cursors moved on. With `dueBefore`, reads past rows that are due
 * later than that: their owner has them in memory.
 */
export async function loadDue(
  sql: Queries,
  reads: readonly QueueRead[],
  dueBefore: Instant | null = null,
): Promise<{ rows: QueuedPurchase[]; cursors: Cursor[] }[]> {
  const ranges = reads.flatMap(({ cursors }, index) => cursors.map((cursor) => ({ ...cursor, read: index + 1 })));
  if (ranges.length === 0) return reads.map(() => ({ rows: [], cursors: [] }));
  const rows = await sql<(Row & { readonly read: number })[]>`
    select c.read, ${sql.unsafe(COLUMNS)}
    from ${columns(sql, ranges, 'c', 'read integer, shard smallint, slot integer, id bigint')}
    cross join lateral (
      select * from purchase_watch.purchases q
      where q.site = (${reads.map(({ site }) => site)}::text[])[c.read] and q.shard = c.shard and q.due_slot is not null
        and (q.due_slot, q.id) > (c.slot, c.id) and q.due_slot <= (${`{${reads.map(({ through }) => through).join()}}`}::integer[])[c.read]
        ${dueBefore === null ? sql`` : sql`and q.next_poll_at < ${dueBefore}::timestamptz`}
      order by q.due_slot, q.id limit (${`{${reads.map(({ limit }) => limit).join()}}`}::integer[])[c.read]) p
    left join purchase_watch_internal.purchase_details d on d.purchase = p.id`;
  const groups = Map.groupBy(rows, ({ read }) => read);
  return reads.map((read, index) => {
    const own = groups.get(index + 1) ?? [];
    return { rows: own.map(queued), cursors: movedOn(read, own) };
  });
}

/** Where the cursors of a read stand after it: at its last row of a shard where it was cut off, otherwise at the end of the last slot. */
function movedOn({ cursors, through, limit }: QueueRead, rows: readonly Row[]): Cursor[] {
  const counts = new Map<number, { count: number; last: Row }>();
  for (const row of rows) {
    const seen = counts.get(row.shard);
    const further = !seen || row.slot! > seen.last.slot! || (row.slot === seen.last.slot && row.id > seen.last.id);
    counts.set(row.shard, { count: (seen?.count ?? 0) + 1, last: further ? row : seen.last });
  }
  return cursors.map(({ shard }) => {
    const read = counts.get(shard);
    return read !== undefined && read.count >= limit
      ? { shard, slot: read.last.slot!, id: read.last.id }
      : { shard, slot: through, id: Number.MAX_SAFE_INTEGER };
  });
}

/** A purchase that changed from outside, as it is now, and its nudges. */
export interface NudgedPurchase extends QueuedPurchase {
  readonly nudges: readonly number[];
}

/** A place in a shard's queue of first polls of bulk registrations, from which on there are new rows. */
export interface BulkBegin extends Cursor {
  readonly site: string;
}

/**
 * Reads up to `limit` nudges of the given shards with their purchases, the newest first: a flood of others does not delay that of
 * a purchase which was just registered. The nudges stay until `dropNudges`, so a crash in between loses none. Orphans are nudges
 * whose purchase was deleted.
 */
export async function readNudged(
  sql: Queries,
  { shards, limit }: { shards: readonly number[]; limit: number },
): Promise<{ rows: NudgedPurchase[]; orphans: number[]; bulks: BulkBegin[]; more: boolean }> {
  const rows = await sql<((Row | { readonly id: null }) & OwnNudges)[]>`
    with nudge as materialized (
      select id, purchase, shard, site, slot from purchase_watch_internal.nudges
      where shard = any(${`{${shards.join()}}`}::smallint[]) order by id desc limit ${limit})
    select ${sql.unsafe(COLUMNS)}, n.nudges, n.begin
    from (
      select purchase, array_agg(id) as nudges,
        -- Each purchase keeps its site and shard.
        case when min(slot) is not null then json_build_object('site', min(site), 'shard', min(shard), 'slot', min(slot), 'id', purchase)::text end as begin
      from nudge group by purchase) n
    left join purchase_watch.purchases p on p.id = n.purchase
    left join purchase_watch_internal.purchase_details d on d.purchase = p.id`;
  const nudged = rows.flatMap((row) => (row.id === null ? [] : [{ ...queued(row), nudges: row.nudges }]));
  const orphans = rows.flatMap(({ id, nudges }) => (id === null ? nudges : []));
  const bulks = rows.flatMap(({ begin }) => (begin === null ? [] : [JSON.parse(begin) as BulkBegin]));
  return { rows: nudged, orphans, bulks, more: rows.reduce((sum, { nudges }) => sum + nudges.length, 0) >= limit };
}

interface OwnNudges {
  readonly nudges: readonly number[];
  /** JSON of a `BulkBegin`. */
  readonly begin: string | null;
}

/** Drops nudges whose purchases have been taken over, in the shards that the writer still holds. */
export async function dropNudges(sql: Queries, nudges: readonly number[], writer: Writer): Promise<void> {
  await sql`
    with ${held(sql, writer)}
    delete from purchase_watch_internal.nudges n using held where n.id = any(${`{${nudges.join()}}`}::bigint[]) and n.shard = held.id`;
}

/** Drops the nudges of the shards that the writer still holds, because their queues are about to be read from the beginning. */
export async function dropNudgesOf(sql: Queries, writer: Writer): Promise<void> {
  await sql`with ${held(sql, writer)} delete from purchase_watch_internal.nudges n using held where n.shard = held.id`;
}

/** Purchases by row id, as they are now. */
export async function loadPurchases(sql: Queries, ids: readonly number[]): Promise<QueuedPurchase[]> {
  const rows = await sql<Row[]>`
    select ${sql.unsafe(COLUMNS)} from purchase_watch.purchases p
    left join purchase_watch_internal.purchase_details d on d.purchase = p.id
    where p.id = any(${`{${ids.join()}}`}::bigint[])`;
  return rows.map(queued);
}

/** By row id, the fields of purchases that only events need. `details` names the purchases whose stored fields are read, too. */
export async function loadAttached(
  sql: Queries,
  { ids, details }: { ids: readonly number[]; details: readonly number[] },
): Promise<Map<number, Attached>> {
  if (ids.length === 0) return new Map();
  const rows = await sql<(Attached & { readonly id: number })[]>`
    select p.id, p.reference, p.metadata::text as metadata, d.fields::text as details
    from purchase_watch.purchases p
    left join purchase_watch_internal.purchase_details d on d.purchase = p.id and p.id = any(${`{${details.join()}}`}::bigint[])
    where p.id = any(${`{${ids.join()}}`}::bigint[])`;
  return new Map(rows.map(({ id, ...attached }) => [id, attached]));
}

/**
 * Memory holds many of these for long, so each purchase is a literal (a spread would keep its fields in an array beside the
 * object) and words that repeat are kept once.
 */
function queued(row: Row): QueuedPurchase {
  const { nextPollAt, slot, isBulk } = row;
  const purchase: Purchase = {
    id: row.id,
    site: oneOf(row.site),
    purchaseId: row.purchaseId,
    shard: row.shard,
    revision: row.revision,
    polls: row.polls,
    status: oneOf(row.status),
    state: row.state,
    stateSince: row.stateSince,
    excused: row.excused,
    stuckSince: row.stuckSince,
    atRiskSince: row.atRiskSince,
    seenAt: row.seenAt,
    watchedSince: row.watchedSince,
    failures: row.failures,
    unknowns: row.unknowns,
    invoice: row.invoice === null ? null : oneOf(row.invoice),
    sequence: row.sequence,
    detailsDigest: row.detailsDigest,
    reference: row.reference,
    hasMetadata: row.hasMetadata,
  };
  return { purchase, nextPollAt, slot, reason: row.reason === null ? null : oneOf(row.reason), isBulk };
}

/** Names of sites, and words of columns: a handful. */
const words = new Map<string, string>();

function oneOf<Word extends string>(word: Word): Word {
  const known = words.get(word);
  if (known === undefined) words.set(word, word);
  return (known ?? word) as Word;
}
