import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SUBSCRIBER_TROUBLES } from '../../../src/domain/incidents/incident.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { replayStep } from '../../../src/postgres/deliveries/deliveries-again.ts';
import { announcing, SITE_SHARD } from '../../../src/postgres/events/events.ts';
import { currentSymptoms } from '../../../src/postgres/incidents/incidents.ts';
import { updateSubscriber } from '../../../src/postgres/subscribers/changes.ts';
import { switchOff } from '../../../src/postgres/subscribers/subscribers.ts';
import { hearingChannels, subscriberCondition, subscriberSymptoms } from '../../../src/postgres/subscribers/symptoms.ts';
import { announce } from '../../support/announce.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

let database: TestDatabase;
let sql: Sql;
let now: number;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate purchase_watch_internal.events, purchase_watch_internal.subscribers, purchase_watch_internal.incidents restart identity cascade`;
  // Ids 1, 2 and 3.
  await sql`
    insert into purchase_watch_internal.subscribers (name, kind, origin, url, keys, address_hash)
    values ('shop', 'webhook', 'api', '\\x00', '\\x00', 'a'), ('books', 'webhook', 'api', '\\x00', '\\x00', 'b')`;
  await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('@slack', 'slack', 'people', 'c')`;
  now = Date.now();
});

const failing = (ago: number, { subscriber = 1, failures = 4 } = {}) =>
  sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
    values (${subscriber}, ${failures}, 1, to_timestamp(${now - ago}::float8 / 1000), to_timestamp(${now + MINUTE}::float8 / 1000), 'The receiver answered 503.')`;

/** Events of which shop has deliveries that stand so; the last was settled so long ago, each other a second earlier. */
async function deliveries(count: number, status: 'pending' | 'exhausted' | 'delivered', ago = 0): Promise<void> {
  for (let made = 0; made < count; made++) await announce(sql);
  await sql`
    with d as (select id, row_number() over (order by id desc) - 1 as place from purchase_watch_internal.deliveries where subscriber = 1 order by id desc limit ${count})
    update purchase_watch_internal.deliveries t set status = ${status}, last_error = 'The receiver answered 422.',
      settled_at = case when ${status} = 'pending' then null else to_timestamp(${now - ago}::float8 / 1000) - d.place * interval '1 second' end
    from d where t.id = d.id`;
}

const found = async () =>
  (await subscriberSymptoms(sql, now)).map(({ subscriber, severity, count, since }) => [
    subscriber,
    SUBSCRIBER_TROUBLES[severity],
    count,
    Math.round((now - since) / SECOND),
  ]);

describe('a subscriber is in trouble', () => {
  test('not while all is well', async () => {
    await deliveries(3, 'pending');
    expect(await found()).toEqual([]);
  });

  test('when it has taken nothing for a quarter of an hour, with what waits', async () => {
    await deliveries(3, 'pending');
    await failing(15 * MINUTE - 1);
    expect(await found()).toEqual([]);
    await sql`update purchase_watch_internal.subscriber_health set failing_since = failing_since - interval '1 ms'`;
    expect(await found()).toEqual([['shop', 'failing', 3, 900]]);
  });

  test('when nothing gets through to it for as long, for a reason on this side; what it does itself counts more', async () => {
    await deliveries(3, 'pending');
    await sql`
      insert into purchase_watch_internal.subscriber_health (subscriber, our_failures, our_failing_since, our_error, our_replica)
      values (1, 9, to_timestamp(${now - 15 * MINUTE + 1}::float8 / 1000), 'The name server did not answer.', 'rep_1')`;
    expect(await found()).toEqual([]);
    await sql`update purchase_watch_internal.subscriber_health set our_failing_since = our_failing_since - interval '1 ms'`;
    expect(await found()).toEqual([['shop', 'unreached', 3, 900]]);
    expect(await subscriberCondition(sql, { name: 'shop', since: now })).toMatchObject({
      ...{
        failures: 0,
        lastError: 'The name server did not answer.',
        ourFailingSince: Math.round(now - 15 * MINUTE),
        waiting: 3,
      },
    });
    await sql`
      update purchase_watch_internal.subscriber_health set failures = 4, failing_since = our_failing_since - interval '1 minute', paused_until = now()`;
    expect(await found()).toEqual([['shop', 'failing', 3, 960]]);
  });

  test('as long as it takes nothing, when people know of it', async () => {
    await sql`
      insert into purchase_watch_internal.incidents (id, kind, subscriber, opened_at, since, count, peak) values ('inc_1', 'subscriber', 'shop', now(), now(), 1, 1)`;
    await failing(MINUTE);
    await failing(MINUTE, { subscriber: 2 });
    expect(await found()).toEqual([['shop', 'failing', 0, 60]]);
    await sql`update purchase_watch_internal.incidents set ended_at = now()`;
    expect(await found()).toEqual([]);
  });

  test('when a delivery to it was given up within the hour', async () => {
    await deliveries(2, 'exhausted', 61 * MINUTE);
    expect(await found()).toEqual([]);
    await deliveries(3, 'exhausted', 10 * MINUTE);
    expect(await found()).toEqual([['shop', 'given_up', 3, 602]]);
    await failing(20 * MINUTE);
    await deliveries(1, 'pending');
    expect(await found()).toEqual([['shop', 'losing', 1, 1_200]]);
  });

  test('when it was switched off for what it answered', async () => {
    await deliveries(2, 'pending');
    await switchOff(sql, { subscriber: 1, reason: 'The receiver answered 410: it wants no more events.', addressHash: 'a' });
    now = Date.now() + 10;
    expect(await found()).toEqual([['shop', 'off', 2, 0]]);
    await failing(40 * MINUTE);
    expect(await found()).toEqual([['shop', 'off', 2, 2_400]]);
  });

  test('not when it was another address that was refused', async () => {
    await failing(40 * MINUTE);
    await switchOff(sql, { subscriber: 1, reason: 'Gone.', addressHash: 'the one before' });
    expect(await found()).toEqual([['shop', 'failing', 0, 2_400]]);
  });

  test('not when a person switched it off, after it was switched off and on again too', async () => {
    await deliveries(1, 'exhausted');
    await failing(40 * MINUTE);
    const set = (is: 'active' | 'off', reason: string | null) => updateSubscriber(sql, 1, { status: { is, reason } });
    await set('off', 'It was switched off by hand.');
    expect(await found()).toEqual([]);
    await set('active', null);
    await switchOff(sql, { subscriber: 1, reason: 'Gone.', addressHash: 'a' });
    expect(await found()).toHaveLength(1);
    await updateSubscriber(sql, 1, { description: 'Still off.' });
    expect(await found()).toHaveLength(1);
    await set('active', null);
    await set('off', 'It was switched off by hand.');
    expect(await found()).toEqual([]);
  });

  test('not when it was taken away', async () => {
    await failing(40 * MINUTE);
    await sql`update purchase_watch_internal.subscribers set configured = false`;
    expect(await found()).toEqual([]);
    expect(await subscriberCondition(sql, { name: 'shop', since: now })).toBeNull();
  });

  test('each on its own, Slack too, beside the trouble of sites', async () => {
    await failing(40 * MINUTE);
    await failing(50 * MINUTE, { subscriber: 3 });
    expect((await found()).map(([name]) => name)).toEqual(['shop', '@slack']);
    await sql`insert into purchase_watch_internal.sites (name, failing_since) values ('se', now())`;
    await sql`insert into purchase_watch.purchases (site, purchase_id) values ('se', 'p-1')`;
    expect((await currentSymptoms(sql, now)).map(({ kind, site, subscriber }) => [kind, site, subscriber])).toEqual([
      ['unreachable', 'se', null],
      ['subscriber', null, 'shop'],
      ['subscriber', null, '@slack'],
    ]);
  });
});

test('looking counts what waits and what was given up lately, and costs the same however much was sent and given up before', async () => {
  await announce(sql);
  const [event] = await sql<{ position: string }[]>`select max(position)::text as position from purchase_watch_internal.events`;
  await sql`alter table purchase_watch_internal.deliveries drop constraint deliveries_event_subscriber_key`;
  const many = (status: string, count: number, settled: string) =>
    sql.unsafe(`
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at)
      select ${event!.position}, 0, 1, 0, now(), '${status}', ${settled} from generate_series(1, ${count}) n`);
  await many('delivered', 20_000, 'now()');
  await many('exhausted', 20_000, "now() - interval '2 hours'");
  await many('exhausted', 1_500, "now() - n * interval '1 second'");
  await many('pending', 20_000, 'null');
  await failing(40 * MINUTE);
  await sql`analyze purchase_watch_internal.deliveries`;
  const { scanned, fetched } = await rowsRead(sql, 'deliveries', async (tx) => {
    expect(await subscriberSymptoms(tx, now)).toMatchObject([{ count: 20_001, severity: SUBSCRIBER_TROUBLES.indexOf('losing') }]);
  });
  expect([scanned, fetched <= 25_000]).toEqual([0, true]);
  const condition = await rowsRead(sql, 'deliveries', async (tx) => {
    expect(await subscriberCondition(tx, { name: 'shop', since: now - 40 * MINUTE })).toMatchObject({
      waiting: 20_001,
      givenUp: 1_500,
    });
  });
  expect([condition.scanned, condition.fetched <= 27_000]).toEqual([0, true]);
});

describe('how a subscriber is doing', () => {
  test('holds what a message needs', async () => {
    await deliveries(1, 'delivered', 50 * MINUTE);
    await deliveries(1, 'delivered', 55 * MINUTE);
    await deliveries(2, 'exhausted', 45 * MINUTE);
    await deliveries(2, 'exhausted', 5 * MINUTE);
    await deliveries(3, 'pending');
    await failing(40 * MINUTE);
    await sql`update purchase_watch_internal.deliveries set due_at = to_timestamp(${now + 5 * MINUTE}::float8 / 1000) where status = 'pending' and subscriber = 1`;
    const condition = await subscriberCondition(sql, { name: 'shop', since: now - 40 * MINUTE });
    expect(condition).toMatchObject({
      ...{ id: 1, kind: 'webhook', origin: 'api', status: 'active', statusReason: null, failedAt: null, failures: 4 },
      ...{ failingSince: now - 40 * MINUTE, lastError: 'The receiver answered 503.', waiting: 3, givenUp: 2 },
      nextTryAt: now + 5 * MINUTE,
      deliveredAt: now - 50 * MINUTE,
    });
    expect(condition!.givenUpFrom).toBeLessThanOrEqual(Date.now());
    await sql`update purchase_watch_internal.deliveries set due_at = now() - interval '1 hour' where status = 'pending'`;
    expect((await subscriberCondition(sql, { name: 'shop', since: now }))!.nextTryAt).toBe(now + MINUTE);
  });

  test('says that it is tried with what comes, when nothing waits', async () => {
    await failing(40 * MINUTE);
    expect(await subscriberCondition(sql, { name: 'shop', since: now })).toMatchObject({
      nextTryAt: null,
      waiting: 0,
      givenUp: 0,
    });
  });
});

test('people hear through channels that take messages', async () => {
  expect(await hearingChannels(sql, now)).toEqual(['@slack']);
  await failing(15 * MINUTE, { subscriber: 3 });
  expect(await hearingChannels(sql, now)).toEqual([]);
  await sql`delete from purchase_watch_internal.subscriber_health`;
  await switchOff(sql, { subscriber: 3, reason: 'Gone.', addressHash: 'c' });
  expect(await hearingChannels(sql, now)).toEqual([]);
});

describe('an event about a subscriber', () => {
  const told = async (about: number | null) => {
    const draft = { type: 'incident.opened', sequence: null, at: now, state: null, data: {} } as const;
    await sql`with ${announcing(sql, [{ draft, site: '', purchase: null, shard: SITE_SHARD, about }], sql`true`)} select count(*) from notified`;
    const rows = await sql<{ name: string }[]>`
      select s.name from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber
      where d.event = (select max(position) from purchase_watch_internal.events) order by s.id`;
    return rows.map(({ name }) => name);
  };

  test('goes to the others who hear of incidents, and not to it', async () => {
    await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('second', 'slack', 'people', 'd')`;
    expect(await told(null)).toEqual(['@slack', 'second']);
    expect(await told(1)).toEqual(['@slack', 'second']);
    expect(await told(3)).toEqual(['second']);
  });

  test('is not replayed to it either', async () => {
    await told(3);
    const range = { subscriber: 3, since: now - MINUTE, until: now + MINUTE, types: null };
    const [last] = await sql<
      { position: number }[]
    >`select max(position)::float8 as position from purchase_watch_internal.events`;
    const step = await replayStep(sql, range, { after: 0, last: last!.position, limit: 10, dryRun: true });
    expect(step.count).toBe(0);
  });
});
