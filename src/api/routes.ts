/** The HTTP API for programs: mounts the resources; access; failures to problems. */
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import type { Settings } from '../config/settings.ts';
import type { Health } from '../runtime/health.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sql } from '../store/database.ts';
import { guardKeyless, requireKey } from './access.ts';
import { mountHealth } from './health.ts';
import { invalid } from './invalid.ts';
import { mountPoll } from './poll.ts';
import { Problem, problemFrom, problemResponse } from './problems.ts';
import { mountPurchases } from './purchases.ts';
import { mountRegistration } from './registration.ts';
import type { ApiBindings } from './serve.ts';

export interface ApiParts {
  readonly sql: Sql;
  readonly databaseUrl: string;
  readonly settings: Pick<Settings, 'apiKey' | 'apiReadKey' | 'sites'>;
  readonly health: Health;
  readonly log: Logger;
}

export type Api = OpenAPIHono<{ Bindings: ApiBindings }>;

/** Builds the API. It needs no server: `fetch` answers requests. */
export function createApi({ sql, settings, health, log }: ApiParts): Api {
  const app: Api = new OpenAPIHono({
    // Thrown rather than answered, so that there is one place where failures become answers.
    defaultHook: (result) => {
      if (!result.success) throw invalid(result.error, checkedBy(result));
    },
  });
  app.use(requestLog(log), answerHeaders, guardKeyless(settings));
  app.use('/v1/*', requireKey(settings));

  mountHealth(app, { sql, health });
  mountRegistration(app, { sql, sites: settings.sites.map((site) => site.name) });
  mountPurchases(app, { sql });
  mountPoll(app, { sql });
  mountDocument(app);

  const methodsAt = methodTable(app);
  app.notFound((c) => problemResponse(nothingHere(c, methodsAt(c.req.path))));
  app.onError((error, c) => {
    const problem = problemFrom(error);
    const where = { method: c.req.method, path: c.req.path.slice(0, 300), error };
    if (problem.code === 'internal') log.error(where, 'api.failed');
    // The loops say that the database is away; a line per request would only repeat it.
    else if (problem.code === 'unavailable') log.debug(where, 'api.unavailable');
    return problemResponse(problem);
  });
  return app;
}

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

/** Answers are about now and for the caller alone, and are what they say they are. */
const answerHeaders: MiddlewareHandler = async (c, next) => {
  await next();
  c.header('cache-control', 'no-store');
  c.header('x-content-type-options', 'nosniff');
};

/** Looks up which methods a path has, to tell a wrong method from a wrong address. */
function methodTable(app: Api): (path: string) => string[] {
  const routes = app.routes
    .filter((route) => route.method !== 'ALL')
    .map(({ method, path }) => ({ method, matches: new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`) }));
  return (path) => {
    const methods = new Set(routes.filter((route) => route.matches.test(path)).map((route) => route.method));
    if (methods.has('GET')) methods.add('HEAD');
    return [...methods].sort();
  };
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

/** The description of all routes, made from their definitions. */
function mountDocument(app: Api): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', { type: 'http', scheme: 'bearer' });
  app.doc31('/openapi.json', {
    openapi: '3.1.0',
    info: {
      title: 'purchase-watch',
      version: '1',
      description:
        'Watches purchases at a checkout service that has no callbacks. Failures are problems (RFC 9457) with a stable `code`.',
    },
    security: [{ key: [] }],
  });
}
