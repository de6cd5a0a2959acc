/** Sending a prepared outbox, settled row by row, beside a bare loop that posts the same signed bytes. */
import { type Bench, type Contender, compete } from './bench.ts';
import { IN_FLIGHT, type Lab, type Part, SECRET, webhookTo } from './lab.ts';
import { median } from './measure.ts';
import { EVENT_BODY, EVENT_ID, fillOutbox } from './outbox.ts';
import { signedHeaders } from './processes/signed-headers.ts';
import { seed } from './seed.ts';

/** The daemon that sends an outbox, and the bare loop that posts the same bytes, with what each turn cost. */
export interface Sending {
  /** The bare loop first. */
  readonly contenders: readonly [Contender, Contender];
  readonly receiver: Part;
  /** Microseconds of processor time for each delivery, of each turn since `forget`. */
  readonly costs: readonly { readonly daemon: number; readonly receiver: number; readonly postgres: number }[];
  readonly bareCosts: readonly number[];
  forget(): void;
  stop(): Promise<void>;
}

/** Opens both with `count` purchases, each of which gets one event for each turn. */
export async function openSending(lab: Lab, count: number): Promise<Sending> {
  const database = await lab.database();
  await seed(database.sql, { count, dueEach: 0 });
  const [bare, receiver] = await Promise.all([lab.start('bare-send'), lab.start('receiver')]);
  const url = await receiver.ask<string>('url');
  const { daemon } = await lab.daemon(database, {
    every: null,
    env: await webhookTo(receiver),
  });
  const headers = signedHeaders({ id: EVENT_ID, body: EVENT_BODY, secret: SECRET });
  let sequence = 1;
  const costs: { daemon: number; receiver: number; postgres: number }[] = [];
  const bareCosts: number[] = [];
  const micros = (ms: number): number => (ms / count) * 1_000;
  const cpuMs = async (part: Part): Promise<number> => (await part.usage()).cpuMs;
  const drain = async (): Promise<number> => {
    sequence += 1;
    daemon.resume();
    const outbox = await fillOutbox(database.sql, receiver, { sequence });
    const before = await Promise.all([cpuMs(daemon), cpuMs(receiver), lab.postgres() ?? Number.NaN]);
    const started = performance.now();
    await outbox.drain();
    const took = performance.now() - started;
    costs.push({
      daemon: micros((await cpuMs(daemon)) - before[0]),
      receiver: micros((await cpuMs(receiver)) - before[1]),
      postgres: micros((lab.postgres() ?? Number.NaN) - before[2]),
    });
    daemon.pause();
    return (count / took) * 1_000;
  };
  const post = async (): Promise<number> => {
    const before = await cpuMs(bare);
    const { ms } = await bare.ask<{ ms: number }>('run', { url, headers, body: EVENT_BODY, inFlight: IN_FLIGHT, count });
    bareCosts.push(micros((await cpuMs(bare)) - before));
    return (count / ms) * 1_000;
  };
  return {
    contenders: [
      { name: 'bare loop', turn: post },
      { name: 'daemon', turn: drain },
    ],
    receiver,
    costs,
    bareCosts,
    forget: () => {
      costs.splice(0);
      bareCosts.splice(0);
    },
    stop: async () => {
      await Promise.all([daemon.stop(), bare.stop(), receiver.stop()]);
      await database.drop();
    },
  };
}

export const send: Bench = async (lab, { quick, say }) => {
  const count = quick ? 6_000 : 60_000;
  const sending = await openSending(lab, count);
  say('warming up');
  for (let turn = 0; turn < 3; turn++) for (const contender of sending.contenders) await contender.turn();
  sending.forget();
  const [reference, ours] = await compete(sending.contenders, quick ? 3 : 5, say);
  await sending.stop();
  const { costs, bareCosts } = sending;
  const cost = (part: keyof (typeof costs)[number]): number => median(costs.map((each) => each[part]));
  const bareCost = median(bareCosts);
  return {
    bench: 'send',
    how: `${count} events a round for one subscriber, each of another purchase, ${IN_FLIGHT} in flight`,
    rows: [
      { what: 'bare loop posting signed bytes', value: reference!.rate, unit: '/s' },
      { what: 'daemon, loaded, signed, sent, settled', value: ours!.rate, unit: '/s' },
      { what: 'daemon to bare loop', value: ours!.ratio, unit: 'ratio', atLeast: 0.6 },
      { what: 'processor time of a post, bare loop', value: bareCost, unit: 'µs' },
      { what: 'processor time of a delivery, daemon', value: cost('daemon'), unit: 'µs' },
      { what: 'processor time of a delivery, Postgres', value: cost('postgres'), unit: 'µs' },
      { what: 'processor time of a delivery, receiver', value: cost('receiver'), unit: 'µs' },
      { what: "the bare loop's processor time to the daemon's", value: bareCost / cost('daemon'), unit: 'ratio', atLeast: 0.6 },
    ],
  };
};
