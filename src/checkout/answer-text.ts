/** From the bytes of an answer to JSON: the one reader of status, invoice, authorization, token and errors. */

import { isUtf8 } from 'node:buffer';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { Reply } from './call.ts';

/** The answer's text and what `JSON.parse` makes of it; numbers are doubles here, exact digits are found in the text. */
export interface JsonReply {
  readonly text: string;
  readonly value: unknown;
}

/** An unpacked answer; a longer one is as odd as one that was sent so. */
const MOST_UNPACKED = 256 * 1024;
/** Marks that programs leave at the ends of a text: byte order marks, NUL, the end mark of old editors, zero-width characters. */
const MARKS = /^[\ufeff\u200b\u2060]+|[\0\x1a\ufeff\u200b\u2060\s]+$/g;

/**
 * Reads the body whatever the headers say of its type: a mark at an end is forbidden in JSON and sent by some services all the
 * same, and some proxies compress what nothing asked them to. Null when it is no JSON.
 */
export function readBody(reply: Pick<Reply, 'headers' | 'body'>): JsonReply | null {
  return readText(reply.body) ?? readText(unpacked(reply));
}

function readText(body: Buffer | null): JsonReply | null {
  if (body === null || !isUtf8(body)) return null;
  const text = body.toString('utf8');
  return parsed(text) ?? parsed(text.replace(MARKS, ''));
}

function parsed(text: string): JsonReply | null {
  try {
    return { text, value: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** The body without the compression that its header names, or that its first bytes show; null when it has none, or is broken. */
export function unpacked({ headers, body }: Pick<Reply, 'headers' | 'body'>): Buffer | null {
  const isGzip = body[0] === 0x1f && body[1] === 0x8b;
  const encoding = isGzip ? 'gzip' : String(headers['content-encoding'] ?? '').toLowerCase();
  const unpack = UNPACK.get(encoding);
  try {
    return unpack === undefined ? null : unpack(body, { maxOutputLength: MOST_UNPACKED });
  } catch {
    return null;
  }
}

const UNPACK = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);
