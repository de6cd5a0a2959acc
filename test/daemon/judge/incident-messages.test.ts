/** The message about each kind of incident: the events that it is made of, and the words that the log has. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createIncidentMessages } from '../../../src/daemon/judge/incident-messages.ts';
import { eventBody } from '../../../src/domain/events/make-event.ts';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { type Alarm, newDetection } from '../../../src/domain/incidents/detection.ts';
import { type Incident, openIncident } from '../../../src/domain/incidents/incident.ts';
import type { IncidentVerdict } from '../../../src/domain/incidents/judgement.ts';
import { type CountedUsual, NOTHING_KNOWN } from '../../../src/domain/stays/usual.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { saveReplicaTroubles } from '../../../src/postgres/shards/replica-troubles.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const MINUTE = 60_000;
const T = Date.parse('2026-11-20T09:00:00Z');
const [SINCE, NOW] = ['2026-11-20T09:00:00.000Z', '2026-11-20T09:10:00.000Z'];
const now = T + 10 * MINUTE;
const CARD = 6;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['no', 'se']);
  await renewReplica(sql, { id: 'a', process: 'test', ttl: 60 * MINUTE });
});
afterAll(() => database.drop());
beforeEach(async () => {
  const { sql } = database;
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.events, purchase_watch_internal.incidents,
    purchase_watch_internal.subscribers, purchase_watch_internal.replica_troubles restart identity cascade`;
  await sql`update purchase_watch_internal.sites set failing_reason = null, last_error = null, last_read_at = null`;
  // Ids 1 to 3.
  for (const [name, audience] of [
    ['@slack', 'people'],
    ['@each', 'people'],
    ['erp', 'systems'],
  ] as const)
    await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values (${name}, 'webhook', ${audience}, 'a')`;
});
const at = (moment: number) => database.sql`to_timestamp(${moment}::float8 / 1000)`;

const incident = (differs: Partial<Incident> = {}): Incident => ({
  ...openIncident(
    'inc_1',
    { kind: 'unreachable', site: 'se', state: null, subscriber: null, severity: 0, count: 1, since: T },
    T + MINUTE,
  ),
  ...differs,
});
const OVER: Partial<Incident> = { quietSince: T + 8 * MINUTE, endedAt: now };
const opened = (about: Incident, differs: Partial<IncidentVerdict> = {}): IncidentVerdict => ({
  ...{ incident: about, announce: null, alert: 'opened', reason: '', lookAgainAt: null, parts: [] },
  messages: [{ stage: 'opened', channels: ['@slack'] }],
  ...differs,
});
const ended = (about: Incident): IncidentVerdict => ({
  ...opened(about),
  ...{ alert: 'ended', messages: [{ stage: 'ended', channels: ['@slack'] }] },
});

/** The message about a verdict; each event with the data of its body. */
async function told(
  verdict: IncidentVerdict,
  { channels = [], usual = NOTHING_KNOWN }: { channels?: ChannelRule[]; usual?: CountedUsual } = {},
) {
  const refreshed: unknown[] = [];
  const { storyOf } = createIncidentMessages({
    ...{ sql: database.sql, sessionLength: 20 * MINUTE, channels },
    limits: { limitOf: () => ({ ms: 15 * MINUTE, source: 'default', dwell: null }) },
    usual: { refresh: async (...given: unknown[]) => void refreshed.push(given), of: () => usual },
  } as unknown as Parameters<typeof createIncidentMessages>[0]);
  const message = await storyOf(verdict, now, {
    overdue: [{ site: 'se', state: CARD, count: 3, since: T - MINUTE }],
    detections: [newDetection('se', CARD)],
    idsOf: (channel) => (channel === '@slack' ? [1] : channel === '@each' ? [2] : []),
  });
  const events = message.events.map(({ draft, ...event }) => {
    const { type, timestamp, data } = JSON.parse(eventBody('evt_1', draft));
    return { ...event, type, timestamp, state: draft.state, data };
  });
  return { ...message, events, refreshed };
}

/** A person took an incident over. */
const isKept = ({ by = null as string | null, cause = null as string | null } = {}) => database.sql`
  insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, count, peak, acknowledged_at, acknowledged_by,
    acknowledged_note, answer_cause, answer_note, answered_by, answered_at)
  values ('inc_1', 'unreachable', 'se', ${at(T)}, ${at(T)}, 1, 1, ${by === null ? null : at(T + 2 * MINUTE)}, ${by}, ${by === null ? null : 'I look'},
    ${cause}, ${cause === null ? null : 'rolled back'}, ${cause === null ? null : 'bo'}, ${cause === null ? null : at(T + 9 * MINUTE)})`;
/** People were alerted of this. */
const alerted = (data: object) => database.sql`
  insert into purchase_watch_internal.events (id, type, site, shard, created_at, incident, body)
  values ('evt_0', 'incident.opened', 'se', 0, ${at(T + MINUTE)}, 'inc_1', ${JSON.stringify({ id: 'evt_0', type: 'incident.opened', timestamp: SINCE, data })})`;
const failing = (reason: string | null) => database.sql`
  update purchase_watch_internal.sites
  set failing_reason = ${reason}, last_error = 'it answered 500', last_read_at = ${at(T - MINUTE)} where name = 'se'`;

const HEAD = {
  ...{ incidentId: 'inc_1', site: 'se', openedAt: '2026-11-20T09:01:00.000Z', endedAt: null, reopenedAt: null, since: SINCE },
  ...{ severity: 'critical', acknowledged: null, answer: null },
};
const PLACE = { site: 'se', purchase: null, shard: 0, about: null, incident: 'inc_1' };
const NONE = { events: [], sentence: null, reason: null, refreshed: [] };

test('of what alerts nobody and is not announced nothing is written, and incidents of stuck customers are never announced', async () => {
  await failing('unreachable');
  expect(await told(opened(incident(), { alert: null, messages: [] }))).toEqual(NONE);
  const stuck = incident({ kind: 'stuck', state: CARD });
  expect(await told(opened(stuck, { alert: null, announce: 'opened', messages: [] }))).toEqual(NONE);
});

test('a site that cannot be read: one event for systems, one for the channels', async () => {
  await failing('unreachable');
  const trouble = { reason: 'unreachable', lastError: 'it answered 500' };
  expect(await told(opened(incident(), { announce: 'opened' }))).toEqual({
    events: [
      {
        ...{ site: 'se', purchase: null, shard: 0, type: 'site.unreachable', timestamp: NOW, state: null },
        data: { site: 'se', since: SINCE, ...trouble },
      },
      {
        ...{ ...PLACE, type: 'incident.opened', timestamp: NOW, state: null, recipients: [1] },
        data: { ...HEAD, kind: 'unreachable', ...trouble, lastReadAt: '2026-11-20T08:59:00.000Z' },
      },
    ],
    ...{ sentence: null, reason: 'unreachable', refreshed: [] },
  });
});

test('each message of a verdict is one event, to the subscribers of all its channels that are there', async () => {
  const messages = [
    { stage: 'grew', channels: ['@slack', '@gone'] },
    { stage: 'opened', channels: ['@each', '@slack'] },
  ] as const;
  const { events } = await told(opened(incident(), { alert: 'grew', messages }));
  expect(events.map(({ type, recipients }) => [type, recipients])).toEqual([
    ['incident.grew', [1]],
    ['incident.opened', [2, 1]],
  ]);
});

test('systems hear of a site’s start and end also where a silence keeps people from it', async () => {
  const silent = { alert: null, messages: [] };
  const [start] = (await told(opened(incident(), { ...silent, announce: 'opened' }))).events;
  const [end] = (await told(opened(incident(OVER), { ...silent, announce: 'ended' }))).events;
  expect(start).toMatchObject({ type: 'site.unreachable', data: { reason: null, lastError: null } });
  expect([end!.type, end!.timestamp, end!.data]).toEqual([
    ...['site.reachable', NOW],
    { site: 'se', since: SINCE, until: '2026-11-20T09:08:00.000Z', reason: null },
  ]);
});

test.each([
  ['whose name no daemon had says so, as people read before', 'not_configured', 'not_configured'],
  ['that gave no usable answer has what it fails with last', 'malformed', 'unreachable'],
])('the end for a site %s', async (_, before, reason) => {
  await failing('unreachable');
  await alerted({ ...HEAD, kind: 'unreachable', reason: before, lastError: null, lastReadAt: null });
  const { events, reason: logged } = await told({ ...ended(incident(OVER)), announce: 'ended' });
  expect([logged, ...events.map(({ type, data }) => [type, data.reason])]).toEqual([
    ...[reason, ['site.reachable', reason]],
    ['incident.ended', reason],
  ]);
  // While it lasts, the present reason is what counts.
  expect(await told(opened(incident()))).toMatchObject({ reason: 'unreachable' });
});

test('a site that is gone by now, and the end of an incident of which people had another message', async () => {
  await alerted({ ...HEAD, kind: 'replica', troubles: [] });
  const { events } = await told(ended(incident({ ...OVER, site: 'gone', reopenedAt: T + 5 * MINUTE })));
  expect(events).toMatchObject([
    {
      ...{ site: 'gone', type: 'incident.ended' },
      data: {
        ...{ site: 'gone', reason: null, lastError: null, lastReadAt: null, endedAt: NOW },
        reopenedAt: '2026-11-20T09:05:00.000Z',
      },
    },
  ]);
});

test('people read who looks after it and what it was', async () => {
  await isKept({ by: 'ann', cause: 'deploy' });
  const [event] = (await told(opened(incident({ acknowledgedAt: T + 3 * MINUTE })))).events;
  expect(event!.data).toMatchObject({
    acknowledged: { by: 'ann', note: 'I look', at: '2026-11-20T09:03:00.000Z' },
    answer: { cause: 'deploy', note: 'rolled back', by: 'bo', at: '2026-11-20T09:09:00.000Z' },
  });
});

test('nobody looks after an incident of which the judge does not know it yet, or whose row is not written yet', async () => {
  const nobody = { acknowledged: null, answer: null };
  expect((await told(opened(incident({ acknowledgedAt: T })))).events).toMatchObject([{ data: nobody }]);
  await isKept({ by: 'ann' });
  expect((await told(opened(incident()))).events).toMatchObject([{ data: nobody }]);
});

test('a subscriber in trouble: the event is about it, and the log says what is wrong and where to look', async () => {
  const { sql } = database;
  await sql`insert into purchase_watch_internal.subscriber_health (subscriber, failures, failing_since, last_error) values (3, 7, ${at(T)}, 'it answered 503')`;
  const trouble = incident({ kind: 'subscriber', site: null, subscriber: 'erp', severity: 2 });
  const { events, sentence, reason } = await told(opened(trouble));
  expect(events).toMatchObject([
    {
      ...{ ...PLACE, site: '', about: 3, recipients: [1], type: 'incident.opened' },
      data: { ...HEAD, site: null, severity: 'warning', kind: 'subscriber', subscriber: 'erp', trouble: 'failing', failures: 7 },
    },
  ]);
  expect([sentence, reason]).toEqual([expect.stringMatching(/^erp takes nothing since .*subscribers show erp$/), 'failing']);
});

test('the end of the trouble of a subscriber that was taken away', async () => {
  const { events, sentence, reason } = await told(
    ended(incident({ ...OVER, kind: 'subscriber', site: null, subscriber: 'gone', severity: 2 })),
  );
  expect(events).toMatchObject([{ about: null, data: { subscriber: 'gone', outcome: 'removed' } }]);
  expect([sentence, reason]).toEqual(['gone: gets nothing any more: it was taken away.', null]);
});

const REPLICA: Partial<Incident> = { kind: 'replica', site: null, severity: 5 };
test('replicas in trouble: which, why and since when, with the worst reason for the log', async () => {
  const who = { replica: 'a', host: 'host-a' };
  const troubles = [
    { reason: 'not_judging', since: T, error: 'the disk is full' },
    { reason: 'not_recording', since: T + MINUTE, error: null },
  ] as const;
  await saveReplicaTroubles(database.sql, who, troubles);
  const { events, sentence, reason } = await told(opened(incident(REPLICA)));
  expect(events).toMatchObject([{ ...PLACE, site: '', recipients: [1], type: 'incident.opened' }]);
  expect(events[0]!.data).toEqual({
    ...{ ...HEAD, site: null, kind: 'replica', postedBy: null },
    troubles: [
      { ...who, ...troubles[0], since: SINCE },
      { ...who, ...troubles[1], since: '2026-11-20T09:01:00.000Z' },
    ],
  });
  expect([sentence, reason]).toEqual([
    expect.stringMatching(/^Polls are not recorded; incidents are not judged\./),
    'not_recording',
  ]);
});

test('at its end the troubles are those that people read of last, whatever is wrong by then', async () => {
  await saveReplicaTroubles(database.sql, { replica: 'a', host: 'a' }, [{ reason: 'not_settling', since: T, error: null }]);
  expect(await told(ended(incident({ ...REPLICA, ...OVER })))).toMatchObject({
    events: [{ data: { troubles: [] } }],
    ...{ sentence: 'Every replica does its work again.', reason: null },
  });
  await alerted({ ...HEAD, kind: 'unreachable', reason: null, lastError: null, lastReadAt: null });
  expect(await told(ended(incident({ ...REPLICA, ...OVER })))).toMatchObject({ events: [{ data: { troubles: [] } }] });
  await database.sql`truncate purchase_watch_internal.events cascade`;
  const troubles = [{ replica: 'b', host: 'host-b', reason: 'not_judging', since: SINCE, error: null }];
  await alerted({ ...HEAD, kind: 'replica', troubles });
  expect(await told(ended(incident({ ...REPLICA, ...OVER })))).toMatchObject({
    events: [{ data: { troubles } }],
    ...{ sentence: 'Incidents are judged again.', reason: 'not_judging' },
  });
});

const ALARM: Alarm = {
  ...{ at: T, since: T - MINUTE, entrants: 9, overdue: 4, usualShare: 0.03, perDay: 400, falseAlarmEvery: null },
  rule: 'share',
};
const STUCK: Partial<Incident> = { kind: 'stuck', state: CARD, count: 3, peak: 3, alarm: ALARM };

test('stuck customers: how many, since when, and the rule that found them', async () => {
  const { events, sentence, reason, takenOver, refreshed } = await told(opened(incident(STUCK)));
  expect(events).toMatchObject([
    {
      ...{ ...PLACE, recipients: [1], type: 'incident.opened', state: CARD },
      data: { ...HEAD, since: '2026-11-20T08:59:00.000Z', severity: 'warning', kind: 'stuck', count: 3, singles: null },
    },
  ]);
  expect([sentence, reason, takenOver, refreshed]).toEqual([null, 'share', [], []]);
  expect(await told(opened(incident({ ...STUCK, alarm: null })))).toMatchObject({ reason: null });
});

test('where people were alerted of single checkouts the message says whether those alerts rest or are replaced', async () => {
  const channels: ChannelRule[] = [{ name: '@slack', sites: null, severity: 'warning' }];
  const few = await told(opened(incident(STUCK)), { channels });
  expect([few.events[0]!.data.singles, few.takenOver]).toEqual([{ until: 'over', counted: 0, perDay: null }, []]);
  expect(few.refreshed).toHaveLength(1);
  await database.sql`
    with purchase as (
      insert into purchase_watch.purchases (purchase_id, site, state, state_since, seen_at, registered_at)
      values ('one', 'se', ${CARD}, ${at(T)}, ${at(T)}, ${at(T)}) returning id)
    insert into purchase_watch_internal.stuck_alerts (purchase, site, state, state_since, stuck_at, first_sight, alerted_at, mode, is_last)
    select id, 'se', ${CARD}, ${at(T)}, ${at(T)}, false, ${at(T)}, 'auto', false from purchase`;
  const many = await told(opened(incident(STUCK)), { channels, usual: { share: 0.01, perDay: 40, counted: 400 } });
  expect([many.events[0]!.data.singles, many.takenOver]).toEqual([{ until: null, counted: 400, perDay: 40 }, [1]]);
});
