/** Numbers from a run: medians, percentiles, and what a window of time cost. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Lab, Part } from './lab.ts';

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

export async function observe(lab: Lab, database: Database, daemon: Part, ms: number): Promise<Window> {
  const before = await reading(lab, database, daemon);
  await delay(ms);
  const after = await reading(lab, database, daemon);
  const elapsed = after.at - before.at;
  const polls = after.polls - before.polls;
  const postgresMs = before.postgres === null || after.postgres === null ? null : after.postgres - before.postgres;
  const daemonMs = after.daemon.cpuMs - before.daemon.cpuMs;
  return {
    pollsPerSecond: (polls / elapsed) * 1_000,
    changes: (after.events - before.events) / polls,
    daemonCores: daemonMs / elapsed,
    serviceCores: (after.service.cpuMs - before.service.cpuMs) / elapsed,
    postgresCores: postgresMs === null ? null : postgresMs / elapsed,
    daemonRss: after.daemon.rss,
    cpuMsPerThousand: postgresMs === null ? null : ((postgresMs + daemonMs) / polls) * 1_000,
  };
}

async function reading(lab: Lab, { sql }: Database, daemon: Part) {
  // Counted by the database, at the moment its snapshot was taken.
  const [row] = await sql<[{ at: number; polls: number; events: number }]>`
    select (extract(epoch from statement_timestamp()) * 1000)::float8 as at,
      (select sum(polls)::float8 from purchase_watch.purchases where last_polled_at is not null) as polls,
      (select max(position)::float8 from purchase_watch.events) as events`;
  const [usage, service] = await Promise.all([daemon.usage(), lab.service.usage()]);
  return { ...row, daemon: usage, service, postgres: lab.postgres() };
}

/** Waits until the condition holds; fails after `ms`. */
export async function until(what: string, condition: () => Promise<boolean>, ms: number, every = 100): Promise<void> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${ms / 1_000} s`);
    await delay(every);
  }
}
