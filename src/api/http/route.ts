/** A call of the API as its file declares it; what the calls stand on; the end of a request. */

import { type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { TestedChannel } from '../../actions/channels/test-channel.ts';
import type { Sql } from '../../actions/database.ts';
import type { Examiner } from '../../actions/doctor/doctor.ts';
import type { SystemWanted } from '../../actions/doctor/system-page.ts';
import type { FeedHub } from '../../actions/events/feed-hub.ts';
import type { StayLimits } from '../../actions/flow/stay-limits.ts';
import type { InvoiceReply } from '../../checkout/invoice-details.ts';
import type { DescribedSetting } from '../../config/describe.ts';
import type { Scope } from '../../config/kinds/key-kinds.ts';
import type { ChannelSettings, Settings } from '../../config/settings.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Health } from '../../runtime/loops/health.ts';
import type { Secrets } from '../../runtime/secrets/secrets.ts';
import { exactJson, optionalJson } from './body.ts';
import { idempotencyHeader, idempotent } from './idempotency.ts';
import { strict } from './invalid.ts';
import { operationIdOf } from './operation-id.ts';
import { type ProblemCode, problemAnswers } from './problems.ts';
import type { ApiBindings } from './serve.ts';

export type Api = OpenAPIHono<{ Bindings: ApiBindings }>;

/** Everything that calls stand on; each takes its part. */
export interface ApiDeps {
  /** Connections of readers. */
  readonly sql: Sql;
  /** Connections for what changes something and may wait for a lock. */
  readonly changes: Sql;
  /** Connections for readiness and metrics. */
  readonly operators: Sql;
  readonly settings: Pick<
    Settings,
    'apiKeys' | 'sites' | 'policy' | 'webhooks' | 'subscribers' | 'channels' | 'slack' | 'origins' | 'store'
  >;
  /** Encrypts what is stored of subscribers; without it nothing secret can be stored. */
  readonly secrets: Secrets | null;
  readonly health: Health;
  /** The id of this replica; '' where nothing runs. */
  readonly replica: string;
  readonly log: Logger;
  /** Wakes readers that wait for events. */
  readonly feed: FeedHub;
  /** How long a stream says nothing at most. */
  readonly silence: Milliseconds;
  /** When stays become stuck. */
  readonly limits: StayLimits;
  /** The settings with their origin and without secrets. */
  describe(): readonly DescribedSetting[];
  /** Findings of the process that answers. */
  readonly own: SystemWanted['own'];
  readonly examine: Examiner;
  /** Folder of the documentation as `npm run docs` builds it; the one of this package without it. */
  readonly book?: string;
  /** One call to the service, within this replica's part of the site's calls. Never rejects. */
  invoiceOf(purchase: {
    readonly id: number;
    readonly site: string;
    readonly purchaseId: string;
    readonly signal: AbortSignal;
  }): Promise<InvoiceReply>;
  /** Sends the messages of a test. */
  testChannel(channel: ChannelSettings): Promise<TestedChannel>;
}

/** Whose keys may call: access and the OpenAPI document follow from it. */
type Security = { key?: Scope[] }[];

/** A key with this scope. */
export const needs = (scope: Scope): Security => [{ key: [scope] }];

/** No key is needed, and a key with this scope is shown more. */
export const showsMoreTo = (scope: Scope): Security => [{}, { key: [scope] }];

/** The answer is the same with and without a key. */
export const OPEN: Security = [];

/** The section of the OpenAPI document by the first word of a path below `/v1`. All other calls are Operations. */
const TAGS: ReadonlyMap<string, string> = new Map([
  ['purchases', 'Purchases'],
  ['events', 'Events'],
  ['incidents', 'Incidents'],
  ['silences', 'Incidents'],
  ['rehearsals', 'Incidents'],
  ['subscribers', 'Subscribers'],
  ['deliveries', 'Deliveries'],
  ['channels', 'Channels'],
]);

/** Bytes of a body. */
const BODY_LIMIT = 16 * 1024;

interface Declared {
  /** The name for generators of clients; made from method and path unless given. */
  readonly operationId?: string;
  readonly summary: string;
  readonly description: string;
  /** A key with the scope `read` for GET, and with `operate` for other methods, unless given. */
  readonly security?: Security;
  /** Whether the answer holds a person's data. */
  readonly isPersonal?: boolean;
  readonly params?: Shape;
  /** No other parameters are accepted. */
  readonly query?: Shape;
  readonly headers?: Shape;
  /** The schema of a body in JSON. */
  readonly body?: z.ZodType;
  /** Whether a call may come without that body. */
  readonly isBodyOptional?: boolean;
  /** Bytes of the body; 16 KiB unless given. */
  readonly limit?: number;
  /** Honours the header `Idempotency-Key`. */
  readonly idempotent?: Pick<ApiDeps, 'sql' | 'secrets'>;
  readonly answers: RouteConfig['responses'];
  /** False: the call is answered while the database is away, too. */
  readonly needsDatabase?: boolean;
  /** Problems of this call, beside those that follow from the fields above. */
  readonly problems?: readonly ProblemCode[];
}

type Shape = z.core.$ZodLooseShape;

/** From this the framework infers the types of a handler. */
type Route<D extends Declared> = {
  method: 'get';
  path: string;
  request: {
    [Part in keyof D & ('params' | 'query' | 'headers')]: D[Part] extends infer Fields extends Shape
      ? z.ZodObject<Fields>
      : never;
  } & (D extends { body: infer Body extends z.ZodType }
    ? { body: { content: { 'application/json': { schema: Body } } } }
    : unknown);
  responses: D['answers'];
};

/** Declares a call, such as `GET /v1/purchases/{id}`: for the router, for access, and for the OpenAPI document. */
export function route<D extends Declared>(call: `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`, declared: D): Route<D> {
  const { summary, description, params, query, body, limit = BODY_LIMIT, isBodyOptional = false } = declared;
  const [verb, path] = call.split(' ') as [string, string];
  const method = verb.toLowerCase() as 'get';
  const { operationId = operationIdOf(method, path) } = declared;
  const { security = needs(call.startsWith('GET') ? 'read' : 'operate'), idempotent: means } = declared;
  const [scope] = security.flatMap(({ key = [] }) => key);
  const reader = (isBodyOptional ? optionalJson : exactJson)(limit);
  const headers = { ...declared.headers, ...(means && idempotencyHeader) };
  const config: RouteConfig = {
    method,
    path,
    operationId,
    // OpenAPI 3.1 lets `security` name the scope, and linters take that for a mistake, because 3.0 had scopes only for OAuth.
    security: security.map(({ key }) => (key === undefined ? {} : { key: [] })),
    ...(scope && { 'x-scope': scope }),
    ...(declared.isPersonal && { 'x-personal-data': true }),
    summary,
    description,
    tags: [TAGS.get(/^\/v1\/(\w+)/.exec(path)?.[1] ?? '') ?? 'Operations'],
    middleware: [...(body ? [reader] : []), ...(means ? [idempotent(means)] : [])],
    request: {
      ...(params && { params: z.object(params) }),
      ...(query && { query: strict(query) }),
      ...(Object.keys(headers).length > 0 && { headers: z.object(headers) }),
      ...(body && { body: { required: !isBodyOptional, content: { 'application/json': { schema: body } } } }),
    },
    responses: { ...declared.answers, ...problemAnswers(problemsOf(call, declared, security)) },
  };
  return config as Route<D>;
}

/** The codes of all problems that a call may answer. */
function problemsOf(call: string, declared: Declared, security: Security): ProblemCode[] {
  const { params, query, headers, body, idempotent, needsDatabase = true, problems = [] } = declared;
  const scopes = security.flatMap(({ key = [] }) => key);
  const isChange = !call.startsWith('GET');
  const when = (is: boolean, ...codes: ProblemCode[]): ProblemCode[] => (is ? codes : []);
  return [
    'foreign_host',
    'proxied',
    'internal',
    ...when(
      [params, query, headers, body].some((part) => part !== undefined),
      'invalid_request',
    ),
    ...when(scopes.length > 0, 'unauthorized'),
    ...when(needsDatabase, 'unavailable'),
    ...when(scopes.includes('register') || scopes.includes('operate'), 'read_only_key'),
    ...when(isChange, 'cross_site'),
    ...problems,
    ...when(body !== undefined, 'not_json', 'too_deep', 'too_large', 'unsupported_media_type'),
    ...when(idempotent !== undefined, 'idempotency_key_in_use', 'idempotency_key_reused'),
    ...when(scopes.length > 0, 'missing_scope', 'too_many_wrong_keys'),
    ...when(needsDatabase, 'database_read_only', 'database_full', 'busy', 'locked'),
    // A large body is refused where none is read, too.
    ...when(isChange, 'too_large'),
  ];
}

/** Aborted when the caller has gone, or the server closes. */
export function goneSignal({ req, env }: Context<{ Bindings: ApiBindings }>): AbortSignal {
  return AbortSignal.any([req.raw.signal, env?.closing].filter((signal) => signal !== undefined));
}

export function jsonAnswer<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}
