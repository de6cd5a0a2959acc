/**
 * A stand-in for the checkout service, written from its specification alone: it shares no code with what asks it, so
 * that a misreading on one side shows on the other.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Control, createControl } from './control/control.ts';
import { createControlListener } from './control/control-api.ts';
import type { Site } from './purchases/purchase.ts';
import { createPurchases } from './purchases/purchases.ts';
import { createAccess } from './service/access.ts';
import { createCounters } from './service/counters.ts';
import { createFaults } from './service/faults.ts';
import { createService } from './service/server.ts';
import { createRandom } from './values/random.ts';

export interface SimulatorOptions {
  /** 0, the default, is any free port; it stays the same over `down` and `up`. */
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  /** The same seed makes the same purchases, ids included. A demo over a database that is kept needs a new seed each time. */
  readonly seed?: number | undefined;
  /** How much faster than life purchases go; at 60 a minute is a second. */
  readonly timeScale?: number | undefined;
  /** New purchases per minute. */
  readonly load?: number | undefined;
  /** Epoch milliseconds. Everything but `latency` and the timing of faults on the wire follows it. */
  readonly now?: (() => number) | undefined;
  readonly auth?: 'oauth2' | 'basic' | 'both' | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Seconds. */
  readonly tokenLifetime?: number | undefined;
  /** How the token answer gives its lifetime. */
  readonly expiresIn?: 'number' | 'string' | 'absent' | undefined;
  /** The merchant accounts; a time zone that is missing is Europe/Stockholm. */
  readonly sites?: readonly (Omit<Site, 'timeZone'> & { readonly timeZone?: string | undefined })[] | undefined;
  /** So many purchases are kept; beyond, the oldest finished ones are forgotten. */
  readonly keep?: number | undefined;
}

export interface Simulator {
  /** The base address, without a slash at the end. Throws before `start` when the port is not known yet. */
  readonly url: string;
  start(): Promise<void>;
  /** Ends at once, whatever is still being answered. */
  stop(): Promise<void>;
  readonly control: Control;
}

const DEFAULT_SITES: NonNullable<SimulatorOptions['sites']> = [
  { code: 'demo-se', currency: 'SEK', country: 'SWE' },
  { code: 'demo-fi', currency: 'EUR', country: 'FIN' },
];
/** How often the load is looked after; arrivals carry their exact times all the same. */
const ARRIVALS_EVERY_MS = 50;
/** Longer than clients keep idle connections, so that none sends a call into one that is just being closed. */
const KEEP_ALIVE_MS = 120_000;

/** Builds a simulator; nothing listens and no time passes before `start`. */
export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const { host = '127.0.0.1', seed = 1, timeScale = 1, load = 0, now = Date.now, keep = 50_000 } = options;
  const random = createRandom(seed);
  const sites = (options.sites ?? DEFAULT_SITES).map((site) => ({ ...site, timeZone: site.timeZone ?? 'Europe/Stockholm' }));
  const counters = createCounters();
  const purchases = createPurchases({ now, random, timeScale, sites, keep, onForget: counters.forget });
  // Sequences of their own: how often a client asks for a token must not change which purchases come.
  const faults = createFaults(now, createRandom(seed + 1));
  const access = createAccess({
    auth: options.auth ?? 'oauth2',
    clientId: options.clientId ?? 'demo-client',
    clientSecret: options.clientSecret ?? 'demo-secret',
    tokenLifetime: options.tokenLifetime ?? 3_600,
    expiresIn: options.expiresIn ?? 'number',
    now,
    random: createRandom(seed + 2),
  });

  let latencyMs = 0;
  let port = options.port ?? 0;
  let server: Server | null = null;
  let arrivals: NodeJS.Timeout | undefined;
  let outage: NodeJS.Timeout | undefined;
  const service = createService({ now, access, purchases, counters, faults, latency: () => latencyMs });

  async function open(): Promise<void> {
    if (server !== null) return;
    const opening = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      if (isControl(request.url ?? '/')) void controls(request, response);
      else service(request, response);
    });
    await new Promise<void>((done, failed) => opening.once('error', failed).listen({ port, host }, done));
    port = (opening.address() as AddressInfo).port;
    server = opening;
  }

  async function close(): Promise<void> {
    if (server === null) return;
    const closing = server;
    server = null;
    await new Promise((done) => {
      closing.close(done);
      closing.closeAllConnections();
    });
  }

  /** Closes the listener; with a length, the outage ends by itself. */
  async function interrupt(length: number | null): Promise<void> {
    if (server === null) return;
    clearTimeout(outage);
    if (length !== null) outage = setTimeout(reopen, length);
    await close();
  }

  /** Another process may have taken the port in the meantime: then again in a second. */
  async function reopen(): Promise<void> {
    await open().catch(() => {
      outage = setTimeout(reopen, 1_000);
    });
  }

  const control = createControl({
    now,
    sites,
    timeScale,
    purchases,
    access,
    counters,
    faults,
    latency: {
      get: () => latencyMs,
      set: (ms) => {
        latencyMs = ms;
      },
    },
    listener: { open, close: interrupt },
  });
  const controls = createControlListener(control);

  return {
    control,
    get url() {
      if (port === 0) throw new Error('the simulator has no port before it is started');
      return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    },
    async start() {
      await open();
      if (load > 0) purchases.setLoad(load);
      arrivals = setInterval(() => purchases.arrive(), ARRIVALS_EVERY_MS).unref();
    },
    async stop() {
      clearInterval(arrivals);
      clearTimeout(outage);
      await close();
    },
  };
}

function isControl(url: string): boolean {
  return url === '/' || url === '/control' || url.startsWith('/control/') || url.startsWith('/control?');
}
