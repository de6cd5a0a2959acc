/** What happens in a world, drawn from its seed before anything runs, so that a world that fails can be made shorter act by act. */

import { createRandom } from '../world/random.ts';
import { type Act, LIVES, MINUTE } from './act.ts';
import { drawActs } from './draws.ts';

export interface Plan {
  readonly seed: number;
  readonly daemons: number;
  readonly receivers: number;
  /** Milliseconds until everything is mended. */
  readonly lasts: number;
  readonly acts: readonly Act[];
}

/** A pure function of the seed. */
export function planOf(seed: number): Plan {
  const random = createRandom(seed);
  const daemons = 1 + random.below(3);
  const receivers = 1 + random.below(2);
  const lasts = (2 + random.below(6)) * MINUTE;
  const count = 4 + random.below(14);
  const drawn = Array.from({ length: count }, () => drawActs(random, { daemons, receivers, lasts })).flat();
  // A world without purchases shows nothing.
  const first: Act = { at: 2_000, does: 'registers', by: 'sql', life: random.one(LIVES), count: 2 + random.below(4) };
  const acts = [first, ...drawn].toSorted((a, b) => a.at - b.at);
  return { seed, daemons, receivers, ...withIdleTime(acts, lasts) };
}

/** What comes after the moment at which all daemons stop comes after that idle time. */
function withIdleTime(acts: readonly Act[], lasts: number): Pick<Plan, 'acts' | 'lasts'> {
  let idle = 0;
  const shifted = acts.map((act) => {
    const later = { ...act, at: act.at + idle };
    if (act.does === 'stops all') idle += act.lasts;
    return later;
  });
  return { acts: shifted, lasts: lasts + idle };
}
