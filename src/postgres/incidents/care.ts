/** The acts of people on incidents: become an incident's owner, give that up, and answer what the incident was. */

import type { Fragment, Queries } from '../connection/database.ts';
import { hasRows } from '../connection/rows.ts';

/** An open incident and all its parts, with when the first of them got an owner. */
const family = (sql: Queries, id: string): Fragment => sql`
  recursive family as (
    select id, acknowledged_at as before from purchase_watch_internal.incidents where id = ${id} and ended_at is null
    union
    select c.id, f.before from family f join purchase_watch_internal.incidents c on c.parent = f.id and c.ended_at is null)`;

/**
 * Writes the owner of an open incident, in place of an earlier owner, and of those of its parts that have no owner of their own;
 * wakes the judge. Answers whether the incident is open.
 */
export const acknowledgeIncident = (sql: Queries, { id, by, note }: { id: string; by: string; note: string | null }) =>
  hasRows(sql`
    with ${family(sql, id)},
    acknowledged as (
      update purchase_watch_internal.incidents i set acknowledged_at = now(), acknowledged_by = ${by}, acknowledged_note = ${note}
      from family f where i.id = f.id and (i.id = ${id} or i.acknowledged_at is null or i.acknowledged_at = f.before)
      returning i.id)
    select pg_notify('purchase_watch_wake', 'judge') from acknowledged`);

/** Removes the owner of an open incident and of its parts; wakes the judge. Answers whether the incident is open. */
export const releaseIncident = (sql: Queries, id: string) =>
  hasRows(sql`
    with ${family(sql, id)},
    released as (
      update purchase_watch_internal.incidents i set acknowledged_at = null, acknowledged_by = null, acknowledged_note = null
      from family f where i.id = f.id and (i.id = ${id} or i.acknowledged_at = f.before)
      returning i.id)
    select pg_notify('purchase_watch_wake', 'judge') from released`);

/** Writes a person's answer what an incident was, open or over, in place of an earlier answer. Answers whether there is such an incident. */
export const answerIncident = (
  sql: Queries,
  { id, cause, note, by }: { id: string; cause: string; note: string | null; by: string },
) =>
  hasRows(sql`
    update purchase_watch_internal.incidents set answer_cause = ${cause}, answer_note = ${note}, answered_by = ${by}, answered_at = now()
    where id = ${id} returning id`);
