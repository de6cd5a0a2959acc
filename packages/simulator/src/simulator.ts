/**
 * A stand-in for the checkout service, written from its specification alone: it shares no code with what asks it, so
 * that a misreading on one side shows on the other.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Namespace, RunningSimulator, SimulatorOptions } from './contract/simulator.ts';
import { createControlListener } from './control/api.ts';
import { addressOf } from './control/definitions.ts';
import { problemAnswer } from './control/problems.ts';
import { refuseOtherPages } from './control/web-pages.ts';
import { createNamespaces } from './namespaces.ts';
import { settle } from './options.ts';
import { send } from './service/faulty-answers.ts';

export type { SimulatorOptions } from './contract/simulator.ts';

/** A simulator that may not listen yet. */
export interface Simulator extends RunningSimulator {
  /** The base address, without a slash at the end. Throws before `start` when the port is not known yet. */
  readonly url: string;
  start(): Promise<void>;
}

/** How often the load is looked after; arrivals carry their exact times all the same. */
const ARRIVALS_EVERY_MS = 50;
const WITHOUT_LOAD_MS = 250;
/** Longer than clients keep idle connections, so that none sends a call into one that is just being closed. */
const KEEP_ALIVE_MS = 120_000;

/** Builds a simulator; nothing listens and no time passes before `start`. Throws SimulatorError for options that cannot be used. */
export function createSimulator(given: SimulatorOptions = {}): Simulator {
  const options = settle(given);
  const { host, clientId, clientSecret } = options;
  let { port } = options;
  let arrivals: NodeJS.Timeout | undefined;
  const url = (): string => {
    if (port === 0) throw new Error('the simulator has no port before it is started');
    return `http://${reachable(host)}:${port}`;
  };
  const listener = createListener({
    port: () => port,
    host,
    onOpen: (taken) => {
      port = taken;
    },
    answer: (request, response) => answer(request, response),
  });
  const namespaces = createNamespaces({ options, url, listener: { open: listener.open, close: listener.interrupt } });
  const controls = createControlListener(namespaces);
  const lookAfterLoad = (): void => {
    namespaces.arrive();
    const isLoaded = namespaces.list().some(({ control }) => control.settings().load > 0);
    arrivals = setTimeout(lookAfterLoad, isLoaded ? ARRIVALS_EVERY_MS : WITHOUT_LOAD_MS).unref();
  };

  function answer(request: IncomingMessage, response: ServerResponse): void {
    try {
      refuseOtherPages(request, options);
      const found = namespaces.find(request.url ?? '/');
      if (found === null || isControl(found.path)) return void controls(request, response);
      const { service } = found.namespace(addressOf(request));
      request.url = found.path;
      service(request, response);
    } catch (error) {
      send(response, problemAnswer(error));
    }
  }

  return {
    clientId,
    clientSecret,
    control: namespaces.root.control,
    get url() {
      return url();
    },
    namespace: (name): Namespace => namespaces.named(name),
    resetAll: namespaces.resetAll,
    async start() {
      await listener.open();
      if (arrivals === undefined) lookAfterLoad();
    },
    async stop() {
      clearTimeout(arrivals);
      await listener.stop();
    },
  };
}

/** The socket, which an outage closes for a time. */
function createListener({
  port,
  host,
  onOpen,
  answer,
}: {
  readonly port: () => number;
  readonly host: string;
  readonly onOpen: (port: number) => void;
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
}) {
  let server: Server | null = null;
  let outage: NodeJS.Timeout | undefined;

  async function open(): Promise<void> {
    if (server !== null) return;
    const opening = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, answer);
    await new Promise<void>((done, failed) => opening.once('error', failed).listen({ port: port(), host }, done));
    onOpen((opening.address() as AddressInfo).port);
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

  /** Another process may have taken the port in the meantime: then again in a second. */
  async function reopen(): Promise<void> {
    await open().catch(() => {
      outage = setTimeout(reopen, 1_000);
    });
  }

  return {
    open,
    /** Closes the listener; with a length in milliseconds, the outage ends by itself. */
    async interrupt(length: number | null): Promise<void> {
      if (server === null) return;
      clearTimeout(outage);
      if (length !== null) outage = setTimeout(reopen, length);
      await close();
    },
    async stop(): Promise<void> {
      clearTimeout(outage);
      await close();
    },
  };
}

/** An address that means every network card can be listened at, and not be called. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function isControl(path: string): boolean {
  return (
    path === '/' || path === '/healthz' || path === '/control' || path.startsWith('/control/') || path.startsWith('/control?')
  );
}
