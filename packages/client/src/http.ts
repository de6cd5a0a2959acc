/** One call of the API: sent, read to its end, and turned into an object or an ApiProblem. */
import { request } from 'undici';
import { readUpTo } from '../../../src/runtime/http/read-up-to.ts';
import type { ProblemField } from './contract.ts';
import { type JsonObject, parseObject } from './json.ts';
import { ApiProblem } from './problem.ts';

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** From `/v1` on. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | null | undefined>> | undefined;
  /** JSON text. */
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds, instead of the client's own. */
  readonly timeout?: number | undefined;
}

export interface ApiAnswer {
  readonly status: number;
  /** Empty where there is no body. */
  readonly body: JsonObject;
}

/** The API's pages end at about 1 MiB, and no other answer comes near this. */
const LARGEST_ANSWER = 16 * 1024 * 1024;

export type ApiCaller = (call: ApiCall) => Promise<ApiAnswer>;

/** Prepares calls to one address with one key. Throws TypeError for an address that cannot be right. */
export function createCaller(options: { baseUrl: string; apiKey: string | undefined; timeout: number }): ApiCaller {
  const base = URL.parse(options.baseUrl);
  if (base === null || !/^https?:$/.test(base.protocol)) {
    throw new TypeError(`baseUrl must be a complete http or https address, and ${JSON.stringify(options.baseUrl)} is none`);
  }
  const prefix = base.origin + base.pathname.replace(/\/+$/, '');
  const access: Record<string, string> = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };

  return async ({ signal, timeout = options.timeout, ...call }) => {
    const late = AbortSignal.timeout(timeout);
    const ended = signal === undefined ? late : AbortSignal.any([late, signal]);
    try {
      return await exchange(prefix, { ...call, headers: { ...access, ...call.headers }, signal: ended });
    } catch (error) {
      if (error instanceof ApiProblem) throw error;
      if (signal?.aborted) throw signal.reason;
      const problem = late.aborted
        ? { code: 'timeout', status: null, detail: `no answer within ${timeout} ms` }
        : { code: 'unreachable', status: null, detail: `${base.origin} gives no answer (${reasonOf(error)})` };
      throw new ApiProblem(problem, { cause: error });
    }
  };
}

/** One request and its answer. Throws ApiProblem for what the API refuses, and what undici throws. */
async function exchange(
  prefix: string,
  { method, path, query = {}, body, headers, signal }: ApiCall & { readonly signal: AbortSignal },
): Promise<ApiAnswer> {
  const answer = await request(prefix + path + queryText(query), {
    method,
    headers: {
      accept: 'application/json',
      // An answer that comes compressed all the same is not unpacked: a kilobyte may become gigabytes.
      'accept-encoding': 'identity',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
    signal,
  });
  // A redirect is not followed: the key is not carried elsewhere.
  const { statusCode: status, headers: given } = answer;
  const bytes = await readUpTo(answer.body, LARGEST_ANSWER);
  const parsed = bytes === null ? null : parseObject(decoder.decode(bytes) || '{}');
  if (status >= 200 && status < 300 && parsed !== null) return { status, body: parsed };
  throw problemOf(status, parsed, given['retry-after']);
}

const decoder = new TextDecoder();

function queryText(query: NonNullable<ApiCall['query']>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

function problemOf(status: number, body: JsonObject | null, retryAfter: string | string[] | undefined): ApiProblem {
  const wait = typeof retryAfter === 'string' && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : null;
  if (typeof body?.code === 'string' && typeof body.detail === 'string') {
    const errors = Array.isArray(body.errors) ? (body.errors as unknown as ProblemField[]) : [];
    return new ApiProblem({ code: body.code, status, detail: body.detail, errors, retryAfter: wait });
  }
  const detail = `the answer (HTTP ${status}) is not one of this API; compare baseUrl, and look at what stands in between`;
  return new ApiProblem({ code: 'unexpected_answer', status, detail, retryAfter: wait });
}

function reasonOf(error: unknown): string {
  const { code, message } = ((error as { cause?: unknown }).cause ?? error) as { code?: string; message?: string };
  return code ?? message ?? 'unknown';
}
