/** `GET /v1/trends` and the command `trends`, on counts of a hundred days. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ sites: ['se', 'no'] });
  // 40 customers a day came by card at se, of whom 30 paid, and 20 in the last seven days; few came otherwise.
  await api.sql`
    insert into purchase_watch_internal.outcome_hours (hour, customers, amount, way, was_stuck, outcome, site, currency)
    select date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - d * interval '1 day' + interval '10 hours', o.customers, o.customers * 99.5, 6, false, o.outcome, 'se', 'SEK'
    from generate_series(0, 99) d cross join lateral (
      values ('paid', case when d between 1 and 7 then 20 else 30 end), ('not_paid', case when d between 1 and 7 then 20 else 10 end),
        ('again', 7), ('paid_by_another', 2)) o (outcome, customers)`;
  await api.sql`
    insert into purchase_watch_internal.outcome_hours (hour, customers, amount, way, was_stuck, outcome, site)
    select date_trunc('hour', now()) - interval '1 day', 3, 0, 4, true, 'open', 'no'`;
  await api.sql`
    insert into purchase_watch_internal.waited_hours (hour, customers, way, bucket, site)
    select date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - interval '14 hours', n, 6, b, 'se' from (values (12, 90), (30, 10)) v (b, n)`;
});
afterAll(() => api.stop());

const trends = async (query = '') => (await api.call('GET', `/v1/trends${query}`)).body;

describe('the trends', () => {
  test('say in a sentence what a manager can forward', async () => {
    expect((await trends('?site=se')).sentence).toBe(
      'In the last 7 days 50 % of 280 customers paid, 25 percentage points less than in the 7 days before; the loss grew most among customers last waiting for the card provider (25 percentage points less).',
    );
    expect((await trends('?site=se&range=90d')).sentence).toMatch(/^In the last 90 days 73\.1 % of 3.600 customers paid/);
    expect((await trends('?site=no')).sentence).toEqual(
      expect.stringMatching(/^Since \d{4}-\d\d-\d\d, when counting began, 3 customers came: too few to say more\.$/),
    );
  });

  test('name where fewer paid, and how many slices were looked at', async () => {
    const { worse } = await trends();
    expect(worse).toMatchObject({ looked: 1, words: expect.stringMatching(/^The worst of 1 group with 30 customers or more:/) });
    expect(worse.slices).toMatchObject([
      {
        site: 'se',
        state: { name: 'WaitingForCardPayments' },
        currency: null,
        where: 'se, last waiting for the card provider',
        words: '50 % paid, 25 percentage points less than in the 7 days before',
        ...{ customers: 280, paid: 140, notPaid: 140, open: 0, gone: 0, share: 0.5 },
        before: { customers: 280, paid: 210, share: 0.75 },
      },
    ]);
    expect((await trends('?site=se')).worse.slices[0].where).toBe('last waiting for the card provider');
    expect((await trends('?site=no')).worse).toMatchObject({ looked: 0, slices: [] });
    // 3 600 customers, and 360 of the nine days before.
    expect((await trends('?range=90d')).worse).toEqual({
      looked: 1,
      words:
        'In none of 1 group with 30 customers or more did the share that paid fall by more than chance makes, against the 90 days before.',
      slices: [],
    });
  });

  test('count each customer once, leave today out, and compare with the time before', async () => {
    const { total, ways, money, cells } = await trends('?site=se');
    expect(total).toMatchObject({
      customers: 280,
      paid: 140,
      paidByAnother: 14,
      notPaid: 140,
      share: 0.5,
      change: 'worse',
      before: { customers: 280, paid: 210, share: 0.75 },
    });
    expect(ways).toHaveLength(1);
    expect(ways[0]).toMatchObject({ state: { name: 'WaitingForCardPayments' }, limited: true, change: 'worse', customers: 280 });
    expect(money).toMatchObject([
      { currency: 'SEK', customers: 280, paid: 13_930, notPaid: 13_930, open: 0, stuck: { purchases: 0, paid: 0 } },
    ]);
    expect((await trends('?site=se&range=90d')).countedSince).toMatch(/T10:00:00.000Z$/);
    expect((await trends('?site=se')).countedSince).toBeNull();
    expect(cells).toHaveLength(7);
    expect(cells[0]).toMatchObject({ hour: 10, customers: 40, paid: 20 });
  });

  test('has cells by weekday, pieces beside those of the time before, and whole days as sums do not change a figure', async () => {
    const { cells, shares, counts, total } = await trends('?site=se&range=30d');
    expect(cells.map(({ weekday }: { weekday: number }) => weekday).sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(counts).toEqual(shares);
    expect(shares).toHaveLength(30);
    expect(shares[29]).toMatchObject({ customers: 40, paid: 20, share: 0.5, gone: 0, before: { customers: 40, share: 0.75 } });
    // Days of Kolkata begin in hours of UTC, so both ends are read by the hour.
    const inKolkata = await trends('?site=se&range=30d&zone=Asia/Kolkata');
    expect(inKolkata.total).toEqual(total);
  });

  test('of 24 hours by the state that was waited in last', async () => {
    await api.sql`
      insert into purchase_watch_internal.outcome_hours (hour, customers, gone, amount, way, was_stuck, outcome, site, currency)
      select date_trunc('hour', now()) - interval '2 hours', 40, 2, 400.5, 12, true, o, 'no', 'NOK' from unnest(array['paid', 'paid_by_another']) o`;
    const { cells, ways, money, shares } = await trends('?site=no&range=24h');
    expect(cells).toMatchObject([
      { state: { value: 4 }, customers: 3, share: null },
      { state: { value: 12 }, customers: 40, paid: 40, gone: 2 },
    ]);
    expect(shares).toHaveLength(8);
    // A Finnish bank has no limit by default.
    expect(ways[0]).toMatchObject({ limited: false, customers: 40, paidLate: 40, stuck: 40, gone: 2, paidByAnother: 40 });
    expect(money).toMatchObject([
      { currency: 'NOK', customers: 40, stuck: { purchases: 80, paid: 400.5, paidByAnother: 400.5 } },
    ]);
  });

  test('say from when on everything that happened is listed', async () => {
    expect((await trends('?site=se')).listedSince).toBeNull();
    await api.sql`
      insert into purchase_watch_internal.silences (site, reason, created_by, starts_at, ends_at)
      select 'se', 'many', 'me', at, at + interval '1 minute'
      from generate_series(1, 201) n cross join lateral (select now() - interval '3 days' - n * interval '1 minute' as at) t`;
    const { listedSince, silences } = await trends('?site=se');
    expect([silences.length, listedSince]).toEqual([200, silences.at(-1).startsAt]);
    await api.sql`delete from purchase_watch_internal.silences where reason = 'many'`;
  });

  test('have incidents and silences of the time beside them', async () => {
    await api.sql`
      insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak, severity)
      select 'inc_' || s, 'stuck', s, 6, now() - interval '2 days', now() - interval '2 days', now() - d * interval '1 day', 0, 9, 1 from (values ('se', 1), ('no', 1)) v (s, d)
      union all select 'inc_old', 'stuck', 'se', 4, now() - interval '20 days', now() - interval '20 days', now() - interval '19 days', 0, 9, 0
      union all select 'inc_wide', 'stuck', null, null, now() - interval '3 days', now() - interval '3 days', null, 0, 9, 0`;
    await api.sql`
      insert into purchase_watch_internal.silences (starts_at, ends_at, site, reason, created_by)
      values (now() - interval '3 days', now() - interval '2 days', null, 'The bank moves.', 'Kim')`;
    const { cells } = await trends('?site=se&range=30d');
    // Of each weekday's cell, only what ended in an hour of one of two incidents of a day each.
    const lost = cells.map(({ notPaidInIncidents }: { notPaidInIncidents: number }) => notPaidInIncidents);
    const ofDays = lost.filter((each: number) => each > 0);
    expect(ofDays.length).toBeGreaterThanOrEqual(2);
    expect(ofDays.length).toBeLessThanOrEqual(4);
    expect(Math.max(...ofDays)).toBeLessThan(50);
    const { incidents, silences } = await trends('?site=se');
    expect(incidents.map(({ id }: { id: string }) => id)).toEqual(['inc_se']);
    expect(incidents[0]).toMatchObject({ severity: 'critical', state: { value: 6 } });
    expect(silences).toMatchObject([{ site: null, reason: 'The bank moves.' }]);
    expect((await trends()).incidents.map(({ id }: { id: string }) => id)).toEqual(['inc_se', 'inc_no', 'inc_wide']);
  });

  test('show hours as clocks in the zone do', async () => {
    const { cells } = await trends('?site=se&zone=Asia/Tokyo');
    expect(new Set(cells.map(({ hour }: { hour: number }) => hour))).toEqual(new Set([19]));
  });

  test('how long customers waited is the end of a bucket', async () => {
    const { waiting } = await trends('?site=se');
    expect(waiting).toMatchObject({ site: 'se', state: { name: 'WaitingForCardPayments' }, limitMs: expect.any(Number) });
    expect(waiting.pieces).toHaveLength(7);
    expect(waiting.pieces[6]).toMatchObject({ customers: 100, medianMs: 8_000, p95Ms: 181_019 });
    expect(waiting.pieces[5]).toMatchObject({ customers: 0, medianMs: null, p95Ms: null });
  });

  test.each([
    ['?range=8d', /range/],
    ['?zone=Europe/Stokholm', /Europe\/Stokholm/],
    ['?site=xx', /xx/],
  ])('%s is refused with what to do', async (query, text) => {
    const { status, body } = await api.call('GET', `/v1/trends${query}`);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(JSON.stringify(body)).toMatch(text);
  });
});
