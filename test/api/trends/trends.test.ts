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
      'In the last 7 days 50 % of 280 customers paid, 25 points fewer than before; fewer paid of those who were last waiting for the card provider.',
    );
    expect((await trends('?site=se&range=90d')).sentence).toMatch(/^In the last 90 days 73\.1 % of 3600 customers paid/);
    expect((await trends('?site=no')).sentence).toBe('In the last 7 days 3 customers came: too few to say more.');
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
    expect(ways[0]).toMatchObject({ state: { name: 'WaitingForCardPayments' }, change: 'worse', customers: 280 });
    expect(money).toEqual([{ currency: 'SEK', customers: 280, paid: 13_930, notPaid: 13_930, open: 0 }]);
    expect(cells).toHaveLength(7);
    expect(cells[0]).toMatchObject({ hour: 10, customers: 40, paid: 20 });
  });

  test('show hours as clocks in the zone do', async () => {
    const { cells } = await trends('?site=se&zone=Asia/Tokyo');
    expect(new Set(cells.map(({ hour }: { hour: number }) => hour))).toEqual(new Set([19]));
  });

  test('how long customers waited is the end of a bucket', async () => {
    const [day] = (await trends('?site=se')).waiting;
    expect(day).toMatchObject({ customers: 100, medianMs: 8_000, p95Ms: 181_019 });
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
