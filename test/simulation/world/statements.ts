/**
 * Prepared statements of an engine that has one session for all connections. A text is prepared once for all of them under a name
 * of this file's: the engine parses it, plans it and keeps the plan, also in a snapshot.
 */
import { message, text } from './messages.ts';

const PARSE = 0x50;
const QUERY = 0x51;
const BIND = 0x42;
const DESCRIBE = 0x44;
const CLOSE = 0x43;
const STATEMENT = 0x53;
const PARSED = 0x31;

/** Answered as any message that prepares; costs nearly nothing. */
const PREPARES_NOTHING = message('P', Buffer.concat([text('', ''), Buffer.alloc(2)]));

/** What the engine has prepared: names by everything of the message that prepared them, and how many names it was given ever. */
export interface Prepared {
  readonly names: ReadonlyMap<string, string>;
  readonly made: number;
}

/** The statements of a connection: the engine's names by those of its own. */
export type Names = Map<string, string>;

export class Statements {
  #prepared = new Map<string, string>();
  /** Of the messages of the batch that is under way: what each would prepare that is not prepared yet. */
  #asked: (string | null)[] = [];
  #made = 0;

  keep(): Prepared {
    return { names: new Map(this.#prepared), made: this.#made };
  }

  /** The engine is as it was when it had prepared these. */
  putBack({ names, made }: Prepared): void {
    this.#prepared = new Map(names);
    this.#made = made;
  }

  /** The messages as the engine is to have them. */
  rewrite(batch: readonly Buffer[], names: Names): Buffer[] {
    this.#asked = [];
    // A connection that prepares a text again after tables have changed gets a statement that knows of the change.
    if (batch.some(changesTables)) this.#prepared.clear();
    return batch.map((each) => {
      if (each[0] === PARSE) return this.#parse(each, names);
      if (each[0] === BIND) return renamed(each, each.indexOf(0, 5) + 1, names);
      if ((each[0] === DESCRIBE || each[0] === CLOSE) && each[5] === STATEMENT) {
        // The engine has no statement of the connection's own name, and says of it that it is closed.
        return each[0] === CLOSE ? each : renamed(each, 6, names);
      }
      return each;
    });
  }

  #parse(each: Buffer, names: Names): Buffer {
    const end = each.indexOf(0, 5);
    const name = each.toString('latin1', 5, end);
    const rest = each.toString('latin1', end + 1);
    const known = name === '' ? undefined : this.#prepared.get(rest);
    if (known !== undefined) {
      names.set(name, known);
      this.#asked.push(null);
      return PREPARES_NOTHING;
    }
    if (name === '') {
      this.#asked.push(null);
      return each;
    }
    const own = `s${this.#made++}`;
    names.set(name, own);
    this.#prepared.set(rest, own);
    this.#asked.push(rest);
    return message('P', Buffer.concat([text(own), each.subarray(end + 1)]));
  }

  /** Forgets what the last batch asked for and the engine did not prepare; `answers` are the types of its messages. */
  settle(answers: readonly number[]): void {
    const count = answers.filter((type) => type === PARSED).length;
    for (const failed of this.#asked.slice(count)) if (failed !== null) this.#prepared.delete(failed);
  }
}

const changesTables = (each: Buffer): boolean =>
  (each[0] === PARSE || each[0] === QUERY) && /^\s*(?:create|alter|drop)\s/im.test(each.toString('latin1', 5));

/** A message with the engine's name of the statement whose name begins there. */
function renamed(each: Buffer, from: number, names: Names): Buffer {
  const end = each.indexOf(0, from);
  const own = end === from ? undefined : names.get(each.toString('latin1', from, end));
  if (own === undefined) return each;
  return message(String.fromCharCode(each[0]!), Buffer.concat([each.subarray(5, from), Buffer.from(own), each.subarray(end)]));
}

const SYNC = message('S', Buffer.alloc(0));

/** The messages that prepare a statement, and describe it. */
export const preparing = (name: string, rest: string): Buffer =>
  Buffer.concat([message('P', Buffer.concat([text(name), Buffer.from(rest, 'latin1')])), message('D', text(`S${name}`)), SYNC]);

/** The messages that have the engine plan a statement, which is not executed; `described` is what it answered to those before. */
export function planning(name: string, described: Buffer): Buffer {
  const at = 5 + described.readUInt32BE(1) - 4;
  const count = described[at] === 0x74 ? described.readUInt16BE(at + 5) : 0;
  const formats = Buffer.alloc(2);
  const parameters = Buffer.alloc(2 + 4 * count, 0xff);
  parameters.writeUInt16BE(count);
  return Buffer.concat([message('B', Buffer.concat([text('', name), formats, parameters, formats])), SYNC]);
}
