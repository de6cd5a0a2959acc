/** One namespace: the parts of a service of its own, and the two listeners that answer its requests. */
import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Control } from './contract/control.ts';
import type { Namespace } from './contract/simulator.ts';
import { type ControlParts, createControl } from './control/control.ts';
import type { Settled } from './options.ts';
import { createPurchases } from './purchases/purchases.ts';
import { createAccess } from './service/access.ts';
import { createCounters } from './service/counters.ts';
import { createFaults } from './service/faults.ts';
import { createService } from './service/server.ts';
import { createClock } from './values/clock.ts';
import { createRandom } from './values/random.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

export interface OpenNamespace extends Namespace {
  /** Empty for the namespace without a name. */
  readonly name: string;
  /** Answers the calls of the specification. */
  readonly service: Listener;
  /** Lets the customers of the load arrive who are due by now. */
  arrive(): void;
}

export interface NamespaceParts {
  readonly name: string;
  readonly options: Settled;
  /** New purchases per minute, from the start and after a reset. */
  readonly load: number;
  readonly listener: ControlParts['listener'];
  /** The base address of the namespace. Throws before the port is known. */
  readonly url: () => string;
}

/** Builds a namespace without purchases. */
export function openNamespace({ name, options, load, listener, url }: NamespaceParts): OpenNamespace {
  const { now, sites, timeScale, keep } = options;
  // Which purchases come follows from seed and name, in whichever order namespaces begin.
  const seed = name === '' ? options.seed : options.seed ^ hash('sha1', name, 'buffer').readInt32BE();
  const clock = createClock(now);
  const counters = createCounters();
  const random = createRandom(seed);
  const purchases = createPurchases({ now: clock.now, random, timeScale, sites, keep, onForget: counters.forget });
  // Sequences of their own: how often a client asks for a token must not change which purchases come.
  const faults = createFaults(now, createRandom(seed + 1));
  // Clients measure the life of a token by their own clocks, so nothing but the service's clock ends it.
  const access = createAccess({ ...options, random: createRandom(seed + 2) });
  let latencyMs = 0;
  const latency = {
    get: () => latencyMs,
    set: (ms: number) => {
      latencyMs = ms;
    },
  };
  const parts = { now, clock, sites, timeScale, purchases, access, counters, faults, latency, listener, load, url };
  const control: Control = createControl(parts);
  if (load > 0) control.setLoad(load);
  return {
    name,
    get url() {
      return url();
    },
    control,
    service: createService({ now, access, purchases, counters, faults, latency: latency.get }),
    arrive: purchases.arrive,
  };
}
