/** What each kind of fault does to the world, and how it ends. */
import type { FaultKind as ServiceFault } from '../../packages/simulator/src/contract/names.ts';
import { holdStill } from '../support/hold-still.ts';
import type { FaultKind, PlannedFault } from './forecast.ts';
import type { Replica, World } from './world.ts';

/** Ends a fault. */
export type Mend = () => Promise<void> | void;
type Begin = (world: World, fault: PlannedFault) => Promise<Mend> | Mend;

/** Purchases in one file. */
const BULK = 5_000;

const LOCKED = [
  'purchase_watch.purchases',
  ...['events', 'deliveries', 'shards', 'replicas', 'purchase_transitions', 'incidents'].map(
    (table) => `purchase_watch_internal.${table}`,
  ),
];
const ODD: readonly ServiceFault[] = ['500', 'reset', 'html', 'null-state', 'string-state', 'empty', '404', 'cut'];
const AWAY = [
  { status: 503 },
  { hang: 'answer' },
  { reset: 'answer' },
  { status: 429, headers: { 'retry-after': '2' } },
] as const;

const oneOf = <T>(values: readonly T[], { draw }: PlannedFault): T => values[Math.floor(draw * values.length)]!;
const struck = (world: World, { replica }: PlannedFault): Replica => world.replicas[replica]!;

const BEGIN: Readonly<Record<FaultKind, Begin>> = {
  'database path held': async (world, fault) => {
    const { database } = struck(world, fault);
    await database.spoil({ kind: 'held' });
    return () => database.spoil(null);
  },
  'database path lost': async (world, fault) => {
    const { database } = struck(world, fault);
    await database.spoil({ kind: 'black hole' });
    return async () => {
      // What was lost on a connection cannot be made up for.
      database.reset();
      await database.spoil(null);
    };
  },
  'database path refused': async (world, fault) => {
    const { database } = struck(world, fault);
    await database.spoil({ kind: fault.draw < 0.5 ? 'closed' : 'refused' });
    return () => database.spoil(null);
  },
  'database path slow': async (world, fault) => {
    const { database } = struck(world, fault);
    await database.spoil({ kind: 'latency', ms: 20 + Math.round(fault.draw * 100) });
    return () => database.spoil(null);
  },
  'database connections reset': (world, fault) => {
    const { database } = struck(world, fault);
    const timer = setInterval(() => database.reset(), 700);
    return () => clearInterval(timer);
  },
  'table locked': (world, fault) =>
    holdTransaction(world, async (tx) => {
      await tx.unsafe(`lock table ${oneOf(LOCKED, fault)} in access exclusive mode`);
    }),
  'long reader': (world) =>
    holdTransaction(world, async (tx) => {
      await tx.unsafe('set transaction isolation level repeatable read');
      await tx.unsafe('select count(*) from purchase_watch_internal.events');
    }),
  'recording refused': async ({ sql }) => {
    await sql`create trigger storm_refuses before update on purchase_watch.purchases for each row execute function storm_refuses()`;
    return async () => {
      await sql`drop trigger storm_refuses on purchase_watch.purchases`;
    };
  },
  'replica frozen': (world, fault) => {
    const child = struck(world, fault).daemon?.process;
    if (child?.pid === undefined || child.exitCode !== null) return () => undefined;
    holdStill(child.pid);
    return () => void child.kill('SIGCONT');
  },
  'replica killed': async (world, fault) => {
    const replica = struck(world, fault);
    await replica.end('SIGKILL');
    return () => void replica.start();
  },
  'database clock forward': (world, fault) => stepClock(world, 1_800 + Math.round(fault.draw * 9_000)),
  'database clock back': (world, fault) => stepClock(world, -1_800 - Math.round(fault.draw * 9_000)),
  'odd answers': (world, fault) => {
    const kind = oneOf(ODD, fault);
    world.simulator.control.fail({ kind, share: 0.25, for: fault.length, only: 'status' });
    return () => world.simulator.control.clearFaults();
  },
  'service throttles': (world) => failAll(world, { kind: '429-seconds', retryAfter: 1 }),
  'service answers nonsense': (world) => failAll(world, { kind: 'html' }),
  'service refuses the credentials': (world, fault) => failAll(world, { kind: fault.draw < 0.5 ? '401' : '403' }),
  'service down': async (world) => {
    await world.simulator.control.down();
    return () => world.simulator.control.up();
  },
  'service slow': (world, fault) => {
    world.simulator.control.setLatency(200 + Math.round(fault.draw * 1_200));
    return () => world.simulator.control.setLatency(0);
  },
  'replica without service': async (world, fault) => {
    const { service } = struck(world, fault);
    await service.spoil({ kind: 'refused' });
    return () => service.spoil(null);
  },
  'receiver away': ({ receivers: { shop } }, fault) => {
    shop.respondAlways(oneOf(AWAY, fault));
    return () => shop.respondAlways({});
  },
  'Slack away': ({ slack }, fault) => {
    slack.respondAlways(oneOf(AWAY, fault));
    return () => slack.respondAlways({});
  },
  // What is written from here on is lost.
  'lossy failover': async (world) => {
    await world.cutStandby();
    return () => world.failOver();
  },
  'older settings': ({ older }, { draw }) => {
    older.start();
    return async () => void (await older.end(draw < 0.5 ? 'SIGTERM' : 'SIGKILL'));
  },
  // A purchase of each shard that is polled without a change, and the oldest deliveries: a transaction that was left open.
  'rows locked': (world) =>
    holdTransaction(world, async (tx) => {
      await tx.unsafe(`select from purchase_watch.purchases where id in
        (select min(id) from purchase_watch.purchases where status = 'watching' and state is not null group by shard) for update skip locked`);
      await tx.unsafe(`select from purchase_watch_internal.deliveries where id in
        (select id from purchase_watch_internal.deliveries where status = 'pending' order by id limit 20) for update skip locked`);
    }),
  'migration behind a reader': async (world) => {
    const release = await holdTransaction(world, async (tx) => {
      await tx.unsafe('select count(*) from purchase_watch.purchases');
    });
    const migrated = world.migrate();
    return async () => {
      await release();
      await migrated;
    };
  },
  'bulk load': ({ shop }) => {
    const loaded = shop.load(BULK);
    return () => loaded;
  },
};

/** Begins a fault; what comes back ends it. */
export async function strike(world: World, fault: PlannedFault): Promise<Mend> {
  return BEGIN[fault.kind](world, fault);
}

function failAll({ simulator }: World, fault: { kind: ServiceFault; retryAfter?: number }): Mend {
  simulator.control.fail({ ...fault, for: '1h' });
  return () => simulator.control.clearFaults();
}

/** Runs `begin` in a transaction that stays open until the fault ends. */
async function holdTransaction(
  world: World,
  begin: (tx: { unsafe(text: string): Promise<unknown> }) => Promise<void>,
): Promise<Mend> {
  const released = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const transaction = world.sql
    .begin(async (tx) => {
      await begin(tx as never);
      held.resolve();
      await released.promise;
    })
    .then(() => undefined, held.reject);
  await held.promise.catch(() => undefined);
  return async () => {
    released.resolve();
    await transaction;
  };
}

function stepClock(world: World, seconds: number): Mend {
  world.stepClock(seconds);
  return () => world.stepClock(0);
}
