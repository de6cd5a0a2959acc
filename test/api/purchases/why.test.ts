import { afterAll, beforeAll, expect, test } from 'vitest';
import { runStory, STORY_ID } from '../../support/explained-purchase.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
let id: number;
beforeAll(async () => {
  api = await startTestApi({ sites: ['se'] });
  id = await runStory(api.sql);
});
afterAll(() => api.stop());
const why = (query = '') => api.call('GET', `/v1/purchases/${STORY_ID}/why${query}`);

test('a purchase is explained: what is the matter, what happened, how things stand, what comes', async () => {
  const { status, body } = await why();
  expect(status).toBe(200);
  expect(body.purchase).toMatchObject({
    purchaseId: STORY_ID,
    site: 'se',
    reference: 'ORD-1',
    status: 'watching',
    state: { value: 6, name: 'WaitingForCardPayments' },
    registeredBy: 'api',
    polls: 41,
    replica: 'rep_story',
  });
  expect(body.verdict).toMatch(/^Stuck waiting for the card provider for 22 min/);
  expect(body.matters.map(({ code }: { code: string }) => code)).toEqual(['stuck', 'delivery_failing']);
  const told = body.steps.map(({ kind, subscriber, status: is }: Record<string, string>) =>
    [kind, subscriber, is].filter(Boolean).join(' '),
  );
  expect(told).toEqual([
    'registered',
    'transition',
    'delivery shop delivered',
    'transition',
    'delivery shop delivered',
    'stuck',
    'delivery shop pending',
    'attempt shop',
    'attempt shop',
    'attempt shop',
  ]);
  expect(body.steps[3]).toMatchObject({
    from: { value: 0, name: 'New' },
    to: { value: 6 },
    sequence: 2,
    eventId: 'evt_2',
    wrong: false,
  });
  expect(body.steps[7]).toMatchObject({ attempt: 1, outcome: 'http_503', httpStatus: 503, sequence: 3 });
  expect(body.standing.map(({ kind }: { kind: string }) => kind)).toEqual([
    'polled',
    'site',
    'shard',
    'stuck_clock',
    'incident',
    'subscriber',
    'subscriber',
  ]);
  expect(body.next.map(({ kind, reason }: { kind: string; reason?: string }) => reason ?? kind)).toEqual([
    'growth',
    'attempt',
    'give_up',
  ]);
  expect(Date.parse(body.next[0].at)).toBe(Date.parse(body.purchase.nextPollAt));
});

test('for one subscriber only, also one that is told nothing', async () => {
  const { body } = await why('?subscriber=ledger&site=se');
  expect(body.steps.some(({ subscriber }: { subscriber?: string }) => subscriber !== undefined)).toBe(false);
  expect(body.standing.at(-1)).toMatchObject({ kind: 'subscriber', subscriber: 'ledger', reason: 'state' });
});

test.each([
  [
    '?subscriber=shp',
    400,
    'invalid_request',
    /^subscriber: is not a subscriber \(did you mean shop\?\); there are @slack, ledger, shop\.$/,
  ],
  ['?site=fi', 400, 'unknown_site', /site: is not a site/],
  ['?subscribers=shop', 400, 'invalid_request', /subscribers/],
])('what is wrong in %s is said', async (query, status, code, detail) => {
  const answer = await why(query);
  expect([answer.status, answer.body.code]).toEqual([status, code]);
  expect(answer.body.detail).toMatch(detail);
});

test('an incident that is silenced, and looked after, says so', async () => {
  const { sql } = api;
  await sql`update purchase_watch_internal.incidents set acknowledged_at = now() - interval '2 minutes', acknowledged_by = 'Ann'`;
  await sql`
    insert into purchase_watch_internal.silences (starts_at, ends_at, site, kind, state, reason, created_by)
    values (now() - interval '1 hour', '2100-01-01T00:00:00Z', 'se', 'stuck', null, 'A known fault', 'Ann'),
      (now() - interval '1 hour', '2101-01-01T00:00:00Z', null, null, 2, 'Another state', 'Ann'),
      (now() - interval '2 hours', now() - interval '1 hour', null, null, null, 'Over', 'Ann')`;
  const { body } = await why();
  const incident = body.standing.find(({ kind }: { kind: string }) => kind === 'incident');
  expect(incident.text).toMatch(/; acknowledged 2 min ago by Ann; silenced until 2100-01-01 00:00:00Z \(\d+ d.* more\)$/);
  expect(body.verdict).toMatch(/^Stuck waiting .*; its incident is silenced until 2100-01-01 00:00:00Z \(\d+ d.* more\)\./);
});

test('an unknown purchase is not found', async () => {
  const { status, body } = await api.call('GET', '/v1/purchases/nobody/why');
  expect([status, body.code]).toEqual([404, 'purchase_not_found']);
});

test('however much happened, the answer stays small and says what it leaves out', async () => {
  const { sql } = api;
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update purchase_watch.purchases set sequence = 1000 where id = ${id}`;
    await tx`
      insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
      select 'many_' || n, 'purchase.stuck', 'se', ${id}, n, n - 1, 0, 6, now() - interval '5 minutes', '{}' from generate_series(4, 1000) n`;
  });
  const { body, text } = await why('?subscriber=shop');
  expect(body.steps[1]).toMatchObject({ kind: 'more', text: '800 more events that are older and not shown' });
  expect(body.steps.filter(({ kind }: { kind: string }) => kind === 'stuck')).toHaveLength(200);
  expect(text.length).toBeLessThan(200_000);
});
