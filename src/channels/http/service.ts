/** The service behind a channel for people: connections to it, one deadline for each post, and failures in the service's name. */

import { Pool } from 'undici';
import type { Milliseconds } from '../../domain/values/time.ts';
import { DIRECT, type Way } from '../../domain/values/way.ts';
import { connectBy } from '../../runtime/http/tunnel.ts';
import type { SendOptions } from '../outgoing/channel.ts';
import { networkFailureOf } from './network-failure.ts';
import { DeadlinePassed, type PostOutcome, post } from './post.ts';

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
    ): Promise<PostOutcome & { readonly tookMs: Milliseconds }> {
      const started = performance.now();
      const request = { origin, path, headers: [...headers], body, timeout, signal, mayLeave, trace };
      const outcome = await post(pool, request);
      return { ...outcome, tookMs: Math.round(performance.now() - started) };
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
