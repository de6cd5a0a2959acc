import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hourUntil } from '../../../src/domain/flow/flow.ts';
import { countedEdges, longestWaiting, usualEdges } from '../../../src/postgres/reports/flow.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { startTestApi, type TestApi } from '../api.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ sites: ['default', 'se'] });
});
afterEach(() => api.stop());

const flow = async (query = '') => {
  const { status, body } = await api.call('GET', `/v1/flow${query}`);
  expect(status).toBe(200);
  return body;
};
const databaseNow = async (): Promise<number> => (await api.sql<[{ now: number }]>`select clock_timestamp() as now`)[0].now;
const count = (at: number, [from, to, n]: readonly [number | null, number, number], site = 'se') => api.sql`
  insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
  values (${site}, ${Math.floor(at / (10 * MINUTE)) * 10 * MINUTE}::timestamptz, ${from}, ${to}, ${n})`;
const waits = (site: string, state: number, ages: string[], stuck = false) => api.sql`
  insert into purchase_watch.purchases (purchase_id, site, state, state_since, seen_at, stuck_since)
  select gen_random_uuid()::text, ${site}, ${state}, now() - age::interval, now(), case when ${stuck} then now() end
  from unnest(${ages}::text[]) age`;
/** `from → to count usual`, for each edge. */
// biome-ignore lint/suspicious/noExplicitAny: a body as it came
const edges = (body: any): string[] =>
  body.edges.map(
    ({
      from,
      to,
      count: n,
      usual,
    }: {
      from: { name: string } | null;
      to: { name: string };
      count: number;
      usual: number | null;
    }) => `${from?.name ?? 'nothing'} → ${to.name} ${n} ${usual}`,
  );

test('of nothing is all there is to say of nothing', async () => {
  const body = await flow();
  expect(body).toMatchObject({ site: null, usualDays: null, notSeenYet: 0, edges: [], states: [] });
  const length = Date.parse(body.to) - Date.parse(body.from);
  expect(length).toBeGreaterThanOrEqual(60 * MINUTE);
  expect(length).toBeLessThan(70 * MINUTE);
  expect(body.at).toBe(body.to);
  expect(Date.parse(body.from) % (10 * MINUTE)).toBe(0);
});

test('counts what is folded and what is not, within the hour, of all sites or of one', async () => {
  const { from } = hourUntil(await databaseNow());
  await count(from, [0, 1, 4]);
  await count(from, [0, 1, 10], 'default');
  await count(from - MINUTE, [0, 1, 1_000]);
  await api.sql`
    insert into purchase_watch_internal.transition_count_changes (site, bucket, from_state, to_state, count)
    values ('se', ${from + 10 * MINUTE}::timestamptz, 0, 1, 2), ('se', ${from + 10 * MINUTE}::timestamptz, null, 0, 3)`;
  expect(edges(await flow())).toEqual(['New → BeingProcessed 16 null', 'nothing → New 3 null']);
  const se = await flow('?site=se');
  expect(edges(se)).toEqual(['New → BeingProcessed 6 null', 'nothing → New 3 null']);
  expect(se.states.map(({ state, came, watching }: Record<string, unknown>) => [state, came, watching])).toEqual([
    [{ value: 0, name: 'New' }, 3, 0],
    [{ value: 1, name: 'BeingProcessed' }, 6, 0],
  ]);
});

describe('what is usual', () => {
  test('is the mean at this time of day, over days since the first on which anything was counted', async () => {
    const { from } = hourUntil(await databaseNow());
    // The first two minutes of watching were five days ago: of that day the hour is not whole.
    await count(from + 10 * MINUTE - 5 * DAY, [6, 2, 500]);
    for (const [days, n] of [
      [4, 10],
      [2, 30],
    ] as const)
      await count(from - days * DAY, [6, 2, n]);
    // A day on which nobody paid at this time, but somebody was watched.
    await count(from - 3 * DAY - 5 * 60 * MINUTE, [6, 2, 7]);
    expect((await flow('?site=se')).usualDays).toBe(3);
    expect(edges(await flow('?site=se'))).toEqual(['WaitingForCardPayments → Completed 0 13.33']);
    await count(from, [6, 2, 4]);
    expect(edges(await flow('?site=se'))).toEqual(['WaitingForCardPayments → Completed 4 13.33']);
  });

  test('is not known of fewer than three days; other sites are then the sum', async () => {
    const { from } = hourUntil(await databaseNow());
    for (const days of [1, 2]) await count(from - days * DAY, [6, 2, 10]);
    await count(from, [6, 2, 4]);
    expect(await flow('?site=se')).toMatchObject({ usualDays: null, edges: [{ count: 4, usual: null }] });
    for (const days of [1, 2, 3, 4]) await count(from - days * DAY, [6, 2, 8], 'default');
    expect(await flow()).toMatchObject({ usualDays: 4, edges: [{ count: 4, usual: 8 }] });
  });

  test('takes as much of the present ten minutes as has passed', async () => {
    const now = Date.UTC(2026, 10, 20, 14, 24);
    const hour = hourUntil(now);
    for (const days of [1, 2, 3]) {
      await count(hour.present - days * DAY, [1, 6, 10]);
      await count(hour.from - days * DAY, [1, 6, 5]);
    }
    expect(await usualEdges(api.sql, hour, 'se')).toEqual([{ site: 'se', days: 3, ways: [{ from: 1, to: 6, mean: 9 }] }]);
  });
});

describe('a state', () => {
  test('has who is there, who is stuck, limits, incidents and the ages of those who wait', async () => {
    await waits('se', 6, ['3 minutes', '1 minute']);
    await waits('se', 6, ['30 minutes'], true);
    await waits('default', 6, ['6 minutes']);
    await waits('se', 7, ['2 minutes']);
    await waits('se', 1, ['2 minutes']);
    await api.sql`insert into purchase_watch.purchases (purchase_id, site) values ('new', 'se')`;
    await api.sql`
      insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak, severity)
      values ('inc_1', 'stuck', 'se', 6, now(), '2026-11-20T14:02:31Z', null, 1, 1, 0), ('inc_2', 'stuck', 'se', 6, now(), now(), now(), 1, 1, 0),
        ('inc_3', 'unreachable', 'se', null, now(), now(), null, 1, 1, 0)`;
    const body = await flow();
    expect(body.notSeenYet).toBe(1);
    const [processed, card, app] = body.states;
    expect(body.states).toHaveLength(3);
    expect(processed).toMatchObject({ state: { name: 'BeingProcessed' }, watching: 1, limits: [], ages: null, incidents: [] });
    expect(card).toMatchObject({
      ...{ state: { value: 6, name: 'WaitingForCardPayments' }, final: false, watching: 4, stuck: 1, came: 0, usual: null },
      limits: [
        { site: 'default', limit: { limitMs: 900_000, source: 'configured' } },
        { site: 'se', limit: { limitMs: 900_000 } },
      ],
      incidents: [{ id: 'inc_1', site: 'se', severity: 'warning', since: '2026-11-20T14:02:31.000Z', parent: null }],
      ages: { buckets: null, unread: 0 },
    });
    expect(card.ages.oldest.map(({ stuck }: { stuck: boolean }) => stuck)).toEqual([true, false, false, false]);
    const shares = card.ages.oldest.map(({ share }: { share: number }) => share);
    for (const [place, minutes] of [30, 6, 3, 1].entries()) expect(shares[place]).toBeCloseTo(minutes / 15, 1);
    expect(app).toMatchObject({ state: { name: 'WaitingForEidApp' }, limits: [], ages: { oldest: [{ share: null }] } });
    expect((await flow('?site=default')).states).toMatchObject([
      { watching: 1, stuck: 0, incidents: [], ages: { oldest: [{}] } },
    ]);
  });

  test('in which very many wait is read at its oldest, and says how many are left', async () => {
    await api.sql`
      insert into purchase_watch.purchases (purchase_id, site, state, state_since, seen_at)
      select 'p-' || n, 'se', 6, now() - n * interval '1 second', now() from generate_series(1, 5000) n`;
    const { states } = await flow('?site=se');
    const { oldest, buckets, unread } = states[0].ages;
    expect([oldest.length, unread]).toEqual([60, 4_500]);
    expect(buckets.reduce((sum: number, bucket: { count: number }) => sum + bucket.count, 0)).toBe(500);
    expect(buckets.at(-1)).toMatchObject({ from: 2, below: null });
    const read = await rowsRead(api.sql, 'purchases', (tx) => longestWaiting(tx, [{ site: 'se', state: 6 }], 500));
    expect(read.scanned).toBe(0);
    expect(read.fetched).toBeLessThanOrEqual(500);
  });
});

test('reads the buckets that it needs and no others, however many are kept', async () => {
  const now = await databaseNow();
  await api.sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
    select s, date_bin('10 minutes', now(), 'epoch') - n * interval '10 minutes', 0, t, 1
    from unnest(array['default', 'se']) s, generate_series(0, 2100) n, generate_series(1, 5) t`;
  await api.sql`analyze purchase_watch_internal.transition_counts`;
  const read = await rowsRead(api.sql, 'transition_counts', async (tx) => {
    await countedEdges(tx, hourUntil(now), 'se');
    await usualEdges(tx, hourUntil(now), 'se');
  });
  expect(read.scanned).toBe(0);
  expect(read.fetched).toBeLessThanOrEqual(15 * 8 * 5);
});

test('a site that is not there is refused with the names of those that are', async () => {
  const { status, body } = await api.call('GET', '/v1/flow?site=sweden');
  expect(status).toBe(400);
  expect(body).toMatchObject({ code: 'unknown_site', detail: expect.stringContaining('there are se, default') });
  expect((await api.call('GET', '/v1/flow?from=1h')).body).toMatchObject({ code: 'invalid_request' });
});
