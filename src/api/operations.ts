/** The calls of operators' tools, and the middleware of every call: access, one line per request, failures to problems. */

import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { heldText } from '../actions/database.ts';
import type { Settings } from '../config/settings.ts';
import type { Logger } from '../runtime/logger.ts';
import { monotonic } from '../runtime/time.ts';
import { guardKeyless, requireKey } from './access/access.ts';
import { type AccessLogParts, accessLog } from './access/access-log.ts';
import { askedBy, createFailures } from './access/failures.ts';
import { createLineBudget, type LineBudget } from './access/line-budget.ts';
import { type Rule, ruleTable } from './access/scopes.ts';
import { createWrongKeys } from './access/wrong-keys.ts';
import { mountHealth } from './health.ts';
import { answerHeaders } from './http/answer-headers.ts';
import { answerWithin } from './http/answer-within.ts';
import { refuseLarge } from './http/body.ts';
import { invalid } from './http/invalid.ts';
import { Problem, problemResponse } from './http/problems.ts';
import type { Api, ApiDeps } from './http/route.ts';
import type { Engine } from './metrics/metric.ts';
import { mountMetrics } from './metrics/metrics.ts';

type OperationsParts = Pick<ApiDeps, 'operators' | 'health' | 'replica' | 'log'> &
  Pick<AccessLogParts, 'record'> & {
    readonly settings: Pick<Settings, 'apiKeys'>;
    /** The budget of the process for lines that callers can cause; one of its own without it. */
    readonly lines?: LineBudget;
    /** Counted in /metrics. */
    readonly engine: Engine;
  };

/** Bytes; calls may accept less, and these more. */
const LARGEST_BODY = 64 * 1024;
const LARGE_BODIES: ReadonlySet<string> = new Set(['/v1/purchases/batch', '/v1/purchases/act']);

/** Builds an app with /healthz, /readyz and /metrics. */
export function createOperations(parts: OperationsParts): Api {
  const { operators: sql, settings, log, record, lines = createLineBudget(log) } = parts;
  const app: Api = new OpenAPIHono({
    // Thrown rather than answered, so that there is one place where failures become answers.
    defaultHook: (result) => {
      if (!result.success) throw invalid(result.error, checkedBy(result));
    },
  });
  const keys = settings.apiKeys;
  const wrongKeys = createWrongKeys();
  let table: ReturnType<typeof ruleTable> | undefined;
  const ruleOf = (c: Context): Rule | undefined => {
    table ??= ruleTable(app);
    return table(c);
  };
  const access = [guardKeyless(keys), requireKey({ keys, wrongKeys, lines }, ruleOf), accessLog({ log, ruleOf, record })];
  app.use(requestLog(log), answerHeaders, answerWithin, ...access, refuseLarge({ limit: LARGEST_BODY, except: LARGE_BODIES }));
  mountHealth(app, parts);
  mountMetrics(app, parts);

  let methodsAt: ReturnType<typeof methodTable> | undefined;
  app.notFound((c) => {
    methodsAt ??= methodTable(app);
    return problemResponse(nothingHere(c, methodsAt(c.req.path)));
  });
  const failures = createFailures({ log, lines }, (error) => heldText(sql, error));
  app.onError(async (error, c) => problemResponse(await failures(error, askedBy(c, ruleOf(c)?.call ?? null))));
  return app;
}

/** The value that was checked. The framework hands it along and leaves it out of its types. */
function checkedBy(result: object): unknown {
  return 'data' in result ? result.data : undefined;
}

/** One line per request, for who asks for them: no bodies, no headers, no query. */
function requestLog(log: Logger): MiddlewareHandler {
  return async (c, next) => {
    const begun = monotonic();
    await next();
    const tookMs = Math.round(monotonic() - begun);
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
