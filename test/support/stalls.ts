/** How long this process was kept from its work, which is what moments that it takes down are late by at most. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface Stalls {
  /** The longest since the start, in seconds. */
  longest(): number;
  stop(): void;
}

/**
 * For ceilings of calls per second that are counted where calls arrive: after a stall those that left during it are counted
 * at once, so that a second holds what left in a second and the stall.
 */
export function watchStalls(): Stalls {
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();
  return { longest: () => delays.max / 1e9, stop: () => void delays.disable() };
}

/**
 * The longest turn of this process's event loop in seconds of processor time, which other processes of the machine do not lengthen;
 * `longest` ends the watch.
 */
export function watchTurns(): { longest(): Promise<number> } {
  let isOver = false;
  const watch = async (): Promise<number> => {
    let most = 0;
    while (!isOver) {
      const before = process.threadCpuUsage();
      await nextTurn();
      const { user, system } = process.threadCpuUsage(before);
      most = Math.max(most, (user + system) / 1e6);
    }
    return most;
  };
  const watched = watch();
  return {
    longest: () => {
      isOver = true;
      return watched;
    },
  };
}
