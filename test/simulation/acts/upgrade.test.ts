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
  expect((await migrate(undone.sql, MIGRATIONS)).applied.length).toBeGreaterThan(0);
  await Promise.all([older.drop(), undone.drop()]);
  rmSync(folder, { recursive: true });
});
