/** The merchant: customers whose purchases come at even intervals, each registered with the daemon as a shop does it. */

import type { Sql } from '../../src/postgres/connection/database.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { between, pick, type Random } from '../../src/simulator/values/random.ts';

/** Time in a waiting state after which a purchase is stuck, as the settings of the storm say. */
export const STUCK_AFTER = 20_000;

interface Step {
  readonly state: string;
  readonly after?: number;
}

const seconds = (random: Random, least: number, most: number): number => between(random, least * 1_000, most * 1_000);

const OPENED = (random: Random): Step[] => [{ state: 'New' }, { state: 'BeingProcessed', after: seconds(random, 1, 6) }];
const waiting = (random: Random, state: string, [least, most]: readonly [number, number], end: string): Step[] => [
  ...OPENED(random),
  { state, after: seconds(random, 2, 8) },
  { state: end, after: seconds(random, least, most) },
];

/** Of a hundred customers, how many live so. */
const LIVES: readonly (readonly [number, (random: Random) => Step[]])[] = [
  [55, (random) => waiting(random, 'WaitingForCardPayments', [2, 8], 'Completed')],
  [15, (random) => waiting(random, 'WaitingForIdentityProvider', [2, 8], 'Completed')],
  [8, (random) => waiting(random, 'WaitingForCardPayments', [2, 8], 'Error')],
  [9, (random) => [{ state: 'New' }, { state: 'SessionTimedOut', after: seconds(random, 10, 20) }]],
  [5, (random) => waiting(random, 'WaitingForCardPayments', [STUCK_AFTER / 1_000 + 6, STUCK_AFTER / 1_000 + 15], 'Completed')],
  [8, () => [{ state: 'Completed' }]],
];
const DECK = LIVES.flatMap(([share, life]) => Array.from({ length: share }, () => life));

export interface Shop {
  /** Ids of all purchases so far. */
  readonly ids: readonly string[];
  /** Resolves when all have come and are registered. */
  readonly done: Promise<void>;
}

/** Opens the shop: `purchases` customers within `length` milliseconds. A registration that fails is made again. */
export function openShop(
  { random, simulator, sql }: { random: Random; simulator: Simulator; sql: Sql },
  { purchases, length }: { purchases: number; length: number },
): Shop {
  const ids: string[] = [];
  const rounds = Math.max(Math.ceil(length / 500), 1);
  const run = async (): Promise<void> => {
    for (let round = 1; round <= rounds; round++) {
      const next = performance.now() + 500;
      const wanted = Math.round((purchases * round) / rounds) - ids.length;
      const fresh = Array.from(
        { length: wanted },
        () => simulator.control.add({ script: pick(random, DECK)(random) }).purchaseId,
      );
      ids.push(...fresh);
      await registerAll(sql, fresh);
      await new Promise((resolve) => setTimeout(resolve, Math.max(next - performance.now(), 0)));
    }
  };
  return { ids, done: run() };
}

async function registerAll(sql: Sql, ids: readonly string[]): Promise<void> {
  const rows = ids.map((purchaseId, index) => ({
    purchaseId,
    site: null,
    reference: `order-${index}`,
    metadata: JSON.stringify({ cart: index }),
  }));
  for (;;) {
    const failure = await register(sql, rows).then(
      () => null,
      (error: unknown) => error,
    );
    if (failure === null) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
