/** The faults and pressures that benches of Postgres queues publish, made for all contenders at the same moment. */
import { setTimeout as delay } from 'node:timers/promises';
import type { KillablePostgres } from '../../../test/support/killable-postgres.ts';
import type { Fault, Wire } from '../../../test/support/wire.ts';
import { purchaseId } from '../../processes/messages.ts';
import { type Contender, PURCHASES } from './contenders.ts';

export interface World {
  readonly postgres: KillablePostgres;
  /** Between the contenders' processes and Postgres. */
  readonly wire: Wire;
  readonly contenders: readonly Contender[];
}

export interface Scenario {
  readonly name: string;
  /** Begins before all purchases change, or while their webhooks are sent. */
  readonly begins: 'before' | 'amid';
  /** How long it lasts; null: until all webhooks of the waves are there. */
  readonly ms: number | null;
  /** How often all purchases change meanwhile. */
  readonly waves: number;
  /** Makes the trouble; answers how to end it. */
  strike(world: World): Promise<() => Promise<unknown>>;
}

const WAITS_FOR_NOTHING = async () => {};

/** All sessions of a database that are not the bench's. */
const END_ONE_SESSION = `
  select pg_terminate_backend(pid) from (
    select pid from pg_stat_activity where datname = current_database() and application_name <> 'bench' order by random() limit 1) one`;

const onWire =
  (fault: Fault): Scenario['strike'] =>
  async ({ wire }) => {
    await wire.spoil(fault);
    return () => wire.spoil(null);
  };

export const SCENARIOS: readonly Scenario[] = [
  { name: 'nothing', begins: 'before', ms: null, waves: 1, strike: async () => WAITS_FOR_NOTHING },
  {
    name: 'process killed at work',
    begins: 'amid',
    ms: 0,
    waves: 1,
    strike: async ({ contenders }) => {
      await Promise.all(
        contenders.map(async (contender) => {
          await haveSent([contender], PURCHASES * 1.25);
          await contender.crash();
        }),
      );
      return WAITS_FOR_NOTHING;
    },
  },
  {
    name: 'Postgres killed',
    begins: 'amid',
    ms: 5_000,
    waves: 1,
    strike: async ({ postgres }) => {
      await postgres.kill();
      return postgres.restart;
    },
  },
  {
    name: 'sessions ended',
    begins: 'amid',
    ms: 5_000,
    waves: 1,
    strike: async ({ contenders }) => {
      const ending = new AbortController();
      const loops = contenders.map(async ({ database }) => {
        while (!ending.signal.aborted) {
          await database.sql.unsafe(END_ONE_SESSION);
          await delay(250);
        }
      });
      return () => {
        ending.abort();
        return Promise.all(loops);
      };
    },
  },
  { name: 'line held', begins: 'amid', ms: 8_000, waves: 1, strike: onWire({ kind: 'held' }) },
  { name: 'line swallows', begins: 'amid', ms: 8_000, waves: 1, strike: onWire({ kind: 'black hole' }) },
  { name: 'slow database', begins: 'before', ms: null, waves: 1, strike: onWire({ kind: 'latency', ms: 20 }) },
  {
    name: 'one webhook refused',
    begins: 'before',
    ms: 8_000,
    waves: 1,
    strike: async ({ contenders }) => {
      await Promise.all(contenders.map(({ receiver, from }) => receiver.ask('refuseOnly', purchaseId(from + 7))));
      return () => Promise.all(contenders.map(({ receiver }) => receiver.ask('refuseOnly', null)));
    },
  },
  {
    name: 'long transaction',
    begins: 'before',
    ms: null,
    waves: 5,
    strike: async ({ contenders }) => {
      const ending = Promise.withResolvers<void>();
      const held = contenders.map(({ database }) => {
        const begun = Promise.withResolvers<void>();
        const over = database.sql.begin(async (tx) => {
          await tx`select pg_current_xact_id()`;
          begun.resolve();
          await ending.promise;
        });
        over.catch(begun.reject);
        return { begun: begun.promise, over };
      });
      await Promise.all(held.map(({ begun }) => begun));
      return () => {
        ending.resolve();
        return Promise.all(held.map(({ over }) => over));
      };
    },
  },
  {
    name: 'full tables',
    begins: 'before',
    ms: null,
    waves: 1,
    strike: async ({ contenders }) => {
      await Promise.all(contenders.map((contender) => contender.addHistory()));
      return WAITS_FOR_NOTHING;
    },
  },
];

/** Waits until one of these has so many webhooks. */
export async function haveSent(contenders: readonly Contender[], count: number): Promise<void> {
  for (;;) {
    const noted = await Promise.all(contenders.map(({ receiver }) => receiver.ask<number>('noted')));
    if (noted.some((each) => each >= count)) return;
    await delay(5);
  }
}
