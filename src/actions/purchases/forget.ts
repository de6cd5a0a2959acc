/** Erasing a purchase with everything that is known of it: what there is, and doing it. */
import { type Instant, isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { heldByText } from '../../postgres/connection/lock-holder.ts';
import { countErasable, type ErasedCounts, erase, eraseHolder, eraseMentions } from '../../postgres/purchases/erase.ts';
import { findPurchases, type PurchaseRow } from '../../postgres/purchases/purchases.ts';
import { findRemarks, namesOf, referencesOf } from '../../postgres/purchases/remarks.ts';
import { delay } from '../../runtime/time.ts';

export { erasures } from '../../postgres/purchases/erase.ts';
export type { Remark } from '../../postgres/purchases/remarks.ts';
export type { ErasedCounts };

/** By then the judge has written the alerts that it was writing. */
const JUDGED_BY: Milliseconds = 1_000;

/** For how long rows that others have locked are tried again: a poll or a delivery under way holds them for milliseconds. */
const WITHIN: Milliseconds = 5_000;

/** Places with data of a purchase that erasing does not reach, in words for people. */
export const OUT_OF_REACH = [
  'logs of the daemon, which name Purchase IDs',
  'backups of the database, and what Postgres has not vacuumed yet',
  'answers kept for requests with an Idempotency-Key: they are encrypted, cannot be searched, and go within a day',
  'what was sent already to receivers and to Slack',
  'metadata of other purchases, where your programs named this one',
];

/**
 * Counts what would be erased, and finds what people wrote about the purchase, which stays; `isWhole` is false when there are more
 * remarks than are listed.
 */
export async function planErasing(sql: Sql, purchase: PurchaseRow) {
  const [counts, remarks] = await Promise.all([countErasable(sql, purchase), remarksAbout(sql, purchase.purchaseId, [purchase])]);
  return { counts, ...remarks };
}

/** Finds what people wrote about a purchase, by its id and by the references of these rows of it: none when it was erased. */
export async function remarksAbout(sql: Sql, id: string, rows: readonly PurchaseRow[]) {
  const { remarks, isWhole } = await findRemarks(sql, namesOf(id, rows.flatMap(referencesOf)));
  return { remarks: remarks.map(({ at, ...remark }) => ({ ...remark, at: isoTime(at) })), isWhole };
}

export type ErasePlan = Awaited<ReturnType<typeof planErasing>>;

/**
 * Erases a purchase, and what the judge wrote of it meanwhile. Answers when; null when nothing was erased, because a
 * transaction held its rows all the time, or because it is gone.
 */
export async function erasePurchase(
  sql: Sql,
  purchase: PurchaseRow,
  options: { by: string; counts: ErasedCounts },
): Promise<Instant | null> {
  const at = await erase(sql, purchase, { ...options, within: WITHIN });
  if (at === null) return null;
  if (purchase.stuckSince !== null) await delay(JUDGED_BY);
  await eraseMentions(sql, purchase);
  return at;
}

/** Why nothing was erased, with what to do; null when the purchase is gone. */
export async function whyNotErased(sql: Sql, purchase: PurchaseRow): Promise<string | null> {
  const [still] = await findPurchases(sql, purchase);
  if (still === undefined) return null;
  const holder = await eraseHolder(sql, purchase);
  const some = 'another session keeps rows of this purchase locked; end its transaction and try again';
  return `nothing was erased: ${holder === null ? some : heldByText(holder)}`;
}
