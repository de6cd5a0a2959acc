import { afterEach, beforeEach, expect, test } from 'vitest';
import { insteadOfSingles } from '../../../src/daemon/judge/instead-of-singles.ts';
import { createUsualReader } from '../../../src/daemon/judge/usual.ts';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { openIncident } from '../../../src/domain/incidents/incident.ts';
import type { IncidentVerdict } from '../../../src/domain/incidents/judgement.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const SLACK: ChannelRule = { name: '@slack', sites: null, severity: 'warning' };
const NOTHING = { singles: null, takenOver: [] };
let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
});
afterEach(() => database.drop());

/** Enough stays to judge by their share. */
const knowEnough = () =>
  database.sql`insert into purchase_watch_internal.stay_days (site, state, day, calm, well) values ('se', 6, '2026-11-19', true, 500)`;
async function alertedSingle({ isLast = false, mode = 'auto' } = {}): Promise<number> {
  const [row] = await database.sql<[{ id: number }]>`
    with p as (insert into purchase_watch.purchases (purchase_id, site) values (gen_random_uuid()::text, 'se') returning id)
    insert into purchase_watch_internal.stuck_alerts (purchase, site, state, state_since, stuck_at, first_sight, alerted_at, mode, is_last)
    select id, 'se', 6, now(), now(), false, now(), ${mode}::text, ${isLast} from p returning id::float8`;
  return row.id;
}
function instead({
  alert = 'opened',
  to = '@slack',
  channels = [SLACK],
}: {
  alert?: string;
  to?: string;
  channels?: ChannelRule[];
} = {}) {
  const symptom = { kind: 'stuck', site: 'se', state: 6, subscriber: null, severity: 0, count: 3, since: NOW } as const;
  const verdict = {
    alert,
    incident: openIncident('inc_1', symptom, NOW),
    parts: [],
    messages: [{ stage: alert, channels: [to] }],
  };
  const usual = createUsualReader(database.sql);
  return insteadOfSingles(database.sql, verdict as unknown as IncidentVerdict, { channels, usual, now: NOW });
}

test('while too little is known, single alerts come back when the incident is over', async () => {
  expect(await instead()).toEqual({ singles: { until: 'over', counted: 0, perDay: null }, takenOver: [] });
});

test('once enough is known the incident takes over from the last single alert, and says so once', async () => {
  await knowEnough();
  const id = await alertedSingle();
  expect(await instead()).toEqual({ singles: { until: null, counted: 500, perDay: expect.any(Number) }, takenOver: [id] });
  await alertedSingle({ isLast: true });
  expect(await instead()).toEqual(NOTHING);
});

test.each<[string, Parameters<typeof instead>[0]]>([
  ['it grows', { alert: 'grew' }],
  ['it is over', { alert: 'ended' }],
  ['no channel takes single alerts', { channels: [{ ...SLACK, stuck: 'incidents' }] }],
  ['the channel gets every stuck checkout anyway', { channels: [{ ...SLACK, stuck: 'each' }] }],
  ['the channel that takes them is not alerted', { to: '@other' }],
])('nothing is said of single alerts when %s', async (_, given) => {
  await knowEnough();
  await alertedSingle();
  expect(await instead(given)).toEqual(NOTHING);
});
