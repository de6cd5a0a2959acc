/** What operators' tools ask, and what holds for every route: access, one line per request, failures to problems. */
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import type { Settings } from '../config/settings.ts';
import type { Sql } from '../postgres/connection/database.ts';
import { heldText } from '../postgres/connection/lock-holder.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Health } from '../runtime/loops/health.ts';
import { createRareWarning } from '../runtime/rare-warning.ts';
import { guardKeyless, requireKey, senderOf } from './access/access.ts';
import { type AccessLogParts, accessLog } from './access/access-log.ts';
import { createLineBudget } from './access/line-budget.ts';
import { type Rule, ruleTable } from './access/scopes.ts';
import { createWrongKeys } from './access/wrong-keys.ts';
import { mountHealth } from './health/health.ts';
import type { Engine } from './health/metric.ts';
import { mountMetrics } from './health/metrics.ts';
import { answerHeaders } from './http/answer-headers.ts';
import { refuseLarge } from './http/body.ts';
import type { Api } from './http/definitions.ts';
import { invalid } from './http/invalid.ts';
import { Problem, type ProblemCode, problemFrom, problemResponse } from './http/problems.ts';

export interface OperationsParts {
  /** Connections for readiness and metrics. */
  readonly operators: Sql;
  readonly settings: Pick<Settings, 'apiKeys'>;
  readonly health: Health;
  readonly log: Logger;
  /** What is counted in /metrics. */
  readonly engine: Engine;
  /** Keeps changes by operators; absent where nothing can be changed. */
  readonly record?: AccessLogParts['record'];
}

/** Bytes; calls may accept less, and these more. */
const LARGEST_BODY = 64 * 1024;
const LARGE_BODIES: ReadonlySet<string> = new Set(['/v1/purchases/batch']);

/** Builds an app with /healthz, /readyz and /metrics. */
export function createOperations({ operators: sql, settings, health, log, engine, record }: OperationsParts): Api {
  const app: Api = new OpenAPIHono({
    // Thrown rather than answered, so that there is one place where failures become answers.
    defaultHook: (result) => {
      if (!result.success) throw invalid(result.error, checkedBy(result));
    },
  });
  const keys = settings.apiKeys;
  const wrongKeys = createWrongKeys(log);
  let table: ReturnType<typeof ruleTable> | undefined;
  const ruleOf = (c: Context): Rule | undefined => {
    table ??= ruleTable(app);
    return table(c);
  };
  const access = [guardKeyless(keys), requireKey({ keys, wrongKeys }, ruleOf), accessLog({ log, ruleOf, record })];
  app.use(requestLog(log), answerHeaders, ...access, refuseLarge({ limit: LARGEST_BODY, except: LARGE_BODIES }));
  mountHealth(app, { sql, health });
  mountMetrics(app, { sql, health, engine });

  const refused = createRareWarning((times) =>
    log.warn(
      { times, advice: 'requests got 503 because too many waited or a lock was held; look for long transactions' },
      'api.refused',
    ),
  );
  const unwritable = createRareWarning((times) =>
    log.warn(
      { times, advice: 'requests got 503 because the database is read-only or its disk is full; see replica.troubled' },
      'api.writes_refused',
    ),
  );
  const rejected = createLineBudget((fields, event) => log.info(fields, event), { unlogged: 'api.rejections_unlogged' });
  let methodsAt: ReturnType<typeof methodTable> | undefined;
  app.notFound((c) => {
    methodsAt ??= methodTable(app);
    return problemResponse(nothingHere(c, methodsAt(c.req.path)));
  });
  app.onError(async (error, c) => {
    const problem = problemFrom(error, await heldText(sql, error).catch(() => null));
    const where = { method: c.req.method, path: c.req.path.slice(0, 300), error };
    if (problem.code === 'internal') log.error(where, 'api.failed');
    // The loops say that the database is away; a line per request would only repeat it.
    else if (TEMPORARY.has(problem.code)) log.debug(where, 'api.unavailable');
    if (REJECTED.has(problem.code)) {
      const key = c.get('caller')?.key ?? null;
      rejected({ key, ...senderOf(c, ruleOf(c)?.call ?? null), code: problem.code }, 'api.request_rejected');
    }
    if (problem.code === 'busy' || problem.code === 'locked') refused();
    if (problem.code === 'database_read_only' || problem.code === 'database_full') unwritable();
    return problemResponse(problem);
  });
  return app;
}

/** Problems of the moment, which a caller who comes later does not have. */
const TEMPORARY: ReadonlySet<ProblemCode> = new Set(['unavailable', 'database_read_only', 'database_full', 'busy', 'locked']);

/** A request of the wrong form or from the wrong place: a mistake, or a probe of what is let through. */
const REJECTED: ReadonlySet<ProblemCode> = new Set([
  ...(['invalid_request', 'not_json', 'too_deep', 'too_large', 'unsupported_media_type', 'unknown_site'] as const),
  ...(['idempotency_key_reused', 'proxied', 'foreign_host', 'cross_site'] as const),
]);

/** What was checked. The framework hands it along and leaves it out of its types. */
function checkedBy(result: object): unknown {
  return 'data' in result ? result.data : undefined;
}

/** One line per request, for who asks for them: no bodies, no headers, no query. */
function requestLog(log: Logger): MiddlewareHandler {
  return async (c, next) => {
    const begun = performance.now();
    await next();
    const tookMs = Math.round(performance.now() - begun);
    log.debug({ method: c.req.method, path: c.req.path.slice(0, 300), status: c.res.status, tookMs }, 'api.answered');
  };
}

/** Looks up which methods a path has, to distinguish a wrong method from a wrong address. */
function methodTable(app: Api): (path: string) => string[] {
  const routes = app.routes
    .filter((route) => route.method !== 'ALL')
    .map(({ method, path }) => ({ method, matches: patternOf(path) }));
  return (path) => {
    const methods = new Set(routes.filter((route) => route.matches.test(path)).map((route) => route.method));
    if (methods.has('GET')) methods.add('HEAD');
    return [...methods].sort();
  };
}

/** Matches the addresses of a route, whose parameters stand as `:id`. */
function patternOf(path: string): RegExp {
  const parts = path.split(/(:\w+)/).map((part) => (part.startsWith(':') ? '[^/]+' : RegExp.escape(part)));
  return new RegExp(`^${parts.join('')}$`);
}

function nothingHere(c: Context, methods: readonly string[]): Problem {
  const path = JSON.stringify(c.req.path.slice(0, 200));
  if (methods.length === 0) {
    return new Problem('not_found', `There is nothing at ${path}; what there is stands in /openapi.json.`);
  }
  const allow = methods.join(', ');
  return new Problem('method_not_allowed', `${path} does not accept ${c.req.method}; it accepts ${allow}.`, {
    headers: { allow },
  });
}
