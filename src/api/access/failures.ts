/** Makes whatever was thrown while a request was answered a problem, and logs what must be known of it: for the API, the console and the socket. */
import type { Context } from 'hono';
import type { Logger } from '../../runtime/logger.ts';
import { createRareWarning } from '../../runtime/rare-warning.ts';
import { type Problem, type ProblemCode, problemFrom } from '../http/problems.ts';
import { senderOf } from './access.ts';
import type { LineBudget } from './line-budget.ts';

/** A request, as far as it was read. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  /** The key's name; null without one. */
  readonly key: string | null;
  readonly address: string;
  /** The route, such as `GET /v1/purchases/{id}`. */
  readonly call: string;
}

/** Answers the problem that a thrown value is to its caller, and never throws. `heldText` says who holds the lock that was waited for; null for any other error. */
export function createFailures(
  { log, lines }: { readonly log: Logger; readonly lines: LineBudget },
  heldText: (error: unknown) => Promise<string | null> = async () => null,
) {
  const rarely = (event: 'api.refused' | 'api.writes_refused', advice: string) =>
    createRareWarning((times) => log.warn({ times, advice }, event));
  const refused = rarely(
    'api.refused',
    'requests got 503 because too many waited or a lock was held; look for long transactions',
  );
  const unwritable = rarely(
    'api.writes_refused',
    'requests got 503 because the database is read-only or its disk is full; see replica.troubled',
  );
  return async (error: unknown, { method, path, key, address, call }: Asked): Promise<Problem> => {
    const problem = problemFrom(error, await heldText(error).catch(() => null));
    const { code } = problem;
    const where = { method, path: path.slice(0, 300) };
    if (code === 'internal') lines.fault(error, where);
    // The loops say that the database is away; a line per request would only repeat it.
    else if (TEMPORARY.has(code)) log.debug({ ...where, error }, 'api.unavailable');
    else if (REJECTED.has(code)) lines.info({ key, address, call, code }, 'api.request_rejected');
    if (code === 'busy' || code === 'locked') refused();
    if (code === 'database_read_only' || code === 'database_full') unwritable();
    return problem;
  };
}

/** A request for `createFailures`; `call` is null where no route is mounted. */
export function askedBy(c: Context, call: string | null): Asked {
  const { method, path } = c.req;
  return { method, path, key: c.get('caller')?.key ?? null, ...senderOf(c, call) };
}

/** Problems of the moment, which a caller who comes later does not have. */
const TEMPORARY: ReadonlySet<ProblemCode> = new Set(['unavailable', 'database_read_only', 'database_full', 'busy', 'locked']);

/** A request of the wrong form or from the wrong place: a mistake, or a probe of what is let through. */
const REJECTED: ReadonlySet<ProblemCode> = new Set([
  ...(['invalid_request', 'not_json', 'too_deep', 'too_large', 'unsupported_media_type', 'unknown_site'] as const),
  ...(['idempotency_key_reused', 'proxied', 'foreign_host', 'cross_site'] as const),
]);
