/**
 * The connections of the API, bounded: with no room left, the connection that has been idle for longest is closed for a new
 * one. Connections that carry requests are never closed for others. Some room is kept for operators' calls. Callers that are not
 * known, by key or session, have places of their own: what they send never takes the place of a known caller.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Milliseconds } from '../../domain/values/time.ts';
import { random } from '../../runtime/random.ts';
import { monotonic, startTimer } from '../../runtime/time.ts';
import { createBudget } from './strangers.ts';

export interface ConnectionLimits {
  /** Connections with a request of a known caller under way; those beyond it are for operators' calls. */
  readonly most: number;
  /** Connections in all, idle ones included. */
  readonly room: number;
  /** After so long a connection is closed whose other end takes nothing of what is written to it. */
  readonly stalledAfter: Milliseconds;
  /** A request of a stranger must have come in whole after so long. */
  readonly strangersWithin: Milliseconds;
}

export interface StrangersTurn {
  /**
   * By which budget it may begin: that of strangers, who need a place, too; that of operators, many a second; or none, where an answer
   * costs no more than a refusal.
   */
  readonly budget: 'strangers' | 'operators' | null;
  readonly refuse: () => void;
}

/** Connections beyond the most, idle ones included. */
const RESERVE = 64;
const MOST = 1_500;
/** Requests of strangers under way, and those that may begin each second. */
export const STRANGERS = 64;
const A_SECOND = 100;
const A_SECOND_OF_OPERATORS = 1_000;
/** A refused stranger is held for so long, up to twice: closed at once or together with others, it would be back with them. */
const HELD: Milliseconds = 5_000;
const TAKEN_WITHIN: Milliseconds = 1_000;
/** A stranger that sent many requests at once is held for so long: they cost more to find among the bytes. */
const HELD_LONG: Milliseconds = 60_000;
/** Fewer would keep a browser and a few programs from calling. */
const LEAST = 20;
/** Files and sockets that the process has open besides: files, the database, Slack, the clients of a broker. */
const OTHER_FILES = 150;

/**
 * How many connections a process may have that opens at most `files` files and sockets, `calls` of them for polls and
 * deliveries: with requests of known callers, and in all.
 */
export function mostConnections({ files, calls }: { files: number; calls: number }): Pick<ConnectionLimits, 'most' | 'room'> {
  const free = files - OTHER_FILES - calls;
  const most = Math.max(Math.min(MOST, free - RESERVE - STRANGERS), LEAST);
  return { most, room: Math.max(Math.min(2 * MOST, free), most + RESERVE + STRANGERS) };
}

/** How many files and sockets this process may open. */
export function openFilesLimit(): number {
  // Without network: the names of other ends would be looked up.
  const report = Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: number | 'unlimited' } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}

/**
 * Watches over the connections of a server. `onClosed` is called for each that was closed for another one. The connection of a stranger
 * who is refused is held, and closed after `refuse` has answered. A stranger that does not send on, or does not take its answer, gives
 * its place to the next one.
 */
export function limitConnections(server: Server, limits: ConnectionLimits, onClosed: () => void) {
  const { most, room, stalledAfter, strangersWithin } = limits;
  /** Connections of strangers who were refused, the oldest first. */
  const held = new Set<Socket>();
  /** Connections whose requests are answered, the one first that has been idle for longest: of strangers, and of known callers. */
  const idleStrangers = new Set<Socket>();
  const idle = new Set<Socket>();
  /** Connections that have sent no request yet. */
  const silent = new Set<Socket>();
  /** Requests under way: of known callers, and of strangers, the oldest first. */
  const busy = new Map<Socket, number>();
  const strangers = new Map<Socket, Turn>();
  const groups = [held, idleStrangers, silent, idle, busy, strangers];
  const mayBegin = createBudget(A_SECOND, { atOnce: STRANGERS });
  const mayAskHealth = createBudget(A_SECOND_OF_OPERATORS);

  const makeRoom = (newcomer: Socket): void => {
    const [oldest = newcomer] = [held, idleStrangers, silent, idle].flatMap((group) => firstOf(group, newcomer));
    onClosed();
    drop(oldest);
  };
  const forget = (socket: Socket): void => groups.forEach((group) => void group.delete(socket));
  const drop = (socket: Socket): void => forget(socket.destroy());
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => forget(socket));
    if (groups.reduce((sum, { size }) => sum + size, 0) > room) makeRoom(socket);
  });
  server.setTimeout(stalledAfter, (socket) => {
    // A request that waits for its answer is no reason; that the answer is not taken is one.
    if (!(busy.has(socket) || strangers.has(socket)) || socket.writableLength > 0) socket.destroy();
  });
  /** Whether there is a place, if need be that of the oldest stranger who keeps the daemon waiting. */
  const hasPlace = (): boolean => {
    if (strangers.size < STRANGERS) return true;
    const waiting = [...strangers].find(([, turn]) => keepsWaiting(turn));
    if (waiting === undefined) return false;
    drop(waiting[0]);
    return true;
  };
  const hold = (socket: Socket, end: () => void, after = HELD): false => {
    onClosed();
    forget(socket);
    held.add(socket);
    socket.pause();
    const timer = startTimer(end, after * (1 + random()));
    socket.once('close', () => clearTimeout(timer));
    return false;
  };
  answerUnreadable(server, (socket, answer) => {
    if (held.has(socket)) return;
    if (busy.has(socket) || strangers.has(socket) || mayBegin()) answer();
    else hold(socket, answer);
  });

  return {
    /** Notes a request of a known caller until its answer is out. */
    begin: ({ socket }: IncomingMessage, outgoing: ServerResponse): void => {
      const before = busy.get(socket) ?? 0;
      forget(socket);
      busy.set(socket, before + 1);
      outgoing.once('close', () => {
        const left = (busy.get(socket) ?? 1) - 1;
        forget(socket);
        if (socket.destroyed) return;
        if (left > 0) busy.set(socket, left);
        else idle.add(socket);
      });
    },
    /** Notes a request of a stranger until its answer is out; false when the request is not to be carried out. */
    beginStranger: (incoming: IncomingMessage, outgoing: ServerResponse, { budget, refuse }: StrangersTurn): boolean => {
      const { socket } = incoming;
      if (held.has(socket)) return false;
      // Neither browsers nor proxies send a request before the answer to the one before it.
      const isBehindAnother = busy.has(socket) || strangers.has(socket);
      const mayNotBegin =
        budget === 'strangers' ? () => !mayBegin() || !hasPlace() : () => budget === 'operators' && !mayAskHealth();
      if (isBehindAnother || mayNotBegin()) {
        readNothingMore(incoming);
        return isBehindAnother ? hold(socket, () => socket.destroy(), HELD_LONG) : hold(socket, refuse);
      }
      forget(socket);
      strangers.set(socket, { incoming, outgoing, since: monotonic() });
      const deadline = startTimer(() => incoming.complete || socket.destroy(), strangersWithin);
      outgoing.once('close', () => {
        clearTimeout(deadline);
        if (strangers.delete(socket) && !socket.destroyed) idleStrangers.add(socket);
      });
      return true;
    },
    /** Whether more requests of known callers are under way than there may be. */
    isFull: (): boolean => busy.size > most,
  };
}

/** A request of a stranger that is under way. */
interface Turn {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly since: Milliseconds;
}

/** Whether the stranger is who has to go on: with its request, or with taking the answer, which goes out at once as a rule. */
function keepsWaiting({ incoming, outgoing, since }: Turn): boolean {
  return !incoming.complete || (outgoing.writableEnded && monotonic() - since > TAKEN_WITHIN);
}

/** By these Node drops what comes of a body, and carries on with each request that its parser finds in a packet: 1 500 at most. */
interface HeldMessage extends IncomingMessage {
  _dumped?: boolean;
  readonly socket: Socket & { readonly parser?: { onIncoming: (() => number) | null } | null };
}

/** Lets the parser end with an error at the next request, and keep nothing of the body that came with this one's head: 64 KiB. */
function readNothingMore(incoming: HeldMessage): void {
  incoming._dumped = true;
  const { parser } = incoming.socket;
  if (parser) parser.onIncoming = () => -1;
}

/** `decide` gets each connection on which came what is no request, with the function that says so and closes it. */
function answerUnreadable(server: Server, decide: (socket: Socket, answer: () => void) => void): void {
  // A proxy's method; by itself Node would close the connection at once, and the other end would be back.
  server.on('connect', (_incoming, socket) => {
    decide(socket as Socket, () => {
      socket.end(`HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n`, () => socket.destroy());
    });
  });
  server.on(
    'clientError',
    ({ code = '' }: NodeJS.ErrnoException, socket: Socket & { readonly _httpMessage?: ServerResponse | null }) => {
      decide(socket, () => {
        // As Node does it: not into an answer that has begun.
        if (socket.writable && !socket._httpMessage?.headersSent)
          socket.write(`HTTP/1.1 ${UNREADABLE.get(code) ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
        socket.destroy();
      });
    },
  );
}

/** The status for a request that cannot be read, by Node's codes; 400 for all others. */
const UNREADABLE: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

function firstOf(group: ReadonlySet<Socket>, except: Socket): Socket[] {
  const [first] = group;
  return first === undefined || first === except ? [] : [first];
}
