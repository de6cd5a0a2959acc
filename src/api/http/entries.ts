/**
 * The entries of a large body such as {"purchases": [entry, entry, …]}, found in its bytes while they come and without parsing
 * them: a body that holds too much is refused before it costs memory, and each entry is parsed alone. Parsed at once, 16 MiB of
 * `{},` are 5.6 million objects.
 */
import { Problem } from './problems.ts';

export interface EntryLimits {
  /** In all lists of the object together. */
  readonly entries: number;
  /** Bytes of one entry. */
  readonly entrySize: number;
  /** Bytes of all that is in no entry. */
  readonly outsideSize: number;
  /** Levels of lists and objects. */
  readonly depth: number;
  /** Values in the whole body, as far as commas and brackets show. */
  readonly values: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

/** An entry is what stands in a list that stands in the object itself. */
const ENTRY_DEPTH = 2;

export class EntryFinder {
  readonly #limits: EntryLimits;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  /** Bytes of the chunks before. */
  #seen = 0;
  #inEntries = 0;
  #depth = 0;
  #values = 0;
  #isObject = false;
  #isString = false;
  #isEscaped = false;
  /** Where the entry begins that is being read; -1 outside of lists of entries. */
  #start = -1;
  /** Whether that entry has anything but white space. */
  #isFilled = false;

  constructor(limits: EntryLimits) {
    this.#limits = limits;
  }

  /** Reads the next bytes. Throws Problem as soon as a limit is passed. */
  read(chunk: Uint8Array): void {
    for (let index = 0; index < chunk.length; index++) {
      if (this.#isString) index = this.#passString(chunk, index);
      else this.#take(chunk[index]!, this.#seen + index);
    }
    this.#seen += chunk.length;
    this.#checkSizes();
  }

  /** Reads on within a string; answers where the string ends, or the length of the chunk when it does not. */
  #passString(chunk: Uint8Array, from: number): number {
    for (let index = from; index < chunk.length; index++) {
      const byte = chunk[index];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#isString = false;
        return index;
      }
    }
    return chunk.length;
  }

  /** Reads one byte outside of strings. */
  #take(byte: number, at: number): void {
    switch (byte) {
      case QUOTE:
        this.#isString = true;
        this.#isFilled = true;
        break;
      case COMMA:
        this.#values += 1;
        if (this.#depth === ENTRY_DEPTH && this.#start >= 0) this.#next(at);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        this.#open(byte, at);
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        this.#close(at);
        break;
      default:
        if (byte > SPACE) this.#isFilled = true;
    }
  }

  /** Where all entries lie, once everything was read: the bytes from `starts[n]` up to `ends[n]` are those of entry n. */
  places(): { readonly starts: readonly number[]; readonly ends: readonly number[] } {
    return { starts: this.#starts, ends: this.#ends };
  }

  #open(byte: number, at: number): void {
    this.#values += 1;
    this.#depth += 1;
    this.#isFilled = true;
    if (this.#depth === 1) this.#isObject = byte === OPEN_OBJECT;
    if (this.#depth === ENTRY_DEPTH && this.#isObject && byte === OPEN_LIST) this.#begin(at);
    const { depth } = this.#limits;
    if (this.#depth > depth) throw new Problem('too_deep', `The body has more than ${depth} levels of lists and objects.`);
  }

  #close(at: number): void {
    if (this.#depth === ENTRY_DEPTH && this.#start >= 0) {
      // An empty list has no entry. After a comma there must be one: its absence is left for the parser to see.
      if (this.#isFilled) this.#end(at);
      this.#start = -1;
    }
    this.#depth -= 1;
  }

  #next(at: number): void {
    if (this.#isFilled) this.#end(at);
    this.#begin(at);
  }

  #begin(at: number): void {
    this.#start = at + 1;
    this.#isFilled = false;
  }

  #end(at: number): void {
    this.#starts.push(this.#start);
    this.#ends.push(at);
    this.#inEntries += at - this.#start;
    const { entries } = this.#limits;
    if (this.#ends.length > entries) {
      throw new Problem('too_large', `The body has more than ${entries} entries; at most ${entries} are accepted at once.`);
    }
  }

  #checkSizes(): void {
    const { values, outsideSize, entrySize } = this.#limits;
    if (this.#values > values) {
      throw new Problem('too_large', `The body holds more than ${values} values; send fewer entries at once.`);
    }
    const unfinished = this.#start < 0 ? 0 : this.#seen - this.#start;
    if (unfinished > entrySize) {
      const detail = `Entry ${this.#ends.length} is larger than ${entrySize / 1024} KiB; leave it out, or send it shorter.`;
      throw new Problem('too_large', detail);
    }
    if (this.#seen - this.#inEntries - unfinished > outsideSize) {
      throw new Problem('too_large', `The body has more than ${outsideSize / 1024} KiB outside of its entries.`);
    }
  }
}
