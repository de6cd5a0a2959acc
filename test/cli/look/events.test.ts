/** `events`: what the feed holds, on a terminal and for programs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf } from '../command.ts';
import { followCommand, runCommand } from '../run.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('se');
  await database.sql`insert into purchase_watch.purchases (purchase_id, site) values ('p-1', 'se')`;
  for (const sequence of [1, 2, 3]) await add(sequence, 'purchase.state_changed');
  await add(4, 'purchase.stuck');
  await add(5, 'purchase.state_changed');
});
afterAll(() => database.drop());

/** What the daemon would have made of a change. */
async function add(sequence: number, type: string): Promise<void> {
  const id = `evt_${String(sequence).padStart(26, '0')}`;
  const state = { value: 6, name: 'WaitingForCardPayments' };
  const timestamp = `2026-11-20T09:15:0${sequence}.000Z`;
  const about = {
    site: 'se',
    purchaseId: 'p-1',
    sequence,
    reference: null,
    metadata: null,
    price: null,
    currency: null,
    orderReference: null,
  };
  const own =
    type === 'purchase.stuck'
      ? { state, stateSince: '2026-11-20T09:00:00.000Z', stuckSince: timestamp }
      : { from: null, to: state, notBefore: null, notAfter: timestamp, final: false };
  const body = JSON.stringify({ id, type, timestamp, data: { ...about, ...own } });
  await database.sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
    select ${id}, ${type}, site, id, ${sequence}, ${sequence === 1 ? null : sequence - 1}, shard, 6, now(), ${body} from purchase_watch.purchases`;
}

const command = (...argv: string[]) => runCommand(['events', ...argv], { DATABASE_URL: database.url });
const numbers = (stdout: string): number[] => [...stdout.matchAll(/#(\d+)/g)].map(([, sequence]) => Number(sequence));

test('shows the latest, the oldest of them first, with their day', async () => {
  const { exitCode, stdout } = await command('--limit', '3');
  expect(exitCode).toBe(0);
  expect(numbers(stdout)).toEqual([3, 4, 5]);
  expect(stdout).toMatch(
    /^2026-11-20 09:15:03 {2}purchase\.state_changed {2}se {2}p-1 {2}#3 {3}first seen: waiting for the card provider \(WaitingForCardPayments\)$/m,
  );
  expect(stdout).toMatch(/purchase\.stuck .*stuck waiting for the card provider/);
});

test('of some types, and after an event', async () => {
  expect(numbers((await command('--types', 'purchase.stuck')).stdout)).toEqual([4]);
  expect(numbers((await command('--after', `evt_${'2'.padStart(26, '0')}`, '--limit', '2')).stdout)).toEqual([3, 4]);
  expect((await command('--after', `evt_${'5'.padStart(26, '0')}`)).stdout).toMatch(/^No events after evt_0+5\.$/m);
});

test('for programs each body byte for byte on a line', async () => {
  const { stdout } = await command('--json');
  const bodies = await database.sql<{ body: string }[]>`select body from purchase_watch_internal.events order by position`;
  expect(stdout).toBe(bodies.map(({ body }) => `${body}\n`).join(''));
});

test.each([
  [['--types', 'purchase.stock'], /--types "purchase\.stock": is not an event type.*purchase\.stuck/],
  [['--after', 'evt_1'], /--after: there is no event "evt_1"/],
  [['--limit', '0'], /--limit/],
])('%j is refused, and why', async (argv, why) => {
  const { exitCode, stdout, stderr } = await command(...argv);
  expect(exitCode).toBeGreaterThan(0);
  expect(stdout).toBe('');
  expect(stderr).toMatch(why);
});

/** Sessions that wait for the notification of new events. */
const listeners = async (): Promise<number> =>
  (
    await database.sql`select from pg_stat_activity where datname = current_database() and application_name = 'purchase-watch listen'`
  ).length;

test('follows until a signal, and says that no daemon makes events', async () => {
  const following = followCommand(['events', '--follow', '--types', 'purchase.stuck'], { DATABASE_URL: database.url });
  await expect.poll(() => numbers(following.stdout())).toEqual([4]);
  await expect.poll(() => following.stderr()).toContain('purchase-watch start');
  await expect.poll(listeners).toBe(1);
  await add(6, 'purchase.state_changed');
  await add(7, 'purchase.stuck');
  await expect.poll(() => numbers(following.stdout()), { timeout: 30_000 }).toEqual([4, 7]);
  expect(await following.stop()).toBe(0);
  await expect.poll(listeners).toBe(0);
});
