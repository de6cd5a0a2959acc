/** Stopping a process in the middle of what it does, as one that hangs. */
import { readdirSync, readFileSync } from 'node:fs';

/** Returns once no thread of it runs any more: the signal alone only says that it is to stop. */
export function holdStill(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  if (process.platform !== 'linux') return;
  const until = performance.now() + 20_000;
  while (performance.now() < until) {
    const threads = readdirSync(`/proc/${pid}/task`);
    // Behind the name in parentheses stands the state.
    const states = threads.map((thread) => /\) (\S)/.exec(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'))?.[1]);
    if (states.every((state) => state === 'T' || state === 't')) return;
  }
  throw new Error(`process ${pid} does not stop`);
}
