/**
 * The timers and clocks of the process. Every other room takes them from here or from a `Clock`, because the linter refuses them
 * elsewhere (decision 39): a test that runs the product in virtual time then knows all that it must replace.
 */
import type { Instant, Milliseconds } from '../domain/values/time.ts';

export { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

/** Milliseconds that only ever grow, for measuring how long something took. */
export const monotonic = (): Milliseconds => performance.now();

/** The machine's clock, in epoch milliseconds. The database's clock decides what is due: `Clock.now`. */
export const wall = (): Instant => Date.now();

/** Runs an act once, after so many milliseconds. `clearTimeout` takes what this answers. */
export const startTimer = (act: () => void, ms: Milliseconds): NodeJS.Timeout => setTimeout(act, ms);

/** Runs an act every so many milliseconds. `clearInterval` takes what this answers. */
export const startInterval = (act: () => void, every: Milliseconds): NodeJS.Timeout => setInterval(act, every);

/** Runs an act once the event loop has served the sockets that are ready. */
export const startImmediate = (act: () => void): NodeJS.Immediate => setImmediate(act);

/** Aborts after so many milliseconds, with a `TimeoutError`. */
export const timeoutSignal = (ms: Milliseconds): AbortSignal => AbortSignal.timeout(ms);
