/** The service behind a channel for people: connections to it, one deadline for each post, and what an outcome means. */

import { Pool } from 'undici';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { DIRECT, type Way } from '../../domain/values/way.ts';
import { connectBy } from '../../runtime/http/tunnel.ts';
import { monotonic } from '../../runtime/time.ts';
import type { SendOptions, SendResult } from '../outgoing/channel.ts';
import { wholeAnswer } from './answer.ts';
import { excerpt } from './excerpt.ts';
import type { Hide } from './hiding.ts';
import { networkFailureOf } from './network-failure.ts';
import { DeadlinePassed, type PostOutcome, post, retryAfterOf } from './post.ts';

export interface ServiceOptions {
  readonly url: string;
  /** Where people find the console; messages link to it. */
  readonly consoleUrl: string | null;
  /** For one attempt: connection, headers and body together. */
  readonly timeout: Milliseconds;
  /** Directly unless given. */
  readonly way?: Way;
  /** Where its address is set, for the person who must set another one. */
  readonly setting: string;
}

const JSON_TYPE: readonly string[] = ['content-type', 'application/json'];

export type TimedOutcome = PostOutcome & { readonly tookMs: Milliseconds };

/** Why a service did not take a message; `gone`: it never will. Null: it took the message. */
export type ServiceRefusal = { readonly kind: 'failed' | 'gone'; readonly reason: string; readonly detail: string } | null;

/** Connects to the service when something is posted; `operation` is appended to the path of its address. */
export function createPoster({ url, timeout, way = DIRECT }: Pick<ServiceOptions, 'url' | 'timeout' | 'way'>, operation = '') {
  const { origin, pathname, search } = new URL(url);
  // One deadline of our own covers headers and body.
  const pool = new Pool(origin, { allowH2: false, headersTimeout: 0, bodyTimeout: 0, connect: connectBy(way, { timeout }) });
  const path = (operation === '' ? pathname : pathname.replace(/\/+$/, '') + operation) + search;
  let closing: Promise<void> | undefined;
  return {
    /** Never rejects; `tookMs` is from the call to the outcome. `headers`: names and values in turn. */
    async post(
      body: string,
      { signal, mayLeave, trace }: Pick<SendOptions, 'signal' | 'mayLeave' | 'trace'> = {},
      headers: readonly string[] = JSON_TYPE,
    ): Promise<TimedOutcome> {
      const started = monotonic();
      const request = { origin, path, headers: [...headers], body, timeout, signal, mayLeave, trace };
      const outcome = await post(pool, request);
      return { ...outcome, tookMs: Math.round(monotonic() - started) };
    },
    /** Lets what is on its way finish. May be called again. */
    close: (): Promise<void> => {
      closing ??= pool.close();
      return closing;
    },
    destroy: (): Promise<void> => pool.destroy(),
  };
}

/** The result of an attempt that brought no answer. */
export function unanswered(
  service: string,
  { error, isSent, tookMs }: { readonly error: unknown; readonly isSent: boolean; readonly tookMs: Milliseconds },
  timeout: Milliseconds,
) {
  const why =
    error instanceof DeadlinePassed
      ? { reason: 'timeout', detail: `${service} did not answer within ${timeout} ms.`, fault: 'receiver' as const }
      : networkFailureOf(error, { isSent });
  return { kind: 'failed', ...why, httpStatus: null, retryAfter: null, tookMs, excerpt: '' } as const;
}

/** The result of an attempt. `refusalOf` reads a complete answer; `word` is its body as one line without what is hidden. */
export function judge(
  outcome: TimedOutcome,
  { service, timeout, hide, now }: { service: string; timeout: Milliseconds; hide: Hide; now: Instant },
  refusalOf: (status: number, word: string) => ServiceRefusal,
): SendResult {
  const { status, error, headers, body, tookMs } = outcome;
  if (status === null || error !== null) return unanswered(service, outcome, timeout);
  const taken = { httpStatus: status, tookMs, excerpt: excerpt(body, hide) };
  const refusal = refusalOf(status, taken.excerpt);
  if (refusal === null) return { kind: 'delivered', ...taken };
  const { kind, ...why } = refusal;
  const attempted = { ...why, ...taken, answer: wholeAnswer(outcome, hide) };
  if (kind === 'gone') return { kind, ...attempted };
  const retryAfter = retryAfterOf(headers, now);
  return { kind, fault: 'receiver', retryAfter, isLimit: status === 429 && retryAfter !== null, ...attempted };
}
