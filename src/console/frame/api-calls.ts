/**
 * The console's calls of the API, within this process. A page reads and changes what the API reads and changes, in no other way: so
 * each fact is read once, each rule is written once, and a person may do what the person's key may do.
 */
import type { Caller } from '../../api/http/caller.ts';
import { type FieldError, PROBLEMS, type Problem, type ProblemCode } from '../../api/http/problems.ts';
import type { ApiBindings, ServedApp } from '../../api/http/serve.ts';
import { parseExactQuickly } from '../../domain/values/exact-json.ts';

/** What the API refused, or could not do. */
export class ApiRefusal extends Error {
  readonly status: number;
  readonly code: ProblemCode;
  readonly title: string;
  readonly errors: readonly FieldError[];

  constructor(body: { status: number; code: ProblemCode; title: string; detail: string; errors?: readonly FieldError[] }) {
    super(body.detail);
    this.name = 'ApiRefusal';
    this.status = body.status;
    this.code = body.code;
    this.title = body.title;
    this.errors = body.errors ?? [];
  }
}

/** A problem that arose before the API was called, such as of the connections for sessions. */
export function refusalOf({ code, message, errors }: Problem): ApiRefusal {
  return new ApiRefusal({ ...PROBLEMS[code], code, detail: message, errors });
}

/** Parameters of an address; null and undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface ApiCalls {
  /** Reads a resource such as `/v1/overview`. Throws ApiRefusal. */
  get<Body>(path: string, query?: Query): Promise<Body>;
  /** Calls what changes something; null: without a body. Throws ApiRefusal. */
  send<Body>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<Body>;
}

/** Who asks, and from where: what the API's log says of each change. */
export interface Asker extends Pick<ApiBindings, 'address' | 'closing'> {
  readonly caller: Caller;
}

/**
 * Calls for one page and its frame. What was read is not read again, until something is changed, so that all parts of a page show
 * the same answer. Values in paths must be encoded by `encodeURIComponent`.
 */
export function apiCalls(api: ServedApp, asker: Asker): ApiCalls {
  const read = new Map<string, Promise<unknown>>();
  const call = async <Body>(method: string, path: string, body?: unknown): Promise<Body> => {
    const json = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const response = await api.fetch(new Request(`http://console${path}`, { method, ...json }), { ...asker, via: 'console' });
    const text = await response.text();
    const parsed = text === '' ? undefined : parseExactQuickly(text);
    if (!response.ok) throw new ApiRefusal(parsed as never);
    return parsed as Body;
  };
  return {
    get: (path, query = {}) => {
      const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
      const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
      const address = search === '' ? path : `${path}?${search}`;
      const answer = read.get(address) ?? call('GET', address);
      read.set(address, answer);
      return answer as Promise<never>;
    },
    send: async <Body>(method: string, path: string, body?: unknown) => {
      try {
        return await call<Body>(method, path, body);
      } finally {
        read.clear();
      }
    },
  };
}
