import { afterEach, beforeEach, expect, test } from 'vitest';
import { draftOf } from '../../../src/domain/events/make-event.ts';
import { openIncident } from '../../../src/domain/incidents/incident.ts';
import type { Symptom } from '../../../src/domain/incidents/symptom.ts';
import { eventRow, SITE_SHARD } from '../../../src/postgres/events/events.ts';
import { channelsAlerted, openIncidents, saveVerdicts } from '../../../src/postgres/incidents/incidents.ts';
import { recordPost } from '../../../src/postgres/incidents/posted.ts';
import { takeLease } from '../../../src/postgres/shards/leases.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
  const { sql } = database;
  await renewReplica(sql, { id: 'rep_judge', process: 'elsewhere', ttl: 60_000 });
  for (const name of ['@slack', '@teams'])
    await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values (${name}, 'slack', 'people', ${name})`;
});
afterEach(() => database.drop());

const AT = Date.UTC(2026, 10, 20, 9, 5);
const symptom: Symptom = {
  ...{ kind: 'replica', site: null, state: null, subscriber: null },
  ...{ severity: 4, count: 1, since: AT - 60_000 },
};
/** A post as a replica makes it, of an incident of its own. */
function aPost(incident: string, channels: string[], at = AT) {
  const data = { incidentId: incident, kind: 'replica', troubles: [] };
  const draft = draftOf('incident.opened', { at }, data as unknown as Parameters<typeof draftOf<'incident.opened'>>[2]);
  return { symptom, channels, event: eventRow({ draft, site: '', purchase: null, shard: SITE_SHARD, incident }) };
}
const lease = async () => ({
  ...{ name: 'judge' as const, replica: 'rep_judge' },
  epoch: (await takeLease(database.sql, { name: 'judge', replica: 'rep_judge' }))!,
});
const verdict = {
  events: [],
  stays: { detections: [], dwell: [], stays: [], firstLooks: [], taken: [] },
  stuck: [],
  takenOver: [],
};

test('a post is an open incident of which the channels were alerted that took it, however often it is recorded', async () => {
  const post = aPost('inc_posted', ['@slack']);
  await recordPost(database.sql, post);
  await recordPost(database.sql, post);
  expect(await openIncidents(database.sql, AT)).toEqual([
    expect.objectContaining({
      id: 'inc_posted',
      kind: 'replica',
      alertedAt: AT,
      alertedCount: 1,
      alertedSeverity: 4,
      endedAt: null,
    }),
  ]);
  expect(await channelsAlerted(database.sql, ['inc_posted'])).toEqual(new Map([['inc_posted', ['@slack']]]));
  const stored = await database.sql`
    select e.incident, e.body, d.status from purchase_watch_internal.events e join purchase_watch_internal.deliveries d on d.event = e.position`;
  expect([...stored]).toEqual([{ incident: 'inc_posted', body: post.event.body, status: 'delivered' }]);
});

test('posts of two replicas, and one of an incident that the judge has opened, are one incident with one end', async () => {
  const judging = await lease();
  await saveVerdicts(database.sql, { ...verdict, incidents: [openIncident('inc_judged', symptom, AT - 5_000)], lease: judging });
  await recordPost(database.sql, aPost('inc_one', ['@slack']));
  await recordPost(database.sql, aPost('inc_other', ['@teams'], AT + 60_000));
  expect(await openIncidents(database.sql, AT)).toEqual([
    expect.objectContaining({ id: 'inc_judged', alertedAt: AT + 60_000, announcedAt: AT }),
  ]);
  expect((await channelsAlerted(database.sql, ['inc_judged'])).get('inc_judged')!.sort()).toEqual(['@slack', '@teams']);
});

test('a judge that read its rows before the post writes nothing from them', async () => {
  const before = await lease();
  await recordPost(database.sql, aPost('inc_posted', ['@slack']));
  const stale = { ...verdict, incidents: [openIncident('inc_judged', symptom, AT)] };
  expect(await saveVerdicts(database.sql, { ...stale, lease: before })).toBe(false);
  expect((await openIncidents(database.sql, AT)).map(({ id }) => id)).toEqual(['inc_posted']);
  expect((await lease()).epoch).toBe(before.epoch + 1);
});
