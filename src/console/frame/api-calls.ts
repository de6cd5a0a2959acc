/**
 * The console's calls of the API, within this process. A page reads and changes what the API reads and changes, in no other way: so
 * each fact is read once, each rule is written once, and a person may do what the person's key may do.
 */
import type { Caller } from '../../api/http/caller.ts';
import { type FieldError, Problem, type ProblemCode } from '../../api/http/problems.ts';
import type { ApiBindings, ServedApp } from '../../api/http/serve.ts';
import { parseExactQuickly } from '../../domain/values/exact-json.ts';

/** A refusal or a failure that the API answered, and has logged. */
export class ApiRefusal extends Problem {
  constructor({ code, detail, errors = [] }: { code: ProblemCode; detail: string; errors?: readonly FieldError[] }) {
    super(code, detail, { errors });
    this.name = 'ApiRefusal';
  }
}

/** The refusal that a page shows: of status 400 to 499 unless `isShown` says otherwise. Any other error is thrown again. */
export function refusalIn(error: unknown, isShown = ({ status }: ApiRefusal): boolean => status < 500): ApiRefusal {
  if (error instanceof ApiRefusal && isShown(error)) return error;
  throw error;
}

/** A page of one of the API's lists. */
export interface Listed<Body> {
  readonly data: readonly Body[];
  readonly nextCursor: string | null;
}

/** The query of an address, with its question mark; without what is empty, null or undefined. */
export function queryOf(values: Query): string {
  const given = Object.entries(values).filter(([, value]) => value != null && value !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
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
    let answered: unknown;
    const take = (value: unknown): unknown => (answered = value);
    const bindings = { ...asker, via: 'console', ...(method === 'GET' && { take }) } as const;
    const response = await api.fetch(new Request(`http://console${path}`, { method, ...json }), bindings);
    const text = await response.text();
    if (text !== '') answered = parseExactQuickly(text);
    if (!response.ok) throw new ApiRefusal(answered as never);
    return answered as Body;
  };
  return {
    get: (path, query = {}) => {
      const address = path + queryOf(query);
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
