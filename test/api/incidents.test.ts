import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { listIncidents } from '../../src/store/incident-list.ts';
import { rowsRead } from '../support/rows-read.ts';
import { startTestApp } from '../support/test-app.ts';
import { startTestApi, type TestApi } from './api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ sites: ['default', 'se'] });
});
afterAll(() => api.stop());
beforeEach(() => api.sql`truncate purchase_watch.incidents, purchase_watch.silences`);

/** One open stuck incident and one ended unreachable one a site, the later ones at se. */
const some = async (): Promise<void> => {
  for (const site of ['default', 'se']) {
    await api.sql`
      insert into purchase_watch.incidents (id, kind, site, state, opened_at, since, ended_at, quiet_since, count, peak, said_at, said_count)
      values (${`inc_${site}_over`}, 'unreachable', ${site}, null, '2026-11-20T08:00:00Z', '2026-11-20T07:59:00Z', '2026-11-20T09:00:00Z', '2026-11-20T08:59:30Z', 0, 1, '2026-11-20T09:00:00Z', 0),
        (${`inc_${site}`}, 'stuck', ${site}, 6, '2026-11-20T09:15:00Z', '2026-11-20T09:00:00.123Z', null, null, 3, 4, null, null)`;
  }
};
const ids = async (query: string): Promise<string[]> => {
  const { status, body } = await api.call('GET', `/v1/incidents${query}`);
  expect(status).toBe(200);
  return body.data.map(({ id }: { id: string }) => id);
};
const acknowledge = (id: string, json: unknown) => api.call('POST', `/v1/incidents/${id}/acknowledge`, { json });

describe('listing', () => {
  test.each([
    ['', ['inc_se', 'inc_se_over', 'inc_default', 'inc_default_over']],
    ['?status=all', ['inc_se', 'inc_se_over', 'inc_default', 'inc_default_over']],
    ['?status=open', ['inc_se', 'inc_default']],
    ['?status=ended&site=se', ['inc_se_over']],
    ['?kind=unreachable', ['inc_se_over', 'inc_default_over']],
    ['?kind=stuck&status=ended', []],
  ])('%s, the latest first', async (query, found) => {
    await some();
    expect(await ids(query)).toEqual(found);
  });

  test('those of subscribers are of no site', async () => {
    await some();
    await api.sql`
      insert into purchase_watch.incidents (id, kind, subscriber, opened_at, since, count, peak)
      values ('inc_shop', 'subscriber', 'shop', now(), now(), 412, 412), ('inc_books', 'subscriber', 'books', now(), now(), 1, 1)`;
    expect(await ids('?status=open')).toEqual(['inc_books', 'inc_shop', 'inc_se', 'inc_default']);
    expect(await ids('?kind=subscriber')).toEqual(['inc_books', 'inc_shop']);
    expect(await ids('?kind=subscriber&status=ended')).toEqual([]);
    expect(await ids('?site=se')).toEqual(['inc_se', 'inc_se_over']);
    expect(await ids('?limit=1')).toEqual(['inc_books']);
    const endsAt = new Date(Date.now() + 3_600_000).toISOString();
    await api.sql`
      insert into purchase_watch.silences (kind, subscriber, reason, created_by, starts_at, ends_at)
      values ('subscriber', 'shop', 'It moves.', 'Kim', now(), ${endsAt})`;
    expect((await api.call('GET', '/v1/incidents/inc_shop')).body).toMatchObject({
      kind: 'subscriber',
      site: null,
      state: null,
      subscriber: 'shop',
      count: 412,
      silencedUntil: endsAt,
    });
    expect((await api.call('GET', '/v1/incidents/inc_books')).body.silencedUntil).toBeNull();
    expect((await api.call('GET', '/v1/incidents/inc_se')).body.silencedUntil).toBeNull();
  });

  test('goes on where the page before ended', async () => {
    await some();
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await api.call('GET', `/v1/incidents?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
    }
    expect(seen).toEqual(['inc_se', 'inc_se_over', 'inc_default', 'inc_default_over']);
  });

  test('reads no more than a page of each site and kind, however many there were', async () => {
    const { sql } = api;
    await sql`
      insert into purchase_watch.incidents (id, kind, site, opened_at, since, ended_at, count, peak)
      select 'inc_' || i, case when i = 1 then 'stuck' else 'unreachable' end, 'se', now(), now(), now(), 0, 1 from generate_series(1, 5000) i`;
    await sql`
      insert into purchase_watch.incidents (id, kind, subscriber, opened_at, since, ended_at, count, peak)
      select 'inc_s' || i, 'subscriber', 'shop', now(), now(), now(), 0, 1 from generate_series(1, 5000) i`;
    for (const kind of [undefined, 'stuck', 'unreachable', 'subscriber'] as const) {
      const { scanned, fetched } = await rowsRead(sql, 'incidents', (tx) =>
        listIncidents(tx, { filter: { status: 'all', kind }, before: null, limit: 10 }),
      );
      expect([scanned, fetched <= 40]).toEqual([0, true]);
    }
  });

  test.each([
    ['?status=closed', 'invalid_request', /is no status; there are open, ended, all/],
    ['?kind=stock', 'invalid_request', /did you mean "?stuck/],
    ['?site=no', 'unknown_site', /default, se|se, default/],
    ['?cursor=x', 'invalid_request', /no cursor of this list/],
    ['?state=6', 'invalid_request', /not known here/],
  ])('%s is refused with what to do', async (query, code, detail) => {
    const { status, body } = await api.call('GET', `/v1/incidents${query}`);
    expect([status, body.code, body.detail]).toEqual([400, code, expect.stringMatching(detail)]);
  });
});

describe('reading', () => {
  test('shows what it is about and what was said', async () => {
    await some();
    expect((await api.call('GET', '/v1/incidents/inc_se')).body).toEqual({
      id: 'inc_se',
      kind: 'stuck',
      site: 'se',
      state: { value: 6, name: 'WaitingForCardPayments' },
      subscriber: null,
      status: 'open',
      openedAt: '2026-11-20T09:15:00.000Z',
      since: '2026-11-20T09:00:00.123Z',
      quietSince: null,
      endedAt: null,
      count: 3,
      peak: 4,
      saidAt: null,
      acknowledged: null,
      silencedUntil: null,
    });
    expect((await api.call('GET', '/v1/incidents/inc_se_over')).body).toMatchObject({
      status: 'ended',
      state: null,
      endedAt: '2026-11-20T09:00:00.000Z',
    });
  });

  test('says until when it is silenced, while it is open', async () => {
    await some();
    const endsAt = new Date(Date.now() + 3_600_000).toISOString();
    for (const kind of ['stuck', 'unreachable'])
      await api.call('POST', '/v1/silences', { json: { kind, reason: 'r', by: 'k', endsAt } });
    const silenced = async (id: string) => (await api.call('GET', `/v1/incidents/${id}`)).body.silencedUntil;
    expect([await silenced('inc_se'), await silenced('inc_se_over')]).toEqual([endsAt, null]);
  });

  test('what is not there is not found', async () => {
    const { status, body } = await api.call('GET', '/v1/incidents/inc_none');
    expect([status, body.code]).toEqual([404, 'incident_not_found']);
    expect((await api.call('GET', '/v1/incidents/%20')).status).toBe(400);
  });
});

describe('acknowledging', () => {
  test('is kept with who did it and why, and whoever does it last counts', async () => {
    await some();
    const first = await acknowledge('inc_se', { by: 'Kim', note: 'I look at the deploy.' });
    expect([first.status, first.body.acknowledged]).toEqual([
      200,
      { at: expect.any(String), by: 'Kim', note: 'I look at the deploy.' },
    ]);
    expect((await acknowledge('inc_se', { by: 'Robin' })).body.acknowledged).toMatchObject({ by: 'Robin', note: null });
    expect((await api.call('GET', '/v1/incidents/inc_se')).body.acknowledged.by).toBe('Robin');
  });

  test('what is over, what is not there and what says nothing is refused', async () => {
    await some();
    const codes = [];
    for (const [id, json] of [
      ['inc_se_over', { by: 'Kim' }],
      ['inc_none', { by: 'Kim' }],
      ['inc_se', {}],
      ['inc_se', { by: ' ' }],
      ['inc_se', { by: 'Kim', note: 'x'.repeat(1_001) }],
    ] as const) {
      const { status, body } = await acknowledge(id, json);
      codes.push([status, body.code]);
    }
    expect(codes).toEqual([
      [409, 'incident_ended'],
      [404, 'incident_not_found'],
      [400, 'invalid_request'],
      [400, 'invalid_request'],
      [400, 'invalid_request'],
    ]);
  });

  test('a key that may only read may not', async () => {
    const keyed = await startTestApi({ sql: api.sql, apiKey: 'all', apiReadKey: 'read' });
    const { body } = await keyed.call('POST', '/v1/incidents/inc_se/acknowledge', {
      json: { by: 'k' },
      headers: { authorization: 'Bearer read' },
    });
    expect(body.code).toBe('read_only_key');
    await keyed.stop();
  });

  test('stops the reminders, and the end is told all the same', async () => {
    const t = await startTestApp();
    const { sql } = t.database;
    const look = async (by: string): Promise<void> => {
      t.clock.advance(by);
      await t.app.judgeOnce();
      await t.app.deliverOnce();
    };
    await t.watch();
    await sql`update purchase_watch.purchases set state = 6, state_since = now(), stuck_since = now()`;
    await look('1s');
    await look('31s');
    expect(t.slack.received).toHaveLength(1);
    await look('5h');
    expect(t.slack.received).toHaveLength(2);
    await sql`update purchase_watch.incidents set acknowledged_at = now(), acknowledged_by = 'Kim'`;
    await look('5h');
    await look('5h');
    expect(t.slack.received).toHaveLength(2);
    await sql`update purchase_watch.purchases set stuck_since = null`;
    await look('1s');
    await look('31s');
    expect(t.slack.received.map(({ text }) => text).at(-1)).toContain('no more purchases stuck');
    const [row] = await sql`select acknowledged_by from purchase_watch.incidents where ended_at is not null`;
    expect(row).toEqual({ acknowledged_by: 'Kim' });
    await t.stop();
  });
});
