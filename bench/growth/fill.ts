/** A database of any size as a daemon would have left it: nothing is due, and each purchase's first event was delivered. */
import { statfsSync } from 'node:fs';
import type { Sql } from '../../src/postgres/connection/database.ts';
import type { Lab } from '../lab.ts';
import { EVENT_BODY } from '../outbox.ts';
import { CYCLE } from '../processes/messages.ts';
import { DETAILS } from '../seed.ts';

export interface Size {
  /** Purchases that are watched. */
  readonly watched: number;
  /** Events of each purchase. */
  readonly eventsEach: number;
}

/** Rows that one statement writes at most, of the largest table. */
const CHUNK = 100_000;
/** Statements at the same time, each in a session of its own. */
const PARALLEL = 2;
/** Disk space, seen with Postgres 18: a purchase with its rows in other tables, and each further event. */
const BYTES_OF_PURCHASE = 2_200;
const BYTES_OF_EVENT = 1_000;

/** The id of the nth event of the purchase with this row id: row ids begin at 1 and have no gaps. */
export function eventIdOf(row: number, sequence: number): string {
  return `evt_${`${row}0${sequence}`.padStart(26, '0')}`;
}

/** Throws unless the disk of the lab has room for these sizes together. Only the embedded Postgres has its data there. */
export function checkRoom(lab: Lab, sizes: readonly Size[]): void {
  const bytes = sizes.reduce(
    (sum, { watched, eventsEach }) => sum + watched * (BYTES_OF_PURCHASE + (eventsEach - 1) * BYTES_OF_EVENT),
    0,
  );
  const { bavail, bsize } = statfsSync(lab.folder);
  const gigabytes = (count: number): string => `${(count / 1e9).toFixed(1)} GB`;
  if (bytes > bavail * bsize) {
    throw new Error(
      `${lab.folder}: about ${gigabytes(bytes)} are needed and ${gigabytes(bavail * bsize)} are free; set TMPDIR to a larger disk, or use --quick`,
    );
  }
}

/** Fills a fresh database, through the tables' indexes and triggers as they are. */
export async function fill(sql: Sql, { watched, eventsEach }: Size): Promise<void> {
  await sql`insert into purchase_watch_internal.subscribers (name, kind, address_hash, configured) values ('past', 'webhook', 'bench', false)`;
  await inChunks(watched, CHUNK, (from, to) => insertPurchases(sql, { from, to, eventsEach }));
  const room = Math.max(1, Math.floor(CHUNK / eventsEach));
  if (eventsEach > 1) await inChunks(watched, room, (from, to) => insertEvents(sql, { from: from + 1, to: to + 1, eventsEach }));
  // A daemon would have taken over what they name long ago.
  await sql`truncate purchase_watch_internal.nudges`;
  for (const table of ['purchases', 'purchase_transitions', 'events', 'purchase_details', 'deliveries']) {
    const schema = table === 'purchases' ? 'purchase_watch' : 'purchase_watch_internal';
    await sql`vacuum (analyze) ${sql(`${schema}.${table}`)}`;
  }
  await sql`checkpoint`.catch(() => undefined);
}

/** Calls with ranges of numbers from 0 on, both ends included, several at a time. */
async function inChunks(count: number, size: number, write: (from: number, to: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const from = next;
      next = Math.min(next + size, count);
      await write(from, next - 1);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}

const ID_OF_EVENT = "'evt_' || lpad(purchase::text || '0' || sequence, 26, '0')";

interface Chunk {
  readonly from: number;
  readonly to: number;
  readonly eventsEach: number;
}

async function insertPurchases(sql: Sql, { from, to, eventsEach }: Chunk): Promise<void> {
  await sql`
    with purchase as (
      insert into purchase_watch.purchases (purchase_id, site, state, state_since, seen_at, last_polled_at, polls, sequence, next_poll_at)
      select '00000000-0000-4000-8000-' || lpad(to_hex(i), 12, '0'), 'default', ${CYCLE[0]}, now(), now(), now(), 1, ${eventsEach},
        now() + interval '30 days' + i % 1000000 * interval '1 second'
      from generate_series(${from}::integer, ${to}::integer) as i returning id, site, shard),
    transition as (
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, to_state, not_after)
      select id, 1, ${CYCLE[0]}, now() from purchase),
    details as (
      insert into purchase_watch_internal.purchase_details (purchase, fields) select id, ${DETAILS}::text::json from purchase),
    event as (
      insert into purchase_watch_internal.events (id, type, site, purchase, sequence, shard, state, created_at, body)
      select ${sql.unsafe(ID_OF_EVENT)}, 'purchase.state_changed', site, purchase, sequence, shard, ${CYCLE[0]}, now(), ${EVENT_BODY}
      from (select id as purchase, 1 as sequence, site, shard from purchase) p returning position, purchase, shard)
    insert into purchase_watch_internal.deliveries (event, lane, due_at, settled_at, subscriber, attempts, shard, status)
    select e.position, e.purchase, now(), now(), s.id, 1, e.shard, 'delivered'
    from event e cross join purchase_watch_internal.subscribers s where s.name = 'past'`;
}

/** All events but the first, of purchases by row id. */
async function insertEvents(sql: Sql, { from, to, eventsEach }: Chunk): Promise<void> {
  await sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
    select ${sql.unsafe(ID_OF_EVENT)}, 'purchase.state_changed', site, purchase, sequence, sequence - 1, shard, ${CYCLE[1]}, now(), ${EVENT_BODY}
    from (select p.id as purchase, s.sequence, p.site, p.shard from purchase_watch.purchases p
      cross join generate_series(2, ${eventsEach}::integer) as s (sequence)
      where p.id between ${from} and ${to} order by s.sequence, p.id) e`;
}

/** Of every `each`-th purchase, from row id `first` on: polled now, or again in a month. Only while no daemon runs. */
export async function setDue(sql: Sql, { first, each, isDue }: { first: number; each: number; isDue: boolean }): Promise<number> {
  const at = isDue ? sql`now()` : sql`now() + interval '30 days'`;
  const { count } = await sql`
    update purchase_watch.purchases set next_poll_at = ${at}, due_slot = purchase_watch_internal.due_slot(${at})
    where id = any(array(select generate_series(${first}::bigint, (select max(id) from purchase_watch.purchases), ${each}::bigint)))`;
  return count;
}
