/**
 * Bodies of many entries, up to megabytes. They come in side by side, within a limit for all of them together, and are then
 * worked on one at a time: the next one waits, and is refused when that takes too long.
 */
import type { Context, MiddlewareHandler } from 'hono';
import type { JsonObject, JsonValue } from '../../domain/values/exact-json.ts';
import { createTurns } from '../../runtime/loops/turns.ts';
import { bodyChunks, DEEPEST, decoded, parse, requireJsonType, requireObject } from './body.ts';
import { EntryFinder } from './entries.ts';
import { busy } from './problems.ts';

/** In place of each entry in the lists of the object, as the route's own validation sees them. */
export interface Entry {
  /** Bytes. */
  readonly size: number;
  /** Parses it. Throws Problem when it is not JSON. */
  value(): JsonValue;
}

const KIB = 1024;
/** An entry beyond it refuses the whole body. */
const LARGEST_ENTRY = 1024 * KIB;
const LARGEST_OUTSIDE = 64 * KIB;
const MOST_VALUES = 1_000_000;
/** A body up to this size needs no turn. */
const SMALL = 64 * KIB;
/** Bytes that all bodies may hold together. */
const MOST_HELD = 48 * 1024 * KIB;
const MOST_WAITING = 16;
const WAIT_WITHIN = 10_000;

/**
 * Takes in bodies of at most `limit` bytes side by side, and lets one at a time of the large ones be worked on. `refuse` makes the error
 * of a refusal. `look` sees each part as it comes, and throws as soon as the body holds too much.
 */
export function largeBodies(refuse: () => Error) {
  const turns = createTurns({ most: 1, waiting: MOST_WAITING, within: WAIT_WITHIN, refuse });
  let held = 0;
  return async <T>(
    c: Context,
    { limit, look }: { limit: number; look: (chunk: Uint8Array) => void },
    work: (bytes: Buffer) => T | Promise<T>,
  ): Promise<T> => {
    let size = 0;
    let giveBack: (() => void) | undefined;
    try {
      const chunks: Uint8Array[] = [];
      for await (const chunk of bodyChunks(c, limit)) {
        if (held + chunk.byteLength > MOST_HELD) throw refuse();
        size += chunk.byteLength;
        held += chunk.byteLength;
        look(chunk);
        chunks.push(chunk);
      }
      if (size > SMALL) giveBack = await turns.take();
      return await work(Buffer.concat(chunks.splice(0)));
    } finally {
      held -= size;
      giveBack?.();
    }
  };
}

/** Reads bodies of at most `limit` bytes and `entries` entries each. */
export function entriesJson({ limit, entries }: { limit: number; entries: number }): MiddlewareHandler {
  const limits = { entries, entrySize: LARGEST_ENTRY, outsideSize: LARGEST_OUTSIDE, depth: DEEPEST, values: MOST_VALUES };
  const take = largeBodies(() =>
    busy('Other large bodies are being worked on. Try again in a few seconds, or send fewer entries at once.'),
  );
  return async (c, next) => {
    requireJsonType(c);
    const finder = new EntryFinder(limits);
    await take(c, { limit, look: (chunk) => finder.read(chunk) }, (bytes) => {
      const body = envelope(bytes, finder.places());
      c.req.json = async <T>() => body as T;
      return next();
    });
  };
}

/** The object with its entries in their places, which are not parsed yet. */
function envelope(bytes: Uint8Array, { starts, ends }: ReturnType<EntryFinder['places']>): JsonObject {
  let text = '';
  let at = 0;
  for (const [index, start] of starts.entries()) {
    text += textOf(bytes.subarray(at, start)) + index;
    at = ends[index]!;
  }
  const value = requireObject(
    parse(text + textOf(bytes.subarray(at)), starts.length > 0 ? 'The body around its entries' : 'The body'),
  );
  const entryOf = (index: number): Entry => {
    const part = bytes.subarray(starts[index], ends[index]);
    return {
      size: part.length,
      value: () =>
        parse(
          decoded(() => entryDecoder.decode(part)),
          `Entry ${index}`,
        ),
    };
  };
  // Only entries stand in these lists, each as its number.
  const filled = Object.entries(value).map(([name, list]) => [name, Array.isArray(list) ? list.map(entryOf) : list]);
  return Object.fromEntries(filled) as JsonObject;
}

const decoder = new TextDecoder('utf-8', { fatal: true });
/** A byte order mark may only begin the body. */
const entryDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string {
  return decoded(() => decoder.decode(bytes));
}
