/** What later schema files made can be taken away again, so that a world has the database of an older version. */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { migrate } from '../../../src/postgres/migrations/migrate.ts';
import { MIGRATIONS, testDatabase } from '../../support/database.ts';
import { OLDER_SCHEMAS, undoing } from './upgrade.ts';

/** Tables with their columns, functions, triggers and types. */
const made = async (sql: Sql): Promise<string[]> =>
  (
    await sql<{ name: string }[]>`
      select name from (
        select 'column ' || attrelid::regclass || '.' || attname as name from pg_attribute
        where attnum > 0 and not attisdropped and attrelid in (select oid from pg_class where relnamespace::regnamespace::text like 'purchase_watch%')
        union all select 'function ' || oid::regprocedure from pg_proc where pronamespace::regnamespace::text like 'purchase_watch%'
        union all select 'trigger ' || tgname || ' of ' || tgrelid::regclass from pg_trigger where not tgisinternal
        union all select 'type ' || oid::regtype from pg_type where typnamespace::regnamespace::text like 'purchase_watch%') found
      order by name`
  ).map(({ name }) => name);

test.each(OLDER_SCHEMAS)('the schema of file %i', async (number) => {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-older-'));
  for (const name of readdirSync(MIGRATIONS))
    if (Number(name.slice(0, 4)) <= number) cpSync(join(MIGRATIONS, name), join(folder, name));
  const older = await testDatabase({ empty: true });
  await migrate(older.sql, folder);
  const undone = await testDatabase();
  await undone.sql.unsafe(undoing(number));
  expect(await made(undone.sql)).toEqual(await made(older.sql));
  // Counts of the older version, which later files add up.
  if (number >= 10)
    await undone.sql`
      insert into purchase_watch_internal.outcome_hours (hour, customers, amount, way, was_stuck, outcome, site, currency)
      values ('2026-11-20T10:00Z', 3, 30, 6, false, 'paid', 'default', 'SEK'), ('2026-11-20T11:00Z', 2, 20, 6, false, 'paid', 'default', 'SEK')`;
  expect((await migrate(undone.sql, MIGRATIONS)).applied.length).toBeGreaterThan(0);
  const [sums] = await undone.sql`
    select (select sum(customers) from purchase_watch_internal.outcome_hours) as counted,
      (select sum(customers) from purchase_watch_internal.outcome_hour_sums) as hours, (select sum(amount) from purchase_watch_internal.outcome_day_sums) as days`;
  expect(sums).toEqual(number >= 10 ? { counted: '5', hours: '5', days: '50' } : { counted: null, hours: null, days: null });
  await Promise.all([older.drop(), undone.drop()]);
  rmSync(folder, { recursive: true });
});
