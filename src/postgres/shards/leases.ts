/** Named leases, for work that one replica at a time does. A lease has no expiry of its own: it ends with the row of its replica (replicas.ts). */

import type { Fragment, Queries } from '../connection/database.ts';
import type { LeaseName } from '../migrations/names.ts';

/** A named lease, with the epoch that its owner knows. */
export interface Lease {
  readonly name: string;
  readonly replica: string;
  readonly epoch: number;
}

/** The part `held` of a statement: one row while the replica holds the lease under this epoch, locked against a takeover. */
export const holding = (sql: Queries, { name, replica, epoch }: Lease): Fragment => sql`
  held as materialized (
    select from purchase_watch_internal.leases where name = ${name} and owner = ${replica} and epoch = ${epoch} for share)`;

/**
 * Takes or keeps a named lease; answers its epoch, or null while another replica that is alive has it. A replica that leaves its
 * shards to others takes none while one of them may.
 */
export async function takeLease(sql: Queries, { name, replica }: { name: LeaseName; replica: string }): Promise<number | null> {
  const [kept] = await sql<{ epoch: number }[]>`${keptLease(sql, { name, replica })}`;
  return kept?.epoch ?? takeFreeLease(sql, { name, replica });
}

/** The part of a statement that answers the epoch of a named lease that the replica holds. */
export const keptLease = (sql: Queries, { name, replica }: { name: LeaseName; replica: string }): Fragment => sql`
  select epoch from purchase_watch_internal.leases where name = ${name} and owner = ${replica}`;

/** Takes a named lease that no replica holds who is alive; answers its epoch, or null. */
export async function takeFreeLease(
  sql: Queries,
  { name, replica }: { name: LeaseName; replica: string },
): Promise<number | null> {
  // Compares the epoch that was read: a lease that another replica took meanwhile stays with that replica.
  const [taken] = await sql<{ epoch: number }[]>`
    with free as materialized (
      select l.name, l.epoch from purchase_watch_internal.leases l
      join purchase_watch_internal.replicas r on r.id = ${replica}
      where l.name = ${name} and (l.owner is null or not exists (select from purchase_watch_internal.replicas o where o.id = l.owner))
        and (not r.leaving or not exists (select from purchase_watch_internal.replicas o where not o.leaving)))
    update purchase_watch_internal.leases l set owner = ${replica}, epoch = l.epoch + 1 from free f
    where l.name = f.name and l.epoch = f.epoch
    returning l.epoch`;
  return taken?.epoch ?? null;
}

/**
 * Gives a lease that the replica holds another epoch, after a statement under it failed in an unknown way: if the database
 * runs that statement later, it is refused.
 */
export async function raiseLease(sql: Queries, { name, replica }: { name: LeaseName; replica: string }): Promise<void> {
  await sql`update purchase_watch_internal.leases set epoch = epoch + 1 where name = ${name} and owner = ${replica}`;
}

/** Releases the named leases of a replica: another replica knows more than this one. */
export async function releaseLeases(sql: Queries, replica: string): Promise<void> {
  await sql`update purchase_watch_internal.leases set owner = null where owner = ${replica}`;
}
