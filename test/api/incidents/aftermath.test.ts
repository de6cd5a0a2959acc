/** What an incident came to: in the API, as CSV and from the command; what it costs to read; and how long it is kept. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countAftermath } from '../../../src/daemon/upkeep/aftermaths.ts';
import type { Incident } from '../../../src/domain/incidents/incident.ts';
import { joiningMembers, membersOf } from '../../../src/postgres/trends/members.ts';
import { removeIncidents } from '../../../src/postgres/upkeep/retention.ts';
import { onDatabase } from '../../cli/command.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { startTestApi, type TestApi } from '../api.ts';

const [CARD, IDENTITY, MINUTE] = [6, 4, 60_000];
const began = Date.UTC(2026, 10, 20, 20, 6);
const minute = (after: number): string => new Date(began + after * MINUTE).toISOString();

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ sites: ['se', 'no'] });
  const { sql } = api;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, parent, severity, opened_at, since, ended_at, count, peak, acknowledged_at, acknowledged_by)
    values ('inc_whole', 'stuck', null, null, null, 1, ${minute(16)}, ${minute(0)}, ${minute(98)}, 0, 5, ${minute(38)}, 'Kim'),
      ('inc_se', 'stuck', 'se', ${CARD}, 'inc_whole', 0, ${minute(16)}, ${minute(0)}, ${minute(98)}, 0, 4, null, null),
      ('inc_no', 'stuck', 'no', ${CARD}, 'inc_whole', 0, ${minute(20)}, ${minute(0)}, ${minute(98)}, 0, 1, null, null),
      ('inc_site', 'unreachable', 'se', null, null, 0, ${minute(0)}, ${minute(0)}, ${minute(9)}, 1, 1, null, null)`;
  await bought('paid', { state: 2, fields: { Price: 100.1, CurrencyCode: 'SEK' } });
  await bought('lost', { state: 5, reference: '=ORD-1', fields: { Price: 50, CurrencyCode: 'SEK', OrderReference: 'SVC-1' } });
  await bought('open', { state: CARD, fields: { Price: 7, CurrencyCode: 'EUR' } });
  await bought('gone', { state: CARD, status: 'expired' });
  await bought('norsk', { state: 8, site: 'no', fields: { Price: 9, CurrencyCode: 'NOK' } });
});
afterAll(() => api.stop());

let made = 0;
/** A purchase that came to the card payment, was found stuck there 15 minutes later, and is now in `state`. */
async function bought(
  id: string,
  is: { state: number; site?: string; status?: string; reference?: string; fields?: object },
): Promise<void> {
  const { state, site = 'se', status = state === CARD ? 'watching' : 'settled', reference = null, fields } = is;
  const came = minute(made++);
  const [row] = await api.sql<[{ id: number }]>`
    insert into purchase_watch.purchases (purchase_id, site, reference) values (${id}, ${site}, ${reference}) returning id`;
  await api.sql`
    update purchase_watch.purchases set registered_at = ${came}, state = ${state}, status = ${status}, sequence = 3,
      state_since = ${state === CARD ? came : minute(40)}, ended_at = ${status === 'watching' ? null : minute(40)},
      next_poll_at = case when ${status === 'watching'} then next_poll_at end, due_slot = case when ${status === 'watching'} then due_slot end
    where id = ${row.id}`;
  if (fields !== undefined)
    await api.sql`insert into purchase_watch_internal.purchase_details (purchase, fields) values (${row.id}, ${JSON.stringify(fields)}::text::json)`;
  await api.sql`
    insert into purchase_watch_internal.stays (purchase, customer, entered_at, at, shortest_ms, longest_ms, state, to_state, site, outcome, first_sight, found_late)
    values (${row.id}, ${made}, ${came}, ${came}::timestamptz + interval '15 minutes', 900000, 900000, ${CARD}, null, ${site}, 'overdue', false, false)`;
  const incident = { id: `inc_${site}`, kind: 'stuck', site, state: CARD, since: began, alarm: null } as unknown as Incident;
  await api.sql`with held as (select), ${joiningMembers(api.sql, [incident])} select`;
}

const read = async (path: string) => (await api.call('GET', `/v1/incidents/${path}`)).body;

test('says of each customer how they ended, and adds up', async () => {
  const body = await read('inc_whole/aftermath');
  expect(body).toMatchObject({
    sentence: '2 sites: 5 customers got stuck waiting for the card provider, and 1 of them paid after all.',
    facts: '5 customers got stuck with 150.10 SEK, 7 EUR and 9 NOK: 1 paid late, 2 did not pay, 2 are still open.',
    customers: { stuck: 5, paid: 1, paidByAnother: 0, notPaid: 2, open: 2, watched: 1 },
    unpriced: 1,
    loss: null,
    countedAt: null,
    isComplete: true,
    times: {
      firstCame: minute(0),
      firstStuck: minute(15),
      noticed: minute(16),
      acknowledged: minute(38),
      acknowledgedBy: 'Kim',
      ended: minute(98),
    },
  });
  expect(body.money).toEqual([
    { currency: 'SEK', customers: 2, stuck: '150.1', wonBack: '100.1', notPaid: '50', open: '0' },
    { currency: 'EUR', customers: 1, stuck: '7', wonBack: '0', notPaid: '0', open: '7' },
    { currency: 'NOK', customers: 1, stuck: '9', wonBack: '0', notPaid: '9', open: '0' },
  ]);
  expect(body.text).toBe(
    [
      'Incident inc_whole: 2 sites, waiting for the card provider, 2026-11-20',
      '20:06 to 21:44 UTC, 1 h 38 min, critical',
      '',
      '5 customers got stuck with 150.10 SEK, 7 EUR and 9 NOK.',
      '1 paid late, 2 did not pay, 2 are still open.',
      '100.10 SEK was paid in the end.',
      '',
      '20:06 first of them came',
      '20:22 noticed, 1 min after the first got stuck',
      '20:44 acknowledged, 22 min after that',
      '21:44 ended',
    ].join('\n'),
  );
  expect((await read('inc_no/aftermath')).customers).toMatchObject({ stuck: 1, notPaid: 1 });
  const lost = await read('inc_whole/aftermath?outcome=not_paid');
  expect(lost.data).toMatchObject([
    {
      purchaseId: 'lost',
      site: 'se',
      price: '50',
      outcome: 'not_paid',
      endState: { name: 'SessionTimedOut' },
      endedAt: minute(40),
    },
    { purchaseId: 'norsk', outcome: 'not_paid' },
  ]);
  expect((await api.call('GET', '/v1/incidents/inc_whole/aftermath?outcome=lost')).status).toBe(400);
});

test('nobody was in an incident of another kind, and one that is not there is refused', async () => {
  expect(await read('inc_site/aftermath')).toMatchObject({
    customers: { stuck: 0 },
    facts: '',
    data: [],
    sentence: 'se: who was in it is not kept.',
  });
  expect((await api.call('GET', '/v1/incidents/inc_none/aftermath')).status).toBe(404);
  expect((await api.call('GET', '/v1/incidents/inc_none/aftermath.csv')).status).toBe(404);
});

test('is a text in the terminal, and lines for a spreadsheet', async () => {
  const command = (...argv: string[]) => onDatabase({ url: api.databaseUrl }, ['incidents', 'aftermath', ...argv]);
  const body = await read('inc_whole/aftermath');
  const { stdout, exitCode } = await command('inc_whole');
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`${body.sentence}\n\n${body.text}\n\n${body.reckoning}\n`);
  expect(JSON.parse((await command('inc_whole', '--json')).stdout)).toMatchObject({ data: body.data, money: body.money });
  const lines = (await command('inc_se', '--csv')).stdout.split('\r\n');
  expect(lines[0]).toBe('site,purchaseId,reference,orderReference,price,currency,state,came,stuckAt,outcome,endState,endedAt');
  expect(lines[2]).toBe(
    `se,lost,'=ORD-1,SVC-1,50,SEK,WaitingForCardPayments,${minute(1)},${minute(16)},not_paid,SessionTimedOut,${minute(40)}`,
  );
  expect(lines).toHaveLength(6);
  expect(await command('inc_none')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('there is no incident inc_none'),
  });
});

test('a purchase that is stuck in another state, or came before the trouble, is in no incident', async () => {
  const other = { id: 'inc_se', kind: 'stuck', site: 'se', state: IDENTITY, since: 0, alarm: null } as unknown as Incident;
  await api.sql`update purchase_watch_internal.incident_members set incident = null where incident = 'inc_no'`;
  await api.sql`with held as (select), ${joiningMembers(api.sql, [other])} select`;
  const later = { ...other, id: 'inc_no', site: 'no', state: CARD, since: began + 5 * MINUTE };
  await api.sql`with held as (select), ${joiningMembers(api.sql, [later])} select`;
  expect((await read('inc_no/aftermath')).customers.stuck).toBe(0);
  await api.sql`with held as (select), ${joiningMembers(api.sql, [{ ...later, since: began }])} select`;
  expect((await read('inc_no/aftermath')).customers.stuck).toBe(1);
});

test('is counted soon after the end, seldom later, and not for ever', async () => {
  const { sql } = api;
  const at = began + 99 * MINUTE;
  await sql`update purchase_watch_internal.incidents set ended_at = ${minute(97)} where id in ('inc_se', 'inc_no')`;
  const count = async (now: number): Promise<number> => {
    let times = 0;
    while (await countAftermath(sql, now)) times++;
    return times;
  };
  expect(await count(at)).toBe(3);
  expect(await count(at + 4 * MINUTE)).toBe(0);
  expect(await count(at + 6 * MINUTE)).toBe(3);
  expect(await count(at + 24 * 60 * MINUTE)).toBe(3);
  expect(await count(at + 25 * 60 * MINUTE)).toBe(0);
  expect(await count(at + 8 * 24 * 60 * MINUTE)).toBe(0);
  expect((await read('inc_whole/aftermath')).countedAt).toBe(new Date(at + 24 * 60 * MINUTE).toISOString());
  // One that was opened again and ended again is counted anew.
  await sql`update purchase_watch_internal.incidents set ended_at = ${minute(1_690)} where id = 'inc_se'`;
  expect(await count(began + 1_700 * MINUTE)).toBe(1);
});

test('costs what the incident does, and not the table', async () => {
  const { sql } = api;
  await sql`
    insert into purchase_watch_internal.incident_members (incident, customer, site, state, came, stuck_at, outcome)
    select 'inc_old_' || n % 100, n, 'se', ${CARD}, now(), now(), 'open' from generate_series(1, 20000) n`;
  await sql`analyze purchase_watch_internal.incident_members`;
  const { scanned, fetched } = await rowsRead(sql, 'incident_members', (tx) => membersOf(tx, 'inc_whole'));
  expect(scanned + fetched).toBeLessThan(20);
});

test('has the marks near it, and the moment at which most were stuck, as long as that can be shown', async () => {
  const { sql } = api;
  const first = (Math.floor(Date.now() / (10 * MINUTE)) - 18) * 10 * MINUTE;
  const at = (after: number): string => new Date(first + after * MINUTE).toISOString();
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, parent, severity, opened_at, since, ended_at, count, peak)
    values ('inc_all', 'stuck', null, null, null, 0, ${at(3)}, ${at(0)}, ${at(90)}, 0, 3),
      ('inc_marked', 'stuck', 'se', ${CARD}, 'inc_all', 0, ${at(3)}, ${at(0)}, ${at(90)}, 0, 3)`;
  // Three are stuck at once for a while, but between two whole ten minutes: one of them goes on to another state.
  await sql`
    with bought as (insert into purchase_watch.purchases (purchase_id, site) values ('moved', 'se') returning id),
    changes as (
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
      select id, v.* from bought cross join (values (1, null::integer, null::integer, ${CARD}::integer, null::timestamptz, ${at(-9)}::timestamptz),
        (2, 1, ${CARD}, ${IDENTITY}, ${at(14)}, ${at(15)})) v)
    insert into purchase_watch_internal.incident_members (incident, purchase, customer, site, state, came, stuck_at)
    select 'inc_marked', id, 1, 'se', ${CARD}::integer, ${at(-9)}::timestamptz, ${at(2)}::timestamptz from bought`;
  await sql`
    insert into purchase_watch_internal.incident_members (incident, customer, site, state, came, stuck_at, outcome)
    values ('inc_marked', 2, 'se', ${CARD}, ${at(-8)}, ${at(1)}, 'open'), ('inc_marked', 3, 'se', ${CARD}, ${at(-7)}, ${at(12)}, 'open')`;
  const marks = [
    ...[
      ['too early', -120],
      ['deploy', -119],
      ['of se', 30, 'se'],
      ['of no', 31, 'no'],
      ['after the end', 90],
    ],
  ] as [text: string, after: number, site?: string][];
  for (const [text, after, site] of marks) await api.call('POST', '/v1/marks', { json: { text, at: at(after), site } });
  const body = await read('inc_marked/aftermath');
  const textsOf = (of: { marks: { text: string }[] }) => of.marks.map(({ text }) => text);
  expect([textsOf(body), body.worstAt]).toEqual([['deploy', 'of se'], at(10)]);
  expect(body.marks[1]).toEqual({ id: expect.stringMatching(/^mrk_\d+$/), at: at(30), text: 'of se', site: 'se' });
  expect(body.text).toContain(`${at(30).slice(11, 16)} of se (mark, se)\n`);
  expect((await api.call('GET', `/v1/then?at=${body.worstAt}`)).body.at).toBe(body.worstAt);
  const { stdout } = await onDatabase({ url: api.databaseUrl }, ['incidents', 'aftermath', 'inc_marked']);
  expect(stdout).toBe(
    `${body.sentence}\n\n${body.text}\n\n${body.reckoning}\n\nHow it was when most customers waited: purchase-watch status --at ${at(10)}\n`,
  );
  // Where it spans several sites, marks of all sites may have to do with it.
  await sql`
    insert into purchase_watch_internal.incident_members (incident, customer, site, state, came, stuck_at, outcome)
    values ('inc_all', 4, 'no', ${CARD}, ${at(-8)}, ${at(1)}, 'open')`;
  expect(textsOf(await read('inc_all/aftermath'))).toEqual(['deploy', 'of se', 'of no']);
  await sql`update purchase_watch_internal.incident_members set stuck_at = stuck_at - interval '15 days' where incident = 'inc_marked'`;
  expect(await read('inc_marked/aftermath')).toMatchObject({ worstAt: null });
});

test('goes with its incident', async () => {
  const { sql } = api;
  while ((await removeIncidents(sql, { before: Date.now() + MINUTE, limit: 5_000 })) > 0);
  const [left] = await sql`
    select (select count(*) from purchase_watch_internal.incident_members) + (select count(*) from purchase_watch_internal.aftermaths) as count`;
  expect(left!.count).toBe(0);
});
