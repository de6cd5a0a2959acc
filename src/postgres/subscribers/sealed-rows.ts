/** What is stored encrypted of subscribers, as it lies there, and which keys the daemons know. */
import type { Queries } from '../connection/database.ts';

/** Encrypted fields of a subscriber that the API made. */
export interface SealedRow {
  readonly id: number;
  readonly name: string;
  readonly url: Uint8Array;
  readonly keys: Uint8Array;
  readonly options: Uint8Array | null;
}

/** Up to `limit` of them, by id, after the one of this id. */
export async function sealedRows(sql: Queries, { after, limit }: { after: number; limit: number }): Promise<SealedRow[]> {
  return sql<SealedRow[]>`
    select id, name, url, keys, options from purchase_watch_internal.subscribers
    where origin = 'api' and deleted_at is null and id > ${after} order by id limit ${limit}`;
}

/** Replaces the encrypted fields by the same under another key; false when somebody changed them meanwhile. No daemon need hear of it. */
export async function replaceSealed(sql: Queries, was: SealedRow, next: Omit<SealedRow, 'id' | 'name'>): Promise<boolean> {
  const bytes = (field: Uint8Array | null) => (field === null ? null : Buffer.from(field));
  const rows = await sql`
    update purchase_watch_internal.subscribers set url = ${bytes(next.url)}::bytea, keys = ${bytes(next.keys)}::bytea, options = ${bytes(next.options)}::bytea
    where id = ${was.id} and url = ${bytes(was.url)}::bytea and keys = ${bytes(was.keys)}::bytea
      and options is not distinct from ${bytes(was.options)}::bytea
    returning id`;
  return rows.length > 0;
}

/** A daemon that lives, and the keys it opens with. */
export interface KeyHolder {
  readonly replica: string;
  /** Empty: it has none. Null: it is of a version that does not say. */
  readonly keyIds: readonly string[] | null;
}

/** The daemons that live. */
export async function keyHolders(sql: Queries): Promise<KeyHolder[]> {
  return sql<KeyHolder[]>`
    select id as replica, secrets_keys as "keyIds" from purchase_watch_internal.replicas where expires_at > clock_timestamp() order by id`;
}
