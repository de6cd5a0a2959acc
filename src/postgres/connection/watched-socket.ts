/**
 * Sockets to the database that notice when the server is gone. After a silent loss (a firewall that dropped the connection, a
 * machine that lost power) the kernel keeps sending for a quarter of an hour, and a query waits that long; the driver has no
 * time-out for queries.
 */

import { connect as dial, Socket } from 'node:net';
import type { Milliseconds } from '../../domain/values/time.ts';
import { refuseClearText } from './clear-text.ts';
import type { Host } from './database-url.ts';
import { READ_ONLY } from './read-only.ts';

/** What the driver passes to the function that makes its sockets. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

export interface Sockets {
  /** Makes a socket for the driver. */
  dial(target: Target): Socket | Promise<Socket>;
  /**
   * Breaks all sockets to this database, of every pool of the process, so that each is dialled again; at most once a second.
   * Null without `answerWithin` and `findHost`: a short command reports the failure instead.
   */
  readonly breakAll: (() => void) | null;
}

export interface SocketOptions {
  /** Whether the driver's first message asks for TLS. */
  readonly asksForTls: boolean;
  readonly answerWithin?: Milliseconds | undefined;
  readonly findHost?: (() => Promise<Host>) | undefined;
}

const BREAK_AT_MOST_EVERY: Milliseconds = 1_000;
interface KnownDatabase {
  readonly open: Set<Socket>;
  brokenAt: Milliseconds;
}
const databases = new Map<string, KnownDatabase>();

/**
 * Sockets to a database, by its URL. They break when an answer is overdue (`answerWithin`), and when the server asks for the
 * password in clear text where others may read it; among several hosts the one that takes writes is dialled (`findHost`).
 */
export function createSockets(url: string, { asksForTls, answerWithin, findHost }: SocketOptions): Sockets {
  const database = databases.get(url) ?? { open: new Set<Socket>(), brokenAt: Number.NEGATIVE_INFINITY };
  databases.set(url, database);
  const isLasting = answerWithin !== undefined || findHost !== undefined;
  const prepare = (socket: Socket): Socket => {
    if (!isLasting) return socket;
    database.open.add(socket);
    socket.once('close', () => database.open.delete(socket));
    if (answerWithin !== undefined) watch(socket, answerWithin);
    refuseLatecomers(socket);
    return socket;
  };
  // The socket keeps bytes that are written before the connection is up; a failure to connect ends the socket as a later failure does.
  // The driver reads host and port to tell TLS which name to expect.
  const dialHost = ({ name, port }: Host): Socket => {
    const socket = Object.assign(dial({ host: name, port }), { host: name, port });
    refuseClearText(socket, { asksForTls });
    return prepare(socket);
  };
  return {
    dial: ({ host, port, path }) => {
      if (findHost !== undefined) return findHost().then(dialHost, brokenSocket);
      return path ? prepare(dial(path)) : dialHost({ name: host[0]!, port: port[0]! });
    },
    breakAll: isLasting ? () => breakAll(database) : null,
  };
}

function breakAll(database: KnownDatabase): void {
  if (performance.now() - database.brokenAt < BREAK_AT_MOST_EVERY) return;
  database.brokenAt = performance.now();
  const text = 'the session is read-only, as after a failover: the connection is broken and dialled again';
  // Other statements that wait on these connections fail with the code of the statement that was refused.
  const reason = Object.assign(new Error(text), { code: READ_ONLY });
  // The refused statement gets its own answer before the connections break.
  setImmediate(() => database.open.forEach((socket) => void socket.destroy(reason)));
}

/** A socket that fails like a refused connection: if `dial` rejected instead, the driver would lose the connection for good. */
function brokenSocket(reason: Error): Socket {
  const socket = new Socket();
  setImmediate(() => socket.destroy(reason));
  return socket;
}

/**
 * Breaks a connection whose server is silent for too long while a query waits: the driver closes idle connections well before.
 * The first query after an answer begins the wait again, because the connection may have been idle before that query.
 */
function watch(socket: Socket, answerWithin: Milliseconds): void {
  let read = -1;
  let written = -1;
  let isAsked = false;
  let since = performance.now();
  const look = (): void => {
    const isAnswered = socket.bytesRead !== read;
    if (isAnswered || (!isAsked && socket.bytesWritten !== written)) {
      isAsked = !isAnswered;
      read = socket.bytesRead;
      written = socket.bytesWritten;
      since = performance.now();
    } else if (performance.now() - since >= answerWithin) {
      socket.destroy(new Error(`the database has not answered for ${Math.round(answerWithin / 1_000)} s`));
    }
  };
  const timer = setInterval(look, answerWithin / 8);
  timer.unref();
  socket.once('close', () => clearInterval(timer));
}

/**
 * Between the failure of a socket and its end the driver may begin a query on the socket, and would never reject that query:
 * after a failure the driver rejects no query when the socket ends. So the failure is emitted once more, just before the end.
 * The end waits until the bytes of that query are thrown away: the driver would keep them, and write nothing on its next
 * connection.
 */
function refuseLatecomers(socket: Socket): void {
  let failure: Error | null = null;
  socket.once('error', (error) => {
    failure = error;
  });
  const emit = socket.emit.bind(socket);
  const end = (values: readonly unknown[]): void => {
    if (failure !== null && socket.listenerCount('error') > 0) emit('error', failure);
    emit('close', ...values);
  };
  socket.emit = ((event: string, ...values: unknown[]): boolean => {
    if (event !== 'close') return emit(event, ...values);
    setImmediate(() => setImmediate(end, values));
    return true;
  }) as typeof socket.emit;
}
