/** What the flow counts is what was recorded: also of a bulk, by two daemons, and when upkeep folds it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readFlow } from '../../src/actions/flow/flow.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { learnedLimits } from '../../src/postgres/stays/limits.ts';
import { audit } from '../../src/postgres/upkeep/audit.ts';
import { foldAppended } from '../../src/postgres/upkeep/folding.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp({ realClock: true });
});
afterEach(() => t.stop());

test('the hour of a shop with two daemons is counted exactly, its bulk too', async () => {
  const { sql } = t.database;
  const ids = Array.from({ length: 150 }, (_, n) => {
    const rest = n % 3 === 0 ? [{ state: 'WaitingForCardPayments' as const, after: 0, afterPolls: 1 }] : [];
    return t.simulator.control.add({ script: [{ state: n % 2 === 0 ? 'BeingProcessed' : 'Completed' }, ...rest] }).purchaseId;
  });
  await register(
    sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  const other = await t.another();
  await Promise.all([t.app.start(), other.start()]);
  const recorded = () => sql<{ from: number | null; to: number; count: number }[]>`
    select from_state as from, to_state as to, count(*)::float8 as count from purchase_watch_internal.purchase_transitions group by 1, 2 order by 1, 2`;
  const moved = async () => (await recorded()).find(({ from }) => from !== null)?.count ?? 0;
  await expect.poll(async () => (await recorded()).reduce((sum, { count }) => sum + count, 0)).toBeGreaterThanOrEqual(150);
  await expect.poll(moved).toBe(25);
  const limits = await learnedLimits(sql, t.settings.policy);
  const flow = await readFlow(sql, { site: null, limits });
  const edges = flow.edges.map(({ from, to, count }) => ({ from: from?.value ?? null, to: to.value, count }));
  expect(edges.toSorted((a, b) => (a.from ?? 99) - (b.from ?? 99) || a.to - b.to)).toEqual([...(await recorded())]);
  expect(flow.states.map(({ state, watching, came }) => [state.name, watching, came])).toEqual([
    ['BeingProcessed', 50, 75],
    ['Completed', 0, 75],
    ['WaitingForCardPayments', 25, 25],
  ]);
  const ended = async () => {
    await foldAppended(sql);
    return sql`
      select outcome, way, sum(customers)::integer as customers from purchase_watch_internal.outcome_hours group by 1, 2`;
  };
  await expect.poll(ended).toEqual([{ outcome: 'paid', way: null, customers: 75 }]);
  const { outcomes, outcome_hours } = await audit(sql, { site: null, since: null });
  expect([outcomes, outcome_hours]).toMatchObject([{ checked: 75, gaps: 0 }, { gaps: 0 }]);
});
