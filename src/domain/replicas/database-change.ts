/**
 * Whether the database behind an address is still the one that a replica's memory is of. It is not after a standby took over
 * without the last writes, or after a backup was restored. Pure.
 */

import type { ChangeKind } from '../incidents/database-loss.ts';

/** A change as a renewal reads it. */
export interface NotedChange {
  readonly id: string;
  readonly kind: ChangeKind;
  /** Cluster and timeline; null where Postgres does not reveal them. */
  readonly origin: string | null;
}

/** The database as a renewal of the lease finds it. */
export interface DatabaseSeen {
  /** How often this replica has renewed its lease; null when the database knows less of that than this replica does. */
  readonly number: number | null;
  readonly origin: string | null;
  /** The latest change that a replica noted. */
  readonly change: NotedChange | null;
}

/**
 * Compares a renewal with memory. `known` is the last renewal that the database confirmed, with the id of the latest change that was
 * noted; null while memory holds nothing of the database. `isOther`: memory is of another database than this one. `note` is what is to
 * be noted: a row, or in the row of the replica that noted it first up to when this replica's writes were confirmed.
 */
export function compareDatabase(
  known: { readonly origin: string | null; readonly change: string | null } | null,
  { number, origin, change }: DatabaseSeen,
): { readonly isOther: boolean; readonly note: ChangeKind | null } {
  if (number === null) return { isOther: true, note: 'went_back' };
  const isFirst = change === null || (change.origin === null && origin !== null);
  const isElsewhere = change !== null && origin !== null && change.origin !== origin;
  const note = isFirst ? 'first' : isElsewhere ? 'moved' : null;
  if (known === null) return { isOther: false, note };
  const isMoved = known.origin !== null && origin !== null && known.origin !== origin;
  const isNotedByOthers = change !== null && change.kind !== 'first' && change.id > (known.change ?? '');
  const isOther = isMoved || isNotedByOthers;
  return { isOther, note: isOther ? 'moved' : note };
}
