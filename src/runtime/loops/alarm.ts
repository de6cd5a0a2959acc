/** One timer that rings at the earliest of the moments asked for. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Clock } from '../clock.ts';

export interface Alarm {
  /** Rings after so long, unless it rings earlier anyway: setting a timer again each time would cost more than it saves. */
  within(wait: Milliseconds): void;
  cancel(): void;
}

export function createAlarm({ monotonic }: Pick<Clock, 'monotonic'>, ring: () => void): Alarm {
  let timer: { readonly handle: NodeJS.Timeout; readonly at: Milliseconds } | null = null;
  const cancel = (): void => {
    if (timer) clearTimeout(timer.handle);
    timer = null;
  };
  return {
    within: (wait) => {
      const at = monotonic() + wait;
      if (timer && timer.at <= at) return;
      cancel();
      const handle = setTimeout(() => {
        timer = null;
        ring();
      }, wait);
      timer = { handle, at };
    },
    cancel,
  };
}
