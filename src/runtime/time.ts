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

/** Starts a timer that calls `act` once, after `ms` milliseconds. `clearTimeout` stops the timer. */
export const startTimer = (act: () => void, ms: Milliseconds): NodeJS.Timeout => setTimeout(act, ms);

/** Starts a timer that calls `act` every `every` milliseconds. `clearInterval` stops the timer. */
export const startInterval = (act: () => void, every: Milliseconds): NodeJS.Timeout => setInterval(act, every);

/** Calls `act` once the event loop has served the sockets that are ready. */
export const startImmediate = (act: () => void): NodeJS.Immediate => setImmediate(act);

/** A signal that aborts after `ms` milliseconds, with a `TimeoutError`. */
export const timeoutSignal = (ms: Milliseconds): AbortSignal => AbortSignal.timeout(ms);
