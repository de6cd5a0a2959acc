/** `purchases`: lists what the options ask for, and acts on it after a look. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { register } from '../../../src/postgres/purchases/purchases.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { onDatabase } from '../command.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['default']);
  await register(
    database.sql,
    ['a-1', 'a-2', 'b-1'].map((purchaseId) => ({ purchaseId, site: null, reference: `ORD-${purchaseId}`, metadata: null })),
  );
});
afterAll(() => database.drop());
const command = (...argv: string[]) => onDatabase(database, ['purchases', ...argv]);

test('lists what begins so, page by page', async () => {
  const { stdout } = await command('ord-A', '--limit', '1');
  expect(stdout).toMatch(/^purchase +order +site +outcome/m);
  expect(stdout).toMatch(/^a-2 +ORD-a-2 +default +waiting/m);
  const [, cursor = ''] = /There are more: --cursor (\S+)/.exec(stdout) ?? [];
  expect((await command('ord-A', '--cursor', cursor)).stdout).toMatch(/^a-1 /m);
  const { data, nextCursor } = JSON.parse((await command('--json', '--outcome', 'waiting')).stdout);
  expect([data.length, nextCursor]).toEqual([3, null]);
  expect((await command('--csv')).stdout.split('\n').length).toBe(5);
  expect((await command('--outcome', 'stuck')).stdout).toBe('No purchase is like that.\n');
});

test('refuses what does not go together', async () => {
  expect((await command('--sort', 'largest')).stderr).toContain('--currency: is missing');
  expect((await command('--from', 'yesterday')).stderr).toContain('--from: must be a time with its zone');
  expect((await command('--ended-hours', '9')).stderr).toContain(
    '--endedFrom: is missing: endedWeekday and endedHours need a time to look in',
  );
  expect((await command('--ended-from', '90d', '--ended-hours', '24')).stderr).toContain(
    '--endedHours: must be an hour of the day',
  );
  expect((await command('--ended-from', '90d', '--ended-weekday', '8')).stderr).toContain('1, 2, 3, 4, 5, 6, 7');
  expect((await command('--ended-from', '90d', '--ended-weekday', '1', '--zone', 'Mars')).stderr).toContain('not "Mars"');
  expect((await command('--yes')).stderr).toContain('--yes: only with --act');
  expect((await command('--cursor', 'x')).stderr).toContain('is not a cursor of this list');
});

test('acts only after a yes, and says what would come of it', async () => {
  expect((await command('a-', '--act', 'stop', '--dry-run')).stdout).toBe(
    '2 purchases; 2 to stop.\nNothing was done (--dry-run).\n',
  );
  expect((await command('a-', '--act', 'stop')).stderr).toContain('this needs a yes');
  expect((await command('a-', '--act', 'stop', '--yes')).stdout).toContain('Stopped 2 purchases; what is known of them stays.');
  const rows = await database.sql`select purchase_id as id from purchase_watch.purchases where status = 'stopped' order by 1`;
  expect(rows.map(({ id }) => id)).toEqual(['a-1', 'a-2']);
});
