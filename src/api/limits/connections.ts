/**
 * The connections of the API, bounded: with no room left, the connection that has been idle for longest is closed for a new
 * one. Connections that carry requests are never closed for others. Some room is kept for operators' calls.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Milliseconds } from '../../domain/values/time.ts';

export interface ConnectionLimits {
  /** Connections with a request under way; those beyond it are for operators' calls. */
  readonly most: number;
  /** After so long a connection is closed whose other end takes nothing of what is written to it. */
  readonly stalledAfter: Milliseconds;
}

export interface Connections {
  /** Notes a request until its answer is out. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /** Whether more requests are under way than there may be. */
  isFull(): boolean;
}

/** Connections beyond the most, idle ones included. */
const RESERVE = 64;
const MOST = 1_500;
/** Fewer would keep a browser and a few programs from calling. */
const LEAST = 20;
/** What the process has open besides: files, the database, Slack, the clients of a broker. */
const OTHER_FILES = 150;

/**
 * How many connections a process may have that opens at most `files` files and sockets, `calls` of them for polls and
 * deliveries.
 */
export function mostConnections({ files, calls }: { files: number; calls: number }): number {
  return Math.max(Math.min(MOST, files - OTHER_FILES - calls - RESERVE), LEAST);
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
export function limitConnections(server: Server, { most, stalledAfter }: ConnectionLimits, onClosed: () => void): Connections {
  /** Those that have sent no request yet, the oldest first. */
  const silent = new Set<Socket>();
  /** Those whose requests are answered, the one first that has been idle for longest. */
  const idle = new Set<Socket>();
  /** Requests under way. */
  const busy = new Map<Socket, number>();

  const makeRoom = (newcomer: Socket): void => {
    const [oldest = newcomer] = [...firstOf(silent, newcomer), ...firstOf(idle, newcomer)];
    onClosed();
    oldest.destroy();
    forget(oldest);
  };
  const forget = (socket: Socket): void => {
    for (const group of [silent, idle, busy]) group.delete(socket);
  };
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => forget(socket));
    if (silent.size + idle.size + busy.size > most + RESERVE) makeRoom(socket);
  });
  server.timeout = stalledAfter;
  server.on('timeout', (socket) => {
    // A request that waits for its answer is no reason; that the answer is not taken is one.
    if (!busy.has(socket) || socket.writableLength > 0) socket.destroy();
  });

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
    isFull: () => busy.size > most,
  };
}

function firstOf(group: ReadonlySet<Socket>, except: Socket): Socket[] {
  const [first] = group;
  return first === undefined || first === except ? [] : [first];
}
