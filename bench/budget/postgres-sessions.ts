/** Whose time the processor time of Postgres is: sessions of the daemon by their duty, and Postgres' own processes. */
import { readFileSync } from 'node:fs';
import type { Sql } from '../../src/postgres/connection/database.ts';
import { serverProcesses } from '../postgres-cpu.ts';

/** Milliseconds by who used them; empty where that cannot be read. */
export type TimeByUser = ReadonlyMap<string, number>;

export async function postgresTimes(sql: Sql): Promise<TimeByUser> {
  const sessions = await sql<{ pid: number; name: string }[]>`
    select pid, application_name as name from pg_stat_activity where datname = current_database()`;
  const names = new Map(sessions.map(({ pid, name }) => [pid, name]));
  const times = new Map<string, number>();
  for (const { pid, used } of await serverProcesses(sql)) {
    const user = names.has(pid) ? `sessions named ${names.get(pid)}` : titleOf(pid);
    times.set(user, (times.get(user) ?? 0) + used);
  }
  return times;
}

/** `checkpointer`, `walwriter` and so on, from the title of a process of Postgres. */
function titleOf(pid: number): string {
  try {
    const title = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
    return /^postgres: ([a-z ]+?) *\d* *$/.exec(title)?.[1] ?? 'other sessions';
  } catch {
    return 'processes that ended';
  }
}
