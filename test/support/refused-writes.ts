/** Has Postgres refuse to write tables, as with a full disk, until that is taken back. */
import type { Sql } from '../../src/postgres/connection/database.ts';

/** Tables with their schema. */
export type Refusals = readonly (readonly [table: string, what: 'insert' | 'update' | 'insert or update or delete'])[];

/** Every statement that writes one of these fails with 53100; answers what ends that. */
export async function refuseWrites(sql: Sql, refusals: Refusals): Promise<() => Promise<void>> {
  await sql.unsafe(`
    create or replace function public.refuse_as_full() returns trigger language plpgsql as $$
    begin raise disk_full using message = 'could not extend file "base/1/2": No space left on device'; end $$;
    ${refusals.map(([table, what]) => `create trigger refused before ${what} on ${table} execute function public.refuse_as_full();`).join('\n')}`);
  return async () => {
    await sql.unsafe(refusals.map(([table]) => `drop trigger refused on ${table};`).join('\n'));
  };
}

/** Every table that the daemon writes. */
export async function refuseAll(sql: Sql): Promise<() => Promise<void>> {
  const rows = await sql<{ name: string }[]>`
    select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('purchase_watch', 'purchase_watch_internal') and c.relkind in ('r', 'p') and not c.relispartition`;
  return refuseWrites(
    sql,
    rows.map(({ name }) => [name, 'insert or update or delete']),
  );
}
