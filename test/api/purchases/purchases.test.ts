import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fetchAsMachine } from '../../support/machine.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ sites: ['default', 'se'] });
});
afterAll(() => api.stop());
beforeEach(async () => {
  await api.sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges cascade`;
});

const watch = (purchaseId: string, rest: object = {}) => api.call('POST', '/v1/purchases', { json: { purchaseId, ...rest } });
const read = (path: string) => api.call('GET', `/v1/purchases${path}`);
const idsOf = (body: { data: { purchaseId: string }[] }) => body.data.map((purchase) => purchase.purchaseId);

/** As a poll would have left it. */
const seen = (purchaseId: string, state: number, { stuck = false, status = 'watching' } = {}) => api.sql`
  update purchase_watch.purchases set state = ${state}, state_since = now(), status = ${status},
    stuck_since = ${stuck ? api.sql`now()` : null} where purchase_id = ${purchaseId}`;

describe('reading one', () => {
  test('shows its changes of state, first to last', async () => {
    await watch('p');
    await seen('p', 17);
    await api.sql`
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
      select id, t.* from purchase_watch.purchases, (values
        (1, null::int, null::int, 6, null::timestamptz, timestamptz '2026-11-20T09:00:00.123456Z'),
        (3, 1, 6, 17, timestamptz '2026-11-20T09:00:00.123Z', timestamptz '2026-11-20T10:00:05+01')) t`;
    const { status, body } = await read('/p?site=default');
    expect(status).toBe(200);
    expect(body.state).toEqual({ value: 17, name: 'Unknown(17)' });
    const card = { value: 6, name: 'WaitingForCardPayments' };
    expect(body.transitions).toEqual([
      { sequence: 1, from: null, to: card, notBefore: null, notAfter: '2026-11-20T09:00:00.123Z' },
      { sequence: 3, from: card, to: body.state, notBefore: '2026-11-20T09:00:00.123Z', notAfter: '2026-11-20T09:00:05.000Z' },
    ]);
  });

  test('shows the latest thousand changes of one that goes to and fro', async () => {
    await watch('p');
    await api.sql`
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_after)
      select id, n, nullif(n - 1, 0), case when n > 1 then (n + 1) % 2 end, n % 2, now() from purchase_watch.purchases, generate_series(1, 1003) n`;
    const { transitions } = (await read('/p')).body;
    expect([transitions.length, transitions[0].sequence, transitions.at(-1).sequence]).toEqual([1_000, 4, 1_003]);
  });

  test('shows when it counts as stuck where it is, and nothing of that where it cannot', async () => {
    await watch('p');
    expect((await read('/p')).body.limit).toBeNull();
    await seen('p', 6);
    await api.sql`
      update purchase_watch.purchases set state_since = now() - interval '11 minutes', seen_at = now(), excused_ms = 60000`;
    expect((await read('/p')).body.limit).toEqual({
      limitMs: 900_000,
      source: 'configured',
      usualMs: null,
      p95Ms: null,
      purchases: null,
      text: expect.stringMatching(/^10 min (\d+ s )?here; limit 15 min, the default$/),
    });
    for (const [state, status] of [
      [0, 'watching'],
      [2, 'settled'],
      [6, 'expired'],
    ] as const) {
      await seen('p', state, { status });
      expect((await read('/p')).body.limit, `${state} ${status}`).toBeNull();
    }
  });

  test('that nobody registered is a problem, also at a site that does not exist', async () => {
    expect((await read('/nobody')).body).toMatchObject({ status: 404, code: 'purchase_not_found' });
    await watch('p');
    expect((await read('/p?site=se')).body).toMatchObject({
      status: 404,
      code: 'purchase_not_found',
      detail: expect.stringContaining('at the site se'),
    });
    expect((await read('/p?site=see')).body).toMatchObject({
      status: 400,
      code: 'unknown_site',
      errors: [{ field: 'site', value: 'see' }],
    });
  });

  test('asks for the site when several have the id', async () => {
    await watch('p');
    await watch('p', { site: 'se' });
    expect((await read('/p')).body).toMatchObject({
      status: 409,
      code: 'ambiguous_purchase',
      detail: expect.stringContaining('default, se'),
    });
    expect((await read('/p?site=se')).body.site).toBe('se');
  });

  test('of a site that was configured once still works', async () => {
    await api.sql`insert into purchase_watch_internal.sites (name) values ('former') on conflict do nothing`;
    await api.sql`insert into purchase_watch.purchases (purchase_id, site) values ('old', 'former')`;
    await api.sql`update purchase_watch_internal.sites set configured = false where name = 'former'`;
    expect((await read('/old?site=former')).status).toBe(200);
    expect(idsOf((await read('?site=former')).body)).toEqual(['old']);
  });

  test.each([
    ['/%00', 'id'],
    [`/${'x'.repeat(201)}`, 'id'],
    ['/%20p', 'id'],
    ['/p?sight=se', 'sight'],
    ['/p?site=a&site=b', 'site'],
  ])('%s names the field', async (path, field) => {
    expect((await read(path)).body).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ field }] });
  });
});

describe('the list', () => {
  test('comes in pages, newest first, without gaps or repeats', async () => {
    for (let index = 0; index < 7; index++) await watch(`p-${index}`);
    const found: string[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const { body } = await read(`?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`);
      found.push(...idsOf(body));
      cursor = body.nextCursor;
      pages += 1;
      // What comes in meanwhile does not move the pages.
      await watch(`late-${pages}`);
    } while (cursor !== null);
    expect([pages, found]).toEqual([3, ['p-6', 'p-5', 'p-4', 'p-3', 'p-2', 'p-1', 'p-0']]);
    expect((await read('?limit=10')).body.nextCursor).toBeNull();
  });

  test('ends a page sooner where metadata is large, and its cursor goes on from there', async () => {
    const metadata = { text: 'x'.repeat(8_000) };
    const purchases = Array.from({ length: 300 }, (_, index) => ({ purchaseId: `large-${index}`, metadata }));
    for (let at = 0; at < 300; at += 100) {
      await api.call('POST', '/v1/purchases/batch', { json: { purchases: purchases.slice(at, at + 100) } });
    }
    const found: string[] = [];
    const sizes: number[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body, text } = await read(`?limit=500${cursor === '' ? '' : `&cursor=${cursor}`}`);
      found.push(...idsOf(body));
      sizes.push(text.length);
      cursor = body.nextCursor;
    }
    expect(new Set(found).size).toBe(300);
    expect([sizes.length, Math.max(...sizes) < 1.3 * 1024 * 1024]).toEqual([3, true]);
  });

  test('has fifty entries unless told otherwise, and keeps digits', async () => {
    const purchases = Array.from({ length: 60 }, (_, index) => ({ purchaseId: `p-${index}` }));
    await api.call('POST', '/v1/purchases/batch', { json: { purchases } });
    await api.call('POST', '/v1/purchases', {
      body: '{"purchaseId":"q","metadata":{"n":1.50}}',
      headers: { 'content-type': 'application/json' },
    });
    const { body, text } = await read('');
    expect([body.data.length, typeof body.nextCursor]).toEqual([50, 'string']);
    expect(text).toContain('{"n": 1.50}');
    expect((await read('?limit=500')).body.data.length).toBe(61);
  });

  test('is narrowed by state, status, being stuck, site and reference', async () => {
    for (const id of ['new', 'card', 'done', 'future']) await watch(id, { reference: `ref-${id}` });
    await watch('other', { site: 'se' });
    await seen('new', 0);
    await seen('card', 6, { stuck: true });
    await seen('done', 2, { status: 'settled' });
    await seen('future', 17);
    const found = async (query: string) => idsOf((await read(query)).body);
    expect(await found('?state=WaitingForCardPayments')).toEqual(['card']);
    expect(await found('?state=0')).toEqual(['new']);
    expect(await found('?state=17')).toEqual(['future']);
    expect(await found('?state=Unknown(17)')).toEqual(['future']);
    expect(await found('?state=16')).toEqual([]);
    for (const [id, state] of [
      ['future', 2_147_483_647],
      ['future', -1],
      ['future', -2_147_483_648],
    ] as const) {
      await seen(id, state);
      expect(await found(`?state=${state}`), String(state)).toEqual([id]);
    }
    expect(await found('?status=settled')).toEqual(['done']);
    expect(await found('?stuck=true')).toEqual(['card']);
    expect(await found('?stuck=false&site=default&status=watching')).toEqual(['future', 'new']);
    expect(await found('?site=se')).toEqual(['other']);
    expect(await found('?reference=ref-done')).toEqual(['done']);
    expect(await found('?reference=ref-done&state=0')).toEqual([]);
  });

  test.each([
    ['state=Complete', 'state', 'Complete', /did you mean Completed\?/],
    ['state=-', 'state', '-', /give a number or one of New/],
    ['state=99999999999999', 'state', '99999999999999', /is no state/],
    ['state=2147483648', 'state', '2147483648', /is no state/],
    ['status=stuck', 'status', 'stuck', /there are watching, settled/],
    ['stuck=1', 'stuck', '1', /true or false/],
    ['site=ss', 'site', 'ss', /did you mean se\?/],
    ['limit=0', 'limit', '0', /1 to 500/],
    ['limit=501', 'limit', '501', /1 to 500/],
    ['limit=ten', 'limit', 'ten', /1 to 500/],
    ['cursor=5', 'cursor', '5', /is not a cursor/],
    ['cursor=', 'cursor', '', /is not a cursor/],
    [`cursor=${Buffer.from('id:9007199254740993').toString('base64url')}`, 'cursor', expect.any(String), /is not a cursor/],
    ['reference=', 'reference', '', /is empty/],
    ['reference=%00', 'reference', '\u0000', /control character/],
  ])('%s is refused', async (query, field, value, detail) => {
    const { status, body } = await read(`?${query}`);
    expect([status, body.errors]).toEqual([400, [{ field, value, detail: expect.stringMatching(detail) }]]);
  });

  test('a parameter nobody knows is refused with the nearest name', async () => {
    const { body } = await read('?statte=New');
    expect(body.errors).toEqual([{ field: 'statte', detail: expect.stringContaining('did you mean state?') }]);
    expect((await read('?__proto__=1&constructor=2')).status).toBe(400);
  });
});

describe('removing', () => {
  test('stops the polls, keeps what is known, and may be repeated', async () => {
    await watch('p');
    await seen('p', 6, { stuck: true });
    await api.sql`truncate purchase_watch_internal.nudges`;
    for (let time = 0; time < 2; time++) {
      const answer = await api.call('DELETE', '/v1/purchases/p');
      expect([answer.status, answer.text]).toEqual([204, '']);
    }
    expect((await read('/p')).body).toMatchObject({ status: 'stopped', nextPollAt: null, stuckSince: null, state: { value: 6 } });
    // Its owner must hear of it, once.
    expect((await api.sql`select from purchase_watch_internal.nudges`).length).toBe(1);
  });

  test('what nobody registered is told', async () => {
    expect((await api.call('DELETE', '/v1/purchases/nobody')).body).toMatchObject({ status: 404, code: 'purchase_not_found' });
  });

  test('one of several sites leaves the others', async () => {
    await watch('p');
    await watch('p', { site: 'se' });
    expect((await api.call('DELETE', '/v1/purchases/p')).status).toBe(409);
    expect((await api.call('DELETE', '/v1/purchases/p?site=se')).status).toBe(204);
    expect((await read('/p?site=default')).body.status).toBe('watching');
  });
});

describe('acts on many', () => {
  const act = (json: object) => api.call('POST', '/v1/purchases/act', { json });

  test('a dry run changes nothing, and the act does what it said', async () => {
    for (const id of ['a', 'b', 'c']) await watch(id);
    await seen('b', 2, { status: 'settled' });
    await api.sql`update purchase_watch.purchases set next_poll_at = null, due_slot = null where purchase_id = 'b'`;
    const purchases = ['a', 'b', 'gone'].map((purchaseId) => ({ purchaseId, site: 'default' }));
    const says = { act: 'stop', purchases: 2, missing: 1, count: 1, leftAlone: 1, deliveries: [], sites: [] };
    expect((await act({ act: 'stop', purchases, dryRun: true })).body).toEqual({ ...says, dryRun: true });
    expect((await read('/a')).body.status).toBe('watching');
    expect((await act({ act: 'stop', purchases })).body).toEqual({ ...says, dryRun: false });
    expect([(await read('/a')).body.status, (await read('/b')).body.status, (await read('/c')).body.status]).toEqual([
      'stopped',
      'settled',
      'watching',
    ]);
  });

  test('a thousand long names in one call are taken', async () => {
    const purchases = Array.from({ length: 1_000 }, (_, place) => ({
      purchaseId: `${place}-`.padEnd(200, 'x'),
      site: 'default',
    }));
    expect((await act({ act: 'stop', purchases, dryRun: true })).body).toMatchObject({ purchases: 0, missing: 1_000 });
  });

  test('all that match are meant, and a list or a filter must be given', async () => {
    for (const id of ['x-1', 'x-2', 'y-1']) await watch(id);
    expect((await act({ act: 'poll', matching: { q: 'X-' }, dryRun: true })).body).toMatchObject({ count: 2, purchases: 2 });
    await api.sql`update purchase_watch.purchases set next_poll_at = now() + interval '1 hour', next_poll_reason = 'growth'`;
    expect((await act({ act: 'poll', matching: { q: 'X-' } })).body).toMatchObject({ count: 2 });
    const asked =
      await api.sql`select purchase_id as id from purchase_watch.purchases where next_poll_reason = 'requested' order by 1`;
    expect(asked.map(({ id }) => id)).toEqual(['x-1', 'x-2']);
    expect((await act({ act: 'poll' })).body.detail).toBe('purchases: give either it or matching.');
    expect((await act({ act: 'poll', matching: { least: '5' } })).body.detail).toContain('currency: is missing');
  });
});

describe('finding', () => {
  test('by a beginning in any case; what a cursor cannot be is refused', async () => {
    await watch('ABC-1', { reference: 'Order-1' });
    await watch('order-2');
    expect(idsOf((await read('?q=ORDER')).body).toSorted()).toEqual(['ABC-1', 'order-2']);
    const { body } = await read('?q=ORDER&limit=1');
    expect(idsOf((await read(`?q=ORDER&limit=1&cursor=${body.nextCursor}`)).body)).not.toEqual(idsOf(body));
    for (const cursor of [
      'x',
      Buffer.from('["id","5 or true",5]').toString('base64url'),
      Buffer.from('["waiting","x",5]').toString('base64url'),
    ])
      expect((await read(`?cursor=${cursor}`)).body.detail).toContain('is not a cursor of this list');
    expect((await read('?sort=largest')).body.errors).toEqual([
      { field: 'currency', detail: expect.stringContaining('is missing') },
    ]);
    expect((await read('?least=a&currency=SEK')).body.detail).toContain('must be an amount');
  });

  test('as CSV, in which no cell is a formula', async () => {
    await watch('p', { reference: '=1+1' });
    const answer = await fetchAsMachine(`${api.url}/v1/purchases.csv`);
    const text = await answer.text();
    expect(text.split('\n')[1], text).toMatch(/^,'=1\+1,p,default,waiting,watching,/);
  });
});
