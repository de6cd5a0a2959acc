/** Requests that carry an Idempotency-Key, and the answers to them. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

/** A request by the hash of its key, within its method and path. */
export interface KeyedRequest {
  readonly scope: string;
  readonly keyHash: Uint8Array;
  readonly requestHash: Uint8Array;
  /** Other hashes that the same request may be stored under, beside `requestHash`. */
  readonly knownAs: readonly Uint8Array[];
}

export type Claim =
  /** The key was not used: the request may begin. */
  | { readonly kind: 'ours' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'other_request' }
  | { readonly kind: 'answered'; readonly status: number; readonly answer: Uint8Array };

/**
 * Claims the key for a request. A key is free again when its request was lost, or is older than `keep`, not counting time that
 * the database's clock skipped.
 */
export async function claimKey(
  sql: Queries,
  { scope, keyHash, requestHash, knownAs }: KeyedRequest,
  { busyFor, keep }: { busyFor: Milliseconds; keep: Milliseconds },
): Promise<Claim> {
  const [claimed] = await sql`
    insert into purchase_watch_internal.idempotency_keys as k (scope, key_hash, request_hash, busy_until)
    values (${scope}, ${Buffer.from(keyHash)}::bytea, ${Buffer.from(requestHash)}::bytea, now() + ${`${busyFor} ms`}::interval)
    on conflict (scope, key_hash) do update set created_at = now(), request_hash = excluded.request_hash,
      busy_until = excluded.busy_until, status = null, answer = null
    where k.busy_until < now() or k.created_at < now() - ${`${keep} ms`}::interval - (
      select coalesce(sum(upper(r) - lower(r)), '0') from purchase_watch_internal.database_clock c, unnest(c.skipped) r where upper(r) > k.created_at)
    returning 1`;
  if (claimed !== undefined) return { kind: 'ours' };
  const hashes = [requestHash, ...knownAs].map((each) => Buffer.from(each).toString('hex'));
  const [row] = await sql<{ same: boolean; status: number | null; answer: Uint8Array | null }[]>`
    select encode(request_hash, 'hex') = any(${hashes}::text[]) as same, status, answer from purchase_watch_internal.idempotency_keys
    where scope = ${scope} and key_hash = ${Buffer.from(keyHash)}::bytea`;
  if (row === undefined) return { kind: 'busy' };
  if (!row.same) return { kind: 'other_request' };
  return row.status === null || row.answer === null
    ? { kind: 'busy' }
    : { kind: 'answered', status: row.status, answer: row.answer };
}

/** Stores the answer to a request. */
export async function keepAnswer(
  sql: Queries,
  { scope, keyHash }: KeyedRequest,
  { status, answer }: { status: number; answer: Uint8Array },
): Promise<void> {
  await sql`
    update purchase_watch_internal.idempotency_keys set status = ${status}, answer = ${Buffer.from(answer)}::bytea, busy_until = null
    where scope = ${scope} and key_hash = ${Buffer.from(keyHash)}::bytea and status is null`;
}

/** Frees the key of a request that was refused or failed, so that the request may be made again. */
export async function releaseKey(sql: Queries, { scope, keyHash }: KeyedRequest): Promise<void> {
  await sql`
    delete from purchase_watch_internal.idempotency_keys where scope = ${scope} and key_hash = ${Buffer.from(keyHash)}::bytea and status is null`;
}
