/**
 * Sockets to the database that notice when nobody is at the other end any more. After a silent loss (a firewall that
 * forgot the connection, a machine that lost power) the kernel keeps sending for a quarter of an hour, and a query waits
 * that long; the driver has no time-out for queries of its own.
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
   * Null for short work, with neither `answerWithin` nor `findHost`: it reports what fails.
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
  // What is written before the connection is up waits in the socket; a failure ends it as it would later.
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
  // What other statements waited for over the same connections ends with the code of the one that was refused.
  const reason = Object.assign(new Error(text), { code: READ_ONLY });
  // The statement that was refused is answered first.
  setImmediate(() => database.open.forEach((socket) => void socket.destroy(reason)));
}

/** A socket that fails as one that was refused: the driver would lose the connection for good if `dial` rejected. */
function brokenSocket(reason: Error): Socket {
  const socket = new Socket();
  setImmediate(() => socket.destroy(reason));
  return socket;
}

/**
 * The driver closes connections that have nothing to do well before; a server that is silent for so long owes an answer.
 * The first question after an answer begins the wait again: it may be asked when the connection has been idle for a while.
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
 * Between the failure of a socket and its end the driver may begin a query on it, which nobody would refuse: the end of a
 * socket that failed refuses nothing any more. So the failure is emitted once more, just before the end. And the end waits
 * until what that query wrote has been thrown away: the driver would keep it, and write nothing on its next connection.
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
