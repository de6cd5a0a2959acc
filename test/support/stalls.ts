/** How long this process was kept from its work, which is what moments that it takes down are late by at most. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

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
