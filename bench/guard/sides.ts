/** What the guard measures of a commit: polls at full speed, deliveries, and a daemon that has nothing to do. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, type Lab, webhookTo } from '../lab.ts';
import { spending } from '../measure.ts';
import type { Commit } from './other-commit.ts';
import type { Reading, Side } from './rounds.ts';

const PURCHASES = 20_000;
/** Less than it takes to poll them all once, so that polls are always due. */
const EVERY = 400;
/** One in so many has an event in the outbox of a turn. */
const OUTBOX_EACH = 2;
/** From being resumed to being measured. */
const SETTLE = 500;

/** A commit with the numbers of its purchases: the stand-in must not show one daemon the other one's changes. */
export interface Place {
  readonly commit: Commit;
  readonly from: number;
}

/** A database of the commit's own schema and with the commit's own rows; `dueEach` as in `seed`. */
export async function filled(lab: Lab, { commit, from }: Place, dueEach: number): Promise<Database> {
  const database = await lab.database({ empty: true });
  const { daemon } = await lab.daemon(database, { every: null, file: commit.daemon });
  await daemon.stop();
  await commit.seed.seed(database.sql, { count: PURCHASES, from, dueEach });
  return database;
}

/** Polls with every outcome recorded; one in fifty brings an event with a delivery that is not sent. */
export async function polling(
  lab: Lab,
  { commit }: Place,
  { database, turn }: { database: Database; turn: number },
): Promise<Side> {
  const { daemon } = await lab.daemon(database, { every: EVERY, file: commit.daemon });
  await commit.seed.addSilentSubscriber(database.sql);
  const answered = () => lab.service.ask<number>('answered');
  return {
    turn: async () => {
      daemon.resume();
      await delay(SETTLE);
      const spent = await spending(lab, daemon);
      const before = await answered();
      await delay(turn);
      const polls = (await answered()) - before;
      const used = await spent();
      daemon.pause();
      return {
        'processor time of a poll, daemon': (used.daemonMs / polls) * 1_000,
        'processor time of a poll, Postgres': (used.postgresMs / polls) * 1_000,
        'memory at full speed (RSS)': used.rss / 1e6,
      };
    },
    rest: daemon.pause,
    stop: daemon.stop,
  };
}

/** Deliveries of a prepared outbox. */
export async function delivering(lab: Lab, { commit }: Place, database: Database): Promise<Side> {
  const receiver = await lab.start('receiver');
  const env = await webhookTo(receiver);
  const { daemon } = await lab.daemon(database, { every: null, file: commit.daemon, env });
  return {
    turn: async () => {
      const [{ last }] = await database.sql<[{ last: number }]>`select max(sequence) as last from purchase_watch_internal.events`;
      daemon.resume();
      const outbox = await commit.outbox.fillOutbox(database.sql, receiver, { sequence: last + 1, each: OUTBOX_EACH });
      const spent = await spending(lab, daemon);
      await outbox.drain();
      const used = await spent();
      daemon.pause();
      return {
        'processor time of a delivery, daemon': (used.daemonMs / outbox.deliveries) * 1_000,
        'processor time of a delivery, Postgres': (used.postgresMs / outbox.deliveries) * 1_000,
      };
    },
    rest: daemon.pause,
    stop: async () => void (await Promise.all([daemon.stop(), receiver.stop()])),
  };
}

/** Transactions of a daemon that waits, counted for so long. The daemons of both commits may wait at the same time. */
export async function waiting(database: Database, ms: number): Promise<Reading> {
  const before = { count: await database.transactions(), at: performance.now() };
  await delay(ms);
  const count = (await database.transactions()) - before.count;
  return { 'queries in a minute without work': (count / (performance.now() - before.at)) * 60_000 };
}
