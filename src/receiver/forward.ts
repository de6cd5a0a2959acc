/** Passes a request on to another program on this machine, as it came. */

import { Agent, request } from 'undici';
import type { Milliseconds } from '../domain/values/time.ts';
import { timeoutSignal } from '../runtime/time.ts';
import type { PostAnswer, Posted } from './posts.ts';

/** Longer than a daemon waits by default. */
const PATIENCE: Milliseconds = 30_000;
/** Bytes of an answer that is passed back. */
const MOST_ANSWERED = 1024 * 1024;
const dispatcher = new Agent({ maxResponseSize: MOST_ANSWERED });
/** Headers that belong to one connection, or are written again by the next one. */
const OF_THE_CONNECTION = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Names everybody who passed a request on, so that a receiver that gets it again sees that. */
const PASSED_ON_BY = 'purchase-watch-passed-on-by';

/** Whether this listener has passed the request on before. */
export function cameBack({ rawHeaders }: Pick<Posted, 'rawHeaders'>, self: string): boolean {
  return rawHeaders.some((name, index) => name.toLowerCase() === PASSED_ON_BY && rawHeaders[index + 1] === self);
}

/** The answer of the program; or null and the reason why there is none. */
export type Forwarded = { readonly answer: PostAnswer } | { readonly answer: null; readonly detail: string };

/** Sends the same bytes with the same headers and the name of `self`; redirects are not followed. Never rejects. */
export async function forward(to: string, { body, rawHeaders, signal }: Posted, self: string): Promise<Forwarded> {
  const headers: string[] = [PASSED_ON_BY, self];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!OF_THE_CONNECTION.has(rawHeaders[index]!.toLowerCase())) headers.push(rawHeaders[index]!, rawHeaders[index + 1]!);
  }
  const late = timeoutSignal(PATIENCE);
  try {
    const answered = await request(to, { method: 'POST', headers, body, dispatcher, signal: AbortSignal.any([signal, late]) });
    const bytes = await answered.body.bytes();
    return { answer: { status: answered.statusCode, headers: endToEnd(answered.headers), body: bytes } };
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (signal.aborted) return { answer: null, detail: 'the request was given up before it answered' };
    if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return { answer: null, detail: 'its answer is larger than 1 MiB' };
    return { answer: null, detail: late.aborted ? `no answer within ${PATIENCE / 1_000} s` : (code ?? message) };
  }
}

function endToEnd(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !OF_THE_CONNECTION.has(name));
  return Object.fromEntries(kept) as Record<string, string | string[]>;
}
