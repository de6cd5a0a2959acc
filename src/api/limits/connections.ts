/**
 * The connections of the API, bounded: with no room left, the connection that has been idle for longest is closed for a new
 * one. Connections that carry requests are never closed for others. Some room is kept for operators' calls. Callers that are not
 * known, by key or session, have places of their own: what they send never takes the place of a known caller.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Milliseconds } from '../../domain/values/time.ts';

export interface ConnectionLimits {
  /** Connections with a request of a known caller under way; those beyond it are for operators' calls. */
  readonly most: number;
  /** After so long a connection is closed whose other end takes nothing of what is written to it. */
  readonly stalledAfter: Milliseconds;
  /** A request of a stranger must have come in whole after so long. */
  readonly strangersWithin: Milliseconds;
}

export interface Connections {
  /** Notes a request of a known caller until its answer is out. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /**
   * The same for a request of a stranger; false when there is no place for it, unless it `needsNoPlace`. A stranger that does not
   * send on, or does not take its answer, gives its place to the next one.
   */
  beginStranger(incoming: IncomingMessage, outgoing: ServerResponse, needsNoPlace: boolean): boolean;
  /** Whether more requests of known callers are under way than there may be. */
  isFull(): boolean;
}

/** Connections beyond the most, idle ones included. */
const RESERVE = 64;
const MOST = 1_500;
/** Requests of strangers under way. */
export const STRANGERS = 64;
/** Fewer would keep a browser and a few programs from calling. */
const LEAST = 20;
/** What the process has open besides: files, the database, Slack, the clients of a broker. */
const OTHER_FILES = 150;

/**
 * How many connections a process may have that opens at most `files` files and sockets, `calls` of them for polls and
 * deliveries.
 */
export function mostConnections({ files, calls }: { files: number; calls: number }): number {
  return Math.max(Math.min(MOST, files - OTHER_FILES - calls - RESERVE - STRANGERS), LEAST);
}

/** How many files and sockets this process may open. */
export function openFilesLimit(): number {
  // Without network: the names of other ends would be looked up.
  const report = Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: number | 'unlimited' } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}

/** Watches over the connections of a server. `onClosed` is called for each that was closed for another one. */
export function limitConnections(server: Server, limits: ConnectionLimits, onClosed: () => void): Connections {
  const { most, stalledAfter, strangersWithin } = limits;
  /** Those that have sent no request yet, the oldest first. */
  const silent = new Set<Socket>();
  /** Those whose requests are answered, the one first that has been idle for longest: of strangers, and of known callers. */
  const idleStrangers = new Set<Socket>();
  const idle = new Set<Socket>();
  /** Requests under way: of known callers, and of strangers, the oldest first. */
  const busy = new Map<Socket, number>();
  const strangers = new Map<Socket, { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse }>();
  const groups = [silent, idleStrangers, idle, busy, strangers];

  const makeRoom = (newcomer: Socket): void => {
    const [oldest = newcomer] = [silent, idleStrangers, idle].flatMap((group) => firstOf(group, newcomer));
    onClosed();
    oldest.destroy();
    forget(oldest);
  };
  const forget = (socket: Socket): void => {
    for (const group of groups) group.delete(socket);
  };
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => forget(socket));
    if (silent.size + idleStrangers.size + idle.size + busy.size > most + RESERVE) makeRoom(socket);
  });
  server.timeout = stalledAfter;
  server.on('timeout', (socket) => {
    // A request that waits for its answer is no reason; that the answer is not taken is one.
    if (!(busy.has(socket) || strangers.has(socket)) || socket.writableLength > 0) socket.destroy();
  });
  /** Closes the oldest stranger who keeps the daemon waiting; false when the daemon works on all of them. */
  const makeRoomForStranger = (): boolean => {
    for (const [socket, { incoming, outgoing }] of strangers) {
      if (incoming.complete && !outgoing.writableEnded) continue;
      socket.destroy();
      forget(socket);
      return true;
    }
    return false;
  };

  return {
    begin: ({ socket }, outgoing) => {
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
    beginStranger: (incoming, outgoing, needsNoPlace) => {
      const { socket } = incoming;
      // Neither browsers nor proxies send a request before the answer to the one before it.
      if (busy.has(socket) || strangers.has(socket)) {
        socket.destroy();
        return false;
      }
      if (strangers.size >= STRANGERS && !makeRoomForStranger() && !needsNoPlace) return false;
      forget(socket);
      strangers.set(socket, { incoming, outgoing });
      const deadline = setTimeout(() => incoming.complete || socket.destroy(), strangersWithin);
      outgoing.once('close', () => {
        clearTimeout(deadline);
        forget(socket);
        if (!socket.destroyed) idleStrangers.add(socket);
      });
      return true;
    },
    isFull: () => busy.size > most,
  };
}

function firstOf(group: ReadonlySet<Socket>, except: Socket): Socket[] {
  const [first] = group;
  return first === undefined || first === except ? [] : [first];
}
