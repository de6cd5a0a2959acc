/** Request bodies: read with a cap, as text, and parsed so that numbers keep their digits. */
import type { Context, MiddlewareHandler } from 'hono';
import { isJsonObject, type JsonObject, type JsonValue, parseExactQuickly } from '../../domain/values/exact-json.ts';
import { EntryFinder } from './entries.ts';
import { notJsonType, Problem } from './problems.ts';

/** Levels of lists and objects that a body may have. */
export const DEEPEST = 100;
/** A body that is parsed at once is so small that nothing else need be counted. */
const ANY = Number.POSITIVE_INFINITY;
const DEPTH_ONLY = { depth: DEEPEST, entries: ANY, entrySize: ANY, outsideSize: ANY, values: ANY };

/**
 * Lets the route's own validation see a body of at most `limit` bytes with its numbers as they were written: the
 * framework would parse it with JSON.parse, which rounds them.
 */
export function exactJson(limit: number): MiddlewareHandler {
  return async (c, next) => {
    requireJsonType(c);
    const value = requireObject(parse(await readText(c, limit)));
    c.req.json = async <T>() => value as T;
    await next();
  };
}

/** The body, which must be an object. */
export function requireObject(value: JsonValue): JsonObject {
  if (!isJsonObject(value)) throw new Problem('invalid_request', 'The body must be a JSON object: {"…": …}.');
  return value;
}

/** The same where a request may also come without a body. */
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
  return new Problem('too_large', `The body is larger than ${limit / 1024} KiB, the most accepted here.`);
}

/** Throws unless the request says that its body is JSON, and not compressed. */
export function requireJsonType(c: Context): void {
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(c.req.header('content-type')?.trim() ?? '')) throw notJsonType();
  const encoding = c.req.header('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', 'Compressed bodies are not accepted; send it without content-encoding.');
  }
}

/** The body as it comes. Throws Problem as soon as it has more than `limit` bytes. */
export async function* bodyChunks(c: Context, limit: number): AsyncGenerator<Uint8Array, void, undefined> {
  if (Number(c.req.header('content-length') ?? 0) > limit) throw tooLarge(limit);
  // A chunked body names no length: it is counted while it comes, and what is too much is never held.
  let size = 0;
  for await (const chunk of c.req.raw.body ?? []) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    yield chunk;
  }
}

async function readText(c: Context, limit: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const finder = new EntryFinder(DEPTH_ONLY);
  const parts: string[] = [];
  for await (const chunk of bodyChunks(c, limit)) {
    finder.read(chunk);
    parts.push(decoded(() => decoder.decode(chunk, { stream: true })));
  }
  parts.push(decoded(() => decoder.decode()));
  return parts.join('');
}

/** The text that a decoder answers; throws Problem when the bytes are no text. */
export function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new Problem('not_json', 'The body is not UTF-8 text, as JSON must be.');
  }
}

/** Parses a body, or a part of it. Throws Problem, which says where the fault is: in `what`. */
export function parse(text: string, what = 'The body'): JsonValue {
  if (text.trim() === '') throw new Problem('not_json', `${what} is empty; JSON is expected.`);
  try {
    return parseExactQuickly(text);
  } catch (error) {
    throw new Problem('not_json', `${what} is not JSON${place(text, error)}.`);
  }
}

/** Where the text stops being JSON, as far as the engine says. */
function place(text: string, error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position === undefined) return /end of JSON/i.test(message) ? ': it ends too early' : '';
  const lines = text.slice(0, Number(position)).split('\n');
  return `: wrong at position ${position} (line ${lines.length}, column ${lines.at(-1)!.length + 1})`;
}
