/** Tells whether a process of this machine is still the one that once wrote down its identity. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Names this process so that it cannot be mistaken for another: machine and boot, process namespace, pid, start.
 * Without /proc (macOS) the host's name, pid and start time serve.
 */
export function processIdentity(): string {
  return [machine(), process.pid, startOf(process.pid) ?? Math.round(performance.timeOrigin)].join(' ');
}

/** True only when the identity belongs to this machine and its process is certainly gone. */
export function isGone(identity: string): boolean {
  const [where, pidText, start] = identity.split(' ');
  const pid = Number(pidText);
  if (where !== machine() || !Number.isInteger(pid) || pid <= 0) return false;
  const startNow = startOf(pid);
  if (startNow !== null) return startNow !== start;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** The id of the process where the identity belongs to this machine and its process runs; null otherwise. */
export function runningPid(identity: string): number | null {
  const [where, pid] = identity.split(' ');
  return where !== machine() || isGone(identity) ? null : Number(pid);
}

function machine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // Two containers on one machine may each have a process 1: the namespace distinguishes them.
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** The start time of a process in clock ticks since boot, or null when there is no such process or no /proc. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name may hold spaces and parentheses; the fields after its last one are fixed. The 22nd field is the start.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
