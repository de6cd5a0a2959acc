/** The merchant: customers whose purchases come at even intervals, each registered with the daemon as a shop does it, and files. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Simulator } from '../../packages/simulator/src/simulator.ts';
import { between, pick, type Random } from '../../packages/simulator/src/values/random.ts';
import type { Sql } from '../../src/postgres/connection/database.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { startDaemon } from '../support/daemon.ts';

/** Of the second one, an older file of settings knows nothing. */
export const SITES = ['north', 'south'] as const;

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

/** A purchase as the shop has it in its own books. */
interface Order {
  readonly id: string;
  readonly site: string;
  /** When it was made, on this machine's clock; epoch milliseconds. */
  readonly at: number;
  /** From a file, with thousands of others. */
  readonly isBulk: boolean;
}

export interface Shop {
  /** All purchases so far. */
  readonly orders: readonly Order[];
  /** Refusals of registrations that no fault of the database explains. */
  readonly refusals: readonly string[];
  /** Lets so many customers come within `length` milliseconds. Resolves when all have come and are registered. */
  open(business: { purchases: number; length: number }): Promise<void>;
  /** Registers so many purchases from a file, in the way of an operator: the command is run until it succeeds. */
  load(count: number): Promise<void>;
  /** Registers again what was made since, after the database lost it. */
  registerAgain(since: number): Promise<void>;
}

export interface ShopParts {
  readonly random: Random;
  readonly simulator: Simulator;
  /** The database that takes writes at present. */
  readonly sql: () => Sql;
  /** For commands. */
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
}

/** Of so many customers one buys at the other site. */
const AT_THE_OTHER = 4;

export function createShop({ random, simulator, sql, env, folder }: ShopParts): Shop {
  const orders: Order[] = [];
  const refusals: string[] = [];
  const add = (id: string, site: string, isBulk = false): Order => {
    const order = { id, site, at: Date.now(), isBulk };
    orders.push(order);
    return order;
  };
  const registerAll = async (some: readonly Order[]): Promise<void> => {
    const rows = some.map(({ id: purchaseId, site }, index) => ({
      purchaseId,
      site,
      reference: `order-${index}`,
      metadata: JSON.stringify({ cart: index }),
    }));
    for (;;) {
      const failure = await register(sql(), rows).then(
        () => null,
        (error: unknown) => String(error),
      );
      if (failure === null) return;
      if (/\bsite\b/.test(failure)) refusals.push(failure);
      await delay(500);
    }
  };
  return {
    orders,
    refusals,
    open: async ({ purchases, length }) => {
      const rounds = Math.max(Math.ceil(length / 500), 1);
      let count = 0;
      for (let round = 1; round <= rounds; round++) {
        const next = performance.now() + 500;
        const fresh: Order[] = [];
        for (const wanted = Math.round((purchases * round) / rounds); count < wanted; count++) {
          const { purchaseId } = simulator.control.add({ script: pick(random, DECK)(random) });
          fresh.push(add(purchaseId, SITES[count % AT_THE_OTHER === 0 ? 1 : 0]));
        }
        await registerAll(fresh);
        await delay(Math.max(next - performance.now(), 0));
      }
    },
    load: async (count) => {
      const made = simulator.control.addMany(count, { script: [{ state: 'Completed' }] });
      for (const { purchaseId } of made) add(purchaseId, SITES[1], true);
      const file = join(folder, `bulk-${orders.length}.txt`);
      writeFileSync(file, made.map(({ purchaseId }) => `${purchaseId}\n`).join(''));
      const run = () => startDaemon(['watch', '--file', file, '--site', SITES[1], '--json'], env).end('SIGCONT');
      while ((await run()) !== 0) await delay(500);
    },
    registerAgain: (since) => registerAll(orders.filter(({ at }) => at >= since)),
  };
}
