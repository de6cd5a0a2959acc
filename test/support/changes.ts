/** Purchases that go on changing, as polls show it, and the deliveries of it that wait. */
import { expect } from 'vitest';
import { requestPoll } from '../../src/postgres/purchases/purchases.ts';
import type { TestApp } from './test-app.ts';

/** States that a purchase can be in for long without anybody being called stuck or anything being final. */
const STATES = ['New', 'BeingProcessed'] as const;

/** So many purchases that were seen once, with one event each that no subscriber has got yet. */
export async function watchMany(t: TestApp, count: number): Promise<string[]> {
  const ids = await Promise.all(Array.from({ length: count }, () => t.watch({ script: [{ state: STATES[0] }] })));
  keepUp(t);
  await untilSeen(t, ids, () => 1);
  return ids;
}

/** Has each of these purchases seen in another state, `state` or one that is not final: one more event for each. Nothing is delivered. */
export async function change(t: TestApp, purchaseIds: readonly string[], state?: string): Promise<void> {
  const before = await rowsOf(t, purchaseIds);
  for (const [index, { site, purchaseId, current }] of before.entries()) {
    t.simulator.control.setState(purchaseIds[index]!, state ?? STATES[current === 0 ? 1 : 0]);
    await requestPoll(t.app.sql, { site, purchaseId });
  }
  keepUp(t);
  await untilSeen(t, purchaseIds, (index) => before[index]!.sequence + 1);
}

/** What is due "now" is due by the database's clock; the one in the test's hand may have been left behind. */
export function keepUp({ clock }: TestApp): void {
  clock.advance(`${Math.max(Date.now() + 100 - clock.now(), 0)}ms`);
}

/** Polls until each was seen: another replica may own one, and has its own turn. */
async function untilSeen(t: TestApp, purchaseIds: readonly string[], sequence: (index: number) => number): Promise<void> {
  const unseen = async (): Promise<string[]> => {
    await t.app.pollOnce();
    const rows = await rowsOf(t, purchaseIds);
    return purchaseIds.filter((_, index) => rows[index]!.sequence < sequence(index));
  };
  await expect.poll(unseen, { interval: 10 }).toEqual([]);
}

interface Row {
  readonly site: string;
  readonly purchaseId: string;
  readonly current: number | null;
  readonly sequence: number;
}
async function rowsOf(t: TestApp, purchaseIds: readonly string[]): Promise<Row[]> {
  const rows = await t.app.sql<Row[]>`
    select site, purchase_id as "purchaseId", state::integer as current, sequence::integer as sequence
    from purchase_watch.purchases where purchase_id = any(${purchaseIds as string[]}::text[])`;
  const byId = new Map(rows.map((row) => [row.purchaseId, row]));
  return purchaseIds.map((id) => byId.get(id)!);
}

/** How many deliveries of a subscriber there are in each stored status. */
export async function statusesOf(t: TestApp, subscriber: string): Promise<Record<string, number>> {
  const rows = await t.database.sql<{ status: string; n: number }[]>`
    select d.status, count(*)::integer as n from purchase_watch_internal.deliveries d
    join purchase_watch_internal.subscribers s on s.id = d.subscriber where s.name = ${subscriber} group by d.status`;
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}
