/** How long the demo has run without the times in which a person paused it. */
import type { Milliseconds } from '../../domain/values/time.ts';
import { monotonic } from '../../runtime/time.ts';

export type Stopwatch = ReturnType<typeof createStopwatch>;

/** Starts to count. */
export function createStopwatch(now: () => Milliseconds = monotonic) {
  let began = now();
  let pausedAt: Milliseconds | null = null;
  return {
    elapsed: () => (pausedAt ?? now()) - began,
    isPaused: () => pausedAt !== null,
    /** Pauses, or goes on. */
    toggle: (): void => {
      if (pausedAt !== null) began += now() - pausedAt;
      pausedAt = pausedAt === null ? now() : null;
    },
  };
}
