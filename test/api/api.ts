/** The API on a real socket and a real database, without the rest of the daemon. */

import { createStreamPlaces } from '../../src/api/events/stream-places.ts';
import type { ApiDeps } from '../../src/api/http/route.ts';
import { type ApiServer, serveApi } from '../../src/api/http/serve.ts';
import { createApi } from '../../src/api/routes.ts';
import { type ApiKey, hashOfKey, ofMachine } from '../../src/config/api-keys.ts';
import { SCOPES, type Scope } from '../../src/config/kinds/key-kinds.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { SiteSettings } from '../../src/config/settings.ts';
import { type JsonValue, parseExact } from '../../src/domain/values/exact-json.ts';
import type { Milliseconds } from '../../src/domain/values/time.ts';
import type { Sql } from '../../src/postgres/connection/database.ts';
import { syncSites } from '../../src/postgres/polling/sites.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { createHealth, type Health } from '../../src/runtime/loops/health.ts';
import { createSecrets, type Secrets } from '../../src/runtime/secrets/secrets.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { AS_MACHINE, MACHINE_KEY } from '../support/machine.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any;
  /** With the digits of its numbers. */
  readonly exact: JsonValue;
}

interface CallOptions {
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
}

export interface TestApi {
  readonly sql: Sql;
  readonly url: string;
  /** For commands and daemons beside it. */
  readonly databaseUrl: string;
  readonly health: Health;
  /** What was logged, line by line. */
  readonly lines: readonly string[];
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Only the server. */
  close(): Promise<void>;
  /** Everything. */
  stop(): Promise<void>;
}

interface TestApiOptions {
  readonly sites?: readonly string[];
  readonly apiKey?: string | null;
  readonly apiReadKey?: string | null;
  /** Further ones. */
  readonly apiKeys?: readonly ApiKey[];
  /** Encrypts what is stored; null: there is no key. */
  readonly secrets?: Secrets | null;
  /** Streams at once, in all and for each key, and how long each says nothing at most. */
  readonly streams?: { readonly most: number; readonly ofKey?: number; readonly silence: Milliseconds };
  /** Instead of a database of its own. */
  readonly sql?: Sql;
  /** In place of the defaults. */
  readonly settings?: Partial<typeof PLANS>;
  /** Folder of the documentation. */
  readonly book?: string;
  /** What a poller would answer. */
  readonly invoiceOf?: ApiDeps['invoiceOf'];
}

const { policy, webhooks, subscribers, channels, slack, origins, store } = loadSettings({});
/** Settings that most tests leave alone. */
export const PLANS = { policy, webhooks, subscribers, channels, slack, origins, store };

/** Starts the API on a free port, with a database of its own unless one is given. */
export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const { sites = ['default'], apiKey = null, apiReadKey = null, apiKeys = [] } = options;
  const database: TestDatabase | null = options.sql === undefined ? await testDatabase() : null;
  const sql = options.sql ?? database!.sql;
  if (database !== null) await syncSites(sql, sites);
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) > 0 } as unknown as NodeJS.WritableStream;
  const health = createHealth(() => Date.now());
  const keys = [...keysOf('API_KEY', SCOPES, apiKey), ...keysOf('API_READ_KEY', ['read', 'metrics'], apiReadKey), ...apiKeys];
  const app = createApi({
    sql,
    settings: {
      apiKeys: keys.length === 0 ? [ofMachine(MACHINE_KEY)] : keys,
      sites: sites.map((name) => ({ name }) as SiteSettings),
      ...PLANS,
      ...options.settings,
    },
    secrets: options.secrets === undefined ? createSecrets('a key for tests, of many characters') : options.secrets,
    ...(options.streams === undefined ? {} : streamParts(options.streams)),
    health,
    log: createLogger({ level: 'debug', destination }),
    ...(options.book === undefined ? {} : { book: options.book }),
    ...(options.invoiceOf === undefined ? {} : { invoiceOf: options.invoiceOf }),
  });
  const server: ApiServer = await serveApi(app, { host: '127.0.0.1', port: 0 });
  return {
    sql,
    url: server.url,
    databaseUrl: database?.url ?? '',
    health,
    lines,
    call: (method, path, call) => (keys.length === 0 ? request : send)(server.url + path, method, call),
    close: server.close,
    stop: async () => {
      await server.close();
      await database?.drop();
    },
  };
}

function streamParts({ most, ofKey = most, silence }: NonNullable<TestApiOptions['streams']>) {
  return { places: createStreamPlaces({ most, ofKey, ofSession: most }), silence };
}

function keysOf(name: string, scopes: readonly Scope[], key: string | null): ApiKey[] {
  return key === null ? [] : [{ name, scopes, hash: hashOfKey(key), expires: null }];
}

/** One call to a daemon on this machine that has no keys. */
export function request(url: string, method: string, { headers, ...call }: CallOptions = {}): Promise<Answer> {
  return send(url, method, { ...call, headers: { ...AS_MACHINE, ...headers } });
}

/** One call to an API anywhere. */
async function send(url: string, method: string, { json, body, headers = {} }: CallOptions = {}): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: json === undefined ? headers : { 'content-type': 'application/json', ...headers },
    ...(json !== undefined ? { body: JSON.stringify(json) } : body !== undefined ? { body } : {}),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '') && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : null,
    exact: isJson ? parseExact(text) : null,
  };
}
