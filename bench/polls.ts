/** Polls a second with every outcome recorded, beside a bare loop that keeps nothing. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, compete } from './bench.ts';
import { IN_FLIGHT } from './lab.ts';
import { median, observe, type Window } from './measure.ts';
import { addSilentSubscriber, seed } from './seed.ts';

const PURCHASES = 60_000;
/** Less than it takes to poll them all once, so that polls are always due. */
const EVERY = 400;
/** Where the bare loop's purchases begin: no daemon is notified of their changes. */
const OTHERS = 1 << 21;

export const polls: Bench = async (lab, { quick, say }) => {
  const turn = quick ? 1_500 : 8_000;
  await lab.service.ask('reset');
  await lab.service.ask('set', { changeEvery: 50, note: false });
  const database = await lab.database();
  await seed(database.sql, { count: PURCHASES, dueEach: 1 });
  const bare = await lab.start('bare-polls');
  const ids = { from: OTHERS, count: PURCHASES };
  const runBare = (ms: number) =>
    bare.ask<{ count: number; ms: number }>('run', { url: lab.serviceUrl, ids, inFlight: IN_FLIGHT, ms });
  const { daemon, readyMs } = await lab.daemon(database, { every: EVERY });
  await addSilentSubscriber(database.sql);
  say('warming up');
  // Long enough for each purchase to be polled about once, and for the compiler to have seen it all.
  await delay(quick ? 3_000 : 12_000);
  daemon.pause();
  await runBare(quick ? 1_500 : 3_000);

  const windows: Window[] = [];
  const serviceBeside: number[] = [];
  const bareCpu: number[] = [];
  const standings = await compete(
    [
      {
        name: 'bare loop',
        turn: async () => {
          const [before, own] = await Promise.all([lab.service.usage(), bare.usage()]);
          const { count, ms } = await runBare(turn);
          bareCpu.push((((await bare.usage()).cpuMs - own.cpuMs) / count) * 1_000);
          serviceBeside.push(((await lab.service.usage()).cpuMs - before.cpuMs) / ms);
          return (count / ms) * 1_000;
        },
      },
      {
        name: 'daemon',
        turn: async () => {
          daemon.resume();
          await delay(1_000);
          const window = await observe(lab, database, daemon, turn);
          daemon.pause();
          windows.push(window);
          return window.pollsPerSecond;
        },
      },
    ],
    quick ? 3 : 5,
    say,
  );
  daemon.resume();
  const [late] = await database.sql<[{ count: number }]>`
    select count(*)::float8 as count from purchase_watch.purchases where next_poll_at < now()`;
  const bareRss = (await bare.usage()).rss / 1e6;
  await Promise.all([daemon.stop(), bare.stop()]);
  await database.drop();

  const [reference, ours] = standings;
  const of = (value: (window: Window) => number | null): number => median(windows.map((window) => value(window) ?? Number.NaN));
  return {
    bench: 'polls',
    how: `${PURCHASES} purchases, always more due than can be asked (${late.count} overdue at the end), ${IN_FLIGHT} in flight, medians of ${windows.length} rounds`,
    rows: [
      { what: 'bare loop, nothing kept', value: reference!.rate, unit: '/s' },
      { what: 'daemon, every outcome recorded', value: ours!.rate, unit: '/s' },
      { what: 'daemon to bare loop', value: ours!.ratio, unit: 'ratio', atLeast: 0.8 },
      { what: 'processor time of a poll, bare loop', value: median(bareCpu), unit: 'µs' },
      { what: 'processor time of a poll, daemon', value: of((w) => (w.daemonCores / w.pollsPerSecond) * 1e6), unit: 'µs' },
      {
        what: 'processor time of a poll, Postgres',
        value: of((w) => ((w.postgresCores ?? Number.NaN) / w.pollsPerSecond) * 1e6),
        unit: 'µs',
      },
      { what: 'polls that brought an event', value: of((w) => w.changes * 100), unit: '%' },
      { what: 'daemon', value: of((w) => w.daemonCores), unit: 'cores' },
      { what: 'Postgres', value: of((w) => w.postgresCores), unit: 'cores' },
      { what: 'stand-in beside the daemon', value: of((w) => w.serviceCores), unit: 'cores' },
      { what: 'stand-in beside the bare loop', value: median(serviceBeside), unit: 'cores' },
      { what: 'memory of the bare loop (RSS)', value: bareRss, unit: 'MB' },
      { what: 'memory of the daemon (RSS)', value: of((w) => w.daemonRss / 1e6), unit: 'MB', atMost: 200 },
      { what: 'daemon ready after', value: readyMs, unit: 'ms', atMost: 1_000 },
    ],
  };
};
