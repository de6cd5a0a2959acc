/** Commands about sites that no running daemon names, and while running daemons take turns. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf, onDatabase } from '../command.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await databaseOf('default', 'se');
  await daemon('rep_1', 'se');
  await database.sql`insert into purchase_watch.purchases (purchase_id, site) values ('old-1', 'default'), ('old-2', 'default'), ('new-1', 'se')`;
  await database.sql`update purchase_watch_internal.sites set unnamed_since = now() where name = 'default'`;
});
afterEach(() => database.drop());

const daemon = (id: string, site: string) =>
  renewReplica(database.sql, { id, process: 'elsewhere', ttl: 60_000, named: { sites: { [site]: [] }, subscribers: {} } });
const command = (...argv: string[]) => onDatabase(database, argv);
const rename = () => database.sql`update purchase_watch_internal.sites set renamed_to = 'se' where name = 'default'`;

test('poll answers at once why a purchase is not polled and what to do, and asks for nothing', async () => {
  const unnamed = await command('poll', 'old-1', '--wait', '1h');
  expect(unnamed).toMatchObject({ exitCode: 1, stdout: '' });
  expect(unnamed.stderr).toMatch(
    /no running daemon has site default in its settings, .*add "formerly: \[default\]" to that site/,
  );
  await rename();
  const moving = await command('poll', 'old-1', '--wait', '1h');
  expect(moving.stderr).toMatch(/not polled until they have moved to site se, which names default in "formerly"; a daemon moves/);
  expect(moving.stderr).not.toContain('add "formerly');
  const [row] = await database.sql`select next_poll_reason as reason from purchase_watch.purchases where purchase_id = 'old-1'`;
  expect(row).toEqual({ reason: 'first' });
});

test('watch at a site that has lost its name says which sites there are, and what a rename needs', async () => {
  const hint =
    /no running daemon has site "default" in its settings \(there is se\); if it has another name now, add "formerly: \[default\]"/;
  expect((await command('watch', 'x', '--site', 'default')).stderr).toMatch(hint);
  const fromFile = await onDatabase(database, ['watch', '--file', '-'], 'purchase_id,site\nx,default\ny,se\n');
  expect(fromFile.stderr).toMatch(hint);
  expect(fromFile.stdout).toContain('1 new');
});

test('unwatch of a site that is polled says so, and names the sites whose purchases are not', async () => {
  const { stdout } = await command('unwatch', '--site', 'se', '--dry-run');
  expect(stdout).toMatch(
    /^1 purchase of site se is watched\.\nSite se is in the settings of 1 running daemon: it is polled, and takes registrations as before/,
  );
  expect(stdout).toMatch(/2 purchases of site default are not polled: .*unwatch --site default/);
  await database.sql`update purchase_watch.purchases set due_slot = null, next_poll_at = null, status = 'stopped', ended_at = now() where site = 'se'`;
  const none = (await command('unwatch', '--site', 'se', '--dry-run')).stdout;
  expect(none).toMatch(/^0 purchases of site se are watched \(1 purchase of it ended before\)\.\nSite se is in the settings/);
});

test('status says that purchases move, and by which session they are kept', async () => {
  await rename();
  const other = await database.sql.reserve();
  const [{ pid }] = await other<[{ pid: number }]>`select pg_backend_pid() as pid`;
  await other`begin`;
  await other`select from purchase_watch.purchases where purchase_id = 'old-1' for update`;
  const { stdout } = await command('status');
  await other`rollback`;
  other.release();
  expect(stdout).toMatch(/^default +moves to se/m);
  expect(stdout).toMatch(
    new RegExp(
      `2 purchases of site default are not polled yet: they move to site se.*session ${pid} .*pg_terminate_backend\\(${pid}\\)`,
    ),
  );
  expect(stdout).not.toMatch(/up to date|add "formerly/);
});

test('while running daemons take turns, status, watch, why and poll say for whom a purchase waits', async () => {
  await daemon('rep_2', 'no');
  const turns = /site se is in the settings of rep_1 alone.* up to 20 s for their daemon's turn/;
  expect((await command('status')).stdout).toMatch(turns);
  expect((await command('watch', 'new-2', '--site', 'se')).stdout).toMatch(turns);
  const polled = await command('poll', 'new-1', '--wait', '1s');
  expect(polled.stderr).toMatch(turns);
  expect(polled.stderr).toContain('--wait 21s');
  // Of two neighbouring shards one is with the other daemon now.
  await database.sql`update purchase_watch.purchases set shard = case purchase_id when 'new-1' then 4 else 5 end where site = 'se'`;
  const waits = /take turns: site se is in those of rep_1 alone, whose turn .* begins in/;
  const waiting = async (): Promise<number> => {
    const whys = [(await command('why', 'new-1')).stdout, (await command('why', 'new-2')).stdout];
    return whys.filter((text) => waits.test(text.replace(/\s+/g, ' '))).length;
  };
  // The turn may change between the two commands.
  await expect.poll(waiting, { timeout: 15_000 }).toBe(1);
});
