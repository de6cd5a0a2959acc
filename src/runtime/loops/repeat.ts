/** Long-running work: one tick after the other, a rest in between, a wake-up that ends the rest, and a stop. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Clock } from '../clock.ts';

export type Loop = ReturnType<typeof repeat>;

export interface LoopOptions {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Called after a tick that failed; the loop goes on after `restAfterError`. */
  onError(error: unknown): void;
  /** Called after every tick that ended well. */
  onTick?(): void;
  readonly restAfterError?: Milliseconds;
}

/** Repeats `tick` until stopped. A tick answers how long to rest; a failed one never ends the loop. */
export function repeat(tick: () => Promise<Milliseconds>, { clock, onError, onTick, restAfterError = 1_000 }: LoopOptions) {
  let stopped = false;
  let woken = false;
  let rest = new AbortController();
  /** After a failure the rest is kept despite wake-ups: a wake-up must not turn a failing tick into a busy loop. */
  let failed = false;

  const run = async (): Promise<void> => {
    while (!stopped) {
      woken = false;
      failed = false;
      let pause: Milliseconds;
      try {
        pause = await tick();
        onTick?.();
      } catch (error) {
        onError(error);
        pause = restAfterError;
        failed = true;
      }
      if (stopped || (woken && !failed) || pause <= 0) {
        // Lets timers and sockets have their turn even when work never ends.
        await new Promise((resolve) => setImmediate(resolve));
        continue;
      }
      rest = new AbortController();
      await clock.sleep(pause, rest.signal);
    }
  };
  const running = run();
  return {
    /** Ends the present rest; while a tick runs, the next one follows without a rest. */
    wake: (): void => {
      woken = true;
      if (!failed) rest.abort();
    },
    /** Ends after the tick that runs now; resolves when it has. */
    stop: async (): Promise<void> => {
      stopped = true;
      rest.abort();
      await running;
    },
  };
}
