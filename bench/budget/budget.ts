/** What a poll and a delivery cost: work in counts, where processor time goes part by part, and what the daemon waits for meanwhile. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { type Database, IN_FLIGHT, type Lab, type Part, webhookTo } from '../lab.ts';
import { median } from '../measure.ts';
import { fillOutbox } from '../outbox.ts';
import type { Profiled } from '../processes/daemon.ts';
import type { Row } from '../report.ts';
import { addSilentSubscriber, seed } from '../seed.ts';
import { postgresTimes, type TimeByUser } from './postgres-sessions.ts';
import { COUNTED, countWorkOf } from './work.ts';

const PURCHASES = 60_000;
/** At full speed as often as the daemon can; at leisure 200 polls a second. */
const FULL_SPEED: Pace = { piece: 'a poll', purchases: PURCHASES, every: 400, changeEvery: 50 };
const LEISURE: Pace = { piece: 'a poll at leisure', purchases: 4_000, every: 20_000, changeEvery: 50 };
/** Less than this much of a whole is added up as one part. */
const SMALLEST_SHARE = 0.01;
const LOOKS = 20;
const BETWEEN_LOOKS = 100;

interface Pace {
  readonly piece: string;
  readonly purchases: number;
  readonly every: number;
  readonly changeEvery: number;
}

export const budget: Bench = async (lab, { quick, say }) => {
  await lab.service.ask('reset');
  say('polls');
  const polls = await budgetOfPolls(lab, quick, FULL_SPEED);
  say('polls at leisure');
  const atLeisure = await budgetOfPolls(lab, quick, LEISURE);
  say('deliveries');
  const deliveries = await budgetOfDeliveries(lab, quick);
  return {
    bench: 'budget',
    how: `processor time by part, from a profile of the daemon's thread (which slows it) and from /proc; ${IN_FLIGHT} calls in flight at most`,
    rows: [...polls, ...atLeisure, ...deliveries],
  };
};

async function budgetOfPolls(lab: Lab, quick: boolean, { piece, purchases, every, changeEvery }: Pace): Promise<Row[]> {
  await lab.service.ask('set', { changeEvery, note: false });
  const database = await lab.database();
  await seed(database.sql, { count: purchases, dueEach: 1, dueWithin: every });
  const { daemon } = await lab.daemon(database, { every });
  await addSilentSubscriber(database.sql);
  // The first poll of a bulk registration moves its row in the queue, which no later poll has to do.
  const hasFirsts = async (): Promise<boolean> => {
    const [row] = await database.sql<
      [{ has: boolean }]
    >`select exists (select from purchase_watch.purchases where polls = 0) as has`;
    return row.has;
  };
  while (await hasFirsts()) await delay(1_000);
  const count = async (): Promise<number> => {
    const [row] = await database.sql<[{ polls: number }]>`select sum(polls)::float8 as polls from purchase_watch.purchases`;
    return row.polls;
  };
  const first = await count();
  const costs = await costsOf(database, daemon, () => delay(quick ? 3_000 : 10_000));
  const rows = rowsOf(piece, costs, (await count()) - first);
  const window = async (): Promise<number> => {
    const before = await count();
    await delay(quick ? 2_000 : 5_000);
    return (await count()) - before;
  };
  rows.unshift(...(await workOf(piece, { database, daemon, prepare: () => Promise.resolve(window) })));
  rows.push(...(await loadOf(await daemon.ask<string>('url'))));
  await daemon.stop();
  await database.drop();
  return rows;
}

async function budgetOfDeliveries(lab: Lab, quick: boolean): Promise<Row[]> {
  const database = await lab.database();
  await seed(database.sql, { count: quick ? 10_000 : PURCHASES, dueEach: 0 });
  const receiver = await lab.start('receiver');
  const { daemon } = await lab.daemon(database, { every: null, env: await webhookTo(receiver) });
  for (const sequence of [2, 3, 4]) await (await fillOutbox(database.sql, receiver, { sequence })).drain();
  const outbox = await fillOutbox(database.sql, receiver, { sequence: 5 });
  const costs = await costsOf(database, daemon, () => outbox.drain());
  const rows = rowsOf('a delivery', costs, outbox.deliveries);
  let sequence = 5;
  const prepare = async () => {
    sequence += 1;
    const { deliveries, drain } = await fillOutbox(database.sql, receiver, { sequence });
    return () => drain().then(() => deliveries);
  };
  rows.unshift(...(await workOf('a delivery', { database, daemon, prepare })));
  await Promise.all([daemon.stop(), receiver.stop()]);
  await database.drop();
  return rows;
}

interface Counted {
  readonly database: Database;
  readonly daemon: Part;
  /** Makes what is counted, before the count; answers what does the work and tells how many pieces it did. */
  prepare(): Promise<() => Promise<number>>;
}

/** The work of one piece, in counts. Promises are counted apart, because that slows the daemon. */
async function workOf(piece: string, { database: { sql }, daemon, prepare }: Counted): Promise<Row[]> {
  const work = await prepare();
  const counted = await countWorkOf(sql, daemon);
  const pieces = await work();
  const counts = await counted();
  const again = await prepare();
  await daemon.ask('startPromises');
  const others = await again();
  const promises = (await daemon.ask<number>('stopPromises')) / others;
  const row = (what: string, value: number, unit: Row['unit'] = ''): Row => ({ what: `${piece}: ${what}`, value, unit });
  const scavenges = counts.scavenges / (pieces / 10_000);
  return [
    ...COUNTED.filter(([what]) => what !== 'scavenges').map(([what, unit]) => row(what, counts[what] / pieces, unit)),
    row('scavenges, for ten thousand', scavenges),
    row('promises made', promises),
  ];
}

interface Costs {
  readonly daemon: Profiled;
  readonly before: TimeByUser;
  readonly after: TimeByUser;
}

async function costsOf({ sql }: Database, daemon: Part, work: () => Promise<void>): Promise<Costs> {
  await daemon.ask('startProfile');
  const before = await postgresTimes(sql);
  await work();
  const after = await postgresTimes(sql);
  return { daemon: await daemon.ask<Profiled>('stopProfile'), before, after };
}

function rowsOf(piece: string, { daemon, before, after }: Costs, pieces: number): Row[] {
  const times = [...after].map(([user, ms]): [string, number] => [user, (ms - (before.get(user) ?? 0)) * 1_000]);
  return [
    ...shares(`${piece}, daemon`, daemon.parts, pieces),
    { what: `${piece}, daemon: time in which the event loop waited`, value: daemon.idle * 100, unit: '%' },
    ...shares(`${piece}, Postgres`, times, pieces),
  ];
}

/** A row for the whole, one for each part of it, and one for all parts that are too small to matter. */
function shares(whole: string, parts: readonly (readonly [string, number])[], pieces: number): Row[] {
  const sum = parts.reduce((total, [, micros]) => total + micros, 0);
  const large = parts.filter(([, micros]) => micros >= sum * SMALLEST_SHARE).toSorted(([, a], [, b]) => b - a);
  const small = sum - large.reduce((total, [, micros]) => total + micros, 0);
  const row = (what: string, micros: number): Row => ({ what, value: micros / pieces, unit: 'µs' });
  const rest = small > 0 ? [row('  smaller parts', small)] : [];
  return [row(whole, sum), ...large.map(([part, micros]) => row(`  ${part}`, micros)), ...rest];
}

/** What the daemon itself says of its work, in the middle of many looks: whether it waits for answers, or for the database. */
async function loadOf(url: string): Promise<Row[]> {
  const looks: { inFlight: number; unrecorded: number }[] = [];
  for (let look = 0; look < LOOKS; look++) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const gauge = (name: string): number =>
      Number(new RegExp(`^purchase_watch_${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
    looks.push({ inFlight: gauge('polls_in_flight'), unrecorded: gauge('polls_unrecorded') });
    await delay(BETWEEN_LOOKS);
  }
  return [
    { what: 'polls on their way to the service or back', value: median(looks.map(({ inFlight }) => inFlight)), unit: '' },
    { what: 'polls answered and not recorded yet', value: median(looks.map(({ unrecorded }) => unrecorded)), unit: '' },
  ];
}
