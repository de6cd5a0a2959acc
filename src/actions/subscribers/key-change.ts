/**
 * Changing SECRETS_KEY. Every daemon says in its row which keys it opens with. As long as one of them does not know the new
 * key, what is stored stays readable for it: new secrets are sealed under the key that it replaces, and old ones stay as they are.
 */

import type { Queries } from '../../postgres/connection/database.ts';
import { type KeyHolder, keyHolders, replaceSealed, type SealedRow, sealedRows } from '../../postgres/subscribers/sealed-rows.ts';
import type { Secrets } from '../../runtime/secrets/secrets.ts';

/** Rows in one statement's reach; each is opened and sealed here. */
const AT_ONCE = 50;

/** The secrets with which to store something now: under the newest key that every daemon that lives can open. */
export async function sealingNow(sql: Queries, secrets: Secrets): Promise<Secrets> {
  if (secrets.keyIds.length === 1) return secrets;
  const holders = await keyHolders(sql);
  const common = secrets.keyIds.find((id) => holders.every((holder) => mayOpen(holder, id, secrets)));
  return secrets.sealingUnder(common ?? secrets.keyIds[0]!);
}

/** Whether a daemon can open what is sealed under a key. One of an earlier version is taken to know all keys but the current one. */
function mayOpen({ keyIds }: KeyHolder, id: string, secrets: Secrets): boolean {
  if (keyIds === null) return id !== secrets.keyIds[0];
  return keyIds.length === 0 || keyIds.includes(id);
}

/** The daemons that live and do not know the current key. */
export async function unawareOf(sql: Queries, secrets: Secrets): Promise<string[]> {
  const holders = await keyHolders(sql);
  return holders.filter((holder) => !mayOpen(holder, secrets.keyIds[0]!, secrets)).map(({ replica }) => replica);
}

/**
 * How many subscribers are stored under which key; `unreadable`: under none of those at hand. It reads all, of which there are as many
 * as receivers that people added.
 */
export async function keyUse(sql: Queries, secrets: Secrets) {
  const counts = { current: 0, previous: 0, unreadable: 0 };
  for (let after = 0; ; ) {
    const rows = await sealedRows(sql, { after, limit: AT_ONCE });
    for (const row of rows) counts[keyOf(row, secrets)] += 1;
    if (rows.length < AT_ONCE) return counts;
    after = rows.at(-1)!.id;
  }
}

/** The encrypted fields of a row, each with its place. */
function fieldsOf({ name, url, keys, options }: SealedRow) {
  const fields = [
    ['url', url],
    ['keys', keys],
    ['options', options],
  ] as const;
  return fields.flatMap(([field, sealed]) => (sealed === null ? [] : [{ field, sealed, place: `subscriber ${name} ${field}` }]));
}

function keyOf(row: SealedRow, secrets: Secrets): 'current' | 'previous' | 'unreadable' {
  const fields = fieldsOf(row);
  if (fields.every(({ sealed, place }) => secrets.isCurrent(sealed, place))) return 'current';
  return fields.every(({ sealed, place }) => secrets.open(sealed, place) !== null) ? 'previous' : 'unreadable';
}

/**
 * Seals up to 50 rows after the one of this id again that a previous key opens. A row that is changed meanwhile is left to the next
 * round. Answers how many rows are under the current key from now on, and where the `next` step begins; null: all were looked at.
 */
export async function resealSome(sql: Queries, secrets: Secrets, after: number) {
  const rows = await sealedRows(sql, { after, limit: AT_ONCE });
  let resealed = 0;
  for (const row of rows.filter((each) => keyOf(each, secrets) === 'previous')) {
    const again = fieldsOf(row).map(({ field, sealed, place }) => [field, secrets.seal(secrets.open(sealed, place)!, place)]);
    if (await replaceSealed(sql, row, { ...row, ...Object.fromEntries(again) })) resealed += 1;
  }
  return { resealed, next: rows.length < AT_ONCE ? null : rows.at(-1)!.id };
}
