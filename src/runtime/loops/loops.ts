/** The loops of the daemon by name, each with its health. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { Health } from './health.ts';
import { type Loop, repeat } from './repeat.ts';

export type Loops = ReturnType<typeof createLoops>;

export function createLoops({ clock, log, health }: { clock: Clock; log: Logger; health: Pick<Health, 'good' | 'bad'> }) {
  const loops = new Map<string, Loop>();
  return {
    /** Repeats a tick, which answers how long to rest, under a name. */
    run: (name: string, tick: () => Promise<Milliseconds>): void => {
      let failing = false;
      const loop = repeat(tick, {
        clock,
        onTick: () => {
          if (failing) log.info({ loop: name }, 'loop.recovered');
          failing = false;
          health.good(name);
        },
        onError: (error) => {
          // Logged once, not with every try.
          if (!failing) log.error({ error, loop: name }, 'loop.failed');
          failing = true;
          health.bad(name, error);
        },
      });
      loops.set(name, loop);
    },
    /** Ends the rest of a loop, if there is one of this name. */
    wake: (name: string): void => loops.get(name)?.wake(),
    all: (): [name: string, loop: Loop][] => [...loops],
  };
}
