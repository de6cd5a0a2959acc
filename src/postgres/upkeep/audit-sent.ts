/**
 * Compares a receiver's own log with the deliveries of its subscriber. After the database went back, this shows what the
 * database calls delivered and the receiver never got, and what the receiver got and the database does not know.
 */

import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';
import type { CheckResult, Gap } from './audit.ts';
import { LISTED } from './audit-checks.ts';

/** The facts of a line of the log beside its id; null where the line lacks one. */
export interface LoggedEvent {
  readonly site: string | null;
  readonly purchaseId: string | null;
}

export interface SentOptions {
  /** The subscriber's row id. */
  readonly subscriber: number;
  /** Compares only events made since this moment; null: since the oldest event of the log that the database knows. */
  readonly since: Instant | null;
}

export interface SentResult {
  /** Ids of the log, and those of them that the database does not know. */
  readonly known: CheckResult;
  /** Events that the database calls delivered, and those of them that the log lacks. */
  readonly arrived: CheckResult;
}

/** Ids in one statement, and deliveries. */
const BATCH = 5_000;

/** Counts, and keeps the first gaps. */
function counting() {
  const first: Gap[] = [];
  const counts = { checked: 0, gaps: 0 };
  return {
    counts,
    gap: (gap: Gap): void => {
      counts.gaps += 1;
      if (first.length < LISTED) first.push(gap);
    },
    result: (): CheckResult => ({ ...counts, first }),
  };
}

/** Compares both ways; `log` holds the ids (webhook-id) that the receiver took. Reads in batches, and changes nothing. */
export async function auditSent(
  sql: Queries,
  log: ReadonlyMap<string, LoggedEvent>,
  { subscriber, since }: SentOptions,
): Promise<SentResult> {
  const known = counting();
  let begin = since === null ? null : await positionAt(sql, since);
  const ids = [...log.keys()];
  for (let at = 0; at < ids.length; at += BATCH) {
    const batch = ids.slice(at, at + BATCH);
    const rows = await sql<{ id: string; position: number }[]>`
      select id, position from purchase_watch_internal.events where id = any(${batch}::text[])`;
    const found = new Set(rows.map(({ id }) => id));
    known.counts.checked += batch.length;
    if (since === null) for (const { position } of rows) begin = Math.min(begin ?? position, position);
    for (const id of batch) {
      if (found.has(id)) continue;
      known.gap({ ...log.get(id)!, sequence: null, detail: `${id} arrived, and the database does not know the event` });
    }
  }
  return { known: known.result(), arrived: await arrivedOf(sql, log, { subscriber, begin: begin ?? 0 }) };
}

const positionAt = (sql: Queries, moment: Instant) =>
  firstValue<number>(sql`
    select coalesce(purchase_watch_internal.position_at(${moment}::timestamptz), 0)::float8 as position`);

async function arrivedOf(
  sql: Queries,
  log: ReadonlyMap<string, LoggedEvent>,
  { subscriber, begin }: { subscriber: number; begin: number },
): Promise<CheckResult> {
  const arrived = counting();
  type Row = Omit<Gap, 'detail'> & { readonly id: string; readonly type: string; readonly position: number };
  for (let after = begin - 1; ; ) {
    const rows = await sql<Row[]>`
      select e.id, e.type, e.position, nullif(e.site, '') as site, p.purchase_id, e.sequence
      from (
        select event from purchase_watch_internal.deliveries
        where subscriber = ${subscriber} and status = 'delivered' and event > ${after}::bigint order by event limit ${BATCH}) d
      join purchase_watch_internal.events e on e.position = d.event left join purchase_watch.purchases p on p.id = e.purchase
      order by e.position`;
    for (const { id, type, site, purchaseId, sequence } of rows) {
      // A test says nothing of purchases.
      if (type === 'subscriber.test') continue;
      arrived.counts.checked += 1;
      if (log.has(id)) continue;
      const detail = `${id} (${type}) is delivered as the database has it, and is not in the log`;
      arrived.gap({ site, purchaseId, sequence, detail });
    }
    if (rows.length < BATCH) return arrived.result();
    after = rows.at(-1)!.position;
  }
}
