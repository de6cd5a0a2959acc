/** A real HTTP server whose next answers a test decides, and whose arrivals it can wait for. Base of the stand-ins. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** How one request is answered. Without anything: 200 and `ok`. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Milliseconds before the answer begins. */
  readonly delay?: number;
  /** The answer begins when this resolves: for a test that has something to do first, however long that takes. */
  readonly after?: Promise<unknown>;
  /** Never answers; with `body`, never ends what it began. */
  readonly hang?: 'answer' | 'body';
  /** Breaks the connection before the answer, or in its body. */
  readonly reset?: 'answer' | 'body';
  /** Sends the body again and again, this many milliseconds apart, for as long as the caller listens. */
  readonly trickle?: number;
}

/** What arrived. */
export interface Arrival {
  readonly path: string;
  readonly body: string;
  /** The same as it came. */
  readonly bytes: Buffer;
  readonly headers: IncomingHttpHeaders;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface StandIn<T> {
  readonly origin: string;
  readonly received: readonly T[];
  /** Connections accepted so far. */
  connections(): number;
  /** The next requests are answered so, one each. */
  respond(...answers: readonly Answer[]): void;
  /** Every request without an answer of its own is answered so. */
  respondAlways(answer: Answer): void;
  /** Resolves as soon as what was received satisfies the predicate; rejects after `timeout` milliseconds. */
  waitFor(predicate: (received: readonly T[]) => boolean, timeout?: number): Promise<readonly T[]>;
  stop(): Promise<void>;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function play(answer: Answer, response: ServerResponse): Promise<void> {
  const { status = 200, headers = {}, body = 'ok' } = answer;
  if (answer.delay !== undefined) await delay(answer.delay);
  await answer.after;
  if (answer.hang === 'answer') return;
  if (answer.reset === 'answer') return void response.socket?.resetAndDestroy();
  response.writeHead(status, headers);
  if (answer.trickle !== undefined) {
    while (!response.destroyed) {
      response.write(body);
      await delay(answer.trickle);
    }
  } else if (answer.hang === 'body') response.write(body);
  else if (answer.reset === 'body') response.write(body, () => response.socket?.resetAndDestroy());
  else response.end(body);
}

/**
 * Starts on a free port of `host`. `receive` turns an arrival into what is kept and may decide the answer, when the test
 * did not.
 */
export async function startStandIn<T>(
  receive: (arrival: Arrival) => { kept: T; answer?: Answer | undefined },
  host = '127.0.0.1',
): Promise<StandIn<T>> {
  const received: T[] = [];
  const next: Answer[] = [];
  const waiting = new Set<() => void>();
  let always: Answer | undefined;
  let connections = 0;

  const server = createServer((request, response) => {
    readBody(request)
      .then((bytes) => {
        const { url: path = '/', headers } = request;
        const { kept, answer } = receive({ path, body: bytes.toString(), bytes, headers, at: Date.now() });
        received.push(kept);
        for (const look of [...waiting]) look();
        return play(next.shift() ?? always ?? answer ?? {}, response);
      })
      // The caller went away, which many tests are about.
      .catch(() => response.destroy());
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, host);
  await once(server, 'listening');

  return {
    origin: `http://${host}:${(server.address() as AddressInfo).port}`,
    received,
    connections: () => connections,
    respond: (...answers) => void next.push(...answers),
    respondAlways: (answer) => {
      always = answer;
    },
    waitFor: (predicate, timeout = 60_000) =>
      new Promise((resolve, reject) => {
        const end = (settle: () => void) => {
          waiting.delete(look);
          clearTimeout(timer);
          settle();
        };
        const look = () => {
          if (predicate(received)) end(() => resolve(received));
        };
        const timer = setTimeout(
          () => end(() => reject(new Error(`not received within ${timeout} ms; received ${received.length} so far`))),
          timeout,
        );
        waiting.add(look);
        look();
      }),
    stop: async () => {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}
