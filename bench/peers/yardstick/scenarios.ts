/** The faults and pressures that benches of Postgres queues publish. */
import { setTimeout as delay } from 'node:timers/promises';
import type { KillablePostgres } from '../../../test/support/killable-postgres.ts';
import type { Fault, Wire } from '../../../test/support/wire.ts';
import { purchaseId } from '../../processes/messages.ts';
import { type Contender, PURCHASES } from './contenders.ts';

export interface World {
  readonly postgres: KillablePostgres;
  /** Between the contender's process and Postgres. */
  readonly wire: Wire;
  readonly contender: Contender;
}

export interface Scenario {
  readonly name: string;
  /** Begins before all purchases change, or while their webhooks are sent. */
  readonly begins: 'before' | 'amid';
  /** How long it lasts; null: until all webhooks of the changes are there. */
  readonly ms: number | null;
  /** How often all purchases change meanwhile. */
  readonly waves: number;
  /** Makes the trouble; answers how to end it. */
  strike(world: World): Promise<() => Promise<unknown>>;
}

const NOTHING_TO_END = async () => {};

/** Ends any session of the database that is not the bench's. */
const END_ONE_SESSION = `
  select pg_terminate_backend(pid) from (
    select pid from pg_stat_activity where datname = current_database() and application_name <> 'purchase-watch bench' order by random() limit 1) one`;

const onWire =
  (fault: Fault): Scenario['strike'] =>
  async ({ wire }) => {
    await wire.spoil(fault);
    return () => wire.spoil(null);
  };

export const SCENARIOS: readonly Scenario[] = [
  { name: 'no fault', begins: 'before', ms: null, waves: 1, strike: async () => NOTHING_TO_END },
  {
    name: 'process killed, and started again after 1 s',
    begins: 'amid',
    ms: 0,
    waves: 1,
    strike: async ({ contender }) => {
      await contender.kill();
      await delay(1_000);
      return contender.start;
    },
  },
  {
    name: 'Postgres killed, and started again after 5 s',
    begins: 'amid',
    ms: 0,
    waves: 1,
    strike: async ({ postgres }) => {
      await postgres.kill();
      await delay(5_000);
      // It takes connections again.
      await postgres.restart();
      return NOTHING_TO_END;
    },
  },
  {
    name: 'one session of Postgres ended four times a second, for 5 s',
    begins: 'amid',
    ms: 5_000,
    waves: 1,
    strike: async ({ contender: { database } }) => {
      const ending = new AbortController();
      const loop = async (): Promise<void> => {
        for (; !ending.signal.aborted; await delay(250)) await database.sql.unsafe(END_ONE_SESSION);
      };
      const over = loop();
      return () => {
        ending.abort();
        return over;
      };
    },
  },
  { name: 'line to Postgres holds all for 8 s', begins: 'amid', ms: 8_000, waves: 1, strike: onWire({ kind: 'held' }) },
  { name: 'line to Postgres swallows all for 8 s', begins: 'amid', ms: 8_000, waves: 1, strike: onWire({ kind: 'black hole' }) },
  { name: 'Postgres 40 ms away', begins: 'before', ms: null, waves: 1, strike: onWire({ kind: 'latency', ms: 20 }) },
  {
    name: 'one webhook refused for 8 s',
    begins: 'before',
    ms: 8_000,
    waves: 1,
    strike: async ({ contender: { receiver } }) => {
      await receiver.ask('refuseOnly', purchaseId(PURCHASES / 2));
      return () => receiver.ask('refuseOnly', null);
    },
  },
  {
    name: 'a transaction stays open',
    begins: 'before',
    ms: null,
    waves: 5,
    strike: async ({ contender: { database } }) => {
      const [begun, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const over = database.sql.begin(async (tx) => {
        await tx`select pg_current_xact_id()`;
        begun.resolve();
        await ending.promise;
      });
      await Promise.race([begun.promise, over]);
      return () => {
        ending.resolve();
        return over;
      };
    },
  },
  {
    name: 'a million rows of what is done',
    begins: 'before',
    ms: null,
    waves: 1,
    strike: async ({ contender }) => {
      await contender.addHistory();
      return NOTHING_TO_END;
    },
  },
];
