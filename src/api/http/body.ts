/** Request bodies: read with a cap, as text, and parsed so that numbers keep their digits. */
import type { Context, MiddlewareHandler } from 'hono';
import { isJsonObject, type JsonObject, type JsonValue, parseExactQuickly } from '../../domain/values/exact-json.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay, nextTurn } from '../../runtime/time.ts';
import { busy, notJsonType, Problem } from './problems.ts';

/** Levels of lists and objects that a body may have. */
const DEEPEST = 100;
const KIB = 1024;
/** Bytes of all bodies whose calls are not answered yet; parsed, a body may take forty times as much. A small body is read in any case. */
const MOST_HELD = 16 * 1024 * KIB;
const SMALL = 64 * KIB;
let held = 0;
/** Between two large bodies other requests come in: an answer takes several turns of the event loop, and the worst body a third of a second. */
const REST: Milliseconds = 20;
let turn: Promise<void> = Promise.resolve();

/**
 * Lets the route's own validation see a body of at most `limit` bytes with its numbers as they were written: the
 * framework would parse it with JSON.parse, which rounds them.
 */
export function exactJson(limit: number): MiddlewareHandler {
  return async (c, next) => {
    requireJsonType(c);
    await withBody(c, limit, (bytes) => {
      const value = parse(decoded(bytes));
      c.req.json = async <T>() => value as T;
      return next();
    });
  };
}

/** `exactJson` for a route whose requests may also come without a body. */
export function optionalJson(limit: number): MiddlewareHandler {
  const read = exactJson(limit);
  return async (c, next) => {
    const { 'content-type': type, 'content-length': length = '0', 'transfer-encoding': chunked } = c.req.header();
    return type === undefined && length === '0' && chunked === undefined ? next() : read(c, next);
  };
}

/** Refuses a large body of a call that reads none, or a small one. What comes without a length is left unread, or counted. */
export function refuseLarge({ limit, except }: { limit: number; except: ReadonlySet<string> }): MiddlewareHandler {
  return async (c, next) => {
    const isLarge = Number(c.req.header('content-length') ?? 0) > limit;
    if (isLarge && !SAFE_METHODS.has(c.req.method) && !except.has(c.req.path)) throw tooLarge(limit);
    await next();
  };
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

function tooLarge(limit: number): Problem {
  return new Problem('too_large', `The body is larger than ${limit / KIB} KiB, the most accepted here; send less at once.`);
}

/** Throws unless the request says that its body is JSON, and not compressed. */
function requireJsonType(c: Context): void {
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(c.req.header('content-type')?.trim() ?? '')) throw notJsonType();
  const encoding = c.req.header('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', 'Compressed bodies are not accepted; send it without content-encoding.');
  }
}

/**
 * Reads the body, and works with it. Throws Problem as soon as the body has more than `limit` bytes, or all bodies of the process
 * together hold too many.
 */
export async function withBody<T>(c: Context, limit: number, work: (bytes: Buffer) => T | Promise<T>): Promise<T> {
  if (Number(c.req.header('content-length') ?? 0) > limit) throw tooLarge(limit);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // A chunked body names no length: it is counted while it comes, and what is too much is never held.
    for await (const chunk of c.req.raw.body ?? []) {
      size += chunk.byteLength;
      held += chunk.byteLength;
      if (size > limit) throw tooLarge(limit);
      if (size > SMALL && held > MOST_HELD) throw busy(CROWDED);
      chunks.push(chunk);
    }
    const begin = () => work(Buffer.concat(chunks.splice(0)));
    return await (size > SMALL ? inTurn(begin) : begin());
  } finally {
    held -= size;
  }
}

/** Begins one piece of work after the other, each with a rest behind it; their ends are not waited for. */
function inTurn<T>(begin: () => T | Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  turn = turn.then(async () => {
    try {
      resolve(begin());
    } catch (error) {
      reject(error);
    }
    await nextTurn();
    await delay(REST);
  });
  return promise;
}

const CROWDED = 'Other large bodies are being worked on, and nothing of this one was used. Try again in a few seconds.';

const decoder = new TextDecoder('utf-8', { fatal: true });

function decoded(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new Problem('not_json', 'The body is not UTF-8 text, as JSON must be.');
  }
}

/** Parses a body, which must be an object. Throws Problem, which says where the fault is. */
function parse(text: string): JsonObject {
  if (text.trim() === '') throw new Problem('not_json', 'The body is empty; JSON is expected.');
  let value: JsonValue;
  try {
    value = parseExactQuickly(text);
  } catch (error) {
    // Text whose numbers keep their digits is parsed with a call for each level.
    if (error instanceof RangeError) throw tooDeep();
    throw new Problem('not_json', `The body is not JSON${place(text, error)}.`);
  }
  if (isDeeper(value, DEEPEST)) throw tooDeep();
  if (!isJsonObject(value)) throw new Problem('invalid_request', 'The body must be a JSON object: {"…": …}.');
  return value;
}

const tooDeep = () => new Problem('too_deep', `The body has more than ${DEEPEST} levels of lists and objects.`);

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1)));

/** Where the text stops being JSON, as far as the engine says. */
function place(text: string, error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position === undefined) return /end of JSON/i.test(message) ? ': it ends too early' : '';
  const lines = text.slice(0, Number(position)).split('\n');
  return `: wrong at position ${position} (line ${lines.length}, column ${lines.at(-1)!.length + 1})`;
}
