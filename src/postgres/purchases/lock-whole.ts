/**
 * How purchases are deleted with all rows that belong to them, without ever waiting for a lock. A statement that records,
 * settles or sends again locks rows of one purchase and may then wait for rows of another; so a deletion takes the rows that
 * are free at the moment and leaves the others for its next turn, and no deadlock arises.
 */
import type { Queries } from '../connection/database.ts';

/**
 * The part of a statement that locks the events and deliveries of the purchases that an earlier part, `candidate`, has
 * locked: `event`, `delivery`, and in `busy` the ids of the purchases of which another transaction has locked a row.
 */
export const lockingWhole = (sql: Queries) => sql`
    event as materialized (
      select e.position, e.purchase from candidate c join purchase_watch_internal.events e on e.purchase = c.id for update of e skip locked),
    delivery as materialized (
      select d.id, d.status, e.purchase from event e join purchase_watch_internal.deliveries d on d.event = e.position for update of d skip locked),
    busy as (
      select c.id from candidate c join purchase_watch_internal.events e on e.purchase = c.id
      where not exists (select from event l where l.position = e.position)
      union select e.purchase from event e join purchase_watch_internal.deliveries d on d.event = e.position
      where not exists (select from delivery l where l.id = d.id))`;
