import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { databaseOf, onDatabase } from '../command.ts';

describe('with a daemon', () => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp({ realClock: true });
    await t.app.start();
  });
  afterAll(() => t.stop());
  const command = (...argv: string[]) => onDatabase(t.database, argv);

  test('poll asks now and shows what came', async () => {
    const id = await t.watch({ script: [{ state: 'New' }], price: '249.50', currency: 'SEK' }, { reference: 'ORD-1' });
    await t.receiver.waitFor(() => t.changesOf(id).length === 1);
    t.simulator.control.setState(id, 'Completed');
    const { exitCode, stdout } = await command('poll', id);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^state +completed, seen first (now|\d+ s ago)$/m);
    expect(stdout).toMatch(/^price +249\.50 SEK$/m);
    expect(stdout).toMatch(/^ *2 +before the form → completed +(now|\d+ s ago) /m);

    const shown = JSON.parse((await command('status', id, '--json')).stdout);
    expect(shown).toMatchObject({ purchaseId: id, status: 'settled', reference: 'ORD-1', state: { name: 'Completed' } });
    expect(shown.transitions.map(({ to }: { to: { name: string } }) => to.name)).toEqual(['New', 'Completed']);
    expect(shown.deliveries).toMatchObject([{ subscriber: 'default' }, { subscriber: 'default' }]);
  });

  test('poll says why no answer came', async () => {
    const id = await t.watch({ script: [{ state: 'New' }] });
    await t.receiver.waitFor(() => t.changesOf(id).length === 1);
    await t.simulator.control.down();
    const { exitCode, stderr } = await command('poll', id, '--wait', '300ms');
    await t.simulator.control.up();
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/no answer was recorded within 300 ms; site default last answered .*, and the request stands/);
  });

  test('watch says that a daemon is running, and status shows it', async () => {
    const { purchaseId } = t.simulator.control.add();
    expect((await command('watch', purchaseId)).stdout).toMatch(/A running daemon polls them within seconds/);
    const { stdout } = await command('status');
    expect(stdout).toMatch(/^daemon +rep_\w+, started .*, owns 64 of 64 shards$/m);
    expect(stdout).toMatch(/^@slack +slack +active +0$/m);
  });
});

describe('without a daemon', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await databaseOf('se', 'fi');
    await database.sql`
      insert into purchase_watch.purchases (purchase_id, site, state, state_since, stuck_since)
      values ('3f6b8a52-6c7e', 'se', 6, now() - interval '20 minutes', now() - interval '3 minutes'),
        ('twice', 'se', null, null, null), ('twice', 'fi', null, null, null), ('gone', 'se', null, null, null)`;
  });
  afterAll(() => database.drop());
  const command = (...argv: string[]) => onDatabase(database, argv);

  test('status tells what is stuck and who is missing', async () => {
    const { exitCode, stdout } = await command('status');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^se +watching +waiting for the card provider \(WaitingForCardPayments\) +1 +1 +20 min ago$/m);
    expect(stdout).toMatch(/^1 purchase stuck; see why the oldest is: purchase-watch why 3f6b8a52-6c7e --site se$/m);
    expect(stdout).toMatch(/no daemon is running on this database; start one with "purchase-watch start"/);
    const body = JSON.parse((await command('status', '--json', '--site', 'se')).stdout);
    expect(body).toMatchObject({ purchases: { stuck: 1 }, replicas: [], sites: [{ site: 'se', configured: true }] });
    expect(body.polling.due).toMatchObject({ count: 3, atLeast: false });
    expect(JSON.parse((await command('status', '--json')).stdout).polling.due.count).toBe(4);
  });

  test('status tells the open incidents: who looks after them, and until when nothing is said', async () => {
    await database.sql`
      insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, acknowledged_at, acknowledged_by)
      values ('inc_1', 'stuck', 'se', 6, now() - interval '20 minutes', now() - interval '20 minutes', 1, 1, now(), 'Ann'),
        ('inc_2', 'unreachable', 'fi', null, now() - interval '5 minutes', now() - interval '5 minutes', 1, 1, null, null)`;
    await database.sql`
      insert into purchase_watch_internal.silences (kind, site, reason, created_by, starts_at, ends_at)
      values ('unreachable', 'fi', 'moved', 'Ann', now(), now() + interval '2 days')`;
    await database.sql`
      insert into purchase_watch_internal.incidents (id, kind, subscriber, opened_at, since, count, peak)
      values ('inc_3', 'subscriber', 'shop', now() - interval '25 minutes', now() - interval '25 minutes', 412, 412)`;
    const { stdout } = await command('status');
    expect(stdout).toMatch(
      /^incident inc_1, open for 20 min( \d+ s)?: se: 1 customer stuck waiting for the card provider; Ann looks after it$/m,
    );
    expect(stdout).toMatch(
      /^incident inc_2, open for 5 min( \d+ s)?: fi: no purchase can be read; critical; silenced until [-\d]{10} [:\d]{8}Z \((2 d|1 d .*) more\)$/m,
    );
    expect(stdout).toMatch(
      /^incident inc_3, open for 25 min( \d+ s)?: shop: does not take everything; 412 deliveries were given up$/m,
    );
    const body = JSON.parse((await command('status', '--site', 'se', '--json')).stdout);
    expect(body).toMatchObject({
      purchases: { oldestStuck: { purchaseId: '3f6b8a52-6c7e', site: 'se' } },
      incidents: { data: [{ id: 'inc_1', owner: 'Ann', silencedUntil: null }] },
    });
    await database.sql`delete from purchase_watch_internal.incidents`;
    expect((await command('status')).stdout).not.toContain('incident');
  });

  test('status of one purchase', async () => {
    const { stdout } = await command('status', '3f6b8a52-6c7e');
    expect(stdout).toMatch(/^stuck +yes, confirmed 3 min ago$/m);
    expect(stdout).toMatch(/^limit +20 min( \d+ s)? here; limit 15 min, the default$/m);
    expect(stdout).toContain('No change was seen yet.');
  });

  test.each<[string, readonly string[], number, RegExp]>([
    ['a shortened id', ['status', '3f6b8a52'], 1, /"3f6b8a52" is not registered \(did you mean 3f6b8a52-6c7e\?\)/],
    ['a mistyped id', ['unwatch', '3f6b8a52-6c7d'], 1, /did you mean 3f6b8a52-6c7e\?/],
    ['an id nobody knows', ['poll', 'nobody'], 1, /"nobody" is not registered$/m],
    ['an id at two sites', ['status', 'twice'], 2, /several sites \(fi, se\): choose one with --site/],
    ['a mistyped site', ['status', '--site', 'ss'], 2, /did you mean se\?/],
    ['asking without a daemon', ['poll', '3f6b8a52-6c7e'], 1, /no daemon is running/],
    ['a wait that is no duration', ['poll', 'x', '--wait', 'long'], 2, /Expected a duration/],
  ])('%s: %j', async (_, argv, code, message) => {
    const { exitCode, stdout, stderr } = await command(...argv);
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test('unwatch stops, poll then refuses, watch takes it up again', async () => {
    expect((await command('unwatch', 'gone')).stdout).toMatch(/^stopped gone at site se/);
    expect((await command('unwatch', 'gone')).stdout).toMatch(/was stopped already/);
    expect((await command('poll', 'gone')).stderr).toMatch(/is not watched any more; .* purchase-watch watch gone/);
    await command('watch', 'gone', '--site', 'se');
    expect(JSON.parse((await command('status', 'gone', '--json')).stdout).status).toBe('watching');
  });
});
