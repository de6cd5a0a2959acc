import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { runStory, STORY_ID } from '../../support/explained-purchase.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { databaseOf, onDatabase } from '../command.ts';
import { runCommand } from '../run.ts';

/** Without what differs from run to run: times, lengths of time, spaces. */
function shape(text: string): string[] {
  return text
    .replace(/\d{4}-\d\d-\d\d /g, '')
    .replace(/\d\d:\d\d:\d\dZ/g, 'TIME')
    .replace(/\bshard \d+/g, 'shard N')
    .replace(/\b(\d+ (?:ms|s|min|h|d)\b ?)+/g, 'LONG ')
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '');
}

describe('a stuck purchase of which the shop has not heard', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await databaseOf();
    await runStory(database.sql);
  });
  afterAll(() => database.drop());
  const why = (...argv: string[]) => onDatabase(database, ['why', ...argv]);

  test('is explained as the page about troubles shows it', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/troubleshooting.md'), 'utf8');
    const [, example] = /\$ purchase-watch why [-\w]+\n([\s\S]*?)```/.exec(page)!;
    const { exitCode, stdout, stderr } = await why(STORY_ID);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(shape(stdout)).toEqual(shape(example!));
  });

  test('answers the verdict first', async () => {
    const { stdout } = await why(STORY_ID);
    const [, verdict] = stdout.split('\n\n');
    expect(verdict).toMatch(
      /^Stuck waiting for the card provider for 22 min .*; people were last alerted of its incident .* ago\.\nEvent 3 is not delivered to shop yet: 3 attempts failed/,
    );
  });

  test('for one subscriber tells only of that one, also when it is told nothing', async () => {
    const { stdout } = await why(STORY_ID, '--subscriber', 'ledger');
    expect(stdout).not.toContain('shop');
    expect(stdout).toContain('not delivered to ledger: it gets the states completed only');
    expect((await why(STORY_ID, '--subscriber', '@slack')).stdout).toContain(
      'not delivered to @slack: it gets incidents, not single purchases',
    );
  });

  test('as JSON is what the API answers', async () => {
    const { stdout } = await why(STORY_ID, '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      purchase: { purchaseId: STORY_ID, state: { value: 6, name: 'WaitingForCardPayments' }, replica: 'rep_story' },
      matters: [{ code: 'stuck' }, { code: 'delivery_failing' }],
    });
  });

  test.each<[string, readonly string[], number, RegExp]>([
    ['an id nobody knows', ['nobody'], 1, /"nobody" is not registered$/m],
    ['a shortened id', [STORY_ID.slice(0, 8)], 1, new RegExp(`did you mean ${STORY_ID}`)],
    [
      'a mistyped subscriber',
      [STORY_ID, '--subscriber', 'shp'],
      2,
      /--subscriber: "shp" is not a subscriber \(did you mean shop\?\); there are @slack, ledger, shop/,
    ],
    ['a mistyped site', [STORY_ID, '--site', 'see'], 2, /did you mean se\?/],
    ['no id', [], 2, /missing required argument 'id'/],
  ])('%s is told', async (_, argv, exitCode, message) => {
    const answer = await why(...argv);
    expect(answer).toMatchObject({ exitCode, stdout: '' });
    expect(answer.stderr).toMatch(message);
  });

  test('says that nobody is told of its incident, once Slack is not configured any more', async () => {
    await database.sql`update purchase_watch_internal.subscribers set configured = false where audience = 'people'`;
    const { stdout } = await why(STORY_ID);
    expect(stdout).toMatch(
      /^Stuck waiting .*; its incident is open, and nobody is alerted, because no channel for people is set .*\.$/m,
    );
    expect(stdout).not.toMatch(/last alerted/);
    await database.sql`update purchase_watch_internal.subscribers set configured = true where audience = 'people'`;
  });

  test('says that no channel is about its incident, unless one heard of it or of the one that tells of it', async () => {
    const { sql } = database;
    await sql`update purchase_watch_internal.incidents set heard = '{}' where id = 'inc_story'`;
    expect((await why(STORY_ID)).stdout).toMatch(
      /^.* incident inc_story: .*; no channel gets it \(by its sites and severity\)$/m,
    );
    await sql`
      insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, count, peak, alerted_at, heard)
      values ('inc_above', 'stuck', 'se', now(), now(), 3, 3, now() - interval '1 minute', '{1}')`;
    await sql`update purchase_watch_internal.incidents set parent = 'inc_above' where id = 'inc_story'`;
    expect((await why(STORY_ID)).stdout).toMatch(/ incident inc_story: .*; people were last alerted 1 min/);
    await sql`update purchase_watch_internal.incidents set heard = '{1}', parent = null where id = 'inc_story'`;
    await sql`delete from purchase_watch_internal.incidents where id = 'inc_above'`;
  });

  test('of a subscriber that was removed nothing is said that held before', async () => {
    const { sql } = database;
    await sql`update purchase_watch_internal.subscribers set configured = false, status = 'off', matching_since = now() where name = 'shop'`;
    const { stdout } = await why(STORY_ID);
    expect(stdout).toMatch(/^.* shop was removed, and gets nothing any more$/m);
    expect(stdout).not.toMatch(/shop is (switched off|paused)/);
    await sql`update purchase_watch_internal.subscribers set configured = true, status = 'active', matching_since = now() - interval '1 day' where name = 'shop'`;
  });

  test('control characters of others do not reach the terminal', async () => {
    await database.sql`update purchase_watch_internal.deliveries set last_error = 'bad' || chr(27) || '[2J' where status = 'pending'`;
    const { stdout } = await why(STORY_ID);
    expect(stdout).toContain('bad\\u001b[2J');
    expect(stdout).not.toContain('\u001b');
  });
});

describe('with a daemon', () => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp({ realClock: true, env: { API_KEY: 'a-key-that-no-call-here-needs' } });
    await t.app.sql`update purchase_watch_internal.subscribers set matching_since = now() - interval '1 day'`;
    await t.app.start();
  });
  afterAll(() => t.stop());
  const why = async (...argv: string[]) => (await onDatabase(t.database, ['why', ...argv])).stdout;

  test('a purchase that is paid is well, and its plan is the one that is explained', async () => {
    const id = await t.watch({ script: [{ state: 'New' }] });
    await t.receiver.waitFor(() => t.changesOf(id).length === 1);
    // What was received is settled a moment later.
    await expect.poll(() => why(id)).toMatch(/^All is well: before the form for /m);
    const watched = await why(id);
    expect(watched).toMatch(
      /next poll: (9|1[01]) s after the last poll, when it had been before the form for .*; the wait there is 10 % of that time, from 10 s to/,
    );
    expect(watched).toMatch(/shard \d+ of 64 belongs to rep_\w+, whose lease lasts \d+ s/);
    t.simulator.control.setState(id, 'Completed');
    await onDatabase(t.database, ['poll', id]);
    await t.receiver.waitFor(() => t.changesOf(id).length === 2);
    expect(await why(id)).toMatch(/^ .* 2\. before the form → completed, which is final/m);
  });

  test('a purchase that the service does not know is counted towards unreadable', async () => {
    await onDatabase(t.database, ['watch', 'nobody-knows-it']);
    const row = () =>
      t.app.sql<{ failures: number }[]>`select failures from purchase_watch.purchases where purchase_id = 'nobody-knows-it'`;
    await expect.poll(async () => (await row())[0]?.failures).toBe(1);
    const text = await why('nobody-knows-it');
    expect(text).toMatch(/^The last poll failed: the service says that it does not know this id\.$/m);
    expect(text).toMatch(/the service does not know this id, for the first time, 1 of 5 until it counts as unreadable/);
    expect(text).toMatch(/ after one failed poll; the wait doubles with each, up to a day/);
  });

  test('a receiver that fails is told with its attempts, and what waits behind it too', async () => {
    const id = await t.watch({ script: [{ state: 'New' }] });
    await t.receiver.waitFor(() => t.changesOf(id).length === 1);
    t.receiver.respondAlways({ status: 503 });
    t.simulator.control.setState(id, 'BeingProcessed');
    await onDatabase(t.database, ['poll', id]);
    await expect.poll(() => why(id)).toMatch(/not delivered to default yet: \d of 10 attempts failed/);
    t.simulator.control.setState(id, 'Completed');
    await onDatabase(t.database, ['poll', id]);
    const text = await why(id);
    expect(text).toMatch(/ default waits: it gets events in order, and event 2 \(evt_\w+\) is not delivered yet/);
    expect(text).toMatch(/attempt 1 failed: http_503 \(took /);
    expect(text).toMatch(/attempt \d to deliver event 2 to default/);
  });
});

test('without a daemon, that is the first thing said', async () => {
  const database = await databaseOf('se');
  try {
    await onDatabase(database, ['watch', 'p-1']);
    const { stdout } = await onDatabase(database, ['why', 'p-1']);
    expect(stdout).toMatch(/\n\nNo daemon is running on this database, so nothing is polled or delivered: start one/);
    expect(stdout).toMatch(/registered on the command line/);
    // A daemon that runs there could renew its lease no more.
    await database.sql`
      insert into purchase_watch_internal.replicas (id, process, expires_at, lease_ms) values ('rep_1', 'elsewhere', now() - interval '10 s', 30000)`;
    await database.sql.unsafe(`alter database ${new URL(database.url).pathname.slice(1)} set default_transaction_read_only = on`);
    const closed = /No daemon has renewed its lease for 4\d s; the database takes no writes, so none can/;
    const why = (await onDatabase(database, ['why', 'p-1'])).stdout;
    expect(why).toMatch(new RegExp(`\\n\\n${closed.source}\\. Do not start another one\\.`));
    const status = (await onDatabase(database, ['status'])).stdout;
    expect(status).toMatch(new RegExp(`^daemon   ${closed.source}\\. Do not start another one\\.$`, 'm'));
    const env = { DATABASE_URL: database.url, CHECKOUT_BASE_URL: 'http://127.0.0.1:1', PORT: '0' };
    const doctor = await runCommand(['doctor'], { ...env, CHECKOUT_CLIENT_ID: 'a', CHECKOUT_CLIENT_SECRET: 'b' });
    expect(doctor.stdout).toMatch(new RegExp(`^failed   daemons: ${closed.source}\\n +→ do not start another one`, 'm'));
    const poll = await onDatabase(database, ['poll', 'p-1']);
    expect([poll.exitCode, poll.stderr]).toEqual([
      1,
      expect.stringMatching(/no daemon can work while the database takes no writes; do not start another one/),
    ]);
    for (const text of [why, status, doctor.stdout, poll.stderr]) expect(text).not.toMatch(/start one|no(ne| daemon) is running/);
  } finally {
    await database.drop();
  }
});
