/** Polls recorded a second, beside what merchants would run otherwise: each does the same work in its own way. */
import { setTimeout as delay } from 'node:timers/promises';
import { installOwnPackages } from '../../tools/own-packages.ts';
import { type Bench, type Contender, compete } from '../bench.ts';
import { waits } from '../change.ts';
import { type Database, IN_FLIGHT, type Lab, type Part, SECRET } from '../lab.ts';
import { type Counts, median, observe, percentile, type Window } from '../measure.ts';
import { processCpu } from '../postgres-cpu.ts';
import { machineTime, type Sighting } from '../processes/messages.ts';
import type { Row } from '../report.ts';
import { seed } from '../seed.ts';
import { type Redis, startRedis } from './redis.ts';
import type { PeerSettings } from './settings.ts';
import { countsOfShop, createShop } from './shop.ts';

interface Peer {
  readonly name: string;
  readonly file: URL;
  /** Whose versions matter. */
  readonly packages: readonly string[];
  /** How many times the peer's rate the daemon's is to be. */
  readonly target: number;
  readonly usesRedis?: true;
}

const PEERS: readonly Peer[] = [
  { name: 'pg-boss', file: new URL('./processes/pg-boss.ts', import.meta.url), packages: ['pg-boss', 'pg'], target: 3 },
  {
    name: 'graphile-worker',
    file: new URL('./processes/graphile-worker.ts', import.meta.url),
    packages: ['graphile-worker', 'pg'],
    target: 12,
  },
  {
    name: 'BullMQ',
    file: new URL('./processes/bullmq.ts', import.meta.url),
    packages: ['bullmq', 'ioredis', 'pg'],
    target: 4,
    usesRedis: true,
  },
  {
    name: 'usual script',
    file: new URL('./processes/usual-script.ts', import.meta.url),
    packages: ['pg', 'p-limit'],
    target: 10,
  },
  {
    name: 'undici script',
    file: new URL('./processes/undici-script.ts', import.meta.url),
    packages: ['undici', 'pg', 'p-limit'],
    target: 5,
  },
];

const PURCHASES = 60_000;
/** Less than it takes any of them to poll all purchases once, so that polls are always due. */
const EVERY = 400;
/** How many numbers of purchases each contender has for itself: the stand-in must not show one of them another's changes. */
const RANGE = 1 << 18;
/** Every how-manieth poll of a purchase finds another state. */
const CHANGE_EVERY = 50;
/** From being resumed to being measured. */
const SETTLE = 1_000;
const MOST_WARMING_TURNS = 6;
/** By how much a turn must be quicker for another one to follow. */
const WARMER = 1.15;

/** One that records: its process, its database, and what was measured of it in each round. */
interface Runner extends Contender {
  readonly windows: Window[];
  /** Milliseconds from the answer that showed a change to its webhook, of each round. */
  readonly told: (readonly number[])[];
  /** Cores that Redis took in each round, for the one that uses it. */
  readonly redisCores: number[];
  stop(): Promise<void>;
}

export const peers: Bench = async (lab, { quick, say }) => {
  const versions = installOwnPackages(import.meta.dirname, say);
  const redis = await startRedis();
  const turn = quick ? 1_500 : 5_000;
  await lab.service.ask('reset');
  await lab.service.ask('set', { changeEvery: CHANGE_EVERY, note: false });
  const receiver = await lab.start('receiver');
  const receiverUrl = await receiver.ask<string>('url');
  const turns = { receiver, receiverUrl, turn };
  const daemon = await startDaemon(lab, turns);
  const bare = await startBare(lab, { from: RANGE, turn });
  const others: Runner[] = [];
  for (const [index, peer] of PEERS.entries()) {
    say(`preparing: ${peer.name}`);
    others.push(await startPeer(lab, { ...turns, peer, redis, from: (index + 2) * RANGE }));
  }
  const runners = [daemon, bare, ...others];
  for (const runner of runners) {
    say(`warming up: ${runner.name}`);
    await warmUp(runner);
    runner.windows.splice(0);
    runner.told.splice(0);
    runner.redisCores.splice(0);
  }

  const rounds = quick ? 3 : 7;
  const [, bareStanding, ...standings] = await compete(runners, rounds, say);
  for (const { name, windows } of [daemon, ...others]) {
    const share = median(windows.map(({ changes }) => changes));
    if (!(share > 0.01)) throw new Error(`${name} brought events for ${share * 100} % of its outcomes instead of 2 %`);
  }
  const received = await receiver.ask<number>('received');
  for (const runner of runners) await runner.stop();
  await receiver.stop();
  await redis.stop();
  const named = PEERS.flatMap(({ packages }) => packages).map((name) => `${name} ${versions.get(name)}`);
  return {
    bench: 'peers',
    how: `${PURCHASES} purchases each, always more due than can be asked, medians of ${rounds} rounds in one run, ${received} webhooks; ${[...new Set(named)].join(', ')}`,
    rows: [
      { what: 'bare loop, nothing kept', value: bareStanding!.rate, unit: '/s' },
      ...rowsOf(daemon),
      { what: 'daemon to bare loop', value: 1 / bareStanding!.ratio, unit: 'ratio', atLeast: 0.8 },
      ...PEERS.flatMap(({ name, target }, index): Row[] => [
        ...rowsOf(others[index]!),
        { what: `daemon to ${name}`, value: 1 / standings[index]!.ratio, unit: 'ratio', atLeast: target },
      ]),
    ],
  };
};

/** Turns until one is not much quicker than those before it: code is compiled while it runs. */
async function warmUp({ turn }: Contender): Promise<void> {
  let best = 0;
  for (let turns = 0; turns < MOST_WARMING_TURNS; turns++) {
    const rate = await turn();
    if (rate < best * WARMER) return;
    best = Math.max(best, rate);
  }
}

function rowsOf({ name, windows, told, redisCores }: Runner): Row[] {
  const of = (value: (window: Window) => number | null): number => median(windows.map((window) => value(window) ?? Number.NaN));
  const each = (cores: (window: Window, round: number) => number | null): number =>
    median(windows.map((window, round) => ((cores(window, round) ?? Number.NaN) / window.pollsPerSecond) * 1e6));
  const redis: Row[] =
    redisCores.length === 0
      ? []
      : [{ what: `${name}, processor time of an outcome in Redis`, value: each((_, round) => redisCores[round]!), unit: 'µs' }];
  return [
    { what: `${name}, outcomes recorded`, value: of((window) => window.pollsPerSecond), unit: '/s' },
    { what: `${name}, outcomes that brought an event`, value: of((window) => window.changes * 100), unit: '%' },
    { what: `${name}, change to webhook, p50`, value: median(told.map((took) => percentile(took, 0.5))), unit: 'ms' },
    { what: `${name}, change to webhook, p99`, value: median(told.map((took) => percentile(took, 0.99))), unit: 'ms' },
    { what: `${name}, processor time of an outcome`, value: each((window) => window.daemonCores), unit: 'µs' },
    { what: `${name}, processor time of an outcome in Postgres`, value: each((window) => window.postgresCores), unit: 'µs' },
    ...redis,
    { what: `${name}, memory (RSS)`, value: of((window) => window.daemonRss / 1e6), unit: 'MB' },
  ];
}

interface Turns {
  readonly receiver: Part;
  readonly receiverUrl: string;
  readonly turn: number;
}

async function startDaemon(lab: Lab, { receiver, receiverUrl, turn }: Turns): Promise<Runner> {
  const database = await lab.database();
  await seed(database.sql, { count: PURCHASES, dueEach: 1 });
  const env = { WEBHOOK_URL: receiverUrl, WEBHOOK_SECRET: SECRET, WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8' };
  const { daemon } = await lab.daemon(database, { every: EVERY, env });
  return recording(lab, { name: 'daemon', database, part: daemon, receiver, turn, from: 0, redis: null });
}

async function startPeer(
  lab: Lab,
  {
    peer: { name, file, usesRedis },
    redis,
    receiver,
    receiverUrl,
    turn,
    from,
  }: Turns & { peer: Peer; redis: Redis; from: number },
): Promise<Runner> {
  const database = await lab.database();
  await createShop(database, { from, count: PURCHASES });
  const part = await lab.start(file);
  const settings: PeerSettings = {
    ...{ databaseUrl: database.url, serviceUrl: lab.serviceUrl, receiverUrl, secret: SECRET },
    ...{ inFlight: IN_FLIGHT, every: EVERY, redisPort: redis.port },
  };
  await part.ask('start', settings);
  // The queues' tables were filled a moment ago: without this they would be planned as empty until autovacuum comes by.
  await database.sql`analyze`;
  return recording(lab, {
    ...{ name, database, part, receiver, turn, from },
    counts: countsOfShop,
    redis: usesRedis ? redis : null,
  });
}

interface Recording {
  readonly name: string;
  readonly database: Database;
  readonly part: Part;
  readonly receiver: Part;
  readonly turn: number;
  /** The number of its first purchase. */
  readonly from: number;
  readonly counts?: (database: Database) => Promise<Counts>;
  readonly redis: Redis | null;
}

/** Held still except in its turns: the process goes on where it was. */
function recording(lab: Lab, { name, database, part, receiver, turn, from, counts, redis }: Recording): Runner {
  const windows: Window[] = [];
  const told: (readonly number[])[] = [];
  const redisCores: number[] = [];
  const isOwn = ({ index }: Sighting): boolean => index >= from && index < from + RANGE;
  const redisAt = () => ({ cpuMs: redis === null ? null : processCpu(redis.pid), at: performance.now() });
  part.pause();
  return {
    name,
    windows,
    told,
    redisCores,
    turn: async () => {
      part.resume();
      await delay(SETTLE);
      await receiver.ask('note', true);
      await lab.service.ask('set', { changeEvery: CHANGE_EVERY, note: true });
      const before = redisAt();
      const window = await observe(lab, database, part, turn, counts);
      const after = redisAt();
      const changes = (await lab.service.ask<Sighting[]>('changes')).filter(isOwn);
      const receipts = (await receiver.ask<Sighting[]>('receipts')).filter(isOwn);
      const end = machineTime();
      part.pause();
      await receiver.ask('note', false);
      await lab.service.ask('set', { changeEvery: CHANGE_EVERY, note: false });
      told.push(waits(changes, receipts, end));
      windows.push(window);
      if (redis !== null) redisCores.push(((after.cpuMs ?? Number.NaN) - (before.cpuMs ?? 0)) / (after.at - before.at));
      return window.pollsPerSecond;
    },
    stop: async () => {
      await part.stop();
      await database.drop();
    },
  };
}

async function startBare(lab: Lab, { from, turn }: { from: number; turn: number }): Promise<Runner> {
  const part = await lab.start('bare-polls');
  return {
    name: 'bare loop',
    windows: [],
    told: [],
    redisCores: [],
    turn: async () => {
      const ids = { from, count: PURCHASES };
      const { count, ms } = await part.ask<{ count: number; ms: number }>('run', {
        ...{ url: lab.serviceUrl, ids, inFlight: IN_FLIGHT, ms: turn },
      });
      return (count / ms) * 1_000;
    },
    stop: () => part.stop(),
  };
}
