/** `GET /v1/then` and `status --at`: how it was at a moment of the last 14 days, without what became known later. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keptStates } from '../../../src/actions/then/snapshots.ts';
import { readSnapshots } from '../../../src/postgres/reports/snapshots.ts';
import { addSnapshots } from '../../support/full-world/snapshots.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { startTestApi, type TestApi } from '../api.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let api: TestApi;
/** A whole ten minutes at which twelve were stuck. */
let at: number;

const iso = (moment: number): string => new Date(moment).toISOString();
const then = async (query: string) => (await api.call('GET', `/v1/then?${query}`)).body;

/** An event as people were told it. */
const tell = async (id: string, { type, minutes, data }: { type: string; minutes: number; data: object }): Promise<void> => {
  const timestamp = iso(at + minutes * MINUTE);
  const body = JSON.stringify({
    id: 'evt',
    type,
    timestamp,
    data: { kind: 'stuck', incidentId: id, openedAt: timestamp, since: timestamp, severity: 'warning', ...data },
  });
  await api.sql`
    insert into purchase_watch_internal.events (id, type, site, shard, incident, created_at, body)
    values (${`evt_${id}_${minutes}`}, ${type}, 'se', 0, ${id}, ${timestamp}, ${body})`;
};

const incident = (
  id: string,
  row: {
    site?: string | null;
    state?: number | null;
    parent?: string | null;
    opened: number;
    ended: number | null;
    severity?: number;
    acknowledged?: number;
  },
) => api.sql`
  insert into purchase_watch_internal.incidents (id, kind, site, state, parent, severity, since, opened_at, count, peak, ended_at, acknowledged_at, acknowledged_by)
  values (${id}, 'stuck', ${row.site === undefined ? 'se' : row.site}, ${row.state === undefined ? 6 : row.state}, ${row.parent ?? null}, ${row.severity ?? 1}, ${iso(at + row.opened * MINUTE)}, ${iso(at + row.opened * MINUTE)}, 0, 40,
    ${row.ended === null ? null : iso(at + row.ended * MINUTE)}, ${row.acknowledged === undefined ? null : iso(at + row.acknowledged * MINUTE)}, ${row.acknowledged === undefined ? null : 'Anna'})`;

beforeAll(async () => {
  api = await startTestApi({ sites: ['fi', 'se'] });
  at = Math.floor(Date.now() / (10 * MINUTE)) * 10 * MINUTE - 9 * HOUR;
  await addSnapshots(api.sql, ['se', 'fi']);
  await incident('inc_then', { opened: -18, ended: 60, acknowledged: 5 });
  await tell('inc_then', {
    type: 'incident.opened',
    minutes: -17,
    data: { count: 5, waiting: [{ amount: '8621.5', currency: 'SEK' }] },
  });
  await tell('inc_then', { type: 'incident.grew', minutes: 3, data: { count: 31, severity: 'critical' } });
  await api.sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count) values
      ('se', ${iso(at - 70 * MINUTE)}, null, 0, 1000), ('se', ${iso(at - 60 * MINUTE)}, null, 0, 5), ('se', ${iso(at - 10 * MINUTE)}, 6, 2, 3), ('fi', ${iso(at - 10 * MINUTE)}, null, 0, 2),
      ('se', ${iso(at)}, null, 0, 4000)`;
  await api.sql`
    insert into purchase_watch_internal.activity (site, minute, polls, failed_polls)
    select 'se', ${iso(at)}::timestamptz + n * interval '1 minute', case when n < 0 then 10 else 1000 end, 1 from generate_series(-60, 5) n`;
  await api.sql`
    insert into purchase_watch_internal.silences (site, reason, created_by, starts_at, ends_at)
    values ('fi', 'the bank', 'Kim', ${iso(at - HOUR)}, ${iso(at + HOUR)}), ('fi', 'later', 'Kim', ${iso(at + HOUR)}, ${iso(at + 2 * HOUR)})`;
});
afterAll(() => api.stop());

describe('a past moment', () => {
  test('is the last whole ten minutes, in a sentence', async () => {
    const found = await then(`at=${iso(at + 7 * MINUTE)}`);
    expect(found).toMatchObject({
      at: iso(at),
      severity: 'warning',
      sentence: 'se: 12 customers were stuck waiting for the card provider.',
      rest: '12 of 54 watched purchases were stuck.',
      purchases: { watching: 54, stuck: 12 },
    });
  });

  test('has the flow and the minutes of the hour before, and nothing of what came after', async () => {
    const { flow, activity } = await then(`at=${iso(at)}`);
    expect(flow).toMatchObject({ from: iso(at - HOUR), to: iso(at), site: null });
    expect(flow.edges.map(({ from, to, count }: { from: object; to: object; count: number }) => [from, to, count])).toMatchObject(
      [
        [null, { value: 0 }, 7],
        [{ value: 6 }, { value: 2 }, 3],
      ],
    );
    const cards = flow.states.find(({ state }: { state: { value: number } }) => state.value === 6);
    expect(cards).toMatchObject({ watching: 26, stuck: 12, incidents: [{ id: 'inc_then', endsAt: null }] });
    expect(activity.minutes).toHaveLength(60);
    expect(activity.minutes.reduce((sum: number, { polls }: { polls: number }) => sum + polls, 0)).toBe(600);
    expect((await then(`at=${iso(at)}&site=fi`)).flow.edges).toHaveLength(1);
  });

  test('has its incidents as people knew them then', async () => {
    const { incidents, silences } = await then(`at=${iso(at)}`);
    expect(incidents).toMatchObject([
      {
        id: 'inc_then',
        severity: 'warning',
        count: 12,
        openMs: 18 * MINUTE,
        acknowledged: null,
        told: { at: iso(at - 17 * MINUTE), count: 5, waiting: [{ amount: '8621.5', currency: 'SEK' }] },
      },
    ]);
    expect(silences.map(({ reason }: { reason: string }) => reason)).toEqual(['the bank']);
    const [later] = (await then(`at=${iso(at + 10 * MINUTE)}`)).incidents;
    expect(later).toMatchObject({ severity: 'critical', acknowledged: { by: 'Anna' }, told: { count: 31 } });
    expect((await then(`at=${iso(at - 20 * MINUTE)}`)).incidents).toEqual([]);
    expect((await then(`at=${iso(at + HOUR)}`)).incidents).toEqual([]);
  });

  test('had no incident of which people were told that it had ended', async () => {
    await incident('inc_again', { state: 7, opened: -300, ended: null });
    await tell('inc_again', { type: 'incident.ended', minutes: -200, data: { count: 0 } });
    await tell('inc_again', { type: 'incident.reopened', minutes: 100, data: { count: 3 } });
    const ids = async (moment: number) => (await then(`at=${iso(moment)}`)).incidents.map(({ id }: { id: string }) => id);
    expect(await ids(at)).toEqual(['inc_then']);
    expect(await ids(at - 4 * HOUR)).toEqual(['inc_again']);
    expect(await ids(at + 2 * HOUR)).toEqual(['inc_again']);
    await api.sql`delete from purchase_watch_internal.incidents where id = 'inc_again'`;
  });

  test('a message that went to no channel told nobody', async () => {
    await incident('inc_unheard', { state: 7, opened: -20, ended: 60, severity: 0 });
    await tell('inc_unheard', { type: 'incident.opened', minutes: -20, data: { count: 4, severity: 'critical' } });
    await api.sql`update purchase_watch_internal.events set recipients = '{}' where incident = 'inc_unheard'`;
    const found = (await then(`at=${iso(at)}`)).incidents.find(({ id }: { id: string }) => id === 'inc_unheard');
    expect(found).toMatchObject({ severity: 'critical', told: null });
    await api.sql`delete from purchase_watch_internal.incidents where id = 'inc_unheard'`;
  });

  test('counts the customers of an incident of several states by its parts', async () => {
    await incident('inc_parent', { state: null, opened: -17, ended: 60 });
    await api.sql`update purchase_watch_internal.incidents set parent = 'inc_parent' where id = 'inc_then'`;
    const { incidents, sentence } = await then(`at=${iso(at)}`);
    expect(incidents).toMatchObject([{ id: 'inc_parent', count: 12, told: null }]);
    expect(sentence).toBe('se: 12 customers were stuck in several states.');
    await api.sql`update purchase_watch_internal.incidents set parent = null`;
    await api.sql`delete from purchase_watch_internal.incidents where id = 'inc_parent'`;
  });

  test('an incident at a place where nobody was stuck says so', async () => {
    await incident('inc_none', { state: 9, opened: -5, ended: 5 });
    const found = (await then(`at=${iso(at)}`)).incidents.find(({ id }: { id: string }) => id === 'inc_none');
    expect(found).toMatchObject({ count: 0, what: expect.stringMatching(/^0 customers were stuck/) });
    await api.sql`delete from purchase_watch_internal.incidents where id = 'inc_none'`;
  });

  test('says that it does not know what no daemon noted, and promises nothing', async () => {
    const moment = at + 3 * HOUR;
    await api.sql`delete from purchase_watch_internal.snapshots where at = ${iso(moment)}`;
    const found = await then(`at=${iso(moment)}`);
    expect(found).toMatchObject({
      purchases: null,
      flow: null,
      severity: null,
      sentence: 'Whether anything was wrong is not known.',
    });
    expect(found.rest).toBe('How many purchases were watched and stuck is not kept.');
    const [row] = await readSnapshots(api.sql, at, []);
    expect(keptStates(row!).get(6)!.stuck).toBe(12);
  });

  test('an incident in which nothing was wrong any more is no trouble of then', async () => {
    await api.sql`update purchase_watch_internal.incidents set quiet_since = ${iso(at + 30 * MINUTE)} where id = 'inc_then'`;
    const found = await then(`at=${iso(at + 40 * MINUTE)}`);
    expect(found.incidents).toMatchObject([{ quiet: true }]);
    expect(found.sentence).toBe('12 of 54 watched purchases were stuck.');
    expect(found.rest).toBe('Nothing was wrong any more in the incident that was open.');
  });
});

describe('the strip', () => {
  test('has each hour of 14 days, and the customers that the map of its end has', async () => {
    const { hours, opened } = await then('at=1h');
    expect(hours).toHaveLength(14 * 24);
    expect(hours.every(({ came }: { came: number | null }) => came !== null)).toBe(true);
    const end = Math.ceil(at / HOUR) * HOUR;
    expect(hours.find(({ to }: { to: string }) => to === iso(end))).toMatchObject({ stuck: 12 });
    expect(opened).toMatchObject([{ id: 'inc_then', where: 'se', severity: 'critical' }]);
    expect((await then('at=1h&site=fi')).opened).toEqual([]);
  });

  test('reads the hours of one site, however many there are', async () => {
    const many = (sites: number) =>
      api.sql`
        insert into purchase_watch_internal.snapshots (at, site, came, watching, stuck, states)
        select at, 'site-' || n, came, watching, stuck, states from purchase_watch_internal.snapshots, generate_series(1, ${sites}) n where site = 'se'`;
    await many(30);
    await api.sql`analyze purchase_watch_internal.snapshots`;
    const { snapshotHours } = await import('../../../src/postgres/reports/snapshots.ts');
    const read = await rowsRead(api.sql, 'snapshots', (tx) => snapshotHours(tx, { from: at - 14 * DAY, to: at }, null));
    expect(read.scanned).toBe(0);
    expect(read.fetched).toBeLessThanOrEqual(14 * 144);
  });
});

describe('a time that cannot be shown', () => {
  test.each([
    ['at=', 'at: must be a time with its zone such as'],
    ['at=yesterday', 'at: must be a time with its zone such as'],
    ['at=2026-02-30T10:00Z', 'at: must be a time with its zone'],
    ['at=15d', 'at: is more than 14 days ago; give a time from '],
    [`at=${iso(Date.now() + HOUR)}`, 'at: is still to come; give a time from '],
  ])('%s: %s', async (query, detail) => {
    const { status, body } = await api.call('GET', `/v1/then?${query}`);
    expect(status).toBe(400);
    expect(body.detail).toContain(detail);
    expect(body.errors).toMatchObject([{ field: 'at' }]);
  });

  test('a site that there is not', async () => {
    expect((await api.call('GET', '/v1/then?at=1h&site=nowhere')).body).toMatchObject({ code: 'unknown_site' });
  });
});
