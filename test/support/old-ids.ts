import type { Sql } from '../../src/postgres/connection/database.ts';
import { type Registration, register } from '../../src/postgres/purchases/purchases.ts';

/** Registers a purchase as it was before ids of its form were refused. */
export async function registerFromBefore(sql: Sql, registration: Registration): Promise<void> {
  await sql`alter table purchase_watch.purchases disable trigger refuse_odd_id`;
  await register(sql, [registration]);
  await sql`alter table purchase_watch.purchases enable trigger refuse_odd_id`;
}
