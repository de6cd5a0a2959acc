/** Notes that another database answers than before, and reads what was noted; there are a few rows at most. */
import type { ChangeKind, DatabaseChange } from '../../domain/incidents/database-loss.ts';
import { DAY, type Instant } from '../../domain/values/time.ts';
import type { Queries, Sql } from '../connection/database.ts';

/** Added to each epoch: whatever was begun before the change is refused, also when epochs are handed out again. */
const EPOCHS_SKIPPED = 1_000_000;
/** Rows that are read to find the last moment that the database knows. */
const LAST_ROWS = 100;

export interface FoundChange {
  readonly kind: ChangeKind;
  /** Later ones are greater. */
  readonly id: string;
  /** The id of the latest change that the finder's memory knew; '' when it knew none. A greater one in the table is this very change, noted by another replica. */
  readonly after: string;
  readonly replica: string;
  readonly host: string;
  readonly noticedAt: Instant;
  /** Up to when the database had confirmed writes to the finder; null when it began after the change. */
  readonly knownUntil: Instant | null;
}

/**
 * Notes a change once, whichever replica finds it first, and answers the row: a replica that misses more than the first one
 * adds that to the same row. Whatever any replica began before is refused from then on.
 */
export async function noteDatabaseChange(sql: Sql, found: FoundChange): Promise<DatabaseChange> {
  return sql.begin(async (tx) => {
    await tx`lock table purchase_watch_internal.database_changes in share row exclusive mode`;
    const [latest] = await tx<{ id: string; kind: ChangeKind }[]>`
      select id, kind from purchase_watch_internal.database_changes order by id desc limit 1`;
    const isNoted = latest !== undefined && latest.id > found.after && latest.kind !== 'first';
    const id = isNoted ? latest.id : latest !== undefined && latest.id >= found.id ? `${latest.id}+` : found.id;
    if (!isNoted) await insertChange(tx, { ...found, id });
    if (found.kind === 'went_back' && !(isNoted && latest.kind === 'went_back')) await noteLoss(tx, id, found.knownUntil);
    await tx`
      update purchase_watch_internal.database_changes set known_until = greatest(known_until, ${found.knownUntil}::timestamptz) where id = ${id}`;
    const [noted] = await changes(tx, tx`id = ${id}`);
    return noted!;
  });
}

async function insertChange(tx: Queries, { id, kind, replica, host, noticedAt, knownUntil }: FoundChange): Promise<void> {
  await tx`
    insert into purchase_watch_internal.database_changes (id, kind, noticed_at, replica, host, origin, known_until)
    values (${id}, ${kind === 'first' ? 'first' : 'moved'}, ${noticedAt}::timestamptz, ${replica}, ${host},
      purchase_watch_internal.database_origin(), ${knownUntil}::timestamptz)`;
  if (kind === 'first') return;
  // In the order in which recording locks them.
  await tx`select from purchase_watch_internal.shards order by id for update`;
  await tx`update purchase_watch_internal.shards set epoch = epoch + ${EPOCHS_SKIPPED}::bigint`;
  await tx`update purchase_watch_internal.leases set epoch = epoch + ${EPOCHS_SKIPPED}::bigint, owner = null`;
}

/** Makes the row one of a loss. The time that the database came back to is taken from the first replica that misses something. */
async function noteLoss(tx: Queries, id: string, knownUntil: Instant | null): Promise<void> {
  const before = tx`< coalesce(${knownUntil}::timestamptz, c.noticed_at)`;
  await tx`
    update purchase_watch_internal.database_changes c set kind = 'went_back', came_back_to = (select max(at) from (
        select renewed_at as at from purchase_watch_internal.renewals where renewed_at ${before}
        union all
        select r.at from (
          select registered_at as at from purchase_watch.purchases order by id desc limit ${LAST_ROWS}) r where r.at ${before}
        union all
        select e.at from (
          select created_at as at from purchase_watch_internal.events order by position desc limit ${LAST_ROWS}) e where e.at ${before}) known)
    where c.id = ${id}`;
  // Transaction ids are handed out again, also where cluster and timeline are the same: the feed begins a new era.
  await tx`update purchase_watch_internal.feed_era set origin = null`;
}

const changes = (sql: Queries, condition = sql`true`) => sql<DatabaseChange[]>`
  select id, kind, noticed_at, replica, host, came_back_to, known_until
  from purchase_watch_internal.database_changes where ${condition} order by id`;

/** For so long people are shown that only another server answers. */
const MOVES_SHOWN_FOR = 7 * DAY;

/** The changes that people are to be shown: losses until a person noted that they were compared, moves for a week. */
export async function shownChanges(sql: Queries): Promise<DatabaseChange[]> {
  return changes(
    sql,
    sql`compared_at is null and (kind = 'went_back' or kind = 'moved' and (known_until is null
      or noticed_at > clock_timestamp() - ${MOVES_SHOWN_FOR}::float8 * interval '1 millisecond'))`,
  );
}

/** Losses of which people were not alerted yet: no alert since is about a loss. One that a replica posted by itself may be about less. */
export async function unalertedLosses(sql: Queries): Promise<DatabaseChange[]> {
  return changes(
    sql,
    sql`kind = 'went_back' and compared_at is null and not exists (
      select from purchase_watch_internal.incidents i join purchase_watch_internal.events e on e.incident = i.id
      where i.kind = 'replica' and i.alerted_at >= noticed_at and e.created_at >= noticed_at and e.body like '%"database_went_back"%')`,
  );
}

/** Notes that a person compared all that was shown; answers how many changes that ends. */
export async function markCompared(sql: Queries): Promise<number> {
  const rows = await sql`
    update purchase_watch_internal.database_changes set compared_at = clock_timestamp()
    where compared_at is null and kind <> 'first' returning id`;
  return rows.length;
}
