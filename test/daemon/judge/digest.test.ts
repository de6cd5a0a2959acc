import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDigests, type Digests } from '../../../src/daemon/judge/digest.ts';
import { boundsOf, bucketOf } from '../../../src/domain/stays/dwell.ts';
import { saveDigests } from '../../../src/postgres/incidents/digest.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { type Lease, takeLease } from '../../../src/postgres/shards/leases.ts';
import { forgetReplica, renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { aLog } from '../notifier/parts.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Eight o'clock in Stockholm; nine in Helsinki. */
const EIGHT = Date.parse('2026-11-20T07:00:00Z');
const STOCKHOLM = 'Europe/Stockholm';
let database: TestDatabase;
let announced: string[];
let logged: ReturnType<typeof aLog>['logged'];
beforeEach(async () => {
  database = await testDatabase();
  announced = [];
  await syncSites(database.sql, ['fi', 'no', 'se']);
  // Ids 1 and 2.
  await database.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('@slack', 'slack', 'people', 'a'), ('@slack-fi', 'slack', 'people', 'b')`;
});
afterEach(() => database.drop());

const ZONES = { se: STOCKHOLM, no: 'Europe/Oslo', fi: 'Europe/Helsinki' };

function digests({
  zones = ZONES,
  expression = '0 8 * * *',
}: {
  zones?: Record<string, string>;
  expression?: string | null;
} = {}) {
  const { log, logged: lines } = aLog();
  logged = lines;
  return createDigests({
    sql: database.sql,
    log,
    meters: { ...createMeters(), committed: (type) => void announced.push(type) },
    sites: Object.entries(zones).map(([name, timeZone]) => ({ name, timeZone })),
    expression,
    limitOf: (site, state) => (site === 'se' && state === 6 ? 15 : 20) * MINUTE,
  });
}

async function lease(replica: string): Promise<Lease> {
  await renewReplica(database.sql, { id: replica, process: 'test', ttl: 60_000 });
  const epoch = await takeLease(database.sql, { name: 'judge', replica });
  return { name: 'judge', replica, epoch: epoch ?? -1 };
}

async function alert(
  writer: Digests,
  now: number,
  { replica = 'a', recipientsOf = () => [1] }: { replica?: string; recipientsOf?: (site: string) => number[] } = {},
) {
  return writer.alert({ now, lease: await lease(replica), recipients: async () => recipientsOf });
}

interface Written {
  readonly at: number;
  readonly recipients: number[];
  readonly data: {
    readonly since: string;
    readonly sites: {
      readonly site: string;
      readonly incidents: { readonly incidentId: string }[];
      readonly pace: { readonly state: { readonly value: number } }[];
    }[];
    readonly quiet: string[];
    readonly subscribers: { readonly subscriber: string; readonly givenUp: number }[];
  };
}

/** The digests that were written, oldest first. */
async function written(): Promise<Written[]> {
  const rows = await database.sql<{ at: number; body: string; recipients: number[] }[]>`
    select (extract(epoch from created_at) * 1000)::float8 as at, body, recipients from purchase_watch_internal.events
    where type = 'incident.digest' order by position`;
  return rows.map(({ body, ...row }) => ({ ...row, data: (JSON.parse(body) as { data: Written['data'] }).data }));
}
const moments = async (): Promise<string[]> => (await written()).map(({ at }) => new Date(at).toISOString());
const toldOf = async (): Promise<string[][]> => (await written()).map(({ data }) => data.sites.map(({ site }) => site));

const madeUpTo = (at: number, sites = ['fi', 'no', 'se']) =>
  database.sql`update purchase_watch_internal.sites set digest_at = to_timestamp(${at}::float8 / 1000) where name = any(${sites}::text[])`;

/** An incident that people were told of. */
async function incident(id: string, { site = 'se', from = EIGHT - 2 * HOUR, to = null as number | null } = {}): Promise<void> {
  await database.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak, alerted_at)
    values (${id}, 'stuck', ${site}, 6, to_timestamp(${from}::float8 / 1000), to_timestamp(${from}::float8 / 1000),
      to_timestamp(${to}::float8 / 1000), 3, 3, to_timestamp(${from}::float8 / 1000))`;
}

test("a weekly digest has the numbers of each site's seven whole days, as trends have them, though nothing went wrong", async () => {
  await madeUpTo(EIGHT - 7 * DAY);
  const ended = (at: string, outcome: string, customers: number) => database.sql`
    insert into purchase_watch_internal.outcome_hours (hour, customers, amount, was_stuck, outcome, site)
    values (${at}::timestamptz, ${customers}, 0, false, ${outcome}, 'se')`;
  // Midnight in Stockholm is at 23:00 UTC.
  await ended('2026-11-12T22:00:00Z', 'paid', 1_000);
  await ended('2026-11-12T22:00:00Z', 'not_paid', 200);
  await ended('2026-11-12T23:00:00Z', 'paid', 90);
  await ended('2026-11-19T22:00:00Z', 'not_paid', 60);
  await ended('2026-11-19T23:00:00Z', 'paid', 500);
  await alert(digests({ expression: '0 8 * * 5' }), EIGHT);
  expect(await written()).toMatchObject([
    {
      data: {
        sites: [
          {
            site: 'se',
            trend: { range: '7d', customers: 150, paid: 90, share: 0.6, change: 'worse', before: { customers: 1_200 } },
          },
        ],
        quiet: ['fi', 'no'],
      },
    },
  ]);
});

test('of each state people read how long the slow ones needed, beside the limit and what was usual before, where enough is known of that', async () => {
  await madeUpTo(EIGHT - DAY);
  await incident('inc_1');
  const stays = (state: number, day: string, minutes: number, count: number) => database.sql`
    insert into purchase_watch_internal.dwell_days (site, state, day, bucket, shortest, longest)
    values ('se', ${state}, ${day}::date, ${bucketOf(minutes * MINUTE)}, ${count}, ${count})`;
  await stays(6, '2026-11-19', 14, 60);
  await stays(6, '2026-11-18', 3, 50);
  await stays(4, '2026-11-19', 14, 50);
  await stays(4, '2026-11-18', 3, 49);
  await stays(2, '2026-11-19', 14, 50);
  // Nobody came there lately.
  await stays(7, '2026-11-18', 14, 60);
  await alert(digests(), EIGHT);
  const [digest] = await written();
  const slowOf = (minutes: number): number => Math.ceil(boundsOf(bucketOf(minutes * MINUTE)).below / 1_000) * 1_000;
  const slow = { p95Ms: slowOf(14), usualP95Ms: null, limitMs: 20 * MINUTE, purchases: 50 };
  expect(digest!.data.sites[0]!.pace.map(({ state: { value }, ...rest }) => ({ state: value, ...rest }))).toEqual([
    { state: 2, ...slow },
    { state: 4, ...slow },
    { state: 6, ...slow, usualP95Ms: slowOf(3), limitMs: 15 * MINUTE, purchases: 60 },
  ]);
});

test('a digest has how many are stuck now, and the log what it is about', async () => {
  const { sql } = database;
  await madeUpTo(EIGHT - DAY);
  await sql`insert into purchase_watch.purchases (purchase_id, site) values ('p-1', 'se')`;
  await sql`update purchase_watch.purchases set state = 6, state_since = to_timestamp(${EIGHT - HOUR}::float8 / 1000), stuck_since = now()`;
  await alert(digests({ zones: { se: STOCKHOLM } }), EIGHT);
  expect(await written()).toMatchObject([
    { data: { sites: [{ overdue: [{ state: { value: 6 }, count: 1, since: new Date(EIGHT - HOUR).toISOString() }] }] } },
  ]);
  expect(logged).toMatchObject([{ event: 'digest.made', sites: ['se'], messages: 1 }]);
});

test('an event about one site names it, and one about several names none', async () => {
  await madeUpTo(EIGHT - DAY);
  for (const site of ['se', 'no', 'fi']) await incident(`inc_${site}`, { site });
  const writer = digests();
  await alert(writer, EIGHT - HOUR);
  await alert(writer, EIGHT);
  const sites =
    await database.sql`select site from purchase_watch_internal.events where type = 'incident.digest' order by position`;
  expect(sites.map(({ site }) => site)).toEqual(['fi', '']);
});

describe('when', () => {
  test.each([
    ['the next moment of its schedule', '0 8 * * *', EIGHT + DAY],
    ['ever, where its schedule names no day of the next four years', '0 8 29 2 1', null],
  ])('it asks the database nothing until %s', async (_, expression, lookAgainAt) => {
    const writer = digests({ zones: { se: STOCKHOLM }, expression });
    expect(await alert(writer, EIGHT)).toEqual({ written: 0, lookAgainAt });
    const held = await lease('a');
    const asked: string[] = [];
    database.sql.options.debug = (_connection: number, statement: string) => asked.push(statement);
    const moment = { now: EIGHT + DAY - 1, lease: held, recipients: async () => () => [1] };
    expect(await writer.alert(moment)).toEqual({ written: 0, lookAgainAt });
    expect(asked).toEqual([]);
    writer.forget();
    await writer.alert(moment);
    expect(asked).toHaveLength(1);
  });

  test('the first start says nothing of what was before, and the next morning tells what was since', async () => {
    await incident('inc_1', { from: EIGHT - 3 * DAY, to: EIGHT - 2 * DAY });
    const writer = digests();
    expect(await alert(writer, EIGHT + HOUR)).toEqual({ written: 0, lookAgainAt: EIGHT - HOUR + DAY });
    await incident('inc_2', { from: EIGHT + 5 * HOUR, to: EIGHT + 6 * HOUR });
    await alert(writer, EIGHT + DAY - 1);
    expect(await written()).toEqual([]);
    expect(await alert(writer, EIGHT + DAY)).toEqual({ written: 1, lookAgainAt: EIGHT - HOUR + 2 * DAY });
    expect(await written()).toMatchObject([
      {
        at: EIGHT + DAY,
        recipients: [1],
        data: {
          since: new Date(EIGHT + HOUR).toISOString(),
          sites: [{ site: 'se', incidents: [{ incidentId: 'inc_2' }] }],
          quiet: ['no'],
        },
      },
    ]);
    expect(announced).toEqual(['incident.digest']);
  });

  test("each site's own clock counts, and sites of one moment are one message", async () => {
    await madeUpTo(EIGHT - DAY);
    for (const site of ['se', 'no', 'fi']) await incident(`inc_${site}`, { site });
    const writer = digests();
    for (let now = EIGHT - 3 * HOUR; now <= EIGHT + 3 * HOUR; now += 60_000) await alert(writer, now);
    expect(await moments()).toEqual(['2026-11-20T06:00:00.000Z', '2026-11-20T07:00:00.000Z']);
    expect(await toldOf()).toEqual([['fi'], ['no', 'se']]);
  });

  test('a night on which clocks change has one digest, at the time they skip or show twice too', async () => {
    const writer = digests({ zones: { se: STOCKHOLM }, expression: '30 2 * * *' });
    for (const night of ['2026-03-28T20:00:00Z', '2026-10-24T20:00:00Z']) {
      const begin = Date.parse(night);
      await database.sql`delete from purchase_watch_internal.incidents`;
      await madeUpTo(begin);
      await incident(`inc_${night}`, { from: begin });
      for (let now = begin; now < begin + 20 * HOUR; now += 15 * 60_000) await alert(writer, now);
    }
    expect(await moments()).toEqual(['2026-03-29T01:30:00.000Z', '2026-10-25T00:30:00.000Z']);
  });

  test('one that was missed is made up for within six hours, once', async () => {
    await madeUpTo(EIGHT - DAY);
    await incident('inc_1');
    await alert(digests(), EIGHT + 5 * HOUR);
    await alert(digests(), EIGHT + 5 * HOUR + 1);
    // Half past one in Stockholm and Oslo; in Helsinki more than six hours are over by now.
    expect(await toldOf()).toEqual([['se']]);
  });

  test('one that was missed for longer is left out, and the next one tells what it would have told', async () => {
    await madeUpTo(EIGHT - DAY);
    await incident('inc_1', { to: EIGHT - HOUR });
    const writer = digests();
    await alert(writer, EIGHT + 7 * HOUR);
    expect(await written()).toEqual([]);
    await alert(writer, EIGHT + DAY);
    expect(await written()).toMatchObject([
      { data: { since: new Date(EIGHT - DAY).toISOString(), sites: [{ site: 'se', incidents: [{ incidentId: 'inc_1' }] }] } },
    ]);
  });

  test('after months without a daemon there is one, and it looks back a month at most', async () => {
    await madeUpTo(EIGHT - 200 * DAY);
    await incident('inc_long_ago', { from: EIGHT - 190 * DAY, to: EIGHT - 189 * DAY });
    await incident('inc_now');
    const writer = digests({ zones: { se: STOCKHOLM } });
    for (let now = EIGHT + HOUR; now < EIGHT + 23 * HOUR; now += 10 * 60_000) await alert(writer, now);
    expect(await written()).toMatchObject([
      {
        at: EIGHT + HOUR,
        data: { since: new Date(EIGHT + HOUR - 31 * DAY).toISOString(), sites: [{ incidents: [{ incidentId: 'inc_now' }] }] },
      },
    ]);
  });

  test('without a schedule there is none', async () => {
    await madeUpTo(EIGHT - DAY);
    await incident('inc_1');
    expect(await alert(digests({ expression: null }), EIGHT)).toEqual({ written: 0, lookAgainAt: null });
    expect(await written()).toEqual([]);
  });

  test('where nothing happened there is none, and the days that were empty are not gone through again', async () => {
    await madeUpTo(EIGHT - DAY);
    const writer = digests({ zones: { se: STOCKHOLM } });
    for (let day = 0; day < 3; day++) await alert(writer, EIGHT + day * DAY);
    expect(await written()).toEqual([]);
    await incident('inc_1', { from: EIGHT + 2 * DAY + HOUR });
    await alert(writer, EIGHT + 3 * DAY);
    expect(await written()).toMatchObject([{ data: { since: new Date(EIGHT + 2 * DAY).toISOString() } }]);
  });
});

describe('once', () => {
  test('with two replicas and a restart in between', async () => {
    await madeUpTo(EIGHT - DAY);
    await incident('inc_1');
    const [one, other] = [digests(), digests()];
    await alert(one, EIGHT);
    await alert(other, EIGHT + 1, { replica: 'b' });
    await forgetReplica(database.sql, 'a');
    await alert(other, EIGHT + 2, { replica: 'b' });
    await alert(digests(), EIGHT + 3, { replica: 'b' });
    expect(await toldOf()).toEqual([['se']]);
  });

  test('by a replica that lost the lease while it looked: it writes nothing, and looks again when the lease is back', async () => {
    await madeUpTo(EIGHT - DAY);
    await incident('inc_1');
    const writer = digests();
    const lost = { ...(await lease('a')), epoch: 99 };
    expect(await writer.alert({ now: EIGHT, lease: lost, recipients: async () => () => [1] })).toEqual({
      written: 0,
      lookAgainAt: null,
    });
    expect(await written()).toEqual([]);
    await alert(writer, EIGHT + 5_000);
    expect(await toldOf()).toEqual([['se']]);
  });

  test('when an earlier statement whose answer was lost has done it', async () => {
    const held = await lease('a');
    const sites = [{ site: 'se', since: EIGHT - DAY }];
    await madeUpTo(EIGHT - DAY);
    expect(await saveDigests(database.sql, { events: [], sites, madeUpTo: EIGHT, lease: held })).toBe(true);
    expect(await saveDigests(database.sql, { events: [], sites, madeUpTo: EIGHT + 1, lease: held })).toBe(false);
    // All or nothing: what belongs to one message is made together.
    const both = [{ site: 'no', since: EIGHT - DAY }, ...sites];
    expect(await saveDigests(database.sql, { events: [], sites: both, madeUpTo: EIGHT + 1, lease: held })).toBe(false);
    const [no] = await database.sql<[{ at: number }]>`
      select (extract(epoch from digest_at) * 1000)::float8 as at from purchase_watch_internal.sites where name = 'no'`;
    expect(no.at).toBe(EIGHT - DAY);
  });

  test('killed while it writes: all of it is there afterwards or nothing is, and a second try tells it', async () => {
    await madeUpTo(EIGHT - DAY);
    await incident('inc_1');
    const { sql } = database;
    await sql`create function fail() returns trigger language plpgsql as $$ begin raise 'killed'; end $$`;
    await sql`create trigger fail before insert on purchase_watch_internal.deliveries for each row execute function fail()`;
    const writer = digests();
    await expect(alert(writer, EIGHT)).rejects.toThrow('killed');
    expect(await written()).toEqual([]);
    await sql`drop trigger fail on purchase_watch_internal.deliveries`;
    await alert(writer, EIGHT + 1);
    expect(await toldOf()).toEqual([['se']]);
    expect(await sql`select subscriber, status from purchase_watch_internal.deliveries`).toEqual([
      { subscriber: 1, status: 'pending' },
    ]);
  });
});

test('a digest made by a clock that was set back since does not keep the next one waiting until that clock catches up', async () => {
  await madeUpTo(EIGHT + 29 * DAY);
  await incident('inc_1');
  const writer = digests({ zones: { se: STOCKHOLM } });
  await alert(writer, EIGHT + 30 * DAY);
  expect(await moments()).toEqual([new Date(EIGHT + 30 * DAY).toISOString()]);
  // With the clock, the times in the database were moved.
  await madeUpTo(EIGHT - HOUR);
  writer.forget();
  await alert(writer, EIGHT);
  expect(await moments()).toContain(new Date(EIGHT).toISOString());
});

describe('whom', () => {
  const recipientsOf = (site: string): number[] => ({ se: [1, 2], no: [2, 1], fi: [2] })[site] ?? [];

  test('sites with the same recipients are one message, each channel gets only what it is told of', async () => {
    await madeUpTo(EIGHT - DAY);
    for (const site of ['se', 'no', 'fi']) await incident(`inc_${site}`, { site });
    const zones = { se: STOCKHOLM, no: STOCKHOLM, fi: STOCKHOLM };
    await alert(digests({ zones }), EIGHT, { recipientsOf });
    expect(await toldOf()).toEqual([['no', 'se'], ['fi']]);
    const rows = await database.sql`select event::integer, subscriber from purchase_watch_internal.deliveries order by 1, 2`;
    expect(rows).toEqual([
      { event: 1, subscriber: 1 },
      { event: 1, subscriber: 2 },
      { event: 2, subscriber: 2 },
    ]);
  });

  test('a site of which nobody is told has no message, then or when somebody is', async () => {
    await madeUpTo(EIGHT - DAY);
    await incident('inc_1', { to: EIGHT - HOUR });
    const writer = digests({ zones: { se: STOCKHOLM } });
    await alert(writer, EIGHT, { recipientsOf: () => [] });
    await alert(writer, EIGHT + DAY);
    expect(await written()).toEqual([]);
  });

  test('deliveries that were given up are told once, however many sites and zones there are, but to no one of themselves', async () => {
    await madeUpTo(EIGHT - DAY);
    const { sql } = database;
    await sql`insert into purchase_watch_internal.subscribers (name, kind, origin, url, keys, address_hash) values ('shop', 'webhook', 'api', '\\x00', '\\x00', 'c')`;
    await sql`
      with event as (
        insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
        select 'evt_' || n, 'site.reachable', 'se', 0, to_timestamp(${EIGHT - 3 * HOUR}::float8 / 1000), '{}' from generate_series(1, 5) n returning position)
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at)
      select position, 0, case when position = 5 then 1 else 3 end, 0, now(), 'exhausted', to_timestamp(${EIGHT - 2 * HOUR}::float8 / 1000) from event`;
    const writer = digests();
    await alert(writer, EIGHT - HOUR);
    await alert(writer, EIGHT);
    await alert(writer, EIGHT + DAY);
    expect((await written()).map(({ data }) => [data.quiet, data.subscribers])).toEqual([
      [['fi'], [{ subscriber: 'shop', givenUp: 4, parked: 0, off: false }]],
    ]);
  });

  test('a subscriber in trouble is named once to each channel, in the message that most channels get', async () => {
    await madeUpTo(EIGHT - DAY);
    for (const site of ['se', 'fi']) await incident(`inc_${site}`, { site });
    await database.sql`
      insert into purchase_watch_internal.subscribers (name, kind, origin, url, keys, address_hash, status, failed_at)
      values ('shop', 'webhook', 'api', '\\x00', '\\x00', 'c', 'off', now())`;
    const zones = { se: STOCKHOLM, fi: STOCKHOLM };
    await alert(digests({ zones }), EIGHT, { recipientsOf: (site) => (site === 'se' ? [1, 2] : [1]) });
    const told = (await written()).map(({ recipients, data }) => [recipients, data.subscribers.map((each) => each.subscriber)]);
    expect(told).toEqual([
      [[1, 2], ['shop']],
      [[1], []],
    ]);
  });
});
