/** What a poll and a delivery cost in databases of several sizes, which take turns. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, type Lab, type Part, webhookTo } from '../lab.ts';
import { median, spending } from '../measure.ts';
import { fillOutbox } from '../outbox.ts';
import type { Row } from '../report.ts';
import { addSilentSubscriber } from '../seed.ts';
import { type Size, setDue } from './fill.ts';

/** As many are polled in turn, however many wait; and as many others have an event in an outbox. */
const HOT = 5_000;
/** Less than it takes to poll the hot ones once, so that polls are always due. */
export const EVERY = 250;
const SETTLE = 1_000;
/** How much dearer a poll or a delivery may be than in the smallest database. */
const AT_MOST = 1.2;

export interface Filled {
  readonly name: string;
  readonly size: Size;
  readonly database: Database;
}

/** Processor time of one piece of work, in microseconds. */
interface Cost {
  readonly daemon: number;
  readonly postgres: number;
  /** Pieces a second. */
  readonly rate: number;
}

export interface Work {
  readonly rounds: number;
  /** How long the polls of a turn are measured, in milliseconds. */
  readonly turn: number;
  readonly warmUp: number;
  say(line: string): void;
}

export async function pollsAtWork(lab: Lab, filled: readonly Filled[], work: Work): Promise<Row[]> {
  const workers: Worker[] = [];
  const rows: Row[] = [];
  for (const each of filled) {
    const { database, name } = each;
    await setDue(database.sql, { first: 1, each: hotEach(each), isDue: true });
    const answered = await lab.service.ask<number>('answered');
    const started = performance.now();
    const { daemon } = await lab.daemon(database, { every: EVERY });
    while ((await lab.service.ask<number>('answered')) === answered) await delay(5);
    rows.push({ what: `${name}: from a new process to its first poll`, value: performance.now() - started, unit: 'ms' });
    await addSilentSubscriber(database.sql);
    await delay(work.warmUp);
    daemon.pause();
    workers.push({ name, daemon, turn: () => pollingTurn(lab, [daemon], work.turn) });
  }
  rows.push(...(await inTurns('poll', workers, work)));
  for (const { database, ...each } of filled) await setDue(database.sql, { first: 1, each: hotEach(each), isDue: false });
  return rows;
}

/** Of so many purchases one is polled at full speed. */
export function hotEach({ size: { watched } }: Pick<Filled, 'size'>): number {
  return Math.floor(watched / HOT);
}

/** Polls of daemons that are at work together, for so long. */
export async function pollingTurn(lab: Lab, daemons: readonly Part[], ms: number): Promise<Cost> {
  await delay(SETTLE);
  const spent = await spending(lab, ...daemons);
  const before = { answered: await lab.service.ask<number>('answered'), at: performance.now() };
  await delay(ms);
  const polls = (await lab.service.ask<number>('answered')) - before.answered;
  const { daemonMs, postgresMs } = await spent();
  const rate = (polls / (performance.now() - before.at)) * 1_000;
  return { daemon: (daemonMs / polls) * 1_000, postgres: (postgresMs / polls) * 1_000, rate };
}

export async function deliveriesAtWork(lab: Lab, filled: readonly Filled[], work: Work): Promise<Row[]> {
  const receiver = await lab.start('receiver');
  const workers: Worker[] = [];
  for (const { name, size, database } of filled) {
    const { daemon } = await lab.daemon(database, { every: null, env: await webhookTo(receiver) });
    let sequence = size.eventsEach;
    const turn = async (): Promise<Cost> => {
      sequence += 1;
      // Row ids that are multiples: none of them is hot, so the sequence of the last event is known.
      const outbox = await fillOutbox(database.sql, receiver, { sequence, each: hotEach({ size }) });
      const spent = await spending(lab, daemon);
      const started = performance.now();
      await outbox.drain();
      const { daemonMs, postgresMs } = await spent();
      const of = (ms: number): number => (ms / outbox.deliveries) * 1_000;
      return {
        daemon: of(daemonMs),
        postgres: of(postgresMs),
        rate: (outbox.deliveries / (performance.now() - started)) * 1_000,
      };
    };
    for (let warming = 0; warming < 3; warming++) await turn();
    daemon.pause();
    workers.push({ name, daemon, turn });
  }
  const rows = await inTurns('delivery', workers, work);
  await receiver.stop();
  return rows;
}

interface Worker {
  readonly name: string;
  readonly daemon: Part;
  turn(): Promise<Cost>;
}

/** Lets one after the other work, round after round, and stops all. */
async function inTurns(piece: string, workers: readonly Worker[], { rounds, say }: Work): Promise<Row[]> {
  const costs = workers.map((): Cost[] => []);
  const takeTurns = async (): Promise<void> => {
    for (const [index, { daemon, turn }] of workers.entries()) {
      daemon.resume();
      costs[index]!.push(await turn());
      daemon.pause();
    }
  };
  // Not counted: what the others did meanwhile has pushed rows out of Postgres' memory, and the last ones have compiled less.
  await takeTurns();
  for (const own of costs) own.splice(0);
  for (let round = 0; round < rounds; round++) {
    await takeTurns();
    const line = workers.map(({ name }, index) => `${name} ${sum(costs[index]![round]!).toFixed(1)} µs`).join(', ');
    say(`a ${piece}, round ${round + 1} of ${rounds}: ${line}`);
  }
  await Promise.all(workers.map(({ daemon }) => daemon.stop()));
  return workers.flatMap(({ name }, index): Row[] => {
    const own = costs[index]!;
    const of = (value: (cost: Cost) => number): number => median(own.map(value));
    const toFirst = median(own.map((cost, round) => sum(cost) / sum(costs[0]![round]!)));
    const ratio: Row = {
      what: `${name}: cost of a ${piece}, to ${workers[0]!.name}`,
      value: toFirst,
      unit: 'ratio',
      atMost: AT_MOST,
    };
    return [
      { what: `${name}: processor time of a ${piece}, daemon`, value: of(({ daemon }) => daemon), unit: 'µs' },
      { what: `${name}: processor time of a ${piece}, Postgres`, value: of(({ postgres }) => postgres), unit: 'µs' },
      { what: `${name}: ${piece === 'poll' ? 'polls' : 'deliveries'}`, value: of(({ rate }) => rate), unit: '/s' },
      ...(index === 0 ? [] : [ratio]),
    ];
  });
}

/** Daemon and Postgres together; the daemon alone where the other part is not known. */
export function sum({ daemon, postgres }: Cost): number {
  return daemon + (Number.isNaN(postgres) ? 0 : postgres);
}
