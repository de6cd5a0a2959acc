/** The socket: listens, and ends promptly. */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';
import { AppError } from '../../domain/values/errors.ts';
import { startInterval, startTimer } from '../../runtime/time.ts';
import { limitConnections, STRANGERS, type StrangersTurn } from '../limits/connections.ts';
import { endWithAnswer, isTooLate, type LingerLimits, lingerBeforeClose } from '../limits/linger.ts';
import type { Caller } from './caller.ts';
import { Problem, problemFrom, problemResponse, problemText } from './problems.ts';

export type ApiServer = Awaited<ReturnType<typeof serveApi>>;

/** Handed to handlers beside the request. */
export interface ApiBindings {
  /** Aborted when the server closes: handlers that wait answer now. Absent without a server. */
  readonly closing?: AbortSignal;
  /** The other end of the connection. Absent without a server, and once the connection is gone. */
  readonly address?: string | undefined;
  /** Who asks, where this process has checked that already; a request from outside never has it. */
  readonly caller?: Caller;
  /** By which door a request came in; the API itself when absent. */
  readonly via?: 'console';
  /** Takes an answer's value in place of its JSON, where the asker is in this process; it must not change it. */
  readonly take?: (value: unknown) => void;
}

export interface ServedApp {
  fetch(request: Request, bindings: ApiBindings): Response | Promise<Response>;
}

/** How long answers under way may take after the close began. */
const GRACE = 2_000;

/** How long clients may take before their connection is closed. */
const TIMES = {
  /** Sending the head of a request. */
  head: 20_000,
  /** Sending all of it. */
  request: 60_000,
  /** Sending all of it, for a caller who is not known. */
  stranger: 5_000,
  /** Resting between two requests: longer than in proxies (60 s as a rule), for one that reuses a connection just closed here gets an error. */
  rest: 65_000,
  /** Taking nothing of an answer. */
  stall: 60_000,
  /** How often connections are looked at that are over their time. */
  lookEvery: 5_000,
};
const MOST_CONNECTIONS = 1_000;
/** Connections that wait to be accepted. Beyond them the kernel drops a newcomer, who tries again after 1, 3, 7 … seconds. */
const BACKLOG = 4_096;
/** Answered however many requests are under way. */
const OF_OPERATORS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** Connections with a request under way. */
  readonly connections?: number;
  /** Connections in all. */
  readonly room?: number;
  readonly times?: Partial<typeof TIMES>;
  /** Whether a request is from a caller who is known by its head; every caller is unless given. */
  readonly isKnown?: (headers: IncomingHttpHeaders) => boolean;
  /** How long, and for how many bytes, a connection is read on whose answer left before its request had come in whole. */
  readonly linger?: LingerLimits;
  /** Called for each connection that was closed for another one, and for each request that was refused. */
  readonly onCrowded?: () => void;
  /** Answers where the app threw: apps answer their failures, so that is a fault. `address` is the other end of the connection. */
  readonly onFailure?: (error: unknown, request: Request, address: string | undefined) => Promise<Response>;
}

/** Serves the app. Throws AppError, with what to do, when it cannot listen there. */
export async function serveApi(app: ServedApp, options: ServeOptions) {
  const {
    host,
    port,
    connections = MOST_CONNECTIONS,
    room = connections + 64,
    linger,
    onCrowded = () => undefined,
    onFailure = async (error) => problemResponse(problemFrom(error)),
  } = options;
  let { isKnown = () => true } = options;
  const times = { ...TIMES, ...options.times };
  let closing = new AbortController();
  let served = app;
  const answer = async (request: Request, { rawHeaders, socket }: IncomingMessage): Promise<Response> => {
    if (namesSeveralHosts(rawHeaders)) return problemResponse(badAddress());
    if (!open.isFull() || OF_OPERATORS.has(new URL(request.url).pathname))
      return served.fetch(request, { closing: closing.signal, address: socket.remoteAddress });
    onCrowded();
    return problemResponse(crowded(connections));
  };
  const answerEnding = async (request: Request, { incoming, outgoing }: HttpBindings): Promise<Response> => {
    const response = await answer(request, incoming).catch((error: unknown) => {
      if (error instanceof RequestError) throw error;
      return onFailure(error, request, incoming.socket.remoteAddress);
    });
    await endWithAnswer(incoming, outgoing);
    return response;
  };
  const listener = getRequestListener((request, bindings) => answerEnding(request, bindings as HttpBindings), {
    // The process's own Request and Response belong to everybody in it.
    overrideGlobalObjects: false,
    errorHandler: () => problemResponse(badAddress()),
  });
  const server = createServer({
    headersTimeout: times.head,
    requestTimeout: times.request,
    keepAliveTimeout: times.rest,
    connectionsCheckingInterval: times.lookEvery,
    // By itself Node would answer outside of every limit.
    requireHostHeader: false,
  });
  lingerBeforeClose(server, ({ headers }) => isKnown(headers), linger);
  server.on('checkExpectation', (incoming, outgoing) => void server.emit('request', incoming, outgoing));
  server.on('request', (incoming, outgoing) => {
    if (isTooLate(incoming)) return;
    const turn = { budget: budgetOf(incoming), refuse: () => refuseStranger(outgoing) };
    if (isKnown(incoming.headers)) open.begin(incoming, outgoing);
    else if (!open.beginStranger(incoming, outgoing, turn)) return;
    // A prober of HTTP/1.0 sends no Host.
    if (incoming.httpVersion === '1.0') incoming.headers.host ??= '127.0.0.1';
    void listener(incoming, outgoing);
  });
  const limits = { most: connections, room, stalledAfter: times.stall, strangersWithin: times.stranger };
  const open = limitConnections(server, limits, onCrowded);
  try {
    server.listen({ port, host, backlog: BACKLOG });
    await once(server, 'listening');
  } catch (cause) {
    throw cannotListen(cause, { host, port });
  }
  const name = host.includes(':') ? `[${host}]` : host;
  let closed: Promise<void> | null = null;
  return {
    /** The server's address, with the port that the system gave. */
    url: `http://${name}:${(server.address() as AddressInfo).port}`,
    /** Lets another app answer the requests that come from now on, and ends streams and waits of the app before; `known` tells by the head of a request whether the caller is known. */
    serve: (next: ServedApp, known = isKnown): void => {
      // Streams and waits of the app before end, so that their readers come back to this one.
      closing.abort();
      closing = new AbortController();
      served = next;
      isKnown = known;
    },
    /** Answers what is under way, ends waiting requests and idle connections, and stops listening. */
    close: (): Promise<void> => {
      closing.abort();
      closed ??= close(server);
      return closed;
    },
  };
}

function badAddress(): Problem {
  return new Problem('invalid_request', 'The address or the Host header of the request is not valid.');
}

/** Node takes the first one; a proxy may have looked at another. */
function namesSeveralHosts(rawHeaders: readonly string[]): boolean {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length > 1;
}

function crowded(most: number): Problem {
  const detail = `${most} requests are under way, the most there may be at once. Try again in a few seconds.`;
  return new Problem('busy', detail, { headers: { 'retry-after': '3', connection: 'close' } });
}

function budgetOf({ url = '', method }: IncomingMessage): StrangersTurn['budget'] {
  const [path = ''] = url.split('?', 1);
  if (!(method === 'GET' || method === 'HEAD') || !OF_OPERATORS.has(path)) return 'strangers';
  return path === '/healthz' ? null : 'operators';
}

/** Answers with as little work as can be: a flood causes many of these. */
function refuseStranger(outgoing: ServerResponse): void {
  outgoing.writeHead(503, { 'content-type': 'application/problem+json', ...STRANGERS_REFUSED.headers });
  outgoing.end(REFUSAL, () => outgoing.req.socket.destroy());
}

const STRANGERS_REFUSED = new Problem(
  'busy',
  `${STRANGERS} requests without a key or a session are under way, the most there may be at once. Send a key, or try again in a few seconds.`,
  { headers: { 'retry-after': '3', connection: 'close' } },
);
const REFUSAL = problemText(STRANGERS_REFUSED);

async function close(server: Server): Promise<void> {
  const end = once(server, 'close');
  server.close();
  // A connection falls idle only when its answer is out, and then would be kept alive.
  const sweep = startInterval(() => server.closeIdleConnections(), 20);
  const force = startTimer(() => server.closeAllConnections(), GRACE);
  await end;
  clearInterval(sweep);
  clearTimeout(force);
}

function cannotListen(cause: unknown, { host, port }: { host: string; port: number }): AppError {
  const { code } = cause as { code?: string };
  switch (code) {
    case 'EADDRINUSE':
      return new AppError(
        'conflict',
        `port ${port} of ${host} is in use, perhaps by another purchase-watch; stop that, set PORT to a free port, or set PORT=0 to take any`,
        { cause },
      );
    case 'EACCES':
      return new AppError('configuration', `PORT: ${port} may not be used by this user; set PORT to 1024 or more`, { cause });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new AppError('configuration', `HOST: ${JSON.stringify(host)} is no address of this machine; set HOST=127.0.0.1`, {
        cause,
      });
    default:
      return new AppError('unavailable', `cannot listen on ${host}, port ${port} (${code ?? String(cause)})`, { cause });
  }
}
