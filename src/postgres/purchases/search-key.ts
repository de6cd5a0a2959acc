/** Finding by the beginning of a name, in any case. The function is that of the indexes (0002_purchases.sql), and compares bytes in a database of any collation. */
import type { Fragment, Queries } from '../connection/database.ts';

/** The order reference of stored fields `d`. */
export const ORDER = `purchase_watch_internal.stored_text(d.fields, 'OrderReference')`;

/** SQL for the key of a text; `expression` is SQL, such as `p.purchase_id`. */
export const keyOf = (expression: string): string => `(purchase_watch_internal.search_key(${expression}) collate "C")`;

/** No text that begins with a key is beyond the key with this character behind it. */
const BEYOND = '\u{10ffff}';

/** Whether the text of an SQL expression begins as `beginning` does, whatever the case; wildcards of LIKE mean themselves. */
export function beginsAs(sql: Queries, expression: string, beginning: string): Fragment {
  const key = sql.unsafe(keyOf(expression));
  const asked = sql`purchase_watch_internal.search_key(${beginning})`;
  return sql`(${key} >= ${asked} and ${key} < ${asked} || ${BEYOND})`;
}
