/** Failures over HTTP, as the daemon's API has them: `application/problem+json` (RFC 9457) with a code, the field and what to do. */
import { z } from '@hono/zod-openapi';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { pathName, SimulatorError, type SimulatorErrorCode } from '../contract/error.ts';
import type { Answer } from '../values/call.ts';

/** Every code with its status and its title. Codes are an interface: they are never renamed. */
const KINDS = {
  invalid_request: { status: 400, title: 'The request is not valid' },
  not_json: { status: 400, title: 'The body is not JSON' },
  unknown_site: { status: 400, title: 'There is no such site' },
  cross_site: { status: 403, title: 'Other web pages may not call here' },
  foreign_host: { status: 403, title: 'The simulator does not have this name' },
  not_found: { status: 404, title: 'There is nothing at this address' },
  purchase_not_found: { status: 404, title: 'There is no such purchase' },
  method_not_allowed: { status: 405, title: 'This address does not accept the method' },
  purchase_exists: { status: 409, title: 'There is a purchase of this id already' },
  purchase_ended: { status: 409, title: 'The purchase is over' },
  shared_listener: { status: 409, title: 'Other namespaces need the listener' },
  too_large: { status: 413, title: 'More than is accepted at once' },
  unsupported_media_type: { status: 415, title: 'The body must be JSON' },
  internal: { status: 500, title: 'Something went wrong here' },
  too_many_namespaces: { status: 503, title: 'No namespace can begin now' },
} as const satisfies Record<string, { status: ContentfulStatusCode; title: string }> &
  Record<SimulatorErrorCode, { status: ContentfulStatusCode; title: string }>;

export type ProblemCode = keyof typeof KINDS;

interface FieldError {
  readonly field: string;
  /** The value as it was given; absent for lists and objects. */
  readonly value?: string | number | boolean | null;
  readonly detail: string;
}

/** A request that is refused. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    errors: readonly FieldError[] = [],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.name = 'Problem';
    this.code = code;
    this.errors = errors;
    this.headers = headers;
  }
}

/** The answer to everything that was thrown. */
export function problemAnswer(error: unknown): Answer {
  const { code, message, errors, headers } = problemFrom(error);
  const { status, title } = KINDS[code];
  const fields = errors.length === 0 ? {} : { errors };
  const body = { type: `urn:purchase-watch:simulator:problem:${code}`, title, status, detail: message, code, ...fields };
  return { status, body: JSON.stringify(body), headers: { 'content-type': 'application/problem+json', ...headers } };
}

/** The answer of the controls to everything that was thrown. */
export function problemResponse(error: unknown): Response {
  const { body, ...init } = problemAnswer(error);
  return new Response(body as string, init);
}

function problemFrom(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (!(error instanceof SimulatorError)) {
    const detail = `The simulator has a fault: ${error instanceof Error ? error.message : String(error)}`;
    return new Problem('internal', detail);
  }
  const { code, field, value, detail, message } = error;
  if (field !== undefined) return new Problem(code, `${message}.`, [{ field, ...shown(value), detail }]);
  return new Problem(code, `${detail.slice(0, 1).toUpperCase()}${detail.slice(1)}.`);
}

/** The problem of a request that failed checks: each field, its value and the expected one. */
export function invalid({ issues }: z.core.$ZodError, input: unknown): Problem {
  const errors = issues.flatMap(deepest).map(({ path, message }) => ({
    field: pathName(path),
    ...shown(path.reduce<unknown>((inside, key) => (inside as Record<PropertyKey, unknown> | null | undefined)?.[key], input)),
    detail: message,
  }));
  return new Problem('invalid_request', `${errors.map(({ field, detail }) => `${field}: ${detail}`).join('; ')}.`, errors);
}

/** The faults of a field; with alternatives, those within the one that was meant: a step of a list says more than the list. */
function deepest(issue: z.core.$ZodIssue): { readonly path: readonly PropertyKey[]; readonly message: string }[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...issue.path, key], message: issue.message }));
  }
  const within =
    issue.code === 'invalid_union' ? issue.errors.find((branch) => branch.some(({ path }) => path.length > 0)) : undefined;
  if (within === undefined) return [issue];
  return within.flatMap(deepest).map(({ path, message }) => ({ path: [...issue.path, ...path], message }));
}

function shown(value: unknown): Pick<FieldError, 'value'> {
  if (typeof value === 'string') return { value: value.length > 80 ? `${value.slice(0, 80).toWellFormed()}…` : value };
  return value === null || typeof value === 'number' || typeof value === 'boolean' ? { value } : {};
}

const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().openapi({ description: 'The problem and what to do.' }),
    code: z.enum(Object.keys(KINDS) as [ProblemCode, ...ProblemCode[]]),
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

/** Problems of each call. */
const COMMON_PROBLEMS = ['cross_site', 'foreign_host', 'too_many_namespaces'] as const;

/** For a route's definition: the problems that it may answer with besides those of each call, by code. */
export function problems(...codes: readonly ProblemCode[]) {
  const byStatus = Map.groupBy([...codes, ...COMMON_PROBLEMS], (code) => KINDS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, of]) => [
      status,
      { description: `Problem: ${of.join(', ')}`, content: { 'application/problem+json': { schema: problemSchema } } },
    ]),
  ) as Record<`${number}`, { description: string; content: { 'application/problem+json': { schema: typeof problemSchema } } }>;
}

/** Problems of each call with a body. */
export const BODY_PROBLEMS = ['invalid_request', 'not_json', 'unsupported_media_type', 'too_large'] as const;
