/** A small HTTP server that takes POSTs, on any path: for a developer's machine and for the demo. */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, isIPv6, type Socket } from 'node:net';
import type { Instant, Milliseconds } from '../domain/values/time.ts';
import { startTimer, wall } from '../runtime/time.ts';

/** A request whose body arrived in full. */
export interface Posted {
  /** The path with its query. */
  readonly path: string;
  /** The bytes as they were sent: a signature is over these. */
  readonly body: Buffer;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they were written. */
  readonly rawHeaders: readonly string[];
  readonly at: Instant;
  /** Aborted when the caller has gone, or the server closes: no client waits for the answer then. */
  readonly signal: AbortSignal;
}

export interface PostAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body: string | Uint8Array;
}

/** Answers a request. */
export type Receive = (posted: Posted) => PostAnswer | Promise<PostAnswer>;

export type PostListener = Awaited<ReturnType<typeof listenForPosts>>;

/** Larger than any event. */
const MOST_BYTES = 1024 * 1024;
/** Bytes of all bodies that arrive or wait for their answers. */
const MOST_HELD = 32 * MOST_BYTES;
/** A request that has not arrived in full by then ends. */
const ARRIVE_WITHIN: Milliseconds = 30_000;
/** An answer that was begun is given so long to leave when the listener closes. */
const FAREWELL: Milliseconds = 1_000;

/** A body that is not taken, with the status to answer and the reason for people. */
class Refused extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** Reads bodies and gives each to `use`, which holds its bytes until it settles. Throws Refused for a body that is too large by itself or beside others. */
function createBodies(): <Result>(request: IncomingMessage, use: (body: Buffer) => Result | Promise<Result>) => Promise<Result> {
  let held = 0;
  return async (request, use) => {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        size += chunk.length;
        held += chunk.length;
        if (size > MOST_BYTES) throw new Refused(413, `a body of more than ${MOST_BYTES / 1024} KiB is no event`);
        if (held > MOST_HELD) throw new Refused(503, 'too many bodies arrive at once; send this again later');
        chunks.push(chunk);
      }
      return await use(Buffer.concat(chunks));
    } finally {
      held -= size;
    }
  };
}

/**
 * Starts a server that answers every POST with what `receive` says, at any free port unless one is given. `onRefused` gets the reason
 * for people where a request is answered without `receive`. Rejects with what `listen` complains of.
 */
export async function listenForPosts(
  receive: Receive,
  {
    host = '127.0.0.1',
    port = 0,
    onRefused = () => undefined,
  }: { host?: string; port?: number; onRefused?: (detail: string) => void } = {},
) {
  const closing = new AbortController();
  const withBody = createBodies();
  const send = (response: ServerResponse, { status, headers = {}, body }: PostAnswer): void => {
    if (response.destroyed || response.headersSent) return;
    if (closing.signal.aborted) response.setHeader('connection', 'close');
    const type = headers['content-type'] === undefined ? { 'content-type': 'text/plain; charset=utf-8' } : {};
    const length = status === 204 || status === 304 ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    response.writeHead(status, { ...type, ...headers, ...length }).end(body);
  };
  const refuse = (response: ServerResponse, status: number, detail: string, headers: Record<string, string> = {}): void => {
    onRefused(detail);
    send(response, { status, headers, body: `${detail}\n` });
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '/' } = request;
    if (method !== 'POST') {
      request.resume();
      return refuse(response, 405, `${method} ${url}: webhooks are POSTs`, { allow: 'POST' });
    }
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      const { headers, rawHeaders } = request;
      const signal = AbortSignal.any([gone.signal, closing.signal]);
      const answered = await withBody(request, (body) => receive({ path: url, body, headers, rawHeaders, at: wall(), signal }));
      send(response, answered);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refuse(response, error.status, error.message, { connection: 'close' });
      // The rest is not read; closing at once could take the answer along.
      response.once('finish', () => request.destroy());
    }
  };

  const server = createServer({ requestTimeout: ARRIVE_WITHIN }, (request, response) => {
    answer(request, response).catch(() => {
      // Most often the caller broke off, and no client is left to be answered.
      send(response, { status: 500, body: 'this request could not be answered\n' });
    });
  });
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    const { writable, bytesWritten } = socket as Socket;
    if (!writable || bytesWritten > 0 || code === 'ERR_HTTP_REQUEST_TIMEOUT') return void socket.destroy();
    onRefused('something that is not HTTP arrived; is https meant, or another port?');
    socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
  });
  server.listen(port, host);
  await once(server, 'listening');
  const taken = (server.address() as AddressInfo).port;

  return {
    /** `http://host:port` */
    origin: `http://${isIPv6(host) ? `[${host}]` : host}:${taken}`,
    port: taken,
    /** Takes no more requests, aborts the signals of those under way and waits for their answers, for a moment. */
    close: async (): Promise<void> => {
      const closed = once(server, 'close');
      server.close();
      closing.abort();
      const impatient = startTimer(() => server.closeAllConnections(), FAREWELL);
      await closed;
      clearTimeout(impatient);
    },
  };
}
