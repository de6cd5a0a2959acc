/**
 * Sockets to the database that notice when the server is gone. After a silent loss (a firewall that dropped the connection, a
 * machine that lost power) the kernel keeps sending for a quarter of an hour, and a query waits that long; the driver has no
 * time-out for queries.
 */

import { connect as dial, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import postgres from 'postgres';
import type { Milliseconds } from '../../domain/values/time.ts';
import { noteCertificate } from '../../runtime/http/certificates.ts';
import { monotonic, startImmediate, startInterval, startTimer } from '../../runtime/time.ts';
import type { Host, ParsedUrl } from '../address/database-url.ts';
import { refuseClearText } from './clear-text.ts';
import { encrypted } from './encryption.ts';
import { READ_ONLY } from './wrapped-pool.ts';

export interface SocketOptions {
  readonly answerWithin?: Milliseconds | undefined;
  /** In place of the URL's `connect_timeout`. */
  readonly connectWithinSeconds?: number | undefined;
  readonly findHost?: (() => Promise<Host>) | undefined;
}

/** After how long without an answer of the host in use the hosts are asked which one takes writes. */
const SILENT: Milliseconds = 2_000;

/** The driver asks for a session as soon as it has a socket. */
const ASKS_WITHIN: Milliseconds = 100;

const BREAK_AT_MOST_EVERY: Milliseconds = 1_000;
interface KnownDatabase {
  /** Each lasting socket with its host; null for a socket of the file system. */
  readonly open: Map<Socket, Host | null>;
  brokenAt: Milliseconds;
}
const databases = new Map<string, KnownDatabase>();

function databaseAt(url: string): KnownDatabase {
  const database = databases.get(url) ?? { open: new Map<Socket, Host | null>(), brokenAt: Number.NEGATIVE_INFINITY };
  databases.set(url, database);
  return database;
}

/**
 * Sockets to a database. They break when an answer is late (`answerWithin`), and when the server asks for the password in
 * clear text where others may read it; among several hosts the one that takes writes is dialled (`findHost`).
 */
export function createSockets(parsed: ParsedUrl, { answerWithin, connectWithinSeconds, findHost }: SocketOptions) {
  const { given, encryption, options } = parsed;
  const database = databaseAt(given);
  const isLasting = answerWithin !== undefined || findHost !== undefined;
  const within = 1_000 * (connectWithinSeconds ?? options.connect_timeout);
  const mine = new Set<Socket>();
  let isClosed = false;

  const keep = (socket: Socket, host: Host | null): void => {
    mine.add(socket);
    if (isLasting) database.open.set(socket, host);
    socket.once('close', () => {
      mine.delete(socket);
      database.open.delete(socket);
    });
  };
  // Another host may have been promoted: the search breaks the connections to the silent one then. Its failure shows when the pool dials.
  const onSilence = (): void => void findHost?.().catch(() => undefined);
  const ready = (socket: Socket): Socket => {
    refuseLatecomers(socket);
    breakUnused(socket);
    if (answerWithin !== undefined) watch(socket, answerWithin, onSilence);
    return socket;
  };
  // The socket keeps bytes that are written before the connection is up; a failure to connect ends the socket as a later failure does.
  const dialHost = async (host: Host): Promise<Socket> => {
    const { name, port } = host;
    const line = dial({ host: name, port });
    keep(line, host);
    const socket = encryption.mode === false ? line : await inTime(line, within, encrypted(line, name, encryption));
    if (socket === line) refuseClearText(line);
    else keep(socket, host);
    if (socket instanceof TLSSocket) noteCertificate(name, port, socket);
    // The driver names host and port in its errors.
    return ready(Object.assign(socket, { host: name, port }));
  };
  const dialPath = (path: string): Socket => {
    const socket = dial(path);
    keep(socket, null);
    return ready(socket);
  };
  return {
    /** Makes a socket for the driver, encrypted already where the URL asks for it. */
    dial: async ({ host, port, path }: { host: string[]; port: number[]; path?: string | false }): Promise<Socket> => {
      try {
        if (findHost === undefined && path) return dialPath(path);
        const chosen = findHost === undefined ? { name: host[0]!, port: port[0]! } : await findHost();
        if (isClosed) throw new Error('the pool has ended');
        return await dialHost(chosen);
      } catch (reason) {
        return brokenSocket(reason as Error);
      }
    },
    /**
     * Breaks all sockets to this database, of every pool of the process, so that each is dialled again; at most once a second.
     * Null without `answerWithin` and `findHost`: a short command reports the failure instead.
     */
    breakAll: isLasting ? () => breakAll(database) : null,
    /** Ends the sockets that are left when their pool has ended: the driver forgets those that it still dials. */
    close: (): void => {
      isClosed = true;
      for (const socket of mine) socket.destroy();
    },
  };
}

/** The result of work on a socket, or a failure when the work takes too long: the driver begins to count with the socket. */
async function inTime<T>(socket: Socket, within: Milliseconds, work: Promise<T>): Promise<T> {
  const late = Object.assign(new Error('no answer in time'), { code: 'CONNECT_TIMEOUT' });
  const timer = startTimer(() => socket.destroy(late), within);
  try {
    return await work;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Breaks the sockets of every pool of the process that lead to another host than this one, so that they are dialled again. */
export function breakOthers(url: string, { name, port }: Host, reason: Error): void {
  for (const [socket, host] of databaseAt(url).open) {
    if (host !== null && (host.name !== name || host.port !== port)) socket.destroy(reason);
  }
}

/** Breaks every socket to a database, of all pools of the process, so that each is dialled again. Resolves when all are closed. */
export async function redial(url: string): Promise<void> {
  const text = 'another database answers than before: the connection is broken and dialled again';
  const reason = Object.assign(new Error(text), { code: 'OTHER_DATABASE' });
  const closed = [...databaseAt(url).open.keys()].map((socket) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once('close', () => resolve());
    socket.destroy(reason);
    return promise;
  });
  await Promise.all(closed);
}

function breakAll(database: KnownDatabase): void {
  if (monotonic() - database.brokenAt < BREAK_AT_MOST_EVERY) return;
  database.brokenAt = monotonic();
  const text = 'the session is read-only, as after a failover: the connection is broken and dialled again';
  // Other statements that wait on these connections fail with the code of the statement that was refused.
  const reason = Object.assign(new Error(text), { code: READ_ONLY });
  // The refused statement gets its own answer before the connections break.
  startImmediate(() => database.open.forEach((_, socket) => void socket.destroy(reason)));
}

/**
 * Breaks a socket on which the driver writes nothing. Bytes of a query that began in the very turn in which the last socket ended
 * keep the driver from writing, until it has gathered a kilobyte or the connection counts as failed after `connect_timeout`; a
 * few dials later it writes again.
 */
function breakUnused(socket: Socket): void {
  const before = socket.bytesWritten;
  const look = (): void => {
    if (socket.bytesWritten === before) socket.destroy(Object.assign(new Error('no session was asked for'), { code: 'UNUSED' }));
  };
  // Behind what the driver has put off: a busy process may reach timers first.
  const timer = startTimer(() => startImmediate(() => startImmediate(look)), ASKS_WITHIN);
  socket.once('close', () => clearTimeout(timer));
}

/** A socket that fails like a refused connection: if `dial` rejected instead, the driver would lose the connection for good. */
function brokenSocket(reason: Error): Socket {
  const socket = new Socket();
  refuseLatecomers(socket);
  startImmediate(() => socket.destroy(reason));
  return socket;
}

/**
 * Breaks a connection whose server is silent for too long while a query waits: the driver closes idle connections well before.
 * The first query after an answer begins the wait again, because the connection may have been idle before that query. Meanwhile
 * `onSilence` is called about once a second.
 */
function watch(socket: Socket, answerWithin: Milliseconds, onSilence: () => void): void {
  let read = -1;
  let written = -1;
  let isAsked = false;
  let since = monotonic();
  /** The bytes that had been written when the server last said something: more is written while a query waits. */
  let answered = 0;
  socket.on('data', () => {
    answered = socket.bytesWritten;
  });
  const look = (): void => {
    const isAnswered = socket.bytesRead !== read;
    if (isAnswered || (!isAsked && socket.bytesWritten !== written)) {
      isAsked = !isAnswered;
      read = socket.bytesRead;
      written = socket.bytesWritten;
      since = monotonic();
    } else if (monotonic() - since >= answerWithin) {
      const text = `the database has not answered for ${Math.round(answerWithin / 1_000)} s`;
      socket.destroy(Object.assign(new Error(text), { code: 'NO_ANSWER' }));
    } else if (socket.bytesWritten !== answered && monotonic() - since >= SILENT) onSilence();
  };
  const timer = startInterval(look, Math.min(answerWithin / 8, SILENT / 2));
  timer.unref();
  socket.once('close', () => clearInterval(timer));
}

/**
 * Between the failure of a socket and its end the driver may begin a query on the socket, and would never reject that query:
 * after a failure the driver rejects no query when the socket ends. So the failure is emitted once more, just before the end.
 * The end waits until the bytes of that query are thrown away: the driver would keep them, and write nothing on its next
 * connection. Failures after that are dropped. An end without a failure gets one: in a transaction the driver writes `rollback` when
 * its statement fails, and would end the process if the socket had ended before that; and where a server closes before the session
 * has begun (a load balancer without a server behind it), the driver rejects nothing and dials again without a rest, for ever.
 *
 * A server that refuses a session (it starts up, it has no connection left) answers so and closes. Where the last connection ended
 * during a query, the driver takes that for an answer to the query of then, rejects nothing, and dials again without a rest for as
 * long as the server refuses. So the refusal fails the socket.
 */
function refuseLatecomers(socket: Socket): void {
  let failure: Error | null = null;
  let isEnding = false;
  let hasBegun = false;
  const emit = socket.emit.bind(socket);
  const end = (values: readonly unknown[]): void => {
    if (failure !== null && socket.listenerCount('error') > 0) emit('error', failure);
    emit('close', ...values);
  };
  socket.emit = ((event: string, ...values: unknown[]): boolean => {
    if (event === 'error') {
      failure ??= values[0] as Error;
      // The driver does not listen yet, or the end brings the failure: an encrypted socket may fail after its end began.
      if (isEnding || socket.listenerCount('error') === 0) return true;
    }
    if (event === 'data' && !hasBegun) {
      hasBegun = isReady(values[0] as Buffer);
      failRefused(socket, values[0] as Buffer);
    }
    if (event !== 'close') return emit(event, ...values);
    if (failure === null) {
      failure = Object.assign(new Error('the server closed the connection'), { code: 'CONNECTION_CLOSED' });
      if (socket.listenerCount('error') > 0) emit('error', failure);
    }
    isEnding = true;
    startImmediate(() => startImmediate(() => end(values)));
    return true;
  }) as typeof socket.emit;
}

/** The answer that refuses a session: severity, SQLSTATE, message. Nothing else that comes before a session holds these. */
const REFUSAL = /[SV](?:FATAL|PANIC)\0(?:V[A-Z]+\0)?C(\w{5})\0M([^\0]+)/;

/** Fails a socket on which the server refuses a session. */
function failRefused(socket: Socket, chunk: Buffer): void {
  const [, code, message] = REFUSAL.exec(chunk.toString()) ?? [];
  // Where the driver takes the answer as it is meant, the driver's own error comes first.
  if (code !== undefined) process.nextTick(() => socket.destroy(new postgres.PostgresError({ code, message } as never)));
}

/** Whether what the server sent ends with `ReadyForQuery`: a letter, four bytes of length, and the state of the session. */
const isReady = (chunk: Buffer): boolean =>
  chunk.length >= 6 && chunk.readUInt32BE(chunk.length - 5) === 5 && chunk.at(-6) === 0x5a;
