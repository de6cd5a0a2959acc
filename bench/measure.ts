/** Numbers from a run: medians, percentiles, and what a window of time cost. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Lab, Part } from './lab.ts';
import type { Usage } from './processes/messages.ts';

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The smallest value that so much of all values do not exceed; NaN for none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** What the daemon did in a window, from the rows it wrote, and what that cost. */
export interface Window {
  readonly pollsPerSecond: number;
  /** Of the polls, those that brought an event. */
  readonly changes: number;
  readonly daemonCores: number;
  readonly serviceCores: number;
  readonly postgresCores: number | null;
  readonly daemonRss: number;
  /** Processor time of daemon and Postgres for a thousand polls; null when Postgres' share is not known. */
  readonly cpuMsPerThousand: number | null;
}

/** Counts between two snapshots, and costs between the readings inside them: counting a large table costs something too. */
export async function observe(
  lab: Lab,
  database: Database,
  daemon: Part,
  ms: number,
  counts: (database: Database) => Promise<Counts> = countsOfDaemon,
): Promise<Window> {
  const first = await counts(database);
  const before = await costs(lab, daemon);
  await delay(ms);
  const after = await costs(lab, daemon);
  const last = await counts(database);
  const polls = last.polls - first.polls;
  const pollsPerSecond = (polls / (last.at - first.at)) * 1_000;
  const elapsed = after.at - before.at;
  const cores = (from: number, to: number): number => (to - from) / elapsed;
  const daemonCores = cores(before.daemon.cpuMs, after.daemon.cpuMs);
  const postgresCores = before.postgres === null || after.postgres === null ? null : cores(before.postgres, after.postgres);
  return {
    pollsPerSecond,
    changes: (last.events - first.events) / polls,
    daemonCores,
    serviceCores: cores(before.service.cpuMs, after.service.cpuMs),
    postgresCores,
    daemonRss: after.daemon.rss,
    cpuMsPerThousand: postgresCores === null ? null : ((postgresCores + daemonCores) / pollsPerSecond) * 1e6,
  };
}

/** What was recorded so far. */
export interface Counts {
  /** By the database's own clock, at the moment of its snapshot, in milliseconds. */
  readonly at: number;
  readonly polls: number;
  readonly events: number;
}

async function countsOfDaemon({ sql }: Database): Promise<Counts> {
  const [row] = await sql<[Counts]>`
    select (extract(epoch from statement_timestamp()) * 1000)::float8 as at,
      (select sum(polls)::float8 from purchase_watch.purchases) as polls,
      (select max(position)::float8 from purchase_watch_internal.events) as events`;
  return row;
}

async function costs(lab: Lab, daemon: Part) {
  const [usage, service] = await Promise.all([daemon.usage(), lab.service.usage()]);
  return { at: performance.now(), daemon: usage, service, postgres: lab.postgres() };
}

export interface Spent {
  readonly daemonMs: number;
  /** NaN where that is not known. */
  readonly postgresMs: number;
  /** Of all daemons together, in bytes, at the end. */
  readonly rss: number;
}

/** A function that answers what daemons and Postgres have spent since. */
export async function spending(lab: Lab, ...daemons: readonly Part[]): Promise<() => Promise<Spent>> {
  const read = async () => {
    const usages = await Promise.all(daemons.map((daemon) => daemon.usage()));
    const sum = (of: (usage: Usage) => number): number => usages.reduce((total, usage) => total + of(usage), 0);
    return { cpuMs: sum(({ cpuMs }) => cpuMs), rss: sum(({ rss }) => rss), postgresMs: lab.postgres() ?? Number.NaN };
  };
  const before = await read();
  return async () => {
    const { cpuMs, postgresMs, rss } = await read();
    return { daemonMs: cpuMs - before.cpuMs, postgresMs: postgresMs - before.postgresMs, rss };
  };
}

/** Waits until the condition holds; fails after `ms`. */
export async function until(what: string, condition: () => Promise<boolean>, ms: number, every = 100): Promise<void> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${ms / 1_000} s`);
    await delay(every);
  }
}
