import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeSiteCalls } from '../../../src/postgres/polling/site-calls.ts';
import { addExits } from '../../support/dwell-days.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ sites: ['default', 'se'] });
});
afterEach(() => api.stop());

test('a site shows its limits, and how long customers stayed', async () => {
  await addExits(api.sql, Date.now(), [
    { site: 'se', state: 6, exits: 40, dwell: 30_000 },
    { site: 'se', state: 6, exits: 20, dwell: 30_000, longest: 120_000, daysAgo: 2 },
    { site: 'se', state: 6, exits: 500, dwell: 900_000, daysAgo: 20 },
    { site: 'se', state: 17, exits: 1, dwell: 5_000 },
    { site: 'default', state: 7, exits: 9, dwell: 5_000 },
  ]);
  const { status, body } = await api.call('GET', '/v1/sites/se');
  expect(status).toBe(200);
  expect(body).toMatchObject({ site: 'se', configured: true });
  expect(body.states.map(({ state }: { state: { name: string } }) => state.name)).toEqual([
    'WaitingForIdentityProvider',
    'WaitingForCardPayments',
    'Unknown(17)',
  ]);
  const [identity, card, unknown] = body.states;
  expect(identity).toMatchObject({ limit: { limitMs: 600_000 }, usual: null, stays: [] });
  expect(card).toMatchObject({ limit: { limitMs: 900_000 }, usual: { purchases: 60 } });
  expect(card.stays.map(({ count }: { count: number }) => count)).toEqual([40, 20]);
  for (const [place, dwell] of [30_000, 120_000].entries()) {
    const { fromMs, belowMs } = card.stays[place];
    expect([fromMs <= dwell, dwell < belowMs]).toEqual([true, true]);
  }
  expect(unknown).toMatchObject({ limit: null, usual: { purchases: 1 } });
});

test('a site shows how each running replica calls it', async () => {
  await api.sql`
    insert into purchase_watch_internal.replicas (id, process, expires_at)
    values ('rep_1', 'test', now() + interval '1 min'), ('rep_gone', 'test', now() - interval '1 s')`;
  const at = Date.UTC(2026, 10, 23, 8);
  const known = { site: 'se', since: at, nextProbeAt: at + 1_000, callsPerSecond: 1.5, ceiling: 25 };
  const token = {
    fetchedAt: at,
    expiresAt: at + 60_000,
    refusedAt: at + 1_000,
    refusal: 'The token endpoint does not accept it.',
  };
  for (const replica of ['rep_1', 'rep_gone'])
    await writeSiteCalls(api.sql, replica, [{ ...known, breaker: 'open', cause: 'throttled', token }]);
  expect((await api.call('GET', '/v1/sites/se')).body.replicas).toEqual([
    {
      replica: 'rep_1',
      writtenAt: expect.stringMatching(/Z$/),
      breaker: {
        ...{ state: 'open', cause: 'throttled', since: '2026-11-23T08:00:00.000Z', nextProbeAt: '2026-11-23T08:00:01.000Z' },
      },
      calls: { perSecond: 1.5, ceiling: 25 },
      token: {
        ...{ fetchedAt: '2026-11-23T08:00:00.000Z', expiresAt: '2026-11-23T08:01:00.000Z' },
        ...{ refusedAt: '2026-11-23T08:00:01.000Z', refusal: 'The token endpoint does not accept it.' },
      },
    },
  ]);
  await writeSiteCalls(api.sql, 'rep_1', [{ ...known, breaker: 'closed', cause: null, nextProbeAt: null, token: null }]);
  expect((await api.call('GET', '/v1/sites/se')).body.replicas).toMatchObject([{ breaker: { state: 'closed' }, token: null }]);
  expect((await api.call('GET', '/v1/sites/default')).body.replicas).toEqual([]);
});

test('one that is no longer configured has no settings; one that there never was is refused with the names that there are', async () => {
  await api.sql`insert into purchase_watch_internal.sites (name, configured) values ('former', false)`;
  expect((await api.call('GET', '/v1/sites/former')).body).toMatchObject({ configured: false, settings: null });
  const { status, body } = await api.call('GET', '/v1/sites/es');
  expect(status).toBe(400);
  expect(body).toMatchObject({ code: 'unknown_site', errors: [{ field: 'site', value: 'es' }] });
});
