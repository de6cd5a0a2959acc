/** A line to Postgres that breaks at a chosen request: for ever, which looks like a crash to everybody else, or for once. */
import { type Line, startWire, type Tap, type Wire } from './wire.ts';

/** Where it breaks: the request never arrives, or it is carried out and its answer never comes. */
export type Side = 'before' | 'after';

export interface PostgresWire extends Wire {
  /**
   * Counts requests from now on, over all connections, and breaks them all at the n-th; later ones are refused, or pass
   * when the line is `mended`. `onBreak` is called at that very moment, before anything else happens in this process:
   * other lines can break at the same one.
   */
  breakAt(request: number, side: Side, options?: { readonly mended?: boolean; readonly onBreak?: () => void }): void;
  /** Breaks every connection, and each of the next so many at its first request. */
  breakNew(connections: number): void;
  /** Resolves when `breakAt` has broken the line; with `after`, once the request is carried out. */
  readonly broken: Promise<void>;
  /** How many connections `breakNew` still has to break. */
  toBreak(): number;
}

const SSL_REQUEST = 80_877_103;
/** What asks for work to be done and answered: a simple query, and the end of a prepared one. Each is answered with `Z`. */
const ASKING = new Set(['Q', 'S']);
const NOTHING = Buffer.alloc(0);

/** Lays a line to the Postgres of a `postgres://` address, without TLS. */
export async function startPostgresWire(target: string): Promise<PostgresWire> {
  const broken = Promise.withResolvers<void>();
  let plan: { readonly at: number; readonly side: Side; readonly mended: boolean; readonly onBreak: () => void } | null = null;
  let requests = 0;
  let toBreak = 0;
  /** Connections that break together. Once it is over nothing of theirs passes; only the answer to the last request is waited for. */
  let era = { isOver: false };

  const end = (mended: boolean): void => {
    era = { isOver: false };
    if (mended) wire.reset();
    else wire.cut();
    broken.resolve();
  };

  const tap = (): Tap => {
    const mine = era;
    let unread: Buffer = NOTHING;
    let heard: Buffer = NOTHING;
    let isStarted = false;
    let isNew = true;
    /** Requests of this connection that are not answered. */
    let owed = 0;
    /** The plan whose request this connection is the last to make. */
    let last: typeof plan = null;

    /** Whether a request may pass. */
    const ask = (line: Line): boolean => {
      if (isNew && toBreak > 0) {
        toBreak -= 1;
        line.reset();
        return false;
      }
      isNew = false;
      owed += 1;
      if (plan === null) return true;
      requests += 1;
      if (requests !== plan.at) return true;
      mine.isOver = true;
      last = plan;
      plan = null;
      last.onBreak();
      if (last.side === 'before') end(last.mended);
      return last.side === 'after';
    };

    return {
      up: (chunk, line) => {
        if (mine.isOver) return NOTHING;
        unread = Buffer.concat([unread, chunk]);
        let passed = 0;
        while (!mine.isOver) {
          const message = nextMessage(unread.subarray(passed), isStarted);
          if (message === null) break;
          if (!isStarted && refuseTls(unread.subarray(passed), line)) {
            unread = Buffer.concat([unread.subarray(0, passed), unread.subarray(passed + message.length)]);
            continue;
          }
          isStarted = true;
          if (ASKING.has(message.type) && !ask(line)) return NOTHING;
          passed += message.length;
        }
        const whole = unread.subarray(0, passed);
        unread = unread.subarray(passed);
        return whole;
      },
      down: (chunk) => {
        heard = Buffer.concat([heard, chunk]);
        for (let message = nextMessage(heard, true); message !== null; message = nextMessage(heard, true)) {
          heard = heard.subarray(message.length);
          // The first one greets.
          if (message.type === 'Z' && owed > 0) owed -= 1;
        }
        if (!mine.isOver) return chunk;
        if (last !== null && owed === 0) end(last.mended);
        return NOTHING;
      },
      // What died with its request under way does not keep the database from carrying it out.
      keeps: () => last?.side === 'after' && owed > 0,
    };
  };

  const wire = await startWire(target, tap);
  return {
    ...wire,
    broken: broken.promise,
    toBreak: () => toBreak,
    breakNew: (connections) => {
      toBreak = connections;
      wire.reset();
    },
    breakAt: (at, side, { mended = false, onBreak = () => {} } = {}) => {
      requests = 0;
      plan = { at, side, mended, onBreak };
    },
  };
}

/** The first whole message of what has come, or null when there is none yet. Those that open a connection have no type. */
function nextMessage(bytes: Buffer, isTyped: boolean): { readonly type: string; readonly length: number } | null {
  const head = isTyped ? 1 : 0;
  if (bytes.length < head + 4) return null;
  const length = head + bytes.readInt32BE(head);
  return bytes.length < length ? null : { type: isTyped ? String.fromCharCode(bytes[0]!) : '', length };
}

/** Messages could not be counted behind TLS. */
function refuseTls(bytes: Buffer, line: Line): boolean {
  if (bytes.readInt32BE(4) !== SSL_REQUEST) return false;
  line.answer('N');
  return true;
}
