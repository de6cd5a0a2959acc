/** One namespace: the parts of a service of its own, and the two listeners that answer its requests. */
import { hash } from 'node:crypto';
import type { Settled } from './contract/simulator.ts';
import { createControl, type Parts } from './control/control.ts';
import { createPurchases } from './purchases/purchases.ts';
import { createAccess } from './service/access.ts';
import { createCounters } from './service/counters.ts';
import { createFaults } from './service/faults.ts';
import { createService } from './service/server.ts';
import { createClock } from './values/clock.ts';
import { createRandom } from './values/random.ts';

export type OpenNamespace = ReturnType<typeof openNamespace>;

/**
 * Builds a namespace without purchases; `name` is empty for the one without a name. `load`: new purchases per minute, from the start and
 * after a reset. `url` throws before the port is known.
 */
export function openNamespace({
  name,
  options,
  ...parts
}: { readonly name: string; readonly options: Settled } & Pick<Parts, 'load' | 'listener' | 'url'>) {
  const { now, sites, timeScale } = options;
  // Which purchases come follows from seed and name, in whichever order namespaces begin.
  const seed = name === '' ? options.seed : options.seed ^ hash('sha1', name, 'buffer').readInt32BE();
  const clock = createClock(now);
  const counters = createCounters();
  const purchases = createPurchases({ ...options, now: clock.now }, createRandom(seed), counters.forget);
  // Sequences of their own: how often a client asks for a token must not change which purchases come.
  const faults = createFaults(now, createRandom(seed + 1));
  // Clients measure the life of a token by their own clocks, so nothing but the service's clock ends it.
  const access = createAccess(options, createRandom(seed + 2));
  const latency = { ms: 0 };
  const control = createControl({ ...parts, now, clock, sites, timeScale, purchases, access, counters, faults, latency });
  if (parts.load > 0) control.setLoad(parts.load);
  return {
    name,
    get url() {
      return parts.url();
    },
    control,
    /** Answers the calls of the specification. */
    service: createService({ now, access, purchases, counters, faults, latency }),
    /** Lets the customers of the load arrive who are due by now. */
    arrive: purchases.arrive,
  };
}
