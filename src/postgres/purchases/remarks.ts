/** Texts of people that name a purchase: notes, reasons, descriptions and marks. Erasing the purchase does not change these texts; their authors have to. */

import { parseExact } from '../../domain/values/exact-json.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import type { PurchaseRow } from './purchases.ts';

/** One text of a person. */
export interface Remark {
  readonly place: 'silence' | 'incident' | 'subscriber' | 'mark';
  /** The id of the silence, incident or mark, or the subscriber's name. */
  readonly id: string;
  readonly field: 'reason' | 'acknowledged note' | 'answer note' | 'description' | 'text';
  /** The author; null where none is stored. */
  readonly by: string | null;
  readonly at: Instant;
  readonly text: string;
}

/** Remarks that are answered at most: more mean that the name is a common word, and are to be looked up in the database. */
const MOST = 200;
/** Shorter references stand in many texts by chance, and are not looked for. */
const SHORTEST_REFERENCE = 4;

/** A purchase's references: the one given at its registration, and the order's as the service sent it. */
export function referencesOf({ reference, details }: Pick<PurchaseRow, 'reference' | 'details'>): (string | null)[] {
  const order = details === null ? null : (parseExact(details) as Record<string, unknown>).OrderReference;
  return [reference, typeof order === 'string' ? order : null];
}

/** The names that are looked for in texts: the purchase's id, and its references unless they are too short. */
export function namesOf(purchaseId: string, references: readonly (string | null)[] = []): string[] {
  return [purchaseId, ...references.filter((each) => each !== null).filter(({ length }) => length >= SHORTEST_REFERENCE)];
}

/**
 * The texts that hold any of these names as a word of its own, in any case of letters, the newest first. Reads every silence,
 * incident and mark, of which there are as many as people and `store.retention` leave. `isWhole` is false when there are more than 200.
 */
export async function findRemarks(
  sql: Queries,
  names: readonly string[],
): Promise<{ readonly remarks: Remark[]; readonly isWhole: boolean }> {
  const found = await sql<Remark[]>`
    with remark as (
      select 'silence' as place, 'sil_' || id as id, 'reason' as field, created_by as by, created_at as at, reason as text from purchase_watch_internal.silences
      union all select 'incident', id, 'acknowledged note', acknowledged_by, acknowledged_at, acknowledged_note from purchase_watch_internal.incidents
      union all select 'incident', id, 'answer note', answered_by, answered_at, answer_note from purchase_watch_internal.incidents
      union all select 'subscriber', name, 'description', null, created_at, description from purchase_watch_internal.subscribers
      union all select 'mark', 'mrk_' || id, 'text', null, at, text from purchase_watch_internal.marks)
    select place, id, field, by, at, text from remark r
    where exists (select from unnest(${names}::text[]) as name where strpos(lower(r.text), lower(name)) > 0)
    order by r.at desc, place, id, field`;
  const remarks = found.filter(({ text }) => names.some((name) => standsIn(text.toLowerCase(), name.toLowerCase())));
  return { remarks: remarks.slice(0, MOST), isWhole: remarks.length <= MOST };
}

/** Whether a name stands in a text with neither letter nor digit beside it: `p-1` is not in `p-12`. */
function standsIn(text: string, name: string): boolean {
  const isPart = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}]/u.test(character);
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    if (!isPart(text[at - 1]) && !isPart(text[at + name.length])) return true;
  }
  return false;
}
