/** Webhooks sent and settled a second, beside the queues that merchants send with; the bare loop posts the same signed bytes. */
import { installOwnPackages } from '../../tools/own-packages.ts';
import { type Bench, type Contender, compete } from '../bench.ts';
import { type Database, IN_FLIGHT, type Lab, type Part, SECRET } from '../lab.ts';
import { median, until } from '../measure.ts';
import type { Row } from '../report.ts';
import { openSending } from '../send.ts';
import { type Redis, startRedis } from './redis.ts';
import type { PeerSettings } from './settings.ts';

interface Peer {
  readonly name: string;
  readonly file: URL;
  /** How many times the peer's rate the daemon's is to be; null: no target. */
  readonly target: number | null;
}

const PEERS: readonly Peer[] = [
  { name: 'pg-boss', file: new URL('./processes/pg-boss-send.ts', import.meta.url), target: 1.3 },
  { name: 'graphile-worker', file: new URL('./processes/graphile-worker-send.ts', import.meta.url), target: null },
  { name: 'BullMQ', file: new URL('./processes/bullmq-send.ts', import.meta.url), target: null },
];
const WARMING_TURNS = 3;
const WITHIN = 120_000;

interface Sender extends Contender {
  /** Microseconds of processor time for each webhook, of each turn. */
  readonly costs: { readonly process: number; readonly postgres: number }[];
  stop(): Promise<void>;
}

export const peersSend: Bench = async (lab, { quick, say }) => {
  const versions = installOwnPackages(import.meta.dirname, say);
  const redis = await startRedis();
  const count = quick ? 6_000 : 60_000;
  const sending = await openSending(lab, count);
  const others: Sender[] = [];
  for (const peer of PEERS) others.push(await openPeer(lab, { peer, redis, receiver: sending.receiver, count }));
  const [bareLoop, daemon] = sending.contenders;
  const runners = [daemon, bareLoop, ...others];
  say('warming up');
  for (let turn = 0; turn < WARMING_TURNS; turn++) for (const runner of runners) await runner.turn();
  sending.forget();
  for (const { costs } of others) costs.splice(0);
  const rounds = quick ? 3 : 5;
  const [ours, bare, ...standings] = await compete(runners, rounds, say);
  for (const other of others) await other.stop();
  const ourCosts = sending.costs.map(({ daemon, postgres }) => ({ process: daemon, postgres }));
  await sending.stop();
  await redis.stop();
  const named = ['pg-boss', 'graphile-worker', 'bullmq', 'ioredis', 'pg', 'undici'].map(
    (name) => `${name} ${versions.get(name)}`,
  );
  return {
    bench: 'peers-send',
    how: `${count} webhooks a round, prepared as jobs or deliveries, medians of ${rounds} rounds in one run; ${named.join(', ')}`,
    rows: [
      { what: 'bare loop posting signed bytes', value: bare!.rate, unit: '/s' },
      ...rowsOf('daemon', ours!.rate, ourCosts),
      { what: 'daemon to bare loop', value: 1 / bare!.ratio, unit: 'ratio', atLeast: 0.5 },
      ...PEERS.flatMap(({ name, target }, index): Row[] => [
        ...rowsOf(name, standings[index]!.rate, others[index]!.costs),
        {
          what: `daemon to ${name}`,
          value: 1 / standings[index]!.ratio,
          unit: 'ratio',
          ...(target === null ? {} : { atLeast: target }),
        },
      ]),
    ],
  };
};

function rowsOf(name: string, rate: number, costs: Sender['costs']): Row[] {
  return [
    { what: `${name}, webhooks sent and settled`, value: rate, unit: '/s' },
    { what: `${name}, processor time of a webhook`, value: median(costs.map((each) => each.process)), unit: 'µs' },
    { what: `${name}, processor time of a webhook in Postgres`, value: median(costs.map((each) => each.postgres)), unit: 'µs' },
  ];
}

interface Opened {
  readonly peer: Peer;
  readonly redis: Redis;
  readonly receiver: Part;
  readonly count: number;
}

async function openPeer(lab: Lab, { peer: { name, file }, redis, receiver, count }: Opened): Promise<Sender> {
  const database: Database = await lab.database({ empty: true });
  const part = await lab.start(file);
  const settings: PeerSettings = {
    ...{ databaseUrl: database.url, serviceUrl: lab.serviceUrl, receiverUrl: await receiver.ask<string>('url') },
    ...{ secret: SECRET, inFlight: IN_FLIGHT, every: 0, redisPort: redis.port },
  };
  await part.ask('open', settings);
  const costs: Sender['costs'] = [];
  const spent = async () => ({ process: (await part.usage()).cpuMs, postgres: lab.postgres() ?? Number.NaN });
  return {
    name,
    costs,
    turn: async () => {
      part.resume();
      await part.ask('fill', count);
      const received = await receiver.ask<number>('received');
      const before = await spent();
      const started = performance.now();
      await part.ask('drain');
      await until(`${name} posted all`, async () => (await receiver.ask<number>('received')) >= received + count, WITHIN, 5);
      await until(`${name} settled all`, () => part.ask<boolean>('isDone'), WITHIN, 5);
      const took = performance.now() - started;
      const after = await spent();
      await part.ask('rest');
      part.pause();
      costs.push({
        process: ((after.process - before.process) / count) * 1_000,
        postgres: ((after.postgres - before.postgres) / count) * 1_000,
      });
      return (count / took) * 1_000;
    },
    stop: async () => {
      await part.stop();
      await database.drop();
    },
  };
}
