/** What one rehearsal may cost the daemon. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isoTime } from '../../../src/domain/values/time.ts';
import { PLANS, startTestApi, type TestApi } from '../api.ts';

const HOUR = 60 * 60_000;
const T = Math.floor(Date.now() / HOUR) * HOUR - 24 * HOUR;
const ALL = { from: isoTime(T), to: isoTime(T + 4 * HOUR) };
/** Customers in one state, of whom each thousandth is at another site; a rehearsal goes through 200 000 stays. */
const CUSTOMERS = 200_200;
const AT_OTHER_SITE = 200;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ sites: ['se', 'no'], settings: PLANS });
  await api.sql`alter table purchase_watch.purchases disable trigger user`;
  await api.sql`
    with bought as (
      insert into purchase_watch.purchases (purchase_id, site, registered_at, state, state_since, seen_at, shard, sequence, status, ended_at)
      select 'p-' || n, case when n % 1000 = 0 then 'no' else 'se' end, at, 2, at, at, 0, 2, 'settled', at + interval '25 minutes'
      from generate_series(1, ${CUSTOMERS}::int) n, to_timestamp(${T} / 1000.0 + n * 0.06) at
      returning id, registered_at as at),
    came as (
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
      select id, 1, null, null, 6, null, at from bought)
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
    select id, 2, 1, 6, 2, at + interval '30 seconds', at + interval '35 seconds' from bought`;
  await api.sql`analyze`;
});
afterAll(() => api?.stop());

const rehearse = (json: unknown) => api.call('POST', '/v1/rehearsals', { json });

test('what is too large for the daemon is refused with what to do; one site of it is rehearsed', async () => {
  const { status, body } = await rehearse(ALL);
  expect({ status, code: body.code }).toEqual({ status: 413, code: 'too_large' });
  expect(body.detail).toBe(
    'More than 200 000 stays would have to be gone through. Choose a shorter time or one site, or use the command "purchase-watch rehearse", which may take as long as it needs.',
  );
  const small = await rehearse({ ...ALL, site: 'no' });
  expect({ status: small.status, stays: small.body.stays }).toEqual({ status: 200, stays: AT_OTHER_SITE });
});
