import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('se', 'fi');
});
afterAll(() => database.drop());
beforeEach(async () => {
  const { sql } = database;
  await sql`truncate purchase_watch_internal.incidents, purchase_watch_internal.silences, purchase_watch_internal.events cascade`;
  const alarm = JSON.stringify({
    ...{ at: Date.now() - 600_000, since: Date.now() - 1_260_000, rule: 'share', entrants: 16, overdue: 14 },
    ...{ usualShare: 0.03, perDay: 412, falseAlarmEvery: 5700 },
  });
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak, severity, alarm)
    values ('inc_old', 'unreachable', 'se', null, now() - interval '3 hours', now() - interval '3 hours', now() - interval '1 hour', 0, 1, 0, null),
      ('inc_card', 'stuck', 'se', 6, now() - interval '10 minutes', now() - interval '21 minutes', null, 12, 14, 1, ${alarm})`;
});

const command = (...argv: string[]) => runCommand(argv, { DATABASE_URL: database.url, USER: 'kim' });
const json = async (...argv: string[]) => JSON.parse((await command(...argv, '--json')).stdout);

/** The one at se, one at fi, and what tells of both. */
async function family(): Promise<void> {
  await database.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, severity)
    values ('inc_fi', 'stuck', 'fi', 6, now(), now(), 3, 3, 0), ('inc_both', 'stuck', null, 6, now(), now(), 15, 17, 1)`;
  await database.sql`update purchase_watch_internal.incidents set parent = 'inc_both' where id in ('inc_fi', 'inc_card')`;
}

async function channel(): Promise<void> {
  await database.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('@slack', 'slack', 'people', 'x') on conflict do nothing`;
}

async function told(): Promise<void> {
  const { sql } = database;
  const data = {
    ...{
      incidentId: 'inc_card',
      kind: 'stuck',
      since: '2026-11-20T09:00:00Z',
      count: 12,
      purchases: ['p-1', 'p-2'],
      waiting: [{ amount: '1234.50', currency: 'SEK' }],
    },
    causes: [{ cause: 'return_request', why: 'All 12 stuck customers wait for the card provider.' }],
    slice: {
      ...{ method: '5', country: 'SE', currency: null, since: '2026-11-20T09:00:00Z' },
      ...{ inside: { came: 12, stuck: 11 }, elsewhere: { came: 30, stuck: 0 } },
    },
    mark: { at: '2026-11-20T08:56:00Z', text: 'deploy 4.2' },
    earlier: { cause: 'deploy', note: 'Our CSP.', by: 'Robin', at: '2026-11-03T10:00:00Z', site: 'se', state: null },
  };
  await channel();
  await sql`
    with e as (
      insert into purchase_watch_internal.events (id, type, site, shard, incident, created_at, body)
      values ('evt_1', 'incident.opened', 'se', 0, 'inc_card', now(), ${JSON.stringify({ id: 'evt_1', type: 'incident.opened', timestamp: '2026-11-20T09:10:00Z', data })}) returning position)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at)
    select e.position, 0, s.id, 0, now(), 'delivered', now() from e, purchase_watch_internal.subscribers s where s.name = '@slack'`;
}

describe('list', () => {
  test('shows the open ones, and with --all those that are over, too', async () => {
    const { sql } = database;
    await sql`insert into purchase_watch.purchases (purchase_id, site) values ('p-1', 'se'), ('p-2', 'se')`;
    await sql`update purchase_watch.purchases set state = 6, state_since = now(), stuck_since = now() where site = 'se'`;
    await sql`
      insert into purchase_watch_internal.purchase_details (purchase, fields)
      select id, '{"Price": 1249.00, "CurrencyCode": "SEK"}' from purchase_watch.purchases where purchase_id = 'p-1'`;
    const { exitCode, stdout } = await command('incidents');
    await sql`truncate purchase_watch.purchases cascade`;
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^inc_card +critical +se +12 customers stuck waiting for the card provider +1 249\.00 SEK and 1 order without an amount +open for 10 min( \d+ s)? +-$/m,
    );
    expect(stdout).not.toContain('inc_old');
    expect((await command('incidents', '--open')).stdout).not.toContain('inc_old');
    expect((await command('incidents', 'list', '--all')).stdout).toMatch(
      /^inc_old +(?:warning|critical) +se +no purchase could be read +- +over after 2 h +-$/m,
    );
  });

  test('of one site or kind only, and page by page', async () => {
    expect((await command('incidents', '--site', 'fi')).stdout).toBe(
      'No incident is open. Those that are over: purchase-watch incidents --all\n',
    );
    expect((await json('incidents', '--all', '--kind', 'unreachable')).data).toMatchObject([{ id: 'inc_old' }]);
    const first = await json('incidents', '--all', '--limit', '1');
    expect(first).toMatchObject({ data: [{ id: 'inc_card', severity: 'critical' }], nextCursor: 'inc_card' });
    expect(await json('incidents', '--all', '--cursor', 'inc_card')).toMatchObject({
      data: [{ id: 'inc_old' }],
      nextCursor: null,
    });
    expect((await command('incidents', '--all', '--limit', '1')).stdout).toMatch(/There are more: --cursor inc_card\n$/);
  });

  test('one that was reopened is open since then, in every list', async () => {
    await database.sql`
      update purchase_watch_internal.incidents set opened_at = now() - interval '3 hours', reopened_at = now() - interval '4 minutes' where id = 'inc_card'`;
    expect((await command('incidents')).stdout).toMatch(/^inc_card .* open for 4 min( \d+ s)? +-$/m);
    expect((await command('status')).stdout).toMatch(/^incident inc_card, open for 4 min( \d+ s)?: se: /m);
  });

  test('one in which nobody is stuck any more says when it ends, and what would keep it open', async () => {
    const { sql } = database;
    await sql`
      update purchase_watch_internal.incidents set count = 0, quiet_since = now() - interval '6 minutes', ends_at = now() + interval '4 minutes 30 seconds' where id = 'inc_card'`;
    const end = /ends at \d\d:\d\d:\d\dZ \(4 min( \d+ s)? more\) unless another customer gets stuck/;
    const { stdout } = await command('incidents');
    expect(stdout).toMatch(/^inc_card .* no customer is stuck waiting for the card provider any more, 14 at worst /m);
    expect(stdout).toMatch(end);
    expect((await command('incidents', 'show', 'inc_card')).stdout).toMatch(
      new RegExp(`^status +open for 10 min.*, quiet since .*, ${end.source}, critical$`, 'm'),
    );
    // The alarm is still on, and the incident ends unless another customer gets stuck.
    await sql`update purchase_watch_internal.incidents set quiet_since = null where id = 'inc_card'`;
    expect((await command('incidents', 'show', 'inc_card')).stdout).toMatch(
      new RegExp(`^status +open for 10 min[^,]*, ${end.source}, critical$`, 'm'),
    );
    expect((await command('status')).stdout).toMatch(new RegExp(`^incident inc_card, .*; critical; ${end.source}`, 'm'));
    await sql`update purchase_watch_internal.incidents set ends_at = now() - interval '1 second' where id = 'inc_card'`;
    expect((await command('incidents')).stdout).toContain('ends in a moment unless another customer gets stuck');
  });

  test.each(['incidents', 'silences', 'subscribers', 'deliveries'])('the help of %s names that of the list', async (name) => {
    expect((await command(name, '--help')).stdout).toContain(`purchase-watch ${name} list --help`);
  });

  test('those with one cause say so', async () => {
    await family();
    const { stdout } = await command('incidents');
    expect(stdout).toMatch(/^inc_both +critical +2 sites +15 customers stuck waiting for the card provider +- +open for /m);
    expect(stdout).toMatch(/^inc_fi +(?:warning|critical) +fi .* part of inc_both +-$/m);
  });

  test.each<[readonly string[], RegExp]>([
    [['--site', 'see'], /^error: --site: "see" is not a site \(did you mean se\?\); there are fi, se|se, fi/],
    [['--kind', 'stock'], /is no kind of incident \(did you mean stuck\?\); there are stuck, unreachable, subscriber/],
    [['--open', '--all'], /'--all' cannot be used with option '--open'/],
    [['--limit', '0'], /whole number from 1 to 1000/],
    [['shwo', 'inc_card'], /unknown command 'shwo'\n\(Did you mean show\?\)/],
  ])('%j is refused', async (argv, message) => {
    const { exitCode, stderr } = await command('incidents', ...argv);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});

describe('show', () => {
  test('tells what it rests on, why it may be, who was told what, and what to do', async () => {
    await told();
    const { exitCode, stdout } = await command('incidents', 'show', 'inc_card');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^what +12 customers stuck waiting for the card provider$/m);
    expect(stdout).toMatch(/^status +open for 10 min.*, critical$/m);
    expect(stdout).toMatch(/^at worst +14 customers$/m);
    expect(stdout).toMatch(
      /^rests on +14 of 16 customers got stuck, usually 3 in 100; noticed 11 min after the first of them came; a false alarm comes once in about 5 700 customers$/m,
    );
    expect(stdout).toMatch(/^working +limit 15 min, the default$/m);
    expect(stdout).toMatch(
      /^narrowed to +only payment method 5, only SE, since 2026-11-20T09:00:00Z: 11 of 12 customers got stuck, elsewhere 0 of 30$/m,
    );
    expect(stdout).toMatch(/^marked +2026-11-20T08:56:00Z; it began 4 min after deploy 4\.2$/m);
    expect(stdout).toMatch(
      /^Likely cause: The bank's return request lacks the session \(return_request\)\n {2}All 12 stuck customers wait .*\n {2}Only card payments .*\n {2}Take the purchase id .*\n {2}More: docs\/alerts\.md#the-banks-return-request-lacks-the-session$/m,
    );
    expect(stdout).toMatch(
      /^waiting +1234\.50 SEK\noldest +p-1, p-2\nlast time +deploy \(A deploy broke the page\), said Robin: Our CSP\.$/m,
    );
    expect(stdout).toMatch(/^@slack +opened +\S+Z \(.*\) +delivered$/m);
    expect(stdout).toMatch(
      /\n {2}purchase-watch incidents acknowledge inc_card\n.*\n {2}purchase-watch incidents answer inc_card --cause …\n$/,
    );
  });

  test('as JSON is what the API answers', async () => {
    await told();
    expect(await json('incidents', 'show', 'inc_card')).toMatchObject({
      id: 'inc_card',
      alarm: { rule: 'share', at: expect.stringMatching(/Z$/), entrants: 16 },
      causes: [{ cause: 'return_request' }],
      slice: { method: '5', country: 'SE', currency: null, since: '2026-11-20T09:00:00.000Z' },
      mark: { at: '2026-11-20T08:56:00.000Z', text: 'deploy 4.2' },
      said: [{ channel: '@slack', stage: 'opened', status: 'delivered' }],
    });
  });

  test('without a channel nobody is alerted, and no line says that anybody was', async () => {
    await told();
    await database.sql`truncate purchase_watch_internal.subscribers cascade`;
    const { stdout } = await command('incidents', 'show', 'inc_card');
    expect(stdout).toContain('\nNobody is alerted: no channel for people is set.\n');
    expect(stdout).toMatch(/^as it was +\S+Z \(.*\)\nwaiting +1234\.50 SEK$/m);
    expect(stdout).not.toContain('as alerted');
  });

  test('one that nobody was told of, one that is over, one about few customers, and one that tells of others', async () => {
    await channel();
    expect((await command('incidents', 'show', 'inc_card')).stdout).toContain('\nNobody was alerted yet.\n');
    const over = (await command('incidents', 'show', 'inc_old')).stdout;
    expect(over).toMatch(/^status +over since .*, after 2 h, critical$/m);
    expect(over).not.toContain('incidents acknowledge');
    const sparse = JSON.stringify({
      rule: 'sparse',
      at: 600_000,
      since: 0,
      entrants: 2,
      overdue: 2,
      usualShare: 0.05,
      perDay: 2.04,
      falseAlarmEvery: null,
    });
    await database.sql`update purchase_watch_internal.incidents set alarm = ${sparse} where id = 'inc_card'`;
    await family();
    expect((await command('incidents', 'show', 'inc_card')).stdout).toMatch(
      /^rests on +2 customers in a row did not get on, where few come \(about 2 a day\); noticed 10 min after the first of them came\n(.*\n)*part of +inc_both$/m,
    );
    expect((await command('incidents', 'show', 'inc_both')).stdout).toMatch(
      /^where +2 sites\n(.*\n)*inc_card +se +waiting for the card provider \(WaitingForCardPayments\) +12 +14 +open\ninc_fi +fi +waiting for the card provider \(WaitingForCardPayments\) +3 +3 +open$/m,
    );
  });

  test('one that is not there: the likely one and the open ones are named', async () => {
    const { exitCode, stderr } = await command('incidents', 'show', 'inc_car');
    expect([exitCode, stderr]).toEqual([1, 'error: there is no incident inc_car (did you mean inc_card?); open is inc_card\n']);
    expect((await command('incidents', 'show', 'inc card')).exitCode).toBe(2);
    await database.sql`update purchase_watch_internal.incidents set ended_at = now() where ended_at is null`;
    expect((await command('incidents', 'acknowledge', 'inc_x')).stderr).toBe('error: there is no incident inc_x; none is open\n');
  });
});

describe('looking after one', () => {
  test('is said by the person whose account it is, and shown everywhere', async () => {
    const { exitCode, stdout } = await command('incidents', 'acknowledge', 'inc_card', '--note', 'I look at the deploy.');
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(/^kim looks after inc_card: no more reminders are sent\n.*incidents answer inc_card --cause …\n$/),
    ]);
    expect((await command('incidents')).stdout).toMatch(/^inc_card .* kim$/m);
    expect((await command('incidents', 'show', 'inc_card')).stdout).toMatch(/^owner +kim, .*: I look at the deploy\.$/m);
    expect((await command('status')).stdout).toMatch(/^incident inc_card, .*; critical; kim looks after it$/m);
    expect(await json('incidents', 'acknowledge', 'inc_card', '--by', 'Robin')).toMatchObject({ owner: 'Robin' });
  });

  test('of a kind that is never cited says only that it is kept', async () => {
    await database.sql`update purchase_watch_internal.incidents set ended_at = null where id = 'inc_old'`;
    expect((await command('incidents', 'answer', 'inc_old', '--cause', 'provider')).stdout).toBe(
      'kept what inc_old was: provider, says kim; it stays open until nothing is wrong any more\n',
    );
  });

  test.each<[NodeJS.ProcessEnv, string | RegExp]>([
    [{}, /^error: --by: is missing; give your name, as USER is not set$/m],
    [{ USER: 'root' }, /^error: --by: is missing; give your name, as several people may be "root"$/m],
    [{ USER: 'root', SUDO_USER: 'ann' }, ''],
  ])('with %j', async (env, complaint) => {
    const argv = ['incidents', 'acknowledge', 'inc_card'];
    const { exitCode, stderr } = await runCommand(argv, { DATABASE_URL: database.url, ...env });
    if (complaint === '') expect((await json('incidents', 'show', 'inc_card')).owner).toBe('ann');
    else expect([exitCode, stderr]).toEqual([2, expect.stringMatching(complaint)]);
  });

  test('covers what it tells of, and can be given up', async () => {
    await family();
    expect((await command('incidents', 'acknowledge', 'inc_both', '--by', 'Kim')).stdout).toMatch(
      /^Kim looks after inc_both, and all 2 that are part of it: /,
    );
    expect((await command('incidents')).stdout).toMatch(/^inc_fi .* Kim$/m);
    expect((await command('incidents', 'release', 'inc_fi')).stdout).toBe(
      'inc_fi still has the owner Kim, as part of inc_both\n',
    );
    expect((await command('incidents', 'release', 'inc_both')).stdout).toBe(
      'inc_both has no owner any more: people are reminded of it again\n',
    );
    expect((await json('incidents', 'show', 'inc_card')).owner).toBeNull();
    expect((await command('incidents', 'acknowledge', 'inc_fi', '--by', 'Ann')).stdout).toMatch(
      /^Ann looks after inc_fi\. It is part of inc_both, which still reminds: purchase-watch incidents acknowledge inc_both$/m,
    );
    expect((await command('incidents', 'release', 'inc_fi')).stdout).toBe(
      'inc_fi has no owner any more; it is part of inc_both\n',
    );
    expect((await command('incidents', 'release', 'inc_old')).stderr).toMatch(/the incident inc_old is over/);
  });

  test('of one that is over is refused, and so are bad words', async () => {
    const over = await command('incidents', 'acknowledge', 'inc_old', '--by', 'Kim');
    expect([over.exitCode, over.stderr]).toEqual([1, expect.stringMatching(/is over; there is nothing to look after any more/)]);
    for (const [option, value] of [
      ['--by', ' '],
      ['--by', 'x'.repeat(201)],
      ['--note', ''],
    ] as const) {
      const { exitCode, stderr } = await command('incidents', 'acknowledge', 'inc_card', option, value);
      expect([exitCode, stderr]).toEqual([2, expect.stringMatching(new RegExp(`^error: ${option}: is `))]);
    }
  });
});

describe('saying what it was', () => {
  test('is kept, and shown', async () => {
    const { exitCode, stdout } = await command(
      'incidents',
      'answer',
      'inc_card',
      '--cause',
      'deploy',
      '--note',
      'Our CSP.',
      '--by',
      'Kim',
    );
    expect([exitCode, stdout]).toEqual([
      0,
      'kept what inc_card was: deploy, says Kim; it stays open until nothing is wrong any more. It is cited when the same happens again.\n',
    ]);
    expect((await command('incidents', 'show', 'inc_card')).stdout).toMatch(
      /^it was +deploy \(A deploy broke the page\), says Kim, .*: Our CSP\.$/m,
    );
    expect(await json('incidents', 'answer', 'inc_old', '--cause', 'provider')).toMatchObject({
      status: 'ended',
      answer: { cause: 'provider', by: 'kim', note: null },
    });
  });

  test('needs a cause that there is; the help lists them', async () => {
    const { exitCode, stderr } = await command('incidents', 'answer', 'inc_card', '--cause', 'deploi');
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/is no cause \(did you mean deploy\?\); there are provider, /)]);
    expect((await command('incidents', 'answer', 'inc_card')).stderr).toMatch(/required option '--cause <cause>' not specified/);
    expect((await command('incidents', 'answer', '--help')).stdout).toMatch(/^ {2}deploy +A deploy broke the page$/m);
  });
});
