/** A Postgres inside the process (PGlite) behind sockets of the network. Its statements run one after another, each in no time. */
import { setFlagsFromString } from 'node:v8';
import { PGlite } from '@electric-sql/pglite';
import { failing, greeting, listened, message, refusal, split, text, withPid } from './messages.ts';
import type { Network, SimSocket } from './network.ts';
import { type Names, Statements } from './statements.ts';
import type { Place, Scheduler } from './time.ts';

export interface Engine {
  readonly postgres: PGlite;
  readonly statements: Statements;
}

/** A world's rows fit into a few megabytes; the memory is copied for each world. */
const SETTINGS = ['-c', 'shared_buffers=8MB', '-c', 'full_page_writes=off', '-c', 'track_counts=off'];

/** A server that has no tables yet. Takes a second; a process makes one and puts it back for each world. */
export async function startEngine(): Promise<Engine> {
  // Otherwise V8 runs most of the engine without optimizing it for a dozen worlds.
  setFlagsFromString('--wasm-tiering-budget=200000');
  const postgres = await PGlite.create({ startParams: [...PGlite.defaultStartParams, ...SETTINGS] });
  return { postgres, statements: new Statements() };
}

/**
 * What may happen to one batch of a connection's messages: a `code` is the SQLSTATE that answers it; `late` loses the connection,
 * and the batch runs so many milliseconds later.
 */
export type Fate = 'done' | 'lost before' | 'lost after' | { readonly code: string } | { readonly late: number };

export interface Server {
  readonly place: Place;
  /** Statements run so far. */
  readonly count: number;
  /** Asked before each batch of messages runs. */
  fate: (connection: Connection) => Fate;
  /** Whether notifications get lost. */
  isDeaf: boolean;
  /** The SQLSTATE that answers each new connection, or null. */
  refuses: string | null;
  /** While true a statement does not wait for the transaction of another connection: for an index that is built beside one. */
  overlaps: boolean;
  /** Breaks every connection. */
  restart(): void;
  /** Does something to the engine between two transactions, once those before it are over. */
  between(act: () => void): void;
  /** Breaks every connection, undoes what is open, forgets what is late, and does something to the engine. */
  replace(act: () => void): void;
  /** Runs a statement between transactions, as a client without a network; `done` gets the answer of the protocol. */
  run(sql: string, done?: (answer: Buffer) => void): void;
}

interface Connection {
  readonly socket: SimSocket;
  readonly pid: number;
  readonly channels: Set<string>;
  readonly names: Names;
  pending: Buffer[];
  rest: Buffer;
  /** Batches run while its transaction was open. */
  turns: number;
  hasBegun: boolean;
  isOver: boolean;
}

/** An answer without its notifications, the status of the session after it, and the types of its messages. */
interface Routed {
  readonly kept: Buffer;
  readonly status: string | null;
  readonly types: number[];
}

/** A transaction that says nothing for so long is ended, as by `idle_in_transaction_session_timeout`. */
const IDLE_WITHIN = 10_000;

/** Has the engine answer messages of the protocol. */
export function ask({ postgres }: Engine, messages: Buffer): Buffer {
  const answer: Buffer[] = [];
  // It answers before it returns, and unlike \`execProtocolRawSync\` it neither reads its own answers nor gathers them for ever.
  void postgres.execProtocolRawStream(messages, { syncToFs: false, onRawData: (bytes) => answer.push(Buffer.from(bytes)) });
  return answer.length === 1 ? answer[0]! : Buffer.concat(answer);
}

/** Serves the engine at these addresses. */
export function serve(
  engine: Engine,
  network: Network,
  scheduler: Scheduler,
  place: Place,
  addresses: readonly string[],
): Server {
  const connections = new Set<Connection>();
  const line: (Connection | (() => void))[] = [];
  const exec = (...messages: Buffer[]): Buffer => ask(engine, Buffer.concat(messages));
  const { statements } = engine;
  let holder: Connection | null = null;
  let pids = 100;
  let count = 0;
  /** How often the engine was replaced. */
  let era = 0;
  const server: Server = {
    place,
    get count() {
      return count;
    },
    fate: () => 'done',
    refuses: null,
    isDeaf: false,
    overlaps: false,
    restart: () => {
      for (const each of connections) each.socket.resetAndDestroy();
    },
    between: (act) => {
      line.push(act);
      next();
    },
    replace: (act) => {
      for (const each of connections) {
        each.socket.resetAndDestroy();
        end(each);
      }
      era++;
      act();
    },
    run: (sql, done = () => undefined) => server.between(() => done(route(exec(message('Q', text(sql)))).kept)),
  };

  const end = (connection: Connection): void => {
    if (connection.isOver) return;
    connection.isOver = true;
    connections.delete(connection);
    if (holder === connection) {
      exec(message('Q', text('rollback')));
      holder = null;
    }
    next();
  };
  /** Runs what waits, in the order in which it came, unless a transaction of another connection is open. */
  const next = (): void => {
    for (;;) {
      const connection = holder === null || server.overlaps ? line.shift() : holder.pending.length > 0 ? holder : undefined;
      if (connection === undefined) return;
      if (typeof connection === 'function') {
        connection();
        continue;
      }
      if (holder === connection) {
        const at = line.indexOf(connection);
        if (at >= 0) line.splice(at, 1);
      }
      if (connection.isOver || connection.pending.length === 0) continue;
      serveNext(connection);
    }
  };
  const execute = (connection: Connection, batch: readonly Buffer[]): Routed => {
    for (const each of batch) {
      const channel = listened(each);
      if (channel !== null) connection.channels.add(channel);
    }
    const own = batch.map((each) => withPid(each, connection.pid));
    const routed = route(exec(...statements.rewrite(own, connection.names)));
    statements.settle(routed.types);
    return routed;
  };
  const serveNext = (connection: Connection): void => {
    const batch = connection.pending.splice(0);
    const fate = server.fate(connection);
    const ends = batch.map((each) => 'QS'.includes(String.fromCharCode(each[0]!)));
    const isWhole = ends.at(-1)!;
    if (typeof fate === 'object' && 'late' in fate && isWhole && holder === null) {
      runLate(connection, batch, fate.late);
      return;
    }
    if (fate === 'lost before') {
      connection.socket.resetAndDestroy();
      end(connection);
      return;
    }
    count++;
    const fails = isWhole && typeof fate === 'object' && 'code' in fate;
    // A batch may have several statements, and the client waits for an answer to each.
    const failed = fails ? ends.filter(Boolean).map(() => failing(fate.code)) : [];
    const { kept, status } = fails ? route(exec(...failed)) : execute(connection, batch);
    holder = status === null || status !== 'I' ? (holder ?? connection) : null;
    if (holder === connection && !server.overlaps) watch(connection);
    if (fate === 'lost after') {
      connection.socket.resetAndDestroy();
      end(connection);
    } else if (kept.length > 0) connection.socket.write(kept);
  };
  /** A client gives a statement up, and the server runs it all the same. */
  const runLate = (connection: Connection, batch: Buffer[], late: number): void => {
    const begun = era;
    connection.socket.resetAndDestroy();
    connection.isOver = true;
    connections.delete(connection);
    const act = (): void => {
      if (era === begun && execute(connection, batch).status !== 'I') exec(message('Q', text('rollback')));
    };
    scheduler.after(late, () => server.between(act));
  };
  /** Ends a session whose transaction is left alone. */
  const watch = (connection: Connection): void => {
    const turn = ++connection.turns;
    scheduler.after(IDLE_WITHIN, () => {
      if (holder !== connection || connection.turns !== turn) return;
      connection.socket.resetAndDestroy();
      end(connection);
    });
  };
  /** Takes notifications out of an answer and hands them to who listens. */
  const route = (answer: Buffer): Routed => {
    const kept: Buffer[] = [];
    const types: number[] = [];
    let status: string | null = null;
    for (let at = 0; at < answer.length; ) {
      const length = 1 + answer.readUInt32BE(at + 1);
      const each = answer.subarray(at, at + length);
      at += length;
      types.push(each[0]!);
      const type = String.fromCharCode(each[0]!);
      if (type === 'Z') status = String.fromCharCode(each[5]!);
      if (type !== 'A') {
        kept.push(each);
        continue;
      }
      if (server.isDeaf) continue;
      const channel = each.toString('utf8', 9, each.indexOf(0, 9));
      for (const { socket, channels, isOver } of connections) if (!isOver && channels.has(channel)) socket.write(each);
    }
    return { kept: Buffer.concat(kept), status, types };
  };

  const accept = (socket: SimSocket): void => {
    const connection: Connection = {
      socket,
      pid: pids++,
      channels: new Set(),
      names: new Map(),
      pending: [],
      rest: Buffer.alloc(0),
      turns: 0,
      hasBegun: false,
      isOver: false,
    };
    connections.add(connection);
    socket.on('error', () => end(connection));
    socket.on('close', () => end(connection));
    socket.on('data', (chunk: Buffer) => {
      connection.rest = Buffer.concat([connection.rest, chunk]);
      if (!connection.hasBegun) {
        begin(connection);
        return;
      }
      const { messages, rest } = split(connection.rest);
      connection.rest = Buffer.from(rest);
      if (messages.length === 0) return;
      if (messages.some((each) => each[0] === 0x58)) {
        socket.end();
        end(connection);
        return;
      }
      connection.pending.push(...messages);
      if (!line.includes(connection)) line.push(connection);
      next();
    });
  };
  const begin = (connection: Connection): void => {
    const { rest, socket, pid } = connection;
    if (rest.length < 8) return;
    const code = rest.readUInt32BE(4);
    if (code === 80877103) {
      connection.rest = rest.subarray(8);
      socket.write('N');
      return;
    }
    connection.rest = Buffer.from(rest.subarray(rest.readUInt32BE(0)));
    connection.hasBegun = true;
    if (server.refuses !== null) {
      socket.end(refusal(server.refuses));
      end(connection);
      return;
    }
    socket.write(greeting(pid));
  };
  for (const address of addresses) network.listen(address, accept, place);
  scheduler.in(place, () => server.run("set timezone = 'UTC'; set datestyle = 'ISO'; set plan_cache_mode = force_generic_plan"));
  return server;
}
