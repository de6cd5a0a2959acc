/**
 * Closing a connection whose answer left before its request had come in whole. Closed at once, it would answer the bytes that
 * still come by a reset, which makes the client's system drop the answer. So the server ends its side, reads on and throws
 * away what it reads, as nginx does (`lingering_close`). Such a connection carries no request: it gives way to a new one.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Milliseconds } from '../../domain/values/time.ts';
import { monotonic, nextTurn, startInterval } from '../../runtime/time.ts';
import { createBudget } from './strangers.ts';

export interface LingerLimits {
  /** After so long the connection is closed, whatever the client does. */
  readonly within: Milliseconds;
  /** After so many bytes, too. */
  readonly bytes: number;
}

const LIMITS: LingerLimits = { within: 30_000, bytes: 64 * 1024 * 1024 };
/** Limits for a caller who is not known. */
const OF_STRANGERS: LingerLimits = { within: 2_000, bytes: 1024 * 1024 };
/** So many of their connections linger that were answered within a second; the others are closed at once. */
const STRANGERS_A_SECOND = 16;
const LOOK_EVERY: Milliseconds = 100;

/** Lets the server's connections linger, those of known callers within `limits`. To be called before its handler of requests is added. */
export function lingerBeforeClose(server: Server, isKnown: (incoming: IncomingMessage) => boolean, limits = LIMITS): void {
  const newest = new WeakMap<Socket, IncomingMessage>();
  const mayStranger = createBudget(STRANGERS_A_SECOND);
  server.on('connection', (socket) => {
    // By this Node and the framework close a connection once its answer is out.
    const close = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      const request = newest.get(socket);
      if (request === undefined || request.complete) close();
      else if (socket.writableEnded) return;
      else if (isKnown(request)) linger(request, limits);
      else if (mayStranger()) linger(request, OF_STRANGERS);
      else close();
    };
  });
  server.on('request', (incoming) => newest.set(incoming.socket, incoming));
}

/** Has an answer say that the connection ends with it when its request has not come in whole. To be awaited before the answer begins. */
export async function endWithAnswer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  if (incoming.complete) return;
  // The bytes that came together with the head are read first: a refusal may be quicker.
  await nextTurn();
  if (!incoming.complete && !outgoing.headersSent) outgoing.setHeader('connection', 'close');
}

/** Whether a request came behind the one whose answer ended the connection: it must not be carried out. */
export function isTooLate({ socket }: IncomingMessage): boolean {
  return socket.writableEnded;
}

function linger(incoming: IncomingMessage, { within, bytes }: LingerLimits): void {
  const { socket } = incoming;
  const since = monotonic();
  const readBefore = socket.bytesRead;
  // Node passes on no part of an unread body: only the socket knows how much came.
  const limit = startInterval(() => {
    if (monotonic() - since > within || socket.bytesRead - readBefore > bytes) socket.destroy();
  }, LOOK_EVERY);
  socket.once('close', () => clearInterval(limit));
  // Whatever listened would keep what comes, or stop reading.
  incoming.removeAllListeners('data');
  incoming.resume();
  socket.end();
}
