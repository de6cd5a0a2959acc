/**
 * Commits events on schedule, at a constant rate, whatever becomes of them: as the daemon's recording does, with their
 * deliveries and notifications. One that comes alone is a transaction of its own; what is planned while a commit is under
 * way goes with the next one. Purchases come in random order, each one's events in theirs.
 */
import type { EventDraft } from '../../src/domain/events/make-event.ts';
import { namedState } from '../../src/domain/purchases/states.ts';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { announcing, type NewEvent } from '../../src/postgres/events/events.ts';
import { createBatcher } from '../../src/runtime/loops/batch.ts';
import { answer } from './answer.ts';
import { type Commit, CYCLE, indexOf, machineTime } from './messages.ts';

export interface ProducerSettings {
  readonly url: string;
  /** The first so many purchases of the database change. */
  readonly purchases: number;
}

interface Changing {
  readonly index: number;
  readonly id: number;
  readonly purchaseId: string;
  readonly site: string;
  readonly shard: number;
  sequence: number;
}

interface Planned {
  readonly event: NewEvent;
  readonly commit: Omit<Commit, 'committed'>;
}

let sql: Sql | null = null;
let changing: Changing[] = [];
let commits: Commit[] = [];
let failure: unknown = null;
let running: { stopped: boolean; done: Promise<void> } | null = null;

const batches = createBatcher<Planned>(
  async (batch) => {
    try {
      await write(batch.map(({ event }) => event));
      const committed = machineTime();
      for (const { commit } of batch) commits.push({ ...commit, committed });
    } catch (error) {
      failure ??= error;
    }
  },
  { most: 100, parallel: 1 },
);

async function write(events: readonly NewEvent[]): Promise<void> {
  await sql!`with ${announcing(sql!, events, sql!`true`)} select count(*) from notified`;
}

/** The next event of any purchase: what a poll would announce that finds another state. */
function next(planned: number): Planned {
  const purchase = changing[Math.floor(Math.random() * changing.length)]!;
  purchase.sequence += 1;
  const { index, id, site, shard, sequence } = purchase;
  return { event: { draft: draftOf(purchase), site, purchase: id, shard }, commit: { index, sequence, planned } };
}

function draftOf({ site, purchaseId, sequence }: Changing): EventDraft {
  const at = Date.now();
  const moment = new Date(at).toISOString();
  const [from, to] = [CYCLE[(sequence - 1) % CYCLE.length]!, CYCLE[sequence % CYCLE.length]!];
  return {
    type: 'purchase.state_changed',
    sequence,
    at,
    state: to,
    data: {
      site,
      purchaseId,
      sequence,
      from: { ...namedState(from) },
      to: { ...namedState(to) },
      notBefore: moment,
      notAfter: moment,
      final: false,
      reference: 'ORD-004711',
      metadata: { cart: 7 },
      price: 249.5,
      currency: 'SEK',
      orderReference: 'ORD-004711',
    },
  };
}

async function keepCommitting(rate: number, state: { readonly stopped: boolean }): Promise<void> {
  const started = machineTime();
  for (let count = 0; !state.stopped && failure === null; ) {
    const planned = started + (count * 1_000) / rate;
    const early = planned - machineTime();
    if (early > 0) {
      await new Promise((resolve) => setTimeout(resolve, early));
    } else {
      batches.add(next(planned));
      count += 1;
    }
  }
  await batches.drain();
}

answer({
  prepare: async ({ url, purchases }: ProducerSettings) => {
    sql = connect(url, { max: 1, name: 'bench producer', steadyPlans: true });
    const rows = await sql<Omit<Changing, 'index'>[]>`
      select p.id::float8 as id, p.purchase_id as "purchaseId", p.site, p.shard, max(e.sequence) as sequence
      from (select * from purchase_watch.purchases order by id limit ${purchases}) p
      join purchase_watch_internal.events e on e.purchase = p.id
      group by p.id, p.purchase_id, p.site, p.shard`;
    changing = rows.map((row) => ({ ...row, index: indexOf(row.purchaseId) }));
    // Planned before anybody counts.
    await write([]);
  },
  begin: (rate: number) => {
    commits = [];
    const state = { stopped: false };
    running = Object.assign(state, { done: keepCommitting(rate, state) });
  },
  /** Ends the schedule, and answers what was committed when. */
  end: async () => {
    if (running !== null) {
      running.stopped = true;
      await running.done;
      running = null;
    }
    if (failure !== null) throw failure;
    return commits;
  },
  close: () => sql?.end({ timeout: 5 }),
});
