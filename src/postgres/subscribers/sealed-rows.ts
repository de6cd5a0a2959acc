/** The encrypted fields of subscribers, as they are stored, and the keys that the daemons have. */
import type { Queries } from '../connection/database.ts';

/** Encrypted fields of a subscriber that the API made. */
export interface SealedRow {
  readonly id: number;
  readonly name: string;
  readonly url: Uint8Array;
  readonly keys: Uint8Array;
  readonly options: Uint8Array | null;
}

/** Up to `limit` subscribers' encrypted fields, by id, after a given id. */
export const sealedRows = (sql: Queries, { after, limit }: { after: number; limit: number }) => sql<SealedRow[]>`
    select id, name, url, keys, options from purchase_watch_internal.subscribers
    where origin = 'api' and deleted_at is null and id > ${after} order by id limit ${limit}`;

/** Replaces the encrypted fields by the same under another key; false when a request changed them meanwhile. Wakes no daemon, because their meaning is the same. */
export async function replaceSealed(sql: Queries, was: SealedRow, next: Omit<SealedRow, 'id' | 'name'>): Promise<boolean> {
  const bytes = (field: Uint8Array | null) => (field === null ? null : Buffer.from(field));
  const rows = await sql`
    update purchase_watch_internal.subscribers set url = ${bytes(next.url)}::bytea, keys = ${bytes(next.keys)}::bytea, options = ${bytes(next.options)}::bytea
    where id = ${was.id} and url = ${bytes(was.url)}::bytea and keys = ${bytes(was.keys)}::bytea
      and options is not distinct from ${bytes(was.options)}::bytea
    returning id`;
  return rows.length > 0;
}

/** A running daemon, and the ids of its decryption keys. */
export interface KeyHolder {
  readonly replica: string;
  /** Empty: the daemon has no key. Null: the daemon is of a version that does not write its keys. */
  readonly keyIds: readonly string[] | null;
}

/** The running daemons with their keys. */
export const keyHolders = (sql: Queries) => sql<KeyHolder[]>`
    select id as replica, secrets_keys as key_ids from purchase_watch_internal.replicas where expires_at > clock_timestamp() order by id`;
