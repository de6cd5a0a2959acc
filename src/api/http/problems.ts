/** Failures as callers see them: `application/problem+json` (RFC 9457) with a stable code, the field and what to do. */
import { z } from '@hono/zod-openapi';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { Refused } from '../../actions/subscribers/refused.ts';
import { databaseCause } from '../../domain/incidents/replica-trouble.ts';
import { stringifyExact } from '../../domain/values/exact-json.ts';
import { ANSWER_HEADERS } from './answer-headers.ts';

/** Every code with its status and its title. Codes are an interface: they are never renamed. */
export const PROBLEMS = {
  invalid_request: { status: 400, title: 'The request is not valid' },
  not_json: { status: 400, title: 'The body is not JSON' },
  too_deep: { status: 400, title: 'The body is nested too deeply' },
  unknown_site: { status: 400, title: 'There is no such site' },
  unknown_event: { status: 400, title: 'The feed cannot go on from there' },
  unauthorized: { status: 401, title: 'A valid key is needed' },
  read_only_key: { status: 403, title: 'This key may only read' },
  missing_scope: { status: 403, title: 'This key may not do this' },
  proxied: { status: 403, title: 'The request came through a proxy' },
  foreign_host: { status: 403, title: 'The Host header does not name this machine' },
  cross_site: { status: 403, title: 'Other web sites may not change anything here' },
  not_found: { status: 404, title: 'There is nothing at this address' },
  purchase_not_found: { status: 404, title: 'This purchase is not registered' },
  subscriber_not_found: { status: 404, title: 'There is no such subscriber' },
  incident_not_found: { status: 404, title: 'There is no such incident' },
  mark_not_found: { status: 404, title: 'There is no such mark' },
  silence_not_found: { status: 404, title: 'There is no such silence' },
  session_not_found: { status: 404, title: 'There is no such session' },
  delivery_not_found: { status: 404, title: 'There is no such delivery' },
  no_invoice: { status: 404, title: 'This purchase has no invoice' },
  method_not_allowed: { status: 405, title: 'This address does not accept the method' },
  ambiguous_purchase: { status: 409, title: 'Several sites have this purchase ID' },
  subscriber_exists: { status: 409, title: 'There is a subscriber of this name already' },
  subscriber_configured: { status: 409, title: 'The configuration names this subscriber' },
  subscriber_off: { status: 409, title: 'The subscriber is switched off' },
  secrets_key_missing: { status: 409, title: 'There is no key to encrypt secrets with' },
  secrets_key_wrong: { status: 409, title: 'What is stored was encrypted with another key' },
  too_many_secrets: { status: 409, title: 'Too many secrets sign already' },
  headers_not_given: { status: 409, title: 'Another origin does not get stored headers' },
  incident_ended: { status: 409, title: 'The incident is over' },
  idempotency_key_in_use: { status: 409, title: 'The first request with this key is under way' },
  not_completed: { status: 409, title: 'The purchase is not completed' },
  not_watched: { status: 409, title: 'The purchase is not watched any more' },
  site_not_configured: { status: 409, title: 'The site is not configured any more' },
  too_large: { status: 413, title: 'More than is accepted at once' },
  unsupported_media_type: { status: 415, title: 'The body must be JSON' },
  idempotency_key_reused: { status: 422, title: 'This key belongs to another request' },
  too_many_wrong_keys: { status: 429, title: 'Too many wrong keys were sent' },
  internal: { status: 500, title: 'Something went wrong here' },
  checkout_unavailable: { status: 502, title: 'The checkout service gives no usable answer' },
  checkout_busy: { status: 503, title: 'The checkout service takes no more calls now' },
  starting: { status: 503, title: 'The daemon is starting' },
  unavailable: { status: 503, title: 'The database cannot be reached' },
  database_read_only: { status: 503, title: 'The database takes no writes' },
  database_full: { status: 503, title: 'The disk of the database is full' },
  busy: { status: 503, title: 'Too much is asked at once' },
  locked: { status: 503, title: 'Another transaction holds what is asked for' },
  too_many_streams: { status: 503, title: 'Too many event streams are open' },
} as const satisfies Record<string, { status: ContentfulStatusCode; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** The fault of one field. */
export interface FieldError {
  readonly field: string;
  /** The value as given, shortened; absent where it says nothing or may be secret. */
  readonly value?: string | number | boolean | null;
  readonly detail: string;
}

/** Thrown by handlers and middleware; `detail` says what is wrong and what to do, and never holds internals. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: ContentfulStatusCode;
  readonly title: string;
  readonly errors: readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    { errors = [], headers = {} }: { errors?: readonly FieldError[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(detail);
    this.name = 'Problem';
    this.code = code;
    this.status = PROBLEMS[code].status;
    this.title = PROBLEMS[code].title;
    this.errors = errors;
    this.headers = headers;
  }
}

/** The problem of one field, which `detail` describes. */
export function fieldProblem(
  field: string,
  detail: string,
  { value, code = 'invalid_request' as ProblemCode }: { value?: string; code?: ProblemCode } = {},
): Problem {
  return new Problem(code, `${field}: ${detail}.`, { errors: [{ field, ...(value !== undefined && { value }), detail }] });
}

/** The answer that a problem is. */
export function problemResponse(problem: Problem): Response {
  const own = { ...ANSWER_HEADERS, 'content-type': 'application/problem+json', ...problem.headers };
  return new Response(problemText(problem), { status: problem.status, headers: own });
}

/** The body of that answer. */
export function problemText({ code, status, title, message, errors }: Problem): string {
  const fields = errors.length === 0 ? {} : { errors: errors.map((error) => ({ ...error })) };
  return stringifyExact({ type: `urn:purchase-watch:problem:${code}`, title, status, detail: message, code, ...fields });
}

/** The answer to a caller after anything that was thrown. `held`: which session holds the lock that was waited for, if that is known. */
export function problemFrom(error: unknown, held: string | null = null): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof Refused) return new Problem(error.reason, sentence(error.message));
  if (error instanceof HTTPException) {
    if (error.status === 415) return notJsonType();
    if (error.status === 403) return new Problem('cross_site', FOREIGN_FORM);
    return new Problem('invalid_request', 'The request cannot be read.');
  }
  const code = error instanceof Error ? String((error as Error & { code?: unknown }).code) : '';
  const later = { headers: { 'retry-after': '5' } };
  if (AWAY.test(code))
    return new Problem('unavailable', 'The database cannot be reached now. Try again in a few seconds.', later);
  const unwritable = UNWRITABLE.get(code);
  if (unwritable !== undefined) {
    const cure = databaseCause(code)?.cure ?? '';
    return new Problem(unwritable.code, `${unwritable.detail} Who runs it must ${cure}; try again then.`, later);
  }
  if (HELD.test(code)) return locked(held ?? HELD_BY_ANOTHER);
  if (code === CANCELLED) return busy('The database did not finish this in time. Try again later.');
  return new Problem('internal', 'The request could not be answered because of a fault here. The log of the daemon says more.');
}

/** The problem of a call that is refused because too many wait already; the same call may succeed in a few seconds. */
export function busy(detail: string): Problem {
  return new Problem('busy', detail, { headers: { 'retry-after': '3' } });
}

/** The problem of a change while another session holds a lock; `held` says which. */
export function locked(held: string): Problem {
  return new Problem('locked', sentence(held), { headers: { 'retry-after': '5' } });
}

const FOREIGN_FORM =
  'The form came from another web site, or from a browser that does not say where it came from. Nothing was changed.';

const HELD_BY_ANOTHER =
  'another transaction in the database holds what this needs, and did not let it go in time; try again in a few seconds';

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

/** A body of another type than JSON, or of none. */
export function notJsonType(): Problem {
  return new Problem('unsupported_media_type', 'Send the body as JSON, with the header "content-type: application/json".');
}

/** How the driver, the system, the server and the pools' own sockets say that there is no working connection. */
const AWAY =
  /^(?:CONNECT_TIMEOUT|CONNECTION_(?:CLOSED|ENDED|DESTROYED)|E(?:CONNREFUSED|CONNRESET|CONNABORTED|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH|PIPE|NOENT)|57P0[1-4]|53300|08\w{3}|NO_(?:PRIMARY|ANSWER)|OTHER_(?:PRIMARY|DATABASE))$/;

/** The server answers and writes nothing, by its code for why. */
const UNWRITABLE: ReadonlyMap<string, { readonly code: ProblemCode; readonly detail: string }> = new Map([
  ['25006', { code: 'database_read_only', detail: 'The database takes no writes now: it is read-only.' }],
  ['53100', { code: 'database_full', detail: 'The database refuses writes: its disk is full (53100).' }],
]);

/** A lock that was not given in time; of transactions that wait for each other, the one that was ended. */
const HELD = /^(?:55P03|40P01)$/;
/** By the time-out of statements. */
const CANCELLED = '57014';

const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]),
    errors: z
      .array(
        z
          .object({
            field: z.string(),
            value: z.union([z.string(), z.number(), z.boolean(), z.null()]).optional(),
            detail: z.string(),
          })
          .openapi('ProblemField', { description: 'The problem of one field.' }),
      )
      .optional(),
  })
  .openapi('Problem');

/** Problems of each call about a purchase. */
export const PURCHASE_PROBLEMS = ['unknown_site', 'purchase_not_found', 'ambiguous_purchase'] as const;

/** The answers of a call by status, of problems with these codes. */
export function problemAnswers(codes: readonly ProblemCode[]) {
  const statuses = Map.groupBy(new Set(codes), (code) => PROBLEMS[code].status);
  return Object.fromEntries(
    [...statuses].map(([status, of]) => [
      status,
      { description: `Problem: ${of.join(', ')}`, content: { 'application/problem+json': { schema: problemSchema } } },
    ]),
  );
}
