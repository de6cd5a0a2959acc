/** Those who do the same work, one after the other: each with a process, a database and a receiver of its own. */
import { findNamed, requestPolls } from '../../../src/postgres/purchases/many.ts';
import { type Database, IN_FLIGHT, type Lab, type Part, SECRET, webhookTo } from '../../lab.ts';
import { until } from '../../measure.ts';
import { purchaseId } from '../../processes/messages.ts';
import { seed } from '../../seed.ts';
import type { PeerSettings } from '../settings.ts';
import { createShop } from '../shop.ts';

/** Purchases of each contender. */
export const PURCHASES = 200;
/** Nothing is due before the bench makes it due. */
const HOUR = 3_600_000;
/** Without it the driver of the peers waits for ever for an answer that is lost. */
const QUERY_TIMEOUT = 10_000;
/** What a receiver takes for a webhook, so that some are under way at any moment. */
const ANSWERS_AFTER = 20;
/** Settled purchases of the history: each has five rows in the daemon's tables, and five jobs that pg-boss keeps. */
const SETTLED = 200_000;

/** What each of them does in its own way. */
export interface Kind {
  readonly name: string;
  open(lab: Lab): Promise<Database>;
  start(lab: Lab, given: { readonly database: Database; readonly receiver: Part; readonly resumes: boolean }): Promise<Part>;
  /** Makes all purchases due that wait for their next poll. */
  makeDue(database: Database): Promise<unknown>;
  /** What a database of months holds: a million rows of what is done, as far as it keeps them. */
  addHistory(database: Database): Promise<unknown>;
}

const daemon: Kind = {
  name: 'purchase-watch',
  open: async (lab) => {
    const database = await lab.database();
    await seed(database.sql, { count: PURCHASES, dueEach: 0 });
    return database;
  },
  start: async (lab, { database, receiver }) => {
    const env = { ...(await webhookTo(receiver)), CHECKOUT_TIMEOUT: '10s' };
    return (await lab.daemon(database, { every: HOUR, env })).daemon;
  },
  makeDue: async ({ sql }) => {
    const names = Array.from({ length: PURCHASES }, (_, index) => ({ site: 'default', purchaseId: purchaseId(index) }));
    await requestPolls(sql, await findNamed(sql, names));
  },
  addHistory: ({ sql }) =>
    sql.begin(async (tx) => {
      // Triggers would take minutes, and only nudge purchases that are due.
      await tx`set local session_replication_role = replica`;
      await tx`
        with purchase as (
          insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, seen_at, last_polled_at, polls, sequence, ended_at, shard)
          select '00000000-0000-4000-8000-' || lpad(to_hex(i), 12, '0'), 'default', 'settled', 2, now(), now(), now(), 4, 1, now(), i % 64
          from generate_series(${PURCHASES}::integer, ${PURCHASES + SETTLED}::integer) as i returning id, shard),
        transition as (
          insert into purchase_watch_internal.purchase_transitions (purchase, sequence, to_state, not_after) select id, 1, 2, now() from purchase),
        details as (insert into purchase_watch_internal.purchase_details (purchase, fields) select id, '{"Price":249.50}' from purchase),
        event as (
          insert into purchase_watch_internal.events (id, type, site, purchase, sequence, shard, state, created_at, body)
          select 'evt_old_' || id, 'purchase.state_changed', 'default', id, 1, shard, 2, now(), '{}' from purchase returning position, purchase, shard)
        insert into purchase_watch_internal.deliveries (event, lane, due_at, settled_at, subscriber, attempts, shard, status)
        select e.position, e.purchase, now(), now(), s.id, 1, e.shard, 'delivered' from event e, purchase_watch_internal.subscribers s`;
    }),
};

function peer(name: string, file: URL, jobs: { readonly makeDue: string; readonly history: string | null }): Kind {
  return {
    name,
    open: async (lab) => {
      const database = await lab.database({ empty: true });
      await createShop(database, { from: 0, count: PURCHASES });
      return database;
    },
    start: async (lab, { database, receiver, resumes }) => {
      const part = await lab.start(file);
      const settings: PeerSettings = {
        ...{
          databaseUrl: `${database.url}&query_timeout=${QUERY_TIMEOUT}`,
          serviceUrl: lab.serviceUrl,
          receiverUrl: await receiver.ask<string>('url'),
          secret: SECRET,
        },
        ...{ inFlight: IN_FLIGHT, every: HOUR, redisPort: 0, isCareful: true, resumes },
      };
      await part.ask('start', settings);
      // A purchase whose poll is under way cannot be made due.
      await until(
        `${name} polled all`,
        async () => (await database.sql`select from shop.purchases where polls = 0 and due_at < 'infinity' limit 1`).length === 0,
        60_000,
      );
      return part;
    },
    makeDue: ({ sql }) => sql.unsafe(jobs.makeDue),
    addHistory: async ({ sql }) => {
      await sql`
        insert into shop.purchases (id, state, due_at)
        select ('00000000-0000-4000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, 2, 'infinity' from generate_series(${PURCHASES}::integer, ${PURCHASES + SETTLED}::integer) as i`;
      if (jobs.history !== null) await sql.unsafe(jobs.history);
    },
  };
}

export const KINDS: readonly Kind[] = [
  daemon,
  peer('pg-boss', new URL('../processes/pg-boss.ts', import.meta.url), {
    makeDue: `update pgboss.job set start_after = now() where name = 'poll' and state = 'created'`,
    history: `
      insert into pgboss.job (name, state, data, started_on, completed_on)
      select 'poll', 'completed', json_build_object('id', gen_random_uuid()), now(), now() from generate_series(1, ${5 * SETTLED})`,
  }),
  peer('graphile-worker', new URL('../processes/graphile-worker.ts', import.meta.url), {
    makeDue: `
      update graphile_worker._private_jobs set run_at = now() where locked_at is null and attempts = 0 and run_at > now();
      select pg_notify('jobs:insert', '{"r":"bench","count":${PURCHASES}}')`,
    // A job that is done is deleted.
    history: null,
  }),
];

export type Contender = Awaited<ReturnType<typeof openContender>>;

/** Opens a contender, whose process reaches Postgres at the port of a line that can be spoiled. */
export async function openContender(lab: Lab, kind: Kind, port: string) {
  await lab.service.ask('reset');
  const database = await kind.open(lab);
  const url = new URL(database.url);
  url.port = port;
  const receiver = await lab.start('receiver');
  await receiver.ask('answerAfter', ANSWERS_AFTER);
  await receiver.ask('note', true);
  const start = (resumes: boolean) => kind.start(lab, { database: { ...database, url: url.href }, receiver, resumes });
  let part = await start(false);
  let exits = 0;
  const startAgain = async (): Promise<void> => {
    part = await start(true);
  };
  return {
    database,
    receiver,
    kill: () => part.kill(),
    start: startAgain,
    /** Starts the process again if it ended by itself, as whatever supervises it would. */
    supervise: async (): Promise<void> => {
      const runs = await part.usage().then(
        () => true,
        () => false,
      );
      if (runs) return;
      exits += 1;
      await startAgain();
    },
    /** How often the process ended by itself. */
    exits: () => exits,
    makeDue: () => kind.makeDue(database),
    addHistory: async (): Promise<void> => {
      await kind.addHistory(database);
      await database.sql`vacuum analyze`;
    },
    close: async (): Promise<void> => {
      await Promise.all([part.kill(), receiver.stop()]);
      await database.drop();
    },
  };
}
