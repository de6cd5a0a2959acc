/** Which process holds the lock of the embedded Postgres, so that an error blames that process. */
import { readFileSync, statSync } from 'node:fs';

/**
 * The process that holds a lock (flock) on a file, in words; null when no process that can be seen from here holds one: the
 * kernel shows processes of this container alone, and macOS shows none.
 */
export function lockHolder(lockFile: string): string | null {
  const { dev, ino } = statSync(lockFile, { bigint: true });
  // As in `1: FLOCK  ADVISORY  WRITE 16138 fe:00:2146357 0 EOF`: the process, then the device's two numbers and the file's.
  const device = [(dev >> 8n) & 0xfffn, (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n)];
  const file = `${device.map((part) => part.toString(16).padStart(2, '0')).join(':')}:${ino}`;
  const lines = readIfThere('/proc/locks')?.split('\n') ?? [];
  const fields = lines.map((line) => line.split(/\s+/)).find((each) => each[1] === 'FLOCK' && each[5] === file);
  const pid = fields?.[4];
  if (pid === undefined || !(Number(pid) > 0)) return null;
  const name = readIfThere(`/proc/${pid}/comm`)?.trim();
  return name === undefined ? `process ${pid}, or one that it started,` : `process ${pid} (${name})`;
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
