/** What open pages cost: a daemon with nothing to do, and the polls and deliveries of one that is busy. */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { signedIn } from '../test/support/machine.ts';
import type { BenchOptions } from './bench.ts';
import { changesTold } from './change.ts';
import { type Lab, type Part, SECRET } from './lab.ts';
import { median, percentile } from './measure.ts';
import type { Row } from './report.ts';
import { seed } from './seed.ts';

const OPEN_PAGES = 200;
/** Polled at full speed: less than it takes to poll them all once. */
const BUSY = { purchases: 60_000, every: 400, changeEvery: 50 };

interface OpenPages {
  /** How often a page was asked for again so far. */
  refreshed(): number;
  close(): Promise<void>;
}

/** Opens the page of now as often as that: each follows the stream, and is asked for again when the stream says so. */
async function open(url: string): Promise<OpenPages> {
  const streams = new Agent({ connections: OPEN_PAGES, bodyTimeout: 0 });
  const pages = new Agent({ connections: 4 });
  const headers = await signedIn(url);
  let refreshed = 0;
  const refresh = async (): Promise<void> => {
    const { body } = await request(`${url}/`, { dispatcher: pages, headers: { ...headers, 'hx-request': 'true' } });
    await body.dump();
    refreshed += 1;
  };
  for (let page = 0; page < OPEN_PAGES; page++) {
    const { body } = await request(`${url}/live`, { dispatcher: streams, headers });
    body.on('data', (chunk: Buffer) => {
      if (chunk.includes('refresh')) refresh().catch(() => undefined);
    });
    body.on('error', () => undefined);
  }
  return { refreshed: () => refreshed, close: async () => void (await Promise.all([streams.destroy(), pages.destroy()])) };
}

/** What the daemon spends on open pages while nothing happens, beside what it spends without them. */
export async function idlePages(url: string, daemon: Part, ms: number, say: (line: string) => void): Promise<Row> {
  const spent = async (): Promise<number> => {
    const before = await daemon.usage();
    await delay(ms);
    return ((await daemon.usage()).cpuMs - before.cpuMs) / ms;
  };
  const without = await spent();
  const pages = await open(url);
  // A page that opens just after a change looks again for ten seconds.
  await delay(15_000);
  const before = pages.refreshed();
  const beside = await spent();
  say(`open pages, nothing happening: ${pages.refreshed() - before} were asked for again`);
  await pages.close();
  return { what: `${OPEN_PAGES} open pages, nothing happening`, value: (beside - without) * 100, unit: '% of a core', atMost: 5 };
}

/** Polls a second at full speed, and from a change to its webhook, with open pages and without, in turns in one daemon. */
export async function busyPages(lab: Lab, { quick, say }: BenchOptions): Promise<Row[]> {
  await lab.service.ask('reset');
  await lab.service.ask('set', { changeEvery: BUSY.changeEvery, note: false });
  const database = await lab.database();
  await seed(database.sql, { count: BUSY.purchases, dueEach: 1 });
  const receiver = await lab.start('receiver');
  const env = {
    WEBHOOK_URL: await receiver.ask<string>('url'),
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
  };
  const { daemon } = await lab.daemon(database, { every: BUSY.every, api: true, env });
  const url = await daemon.ask<string>('url');
  await delay(quick ? 3_000 : 12_000);
  const ms = quick ? 3_000 : 10_000;
  const turn = () => changesTold(lab, { database, daemon, receiver, changeEvery: BUSY.changeEvery, ms });
  const rounds: { polls: number; p50: number; p99: number }[] = [];
  let refreshed = 0;
  for (let round = 0; round < (quick ? 3 : 5); round++) {
    const without = await turn();
    const pages = await open(url);
    const beside = await turn();
    refreshed += pages.refreshed();
    await pages.close();
    const ratio = (share: number): number => percentile(beside.took, share) / percentile(without.took, share);
    rounds.push({ polls: beside.window.pollsPerSecond / without.window.pollsPerSecond, p50: ratio(0.5), p99: ratio(0.99) });
    say(
      `open pages, round ${round + 1}: ${beside.window.pollsPerSecond.toFixed(0)} polls a second, ${without.window.pollsPerSecond.toFixed(0)} without; ${beside.untold} changes not told`,
    );
  }
  await Promise.all([daemon.stop(), receiver.stop()]);
  await database.drop();
  const of = (value: (round: (typeof rounds)[number]) => number): number => median(rounds.map(value));
  const beside = `beside ${OPEN_PAGES} open pages to those without, at full speed`;
  return [
    { what: `polls a second ${beside}`, value: of(({ polls }) => polls), unit: 'ratio', atLeast: 0.95 },
    { what: `change to webhook, p50, ${beside}`, value: of(({ p50 }) => p50), unit: 'ratio', atMost: 1.1 },
    { what: `change to webhook, p99, ${beside}`, value: of(({ p99 }) => p99), unit: 'ratio', atMost: 1.25 },
    { what: 'pages asked for again meanwhile, a round', value: refreshed / rounds.length, unit: '' },
  ];
}
