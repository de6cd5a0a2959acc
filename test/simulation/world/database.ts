/** A Postgres inside the process (PGlite) behind sockets of the network. Its statements run one after another, each in no time. */
import { PGlite } from '@electric-sql/pglite';
import { message, split, text, withPid } from './messages.ts';
import type { Network, SimSocket } from './network.ts';
import type { Place, Scheduler } from './time.ts';

export type Engine = PGlite;

/** A server that has no tables yet. Takes a second; a process makes one and puts it back for each world. */
export const startEngine = (): Promise<Engine> => PGlite.create();

/** A statement that fails with a SQLSTATE, so that an open transaction has failed, too. */
const failing = (code: string): Buffer =>
  message('Q', text(`do $$ begin raise exception using errcode = '${code}', message = 'failed by the world'; end $$`));

const AT_START: readonly (readonly [string, string])[] = [
  ['server_version', '18.0'],
  ['server_encoding', 'UTF8'],
  ['client_encoding', 'UTF8'],
  ['DateStyle', 'ISO, MDY'],
  ['TimeZone', 'UTC'],
  ['integer_datetimes', 'on'],
  ['standard_conforming_strings', 'on'],
];

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
  /** Breaks every connection, undoes what is open, and does something to the engine. */
  replace(act: () => void): void;
  /** Runs a statement between transactions, as a client without a network; `done` gets the answer of the protocol. */
  run(sql: string, done?: (answer: Buffer) => void): void;
}

interface Connection {
  readonly socket: SimSocket;
  readonly pid: number;
  readonly channels: Set<string>;
  /** Prepared statements that end with the connection. */
  readonly names: Set<string>;
  pending: Buffer[];
  rest: Buffer;
  /** Batches run while its transaction was open. */
  turns: number;
  hasBegun: boolean;
  isOver: boolean;
}

/** A transaction that says nothing for so long is ended, as by `idle_in_transaction_session_timeout`. */
const IDLE_WITHIN = 10_000;

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
  const exec = (...messages: Buffer[]): Buffer => Buffer.from(engine.execProtocolRawSync(Buffer.concat(messages)));
  let holder: Connection | null = null;
  let pids = 100;
  let count = 0;
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
      act();
      // Those of sessions that were open when the copy was taken.
      exec(message('Q', text('deallocate all')));
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
    for (const name of connection.names) exec(message('C', text(`S${name}`)), message('S', Buffer.alloc(0)));
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
    const isWhole = 'QS'.includes(String.fromCharCode(batch.at(-1)![0]!));
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
    for (const each of batch) note(connection, each);
    const fails = isWhole && typeof fate === 'object' && 'code' in fate;
    const answer = fails ? exec(failing(fate.code)) : exec(...batch.map((each) => withPid(each, connection.pid)));
    const { kept, status } = route(answer);
    holder = status === null || status !== 'I' ? (holder ?? connection) : null;
    if (holder === connection && !server.overlaps) watch(connection);
    if (fate === 'lost after') {
      connection.socket.resetAndDestroy();
      end(connection);
    } else if (kept.length > 0) connection.socket.write(kept);
  };
  /** A client gives a statement up, and the server runs it all the same. */
  const runLate = (connection: Connection, batch: Buffer[], late: number): void => {
    connection.socket.resetAndDestroy();
    connection.isOver = true;
    connections.delete(connection);
    scheduler.after(late, () =>
      server.between(() => {
        for (const each of batch) note(connection, each);
        if (route(exec(...batch.map((each) => withPid(each, connection.pid)))).status !== 'I')
          exec(message('Q', text('rollback')));
        connection.isOver = false;
        end(connection);
      }),
    );
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
  const route = (answer: Buffer): { kept: Buffer; status: string | null } => {
    const kept: Buffer[] = [];
    let status: string | null = null;
    for (let at = 0; at < answer.length; ) {
      const length = 1 + answer.readUInt32BE(at + 1);
      const each = answer.subarray(at, at + length);
      at += length;
      const type = String.fromCharCode(each[0]!);
      if (type === 'Z') status = String.fromCharCode(each[5]!);
      if (type !== 'A') {
        kept.push(each);
        continue;
      }
      const channel = each.toString('utf8', 9, each.indexOf(0, 9));
      if (server.isDeaf) continue;
      for (const { socket, channels, isOver } of connections) if (!isOver && channels.has(channel)) socket.write(each);
    }
    return { kept: Buffer.concat(kept), status };
  };

  const accept = (socket: SimSocket): void => {
    const connection: Connection = {
      socket,
      pid: pids++,
      channels: new Set(),
      names: new Set(),
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
      socket.end(
        message('E', Buffer.concat([text('SFATAL', 'VFATAL', `C${server.refuses}`, 'Mrefused by the world'), Buffer.alloc(1)])),
      );
      end(connection);
      return;
    }
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
  scheduler.in(place, () => server.run("set timezone = 'UTC'; set datestyle = 'ISO'"));
  return server;
}

/** The statements that a message prepares, and what it listens to. */
function note(connection: Connection, each: Buffer): void {
  const type = String.fromCharCode(each[0]!);
  if (type !== 'P' && type !== 'Q') return;
  const body = each.subarray(5);
  const end = body.indexOf(0);
  const name = type === 'P' ? body.toString('utf8', 0, end) : '';
  if (name !== '') connection.names.add(name);
  const sql = type === 'P' ? body.toString('utf8', end + 1, body.indexOf(0, end + 1)) : body.toString('utf8', 0, end);
  const listened = /^\s*listen\s+"?([\w.]+)"?/i.exec(sql);
  if (listened !== null) connection.channels.add(listened[1]!);
}
