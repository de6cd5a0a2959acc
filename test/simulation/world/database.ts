/** A Postgres inside the process (PGlite) behind sockets of the network. Its statements run one after another, each in no time. */
import { setFlagsFromString } from 'node:v8';
import { PGlite } from '@electric-sql/pglite';
import type { Network, SimSocket } from './network.ts';
import { message, type Names, Statements, text } from './statements.ts';
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

/** The messages of the frontend in a buffer; what is left belongs to a message that is under way. */
function split(buffer: Buffer): { messages: Buffer[]; rest: Buffer } {
  const messages: Buffer[] = [];
  let at = 0;
  while (buffer.length - at >= 5) {
    const length = 1 + buffer.readUInt32BE(at + 1);
    if (buffer.length - at < length) break;
    messages.push(buffer.subarray(at, at + length));
    at += length;
  }
  return { messages, rest: buffer.subarray(at) };
}

const AT_START: readonly (readonly [string, string])[] = [
  ['server_version', '18.0'],
  ['server_encoding', 'UTF8'],
  ['client_encoding', 'UTF8'],
  ['DateStyle', 'ISO, MDY'],
  ['TimeZone', 'UTC'],
  ['integer_datetimes', 'on'],
  ['standard_conforming_strings', 'on'],
];

/** What may happen to one batch of a connection's messages. */
export type Fate = 'done' | 'lost before' | 'lost after';

export interface Server {
  readonly place: Place;
  /** Statements run so far. */
  readonly count: number;
  /** Asked before each batch of messages runs. */
  fate: (connection: Connection) => Fate;
  /** While true a statement does not wait for the transaction of another connection: for an index that is built beside one. */
  overlaps: boolean;
  /** Breaks every connection. */
  restart(): void;
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
  const server: Server = {
    place,
    get count() {
      return count;
    },
    fate: () => 'done',
    overlaps: false,
    restart: () => {
      for (const each of connections) each.socket.resetAndDestroy();
    },
    run: (sql, done = () => undefined) => {
      line.push(() => done(route(exec(message('Q', text(sql)))).kept));
      next();
    },
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
      execute(connection);
    }
  };
  const execute = (connection: Connection): void => {
    const batch = connection.pending.splice(0);
    const fate = server.fate(connection);
    if (fate === 'lost before') {
      connection.socket.resetAndDestroy();
      end(connection);
      return;
    }
    count++;
    for (const each of batch) note(connection, each);
    const own = batch.map((each) => withPid(each, connection.pid));
    const { kept, status, types } = route(exec(...statements.rewrite(own, connection.names)));
    statements.settle(types);
    holder = status === null || status !== 'I' ? (holder ?? connection) : null;
    if (holder === connection && !server.overlaps) watch(connection);
    if (fate === 'lost after') {
      connection.socket.resetAndDestroy();
      end(connection);
    } else if (kept.length > 0) connection.socket.write(kept);
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
  const route = (answer: Buffer): { kept: Buffer; status: string | null; types: number[] } => {
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
    const key = Buffer.alloc(8);
    key.writeUInt32BE(pid);
    socket.write(
      Buffer.concat([
        message('R', Buffer.alloc(4)),
        ...AT_START.map(([name, value]) => message('S', text(name, value))),
        message('K', key),
        message('Z', Buffer.from('I')),
      ]),
    );
  };
  for (const address of addresses) network.listen(address, accept, place);
  scheduler.in(place, () => server.run("set timezone = 'UTC'; set datestyle = 'ISO'; set plan_cache_mode = force_generic_plan"));
  return server;
}

/** The only value of the only row of an answer. */
export function onlyValue(answer: Buffer): string {
  for (let at = 0; at < answer.length; at += 1 + answer.readUInt32BE(at + 1)) {
    if (answer[at] === 0x44) return answer.toString('utf8', at + 11, at + 11 + answer.readUInt32BE(at + 7));
  }
  throw new Error(`no row: ${answer.toString('latin1')}`);
}

/** What a message listens to. */
function note(connection: Connection, each: Buffer): void {
  const type = String.fromCharCode(each[0]!);
  if (type !== 'P' && type !== 'Q') return;
  const body = each.subarray(5);
  const end = body.indexOf(0);
  const sql = type === 'P' ? body.toString('utf8', end + 1, body.indexOf(0, end + 1)) : body.toString('utf8', 0, end);
  const listened = /^\s*listen\s+"?([\w.]+)"?/i.exec(sql);
  if (listened !== null) connection.channels.add(listened[1]!);
}

const PID = Buffer.from('pg_backend_pid()');
/** All connections are one session of the engine, so that each gets a number of its own here. */
function withPid(each: Buffer, pid: number): Buffer {
  if ((each[0] !== 0x50 && each[0] !== 0x51) || (!each.includes(PID) && !/concurrently/i.test(each.toString('latin1'))))
    return each;
  const body = each
    .subarray(5)
    .toString('latin1')
    .replaceAll('pg_backend_pid()', `${pid}`)
    .replace(/ concurrently/i, '');
  return message(String.fromCharCode(each[0]!), Buffer.from(body, 'latin1'));
}
