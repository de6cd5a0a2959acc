/**
 * Sockets to the database that notice when nobody is at the other end any more. After a silent loss (a firewall that
 * forgot the connection, a machine that lost power) the kernel keeps sending for a quarter of an hour, and a query waits
 * that long; the driver has no time-out for queries of its own.
 */
import { connect as dial, type Socket } from 'node:net';
import type { Milliseconds } from '../core/purchase.ts';

/** What the driver passes to whoever makes its sockets. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/** Makes sockets for the driver, one after the other for each host, that break when an answer is overdue. */
export function watchedSockets(answerWithin: Milliseconds): (target: Target) => Socket {
  let made = 0;
  return ({ host, port, path }) => {
    const turn = made++ % host.length;
    // What is written before the connection is up waits in the socket; a failure ends it as it would later.
    const socket = path ? dial(path) : dial({ host: host[turn]!, port: port[turn] ?? port[0]! });
    // The driver reads this to tell TLS which name to expect.
    Object.assign(socket, { host: host[turn], port: port[turn] });
    watch(socket, answerWithin);
    refuseLatecomers(socket);
    return socket;
  };
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
 * socket that failed refuses nothing any more. So the failure is told once more, just before the end. And the end waits
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
