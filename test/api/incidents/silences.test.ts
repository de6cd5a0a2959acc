import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../api.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const from = (milliseconds: number): string => new Date(Date.now() + milliseconds).toISOString();

describe('over the API', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({ sites: ['default', 'se'] });
  });
  afterAll(() => api.stop());
  beforeEach(async () => {
    await api.sql`truncate purchase_watch_internal.silences`;
    await api.sql`
      insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('shop', 'webhook', 'systems', 'x') on conflict do nothing`;
  });

  const add = (differs: object) =>
    api.call('POST', '/v1/silences', { json: { reason: 'The service moves.', by: 'Kim', endsAt: from(HOUR), ...differs } });

  test('one is added, shown, listed and ended', async () => {
    const endsAt = from(HOUR);
    const added = await add({ site: 'se', state: 'WaitingForCardPayments', endsAt });
    expect(added.status).toBe(201);
    expect(added.body).toEqual({
      id: expect.stringMatching(/^sil_\d+$/),
      site: 'se',
      state: { value: 6, name: 'WaitingForCardPayments' },
      kind: null,
      subscriber: null,
      reason: 'The service moves.',
      by: 'Kim',
      createdAt: expect.any(String),
      startsAt: expect.any(String),
      endsAt,
      status: 'active',
    });
    const where = added.headers.get('location')!;
    expect((await api.call('GET', where)).body).toEqual(added.body);
    expect((await api.call('GET', '/v1/silences')).body).toEqual({ data: [added.body], nextCursor: null });
    for (const _ of [1, 2]) expect((await api.call('DELETE', where)).status).toBe(204);
    expect((await api.call('GET', '/v1/silences')).body.data).toEqual([]);
    const over = (await api.call('GET', '/v1/silences?status=over')).body.data;
    expect(over).toEqual([{ ...added.body, endsAt: expect.any(String), status: 'over' }]);
    expect(Date.parse(over[0].endsAt)).toBeLessThan(Date.parse(endsAt));
  });

  test('one may begin later, with any zone, and be ended before it did', async () => {
    const startsAt = new Date(Date.now() + HOUR).toISOString();
    const local = `${new Date(Date.now() + 4 * HOUR).toISOString().slice(0, 19)}+02:00`;
    const { status, body } = await add({ kind: 'unreachable', startsAt, endsAt: local });
    expect([status, body.status, body.startsAt]).toEqual([201, 'coming', startsAt]);
    expect(body.endsAt).toBe(new Date(local).toISOString());
    expect((await api.call('DELETE', `/v1/silences/${body.id}`)).status).toBe(204);
    expect((await api.call('GET', `/v1/silences/${body.id}`)).body.status).toBe('over');
  });

  test('one that begins now by a clock behind ours begins now', async () => {
    const before = Date.now();
    const { status, body } = await add({ site: 'se', startsAt: from(-2_000) });
    expect(status).toBe(201);
    expect(Date.parse(body.startsAt)).toBeGreaterThan(before - 1_900);
  });

  test('one may last so long from now', async () => {
    const { body } = await add({ site: 'se', endsAt: '2h' });
    expect(Date.parse(body.endsAt) - Date.parse(body.startsAt)).toBe(2 * HOUR);
    expect((await add({ site: 'se', startsAt: '10m', endsAt: '30d' })).body.status).toBe('coming');
  });

  test('one may be of subscribers, or of one of them', async () => {
    expect((await add({ kind: 'subscriber' })).body).toMatchObject({ kind: 'subscriber', subscriber: null, site: null });
    for (const kind of [{}, { kind: 'subscriber' }])
      expect((await add({ ...kind, subscriber: 'shop' })).body).toMatchObject({
        kind: 'subscriber',
        subscriber: 'shop',
        site: null,
      });
  });

  test('everything must be said in so many words', async () => {
    expect((await add({})).body.errors).toMatchObject([{ field: 'everything' }]);
    expect((await add({ everything: false })).status).toBe(400);
    expect((await add({ everything: true, site: 'se' })).status).toBe(400);
    expect((await add({ everything: true })).body).toMatchObject({ site: null, state: null, kind: null });
  });

  test.each([
    [{ site: 'se', endsAt: from(-1_000) }, 'endsAt', /in the future; it is \d{4}-/],
    [{ site: 'se', endsAt: from(30 * DAY + HOUR) }, 'endsAt', /at most 30 days ahead/],
    [{ site: 'se', startsAt: from(-60_000) }, 'startsAt', /^must not be in the past; it is \d{4}-.* Leave it out to begin now$/],
    [{ site: 'se', startsAt: from(2 * HOUR) }, 'startsAt', /before endsAt/],
    [{ site: 'se', endsAt: 'tomorrow' }, 'endsAt', /a time with its zone/],
    [{ site: 'se', endsAt: '2026-02-30T00:00:00Z' }, 'endsAt', /a time with its zone/],
    [{ site: 'se', endsAt: '31d' }, 'endsAt', /at most 30 days ahead/],
    [{ site: 'se', startsAt: '2h', endsAt: '1h' }, 'startsAt', /before endsAt/],
    [{ site: 'se', endsAt: undefined }, 'endsAt', /is missing/],
    [{ site: 'se', reason: '' }, 'reason', /empty/],
    [{ site: 'se', by: 7 }, 'by', /text/],
    [{ state: 'Completted' }, 'state', /did you mean "?Completed/],
    [{ kind: 'unreachable', state: 6 }, 'state', /whole sites/],
    [{ kind: 'late' }, 'kind', /stuck, unreachable, subscriber/],
    [{ kind: 'subscriber', site: 'se' }, 'site', /of no site/],
    [{ subscriber: 'shop', state: 6 }, 'state', /of no site/],
    [{ subscriber: 'shop', kind: 'stuck' }, 'kind', /must be subscriber/],
    [{ subscriber: 'shpo' }, 'subscriber', /is no subscriber.*did you mean "?shop/],
    [{ subscriber: 'shop', everything: true }, 'everything', /cannot go with/],
    [{ site: 'se', until: from(HOUR) }, 'until', /not known here/],
  ])('%j is refused: %s', async (differs, field, detail) => {
    const { status, body } = await add(differs);
    expect([status, body.code, body.errors]).toEqual([
      400,
      'invalid_request',
      [expect.objectContaining({ field, detail: expect.stringMatching(detail) })],
    ]);
  });

  test('all that is wrong is told at once, with the values as they were sent', async () => {
    const { status, body } = await add({ state: 'Completted', site: 'no', endsAt: '40d', by: '' });
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.errors.map(({ field, value }: { field: string; value: unknown }) => [field, value]).toSorted()).toEqual([
      ['by', ''],
      ['endsAt', '40d'],
      ['site', 'no'],
      ['state', 'Completted'],
    ]);
    const broad = (await add({ endsAt: '40d', startsAt: 'soon' })).body.errors;
    expect(broad.map(({ field }: { field: string }) => field).toSorted()).toEqual(['endsAt', 'everything', 'startsAt']);
  });

  test('a site that nobody knows is refused, and so is a silence that is not there', async () => {
    expect((await add({ site: 'no' })).body.code).toBe('unknown_site');
    for (const method of ['GET', 'DELETE']) {
      const { status, body } = await api.call(method, '/v1/silences/sil_999999');
      expect([status, body.code]).toEqual([404, 'silence_not_found']);
      expect((await api.call(method, '/v1/silences/999')).status).toBe(400);
    }
  });

  test('pages hold each once, newest first', async () => {
    const made: string[] = [];
    for (let count = 0; count < 5; count++) made.unshift((await add({ site: 'se' })).body.id);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await api.call('GET', `/v1/silences?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
    }
    expect(seen).toEqual(made);
  });

  test('a repeat with the same Idempotency-Key makes no second one', async () => {
    const json = { site: 'se', reason: 'r', by: 'k', endsAt: from(HOUR) };
    const again = () => api.call('POST', '/v1/silences', { json, headers: { 'idempotency-key': 'silence-1' } });
    const [first, second] = [await again(), await again()];
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect((await api.call('GET', '/v1/silences')).body.data).toHaveLength(1);
  });

  test('adding and ending wake the judge', async () => {
    const said: string[] = [];
    const end = Promise.withResolvers<void>();
    const listening = await api.sql.listen('purchase_watch_wake', (payload) => {
      said.push(payload);
      if (payload === 'end') end.resolve();
    });
    const { body } = await add({ site: 'se' });
    for (const _ of [1, 2]) await api.call('DELETE', `/v1/silences/${body.id}`);
    await api.sql`select pg_notify('purchase_watch_wake', 'end')`;
    await end.promise;
    await listening.unlisten();
    expect(said).toEqual(['judge', 'judge', 'end']);
  });
});
