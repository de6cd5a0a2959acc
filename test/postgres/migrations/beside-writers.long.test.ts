/**
 * Each migration beside writers, readers and one long reader, on a large table: how long does a statement wait at most? PURCHASES
 * says how many there are; a million takes some minutes. REPORT=1 prints a table.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { readFolder } from '../../../src/postgres/migrations/files.ts';
import { LOCKS } from '../../../src/postgres/migrations/locks.ts';
import { migrate } from '../../../src/postgres/migrations/migrate.ts';
import { MIGRATIONS, testDatabase } from '../../support/database.ts';

const PURCHASES = Number(process.env.PURCHASES ?? 200_000);
/** Tables get their rows after this file: the ones before it make them. */
const FILLED_AFTER = 9;
const READS_FOR = 700;
const LONGEST = 500;

const cleanUp: (() => unknown)[] = [];
afterAll(async () => {
  for (const each of cleanUp.reverse()) await each();
});

async function fill(sql: Sql): Promise<void> {
  await sql`insert into purchase_watch_internal.sites (name) values ('default')`;
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`
      insert into purchase_watch.purchases (purchase_id, site, shard, next_poll_at, due_slot, state, state_since, metadata)
      select 'purchase-' || g, 'default', g % 64, now() + interval '1 hour', g, 1, now(), '{"cart": 7}' from generate_series(1, ${PURCHASES}::integer) g`;
  });
  await sql`analyze purchase_watch.purchases`;
}

/** Statements that run again and again, each on a connection of its own, and the longest that one took and waited for a lock. */
function traffic(url: string, statements: readonly string[]) {
  let stopped = false;
  const longest = { took: 0, waited: 0 };
  const running = statements.map(async (statement) => {
    const sql = connect(url, { max: 1, name: 'traffic' });
    for (let number = 1; !stopped; number++) {
      const began = performance.now();
      await sql.unsafe(statement.replaceAll('$n', `${(number * 7919) % PURCHASES}`));
      longest.took = Math.max(longest.took, performance.now() - began);
      await delay(2);
    }
    await sql.end();
  });
  const watching = (async () => {
    const sql = connect(url, { max: 1, name: 'watch' });
    while (!stopped) {
      // waitstart is set a moment after the wait begins.
      const [row] = await sql<[{ waited: number }]>`
        select coalesce(max(extract(epoch from clock_timestamp() - waitstart)) * 1000, 0)::float8 as waited
        from pg_locks l join pg_stat_activity a using (pid)
        where not granted and locktype = 'relation' and application_name like '%traffic' and datname = current_database()`;
      longest.waited = Math.max(longest.waited, row.waited);
      await delay(10);
    }
    await sql.end();
  })();
  return {
    /** Milliseconds since the last call. */
    take: () => {
      const { took, waited } = longest;
      Object.assign(longest, { took: 0, waited: 0 });
      return { took: Math.round(took), waited: Math.round(waited) };
    },
    stop: async () => {
      stopped = true;
      await Promise.all([...running, watching]);
    },
  };
}

/** A report that reads all tables in one transaction; resolves once it has begun, with a promise of its end. */
async function longReader(url: string): Promise<{ ended: Promise<unknown> }> {
  const sql = connect(url, { max: 1, name: 'a report' });
  const begun = Promise.withResolvers<void>();
  const ended = sql
    .begin(async (tx) => {
      const tables = await tx<{ name: string }[]>`
        select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname like 'purchase\\_watch%' and tablename <> 'migrations'`;
      for (const { name } of tables) await tx.unsafe(`select from ${name} limit 1`);
      begun.resolve();
      await delay(READS_FOR);
    })
    .finally(() => sql.end());
  await begun.promise;
  return { ended };
}

/** What a next version may bring, by the rules of locks.test.ts. */
const NEXT = [
  'alter table purchase_watch.purchases add column next integer;',
  'create index concurrently purchases_next on purchase_watch.purchases (last_polled_at, id);',
  'alter table purchase_watch.purchases add constraint next check (polls >= 0) not valid;',
  'alter table purchase_watch.purchases validate constraint next;',
];

test(`no migration makes writers of ${PURCHASES} purchases wait for ${LONGEST} ms, beside a long reader`, async () => {
  const { url, sql, drop } = await testDatabase({ empty: true });
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-migrations-'));
  cleanUp.push(drop, () => rmSync(folder, { recursive: true }));
  const files = readFolder(MIGRATIONS);
  for (const { name } of files.slice(0, FILLED_AFTER)) cpSync(join(MIGRATIONS, name), join(folder, name));
  await migrate(sql, folder);
  await fill(sql);
  const [{ size }] = await sql<[{ size: string }]>`select pg_size_pretty(pg_table_size('purchase_watch.purchases')) as size`;

  const locked = new Set([...LOCKS.values()].flatMap((locks) => locks.map(({ table }) => table)));
  const there = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where format('%I.%I', schemaname, tablename) = any (${[...locked]})`;
  const busy = traffic(url, [
    "insert into purchase_watch.purchases (purchase_id) values ('new-' || gen_random_uuid())",
    'update purchase_watch.purchases set polls = polls + 1, last_polled_at = now() where id = $n',
    "select * from purchase_watch.current_purchases where purchase_id = 'purchase-$n'",
    // Whatever is written there waits as these do.
    ...there.map(({ name }) => `delete from ${name} where false`),
  ]);
  const reports: { file: string; waited: number; took: number; seconds: number; tries: number }[] = [];
  const apply = async (name: string) => {
    const { ended } = await longReader(url);
    busy.take();
    const began = performance.now();
    let tries = 0;
    await migrate(sql, folder, (step) => void (step.startsWith('migrating') && tries++));
    const seconds = Math.round((performance.now() - began) / 100) / 10;
    reports.push({ file: name, ...busy.take(), seconds, tries });
    await ended;
  };
  try {
    for (const { name } of files.slice(FILLED_AFTER)) {
      cpSync(join(MIGRATIONS, name), join(folder, name));
      await apply(name);
    }
    for (const [index, statement] of NEXT.entries()) {
      const name = `${String(files.length + 1 + index).padStart(4, '0')}_next.sql`;
      writeFileSync(join(folder, name), `-- serves: ${files.length}\n${statement}`);
      await apply(name);
    }
  } finally {
    await busy.stop();
  }
  if (process.env.REPORT) {
    console.info(`${PURCHASES} purchases, ${size}`);
    console.table(reports);
  }
  expect(reports.length).toBe(files.length - FILLED_AFTER + NEXT.length);
  expect(reports.filter(({ waited }) => waited >= LONGEST)).toEqual([]);
  // The reader was in the way, and the migration did not wait for its end in one go.
  expect(reports.at(-NEXT.length)?.tries).toBeGreaterThan(1);
  // A lock was waited for at all, or nothing was measured.
  expect(Math.max(...reports.map(({ waited }) => waited))).toBeGreaterThan(100);
  const [counted] = await sql`select count(*) from purchase_watch.purchases where purchase_id like 'new-%'`;
  expect(Number(counted?.count)).toBeGreaterThan(100);
});
