/** What an incident came to: everybody who was stuck in it, how each ended, and how many more were lost than usual. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readAftermath } from '../../src/actions/incidents/aftermath.ts';
import { countAftermath } from '../../src/daemon/upkeep/aftermaths.ts';
import { countErasable, erase } from '../../src/postgres/purchases/erase.ts';
import { findPurchases } from '../../src/postgres/purchases/purchases.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const [MINUTE, DAY] = [60_000, 86_400_000];
/** Polls due within this time are made together. */
const STEP = 15_000;

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp({ env: { STORE_RETENTION_SETTLED: 'forever' } });
});
afterEach(() => t.stop());

/** On each of the days before, 40 customers who came to the card payment at this hour; four of them did not pay. */
async function usualDays(): Promise<void> {
  for (const day of [3, 2, 1])
    await t.database.sql`
      with bought as (
        insert into purchase_watch.purchases (purchase_id, registered_at, state, state_since, seen_at, shard, sequence, status, ended_at)
        select 'usual-' || ${day}::integer || '-' || n, at, case when n % 10 = 0 then 5 else 2 end, at, at, 0, 2, 'settled', at
        from (select n, to_timestamp(${t.clock.now() - day * DAY}::float8 / 1000) + interval '30 s' + n * interval '2 s' as at from generate_series(1, 40) n) c
        returning id, registered_at as at, state)
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
      select b.id, v.sequence, v.follows, v.was, coalesce(v.next, b.state), case when v.follows is not null then b.at end, b.at
      from bought b cross join (values (1, null::integer, null::integer, 6), (2, 1, 6, null)) v (sequence, follows, was, next)`;
}

const AT_CARD = [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '5s' }] as const;
const buy = (reference: string, price: string) => t.watch({ script: [...AT_CARD], price, currency: 'SEK' }, { reference });
async function eraseNow(purchaseId: string): Promise<void> {
  const [row] = await findPurchases(t.app.sql, { purchaseId, site: null });
  const counts = await countErasable(t.app.sql, row!);
  expect(await erase(t.app.sql, row!, { by: 'a test', counts, within: 1_000 })).not.toBeNull();
}
const incidents = () =>
  t.database.sql<
    { id: string; ended: boolean }[]
  >`select id, ended_at is not null as ended from purchase_watch_internal.incidents order by position`;

test('keeps who was stuck, says how each ended and what was lost beyond usual, through corrections and erasure', async () => {
  await usualDays();
  const ids: string[] = [];
  const well: string[] = [];
  for (let n = 0; n < 36; n++) {
    (n % 6 === 5 ? well : ids).push(await buy(`ORD-${n}`, '100.10'));
    if (n % 6 === 5) await t.live(MINUTE);
  }
  // Six get on in time, 30 are stuck.
  for (const id of well) t.simulator.control.setState(id, 'Completed');
  await t.live(20 * MINUTE, 5_000);
  const [open] = await incidents();
  expect((await readAftermath(t.database.sql, open!.id)).customers).toMatchObject({ stuck: 30, open: 30, watched: 30 });
  // Three pay late, two by another purchase, which is no second customer; others get on, so that the incident ends.
  for (const id of ids.slice(0, 3)) t.simulator.control.setState(id, 'Completed');
  for (const id of ids.slice(5, 28)) t.simulator.control.setState(id, 'SessionTimedOut');
  for (const n of [3, 4]) t.simulator.control.setState(await buy(`ORD-${n}`, '100.10'), 'Completed');
  for (let n = 0; n < 60 && !(await incidents())[0]!.ended; n++) {
    const next = await buy(`WELL-${n}`, '10');
    // The database's clock is behind the test's, and old purchases are polled seldom: polls would miss the card payment.
    await t.database
      .sql`update purchase_watch.purchases set watched_since = ${t.clock.now()}::timestamptz where purchase_id = ${next}`;
    await t.live(1.5 * MINUTE);
    t.simulator.control.setState(next, 'Completed');
  }
  const [ended, another] = await incidents();
  expect([ended!.ended, another]).toEqual([true, undefined]);
  await t.app.keepOnce();
  const { id } = ended!;
  const told = await readAftermath(t.database.sql, id);
  expect(told.customers).toEqual({ stuck: 30, paid: 3, paidByAnother: 2, notPaid: 23, open: 2, watched: 2 });
  expect(told.money).toEqual([
    { currency: 'SEK', customers: 30, stuck: '3003.00', wonBack: '500.50', notPaid: '2302.30', open: '200.20' },
  ]);
  expect(told.loss).toMatchObject({ came: 36, paid: 11, open: 2, usual: { customers: 120, paid: 108 } });
  expect(Math.round(told.loss!.customers.about)).toBe(21);
  expect(told.sentence).toMatch(
    /^default: \d+ of 30 customers who got stuck waiting for the card provider did not pay; of all who came then, about 21 \(\d+ to \d+\) more than usual did not pay, worth about 2.120 SEK\.$/,
  );
  expect(told.facts).toBe(
    '30 customers got stuck with 3 003.00 SEK: 3 paid late, 2 paid by another purchase, 23 did not pay, 2 are still open.',
  );
  expect(told.data.find(({ reference }) => reference === 'ORD-3')).toMatchObject({ outcome: 'paid_by_another', price: '100.10' });
  expect(t.slack.received.at(-1)!.text).toContain(told.facts);
  expect(told.text.split('\n').length).toBeLessThanOrEqual(24);
  for (const purchase of ids) expect(told.text).not.toContain(purchase);

  // The shop cancels a paid order, and the two who were open pay.
  await t.database.sql`update purchase_watch.purchases set state = 8, sequence = sequence + 1 where purchase_id = ${ids[0]!}`;
  for (const each of ids.slice(28, 30)) t.simulator.control.setState(each, 'Completed');
  await t.live(11 * MINUTE, STEP);
  while (await countAftermath(t.database.sql, t.clock.now()));
  const later = await readAftermath(t.database.sql, id);
  expect(later.customers).toEqual({ stuck: 30, paid: 4, paidByAnother: 2, notPaid: 24, open: 0, watched: 0 });
  expect(later.loss).toMatchObject({ came: 36, paid: 12, open: 0 });

  // Erased purchases keep end and amount, and nothing that names them; another purchase of the order stays the same customer.
  await eraseNow(ids[1]!);
  await eraseNow(ids[3]!);
  const erased = await readAftermath(t.database.sql, id);
  expect(erased.customers).toEqual(later.customers);
  expect(erased.money).toEqual(later.money);
  // Both came with one poll, and nothing else orders them.
  const nameless = erased.data.filter(({ purchaseId }) => purchaseId === null);
  expect(nameless.toSorted((one, other) => one.outcome.localeCompare(other.outcome))).toMatchObject([
    { outcome: 'paid', reference: null, orderReference: null, price: '100.10', currency: 'SEK' },
    { outcome: 'paid_by_another', reference: null, price: '100.10' },
  ]);
});
