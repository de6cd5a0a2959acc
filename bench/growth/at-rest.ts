/** What a daemon costs where much is kept and nothing is due: its start, waiting, and pages of the feed. */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import { AS_MACHINE } from '../../test/support/machine.ts';
import { timesOf, WARMING } from '../answer-times.ts';
import type { Database, Lab } from '../lab.ts';
import { median, spending } from '../measure.ts';
import type { Row } from '../report.ts';
import { eventIdOf, type Size } from './fill.ts';

/** Until what a daemon does once at its start is done. */
const AFTER_START = 15_000;
const STARTS = 3;
const PAGE = 100;

interface Rest {
  readonly name: string;
  readonly size: Size;
  /** How long the daemon is watched while it waits, in milliseconds. */
  readonly ms: number;
  readonly pages: number;
  say(line: string): void;
}

/** A worker that is started several times and then waits; then a daemon with the API, which is asked for pages. */
export async function atRest(lab: Lab, database: Database, rest: Rest): Promise<Row[]> {
  return [...(await waiting(lab, database, rest)), ...(await feedPages(lab, database, rest))];
}

async function waiting(lab: Lab, database: Database, { name, ms, say }: Rest): Promise<Row[]> {
  const starts: number[] = [];
  for (let start = 1; start < STARTS; start++) {
    const { daemon, readyMs } = await lab.daemon(database, { every: null });
    starts.push(readyMs);
    await daemon.stop();
  }
  const { daemon, readyMs } = await lab.daemon(database, { every: null });
  starts.push(readyMs);
  say(`${name}: ready after ${starts.map((start) => start.toFixed(0)).join(', ')} ms`);
  await delay(AFTER_START);
  const idle = await spending(lab, daemon);
  const before = { transactions: await database.transactions(), at: performance.now() };
  await delay(ms);
  const minutes = (performance.now() - before.at) / 60_000;
  const queries = ((await database.transactions()) - before.transactions) / minutes;
  const idled = await idle();
  await daemon.stop();
  return [
    { what: `${name}: daemon ready after, median of ${STARTS} starts`, value: median(starts), unit: 'ms', atMost: 1_000 },
    { what: `${name}: queries a minute without work`, value: queries, unit: '', atMost: 300 },
    { what: `${name}: daemon without work`, value: idled.daemonMs / minutes / 600, unit: '% of a core', atMost: 1 },
    {
      what: `${name}: Postgres without work, its own upkeep included`,
      value: idled.postgresMs / minutes / 600,
      unit: '% of a core',
    },
    { what: `${name}: memory of the daemon without work (RSS)`, value: idled.rss / 1e6, unit: 'MB', atMost: 120 },
  ];
}

async function feedPages(lab: Lab, database: Database, { name, size, pages, say }: Rest): Promise<Row[]> {
  const { daemon } = await lab.daemon(database, { every: null, api: true });
  const url = await daemon.ask<string>('url');
  const agent = new Agent({ connections: 1 });
  const somewhere = (): string =>
    eventIdOf(1 + Math.floor(Math.random() * size.watched), 1 + Math.floor(Math.random() * size.eventsEach));
  const read = await spending(lab, daemon);
  const times = await timesOf(agent, {
    ...{ what: `${name}: feed, ${PAGE} events from anywhere`, times: pages, headers: AS_MACHINE, atMost: 50, say },
    url: () => `${url}/v1/events?limit=${PAGE}&after=${somewhere()}`,
  });
  const spent = await read();
  await agent.close();
  await daemon.stop();
  return [
    ...times,
    { what: `${name}: feed page, processor time of the daemon`, value: spent.daemonMs / (pages + WARMING), unit: 'ms CPU' },
    { what: `${name}: feed page, processor time of Postgres`, value: spent.postgresMs / (pages + WARMING), unit: 'ms CPU' },
  ];
}
