/** docs/upgrading.md: the folder of the embedded Postgres is packed while no daemon runs and put back elsewhere; an uninstall leaves nothing. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { connect } from '../../../src/postgres/connection/database.ts';
import { startEmbedded } from '../../../src/postgres/embedded/embedded.ts';
import { migrate } from '../../../src/postgres/migrations/migrate.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations');
const home = mkdtempSync(join(tmpdir(), 'purchase-watch-backup-'));
// The server may run as another user, who has to get to its data.
chmodSync(home, 0o755);
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Starts the server of a shop's folder, does something with it, and stops it. */
async function withServer<T>(folder: string, work: (sql: ReturnType<typeof connect>) => Promise<T>): Promise<T> {
  const server = await startEmbedded({ dataDir: join(folder, '.purchase-watch') });
  const sql = connect(server.url);
  try {
    return await work(sql);
  } finally {
    await sql.end();
    await server.stop();
  }
}

test('a packed folder is the same database in another place', async () => {
  const [shop, other] = ['shop', 'other'].map((name) => join(home, name)) as [string, string];
  for (const folder of [shop, other]) mkdirSync(folder);
  await withServer(shop, async (sql) => {
    await migrate(sql, MIGRATIONS);
    await syncSites(sql, ['default']);
    await sql`select purchase_watch.watch('2f1c9a7e', reference => 'ORD-1')`;
  });
  execFileSync('tar', ['-czf', join(home, 'backup.tgz'), '.purchase-watch'], { cwd: shop });
  rmSync(shop, { recursive: true });
  execFileSync('tar', ['-xzf', join(home, 'backup.tgz')], { cwd: other });
  const rows = await withServer(other, async (sql) => {
    expect(await migrate(sql, MIGRATIONS)).toMatchObject({ applied: [] });
    return sql`select purchase_id, reference from purchase_watch.current_purchases`;
  });
  expect([...rows]).toEqual([{ purchaseId: '2f1c9a7e', reference: 'ORD-1' }]);
});

test('the statements of an uninstall leave neither schema nor role', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/upgrading.md'), 'utf8');
  const [, statements] = /## Uninstall[\s\S]*?```sql\n([\s\S]*?)```/.exec(page)!;
  const folder = join(home, 'uninstalled');
  mkdirSync(folder);
  const server = await startEmbedded({ dataDir: join(folder, '.purchase-watch') });
  const [owner, admin] = [connect(server.url), connect(server.superuserUrl, { max: 1 })];
  const left = () => admin`select nspname as name from pg_namespace where nspname like 'purchase%'
    union all select rolname from pg_roles where rolname in ('purchase_watch_registrar', 'purchase_watch_reader')`;
  try {
    await migrate(owner, MIGRATIONS);
    expect(await left()).toHaveLength(4);
    await admin.unsafe(statements!);
    expect([...(await left())]).toEqual([]);
  } finally {
    await Promise.all([owner.end(), admin.end()]);
    await server.stop();
  }
});
