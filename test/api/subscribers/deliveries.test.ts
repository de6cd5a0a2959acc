import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listDeliveries } from '../../../src/postgres/deliveries/delivery-list.ts';
import { syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ sites: ['se', 'fi'] });
  const common = {
    kind: 'webhook' as const,
    audience: 'systems' as const,
    format: 'standard' as const,
    types: null,
    sites: null,
    states: null,
    addressHash: 'x',
  };
  await syncSubscribers(api.sql, [
    { ...common, name: 'shop' },
    { ...common, name: 'books' },
  ]);
  // 2 sites × 300 purchases × 2 events × 2 subscribers.
  await api.sql`
    insert into purchase_watch.purchases (purchase_id, site)
    select 'p-' || n, site from generate_series(1, 300) n cross join unnest(array['se', 'fi']) as s (site)`;
  await api.sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, created_at, body)
    select format('evt_%sx%s', p.id, n), 'purchase.state_changed', p.site, p.id, n, nullif(n - 1, 0), p.shard, now(), '{}'
    from purchase_watch.purchases p cross join generate_series(1, 2) n order by n, p.id`;
  await api.sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at)
    select e.position, e.purchase, s.id, e.shard, now(), case when s.name = 'shop' then 'delivered' else 'exhausted' end, now()
    from purchase_watch_internal.events e cross join purchase_watch_internal.subscribers s order by e.position, s.id`;
  await api.sql`
    update purchase_watch_internal.deliveries set status = 'pending', settled_at = null, attempts = 2, last_error = 'The receiver answered 503.'
    where id in (select max(id) from purchase_watch_internal.deliveries group by subscriber)`;
  await api.sql`
    insert into purchase_watch_internal.attempts (delivery, at, number, took_ms, http_status, outcome, excerpt)
    select d.id, now(), n, 12, 503, 'http_503', 'busy' from purchase_watch_internal.deliveries d cross join generate_series(2, 1, -1) n where d.status = 'pending'`;
  await api.sql`analyze purchase_watch_internal.deliveries, purchase_watch_internal.events, purchase_watch.purchases, purchase_watch_internal.subscribers`;
});
afterAll(() => api.stop());

const list = async (query: string) => (await api.call('GET', `/v1/deliveries?${query}`)).body;

describe('the list', () => {
  test('is newest first, page by page, and leaves nothing out', async () => {
    const ids: string[] = [];
    for (let cursor = ''; ; ) {
      const { data, nextCursor } = await list(`subscriber=shop&limit=500${cursor}`);
      ids.push(...data.map(({ id }: { id: string }) => id));
      if (nextCursor === null) break;
      cursor = `&cursor=${nextCursor}`;
    }
    expect(ids).toHaveLength(1_200);
    expect(new Set(ids).size).toBe(1_200);
    const numbers = ids.map((id) => Number(id.slice(4)));
    expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
  });

  test('shows what it is about and how it stands', async () => {
    const { data } = await list('status=pending&subscriber=books');
    expect(data).toEqual([
      {
        id: expect.stringMatching(/^dlv_\d+$/),
        status: 'pending',
        reason: null,
        subscriber: 'books',
        event: { id: expect.stringMatching(/^evt_/), type: 'purchase.state_changed' },
        purchaseId: expect.stringMatching(/^p-/),
        site: expect.stringMatching(/^(se|fi)$/),
        sequence: 2,
        tries: 2,
        replayed: false,
        lastError: 'The receiver answered 503.',
        createdAt: expect.stringMatching(/Z$/),
        dueAt: expect.stringMatching(/Z$/),
        settledAt: null,
      },
    ]);
  });

  test.each([
    ['', 2_400],
    ['status=delivered', 1_199],
    ['status=exhausted', 1_199],
    ['status=suppressed', 0],
    ['status=pending', 2],
    ['subscriber=books&status=delivered', 0],
    ['purchase=p-7', 8],
    ['purchase=p-7&site=fi', 4],
    ['purchase=p-7&site=fi&subscriber=shop', 2],
    ['purchase=p-7&site=fi&subscriber=shop&status=exhausted', 0],
    ['subscriber=nobody', 0],
  ])('filtered by %j has %i', async (query, count) => {
    let found = 0;
    for (let cursor = ''; ; ) {
      const { data, nextCursor } = await list(`${query}&limit=500${cursor}`.replace(/^&/, ''));
      found += data.length;
      if (nextCursor === null) break;
      cursor = `&cursor=${nextCursor}`;
    }
    expect(found).toBe(count);
  });

  test('of one event has one delivery per subscriber', async () => {
    const [event] = await api.sql<{ id: string }[]>`select id from purchase_watch_internal.events limit 1`;
    expect((await list(`event=${event!.id}`)).data).toHaveLength(2);
  });

  test.each([
    {},
    { status: 'suppressed' },
    { status: 'delivered' },
    { subscriber: 'shop' },
    { subscriber: 'shop', status: 'exhausted' },
    { subscriber: 'books', status: 'pending' },
    { purchase: 'p-9' },
    { purchase: 'p-9', site: 'se', status: 'delivered' },
    { event: 'evt_1x1' },
  ] as const)('filtered by %j reads about a page, whatever there is', async (filter) => {
    const { scanned, fetched } = await rowsRead(api.sql, 'deliveries', (tx) =>
      listDeliveries(tx, { filter, before: null, limit: 10 }),
    );
    expect(scanned).toBe(0);
    expect(fetched).toBeLessThanOrEqual(80);
  });

  test.each([
    ['status=done', 'status', /there are pending, in_flight, parked, delivered/],
    ['site=se', 'site', /needs purchase/],
    ['limit=0', 'limit', /1 to 500/],
    ['cursor=x', 'cursor', /not a cursor of this list/],
    ['subscribers=x', 'subscribers', /did you mean subscriber/],
  ])('%s is refused, naming the parameter', async (query, field, detail) => {
    const { status, body } = await api.call('GET', `/v1/deliveries?${query}`);
    expect([status, body.errors[0].field]).toEqual([400, field]);
    expect(body.errors[0].detail).toMatch(detail);
  });
});

describe('one', () => {
  test('is shown with its attempts, first to last', async () => {
    const { data } = await list('status=pending&subscriber=shop');
    const { body } = await api.call('GET', `/v1/deliveries/${data[0].id}`);
    expect(body).toEqual({
      ...data[0],
      attempts: [1, 2].map((number) => ({
        number,
        at: expect.stringMatching(/Z$/),
        tookMs: 12,
        httpStatus: 503,
        outcome: 'http_503',
        fault: null,
        excerpt: 'busy',
      })),
      answer: null,
    });
  });

  test.each(['dlv_999999', 'dlv_9007199254740991'])('%s is not there', async (id) => {
    for (const [method, path] of [
      ['GET', id],
      ['POST', `${id}/retry`],
    ] as const) {
      const { status, body } = await api.call(method, `/v1/deliveries/${path}`);
      expect([status, body.code]).toEqual([404, 'delivery_not_found']);
    }
  });

  test.each(['dlv_0', '42', 'dlv_99999999999999999', 'dlv_x'])('%s is no id', async (id) => {
    expect((await api.call('GET', `/v1/deliveries/${id}`)).status).toBe(400);
  });

  test.each(['delivered', 'exhausted', 'pending'])(
    'that is %s is due again when it is asked for, and keeps its attempts',
    async (status) => {
      const { data } = await list(`status=${status}&limit=1`);
      await api.sql`update purchase_watch_internal.deliveries set due_at = now() + interval '1 day' where id = ${Number(data[0].id.slice(4))}`;
      const answer = await api.call('POST', `/v1/deliveries/${data[0].id}/retry`);
      expect([answer.status, answer.body.status, answer.body.tries]).toEqual([202, 'pending', data[0].tries]);
      expect(Date.parse(answer.body.dueAt)).toBeLessThanOrEqual(Date.now() + 1_000);
      expect(answer.body.attempts).toHaveLength(data[0].tries);
    },
  );
});

test('a dry run of announcing says how many deliveries are parked before those of a paused subscriber', async () => {
  await api.sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, failing_since, paused_until, last_error)
    select id, 12, now(), now() + interval '1 hour', 'The receiver answered 503.' from purchase_watch_internal.subscribers where name = 'shop'`;
  const purchases = ['p-1', 'p-2'].map((purchaseId) => ({ purchaseId, site: 'se' }));
  const announce = async (dryRun: boolean) =>
    (await api.call('POST', '/v1/purchases/act', { json: { act: 'announce', purchases, dryRun } })).body.deliveries;
  const says = [
    {
      subscriber: 'shop',
      count: 2,
      waiting: 0,
      waits: expect.stringMatching(/^Shop is paused .* 2 deliveries are parked before them\.$/),
    },
    { subscriber: 'books', count: 2, waiting: 0, waits: null },
  ];
  expect(await announce(true)).toEqual(says);
  expect(await announce(false)).toEqual(says);
});
