/** How much processor time the Postgres server has used: all its processes, those that ended too. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Sql } from '../src/postgres/connection/database.ts';

/** Milliseconds so far, or null where that cannot be read: another machine, or a system without /proc. */
export type PostgresCpu = () => number | null;

/** Linux counts in hundredths of a second, whatever the kernel's own tick is. */
const TICK_MS = 10;

/** Times in milliseconds. */
interface Stat {
  readonly command: string;
  readonly parent: number;
  readonly own: number;
  readonly ofEnded: number;
}

export async function postgresCpu(sql: Sql): Promise<PostgresCpu> {
  const [row] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
  const backend = statOf(row.pid);
  if (backend === null || !backend.command.startsWith('postgres')) return () => null;
  const server = backend.parent;
  return () => {
    let used = 0;
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      const stat = statOf(Number(name));
      if (stat === null) continue;
      if (Number(name) === server) used += preciseCpu(server, stat) + stat.ofEnded;
      else if (stat.parent === server) used += preciseCpu(Number(name), stat);
    }
    return used;
  };
}

/** The processes of the server that run now, with the milliseconds of processor time that each has used; none where that cannot be read. */
export async function serverProcesses(sql: Sql): Promise<{ readonly pid: number; readonly used: number }[]> {
  const [row] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
  const backend = statOf(row.pid);
  if (backend === null || !backend.command.startsWith('postgres')) return [];
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.flatMap((name) => {
    const stat = statOf(Number(name));
    return stat?.parent === backend.parent ? [{ pid: Number(name), used: preciseCpu(Number(name), stat) }] : [];
  });
}

/** Milliseconds of processor time that a process has used, or null where that cannot be read. */
export function processCpu(pid: number): number | null {
  const stat = statOf(pid);
  return stat === null ? null : stat.own;
}

/** The same time in nanoseconds where the kernel counts them. Of the main thread alone, which a process of Postgres has no other beside. */
function preciseCpu(pid: number, { own }: Stat): number {
  try {
    const nanoseconds = Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[0]);
    return nanoseconds > 0 ? nanoseconds / 1e6 : own;
  } catch {
    return own;
  }
}

function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const end = text.lastIndexOf(')');
    const fields = text
      .slice(end + 2)
      .split(' ')
      .map(Number);
    // Counted from the state, which is the third field of proc(5).
    const at = (field: number): number => fields[field - 3]!;
    return {
      command: text.slice(text.indexOf('(') + 1, end),
      parent: at(4),
      own: (at(14) + at(15)) * TICK_MS,
      ofEnded: (at(16) + at(17)) * TICK_MS,
    };
  } catch {
    return null;
  }
}
