/** A daemon that runs, five customers who are stuck at the card payment, and the incident that people were alerted of. */
import { vi } from 'vitest';
import { policyOf } from '../../src/domain/polling/poll-plan.ts';
import { startTestApp, type TestApp } from './test-app.ts';

const CARD = 6;
const CUSTOMERS = 5;

/** Orders ORD-1 to ORD-5, of 100.10 SEK each. Answers the running daemon with its parts, and the incident's id. */
export async function startStuckShop(env: Record<string, string>): Promise<{ t: TestApp; stuck: string }> {
  const t = await startTestApp({
    realClock: true,
    env,
    change: (settings) => {
      // Customers are stuck after a moment, and people are alerted of it at once.
      const poll = { first: 200, growth: 0, most: 200 };
      const card = { ...policyOf(settings.policy, CARD), stuckAfter: 1_000, auto: false, poll };
      settings.policy = { ...settings.policy, states: new Map([...settings.policy.states, [CARD, card]]) };
      settings.slack = { ...settings.slack, groupWait: 0 };
    },
  });
  await t.app.start();
  const { sql } = t.database;
  const seen = (found: () => Promise<unknown>) =>
    vi.waitFor(async () => (await found()) ?? Promise.reject(new Error('not yet')), { timeout: 60_000, interval: 50 });
  for (let each = 1; each <= CUSTOMERS; each++) {
    const id = await t.watch({ script: [{ state: 'New' }], price: '100.10', currency: 'SEK' }, { reference: `ORD-${each}` });
    // A customer who is seen first while waiting was there before the daemon, and counts in no incident.
    await seen(async () => (await t.rowOf(id)).state);
    t.simulator.control.setState(id, 'WaitingForCardPayments');
  }
  const stuck = await seen(async () => {
    const [open] = await sql<{ id: string }[]>`
      select id from purchase_watch_internal.incidents where alerted_at is not null and count = ${CUSTOMERS}`;
    return open?.id;
  });
  return { t, stuck: stuck as string };
}
