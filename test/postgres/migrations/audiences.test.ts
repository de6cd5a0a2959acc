import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../../src/postgres/migrations/migrate.ts';
import { testDatabase } from '../../support/database.ts';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations');

test('subscribers of before it was stored for whom they are: Slack is for people, the others are systems', async () => {
  const { sql, drop } = await testDatabase({ empty: true });
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-migrations-'));
  onTestFinished(async () => {
    rmSync(folder, { recursive: true });
    await drop();
  });
  const files = readdirSync(MIGRATIONS).sort();
  const before = files.indexOf('0028_audiences.sql');
  for (const name of files.slice(0, before)) cpSync(join(MIGRATIONS, name), join(folder, name));
  await migrate(sql, folder);
  await sql`
    insert into purchase_watch.subscribers (name, kind, address_hash)
    values ('@slack', 'slack', 'a'), ('shop', 'webhook', 'b'), ('bus', 'nats', 'c'), ('queue', 'rabbitmq', 'd')`;
  await migrate(sql, MIGRATIONS);
  const rows = await sql`select name, audience from purchase_watch.subscribers order by id`;
  expect(rows.map(({ name, audience }) => [name, audience])).toEqual([
    ['@slack', 'people'],
    ['shop', 'systems'],
    ['bus', 'systems'],
    ['queue', 'systems'],
  ]);
});
