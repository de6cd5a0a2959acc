/** The HTTP API for programs: mounts the resources; access; failures to problems. */
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import type { Settings } from '../config/settings.ts';
import { createLimits, type Limits } from '../limits/limits.ts';
import type { Health } from '../runtime/health.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMeters } from '../runtime/meters.ts';
import type { Secrets } from '../runtime/secrets.ts';
import type { Sql } from '../store/database.ts';
import { guardKeyless, requireKey } from './access.ts';
import { mountDeliveries } from './deliveries.ts';
import { mountDocument } from './document.ts';
import { mountEvents } from './events.ts';
import { createFeedHub, type FeedHub } from './feed-hub.ts';
import { mountHealth } from './health.ts';
import { mountIncidents } from './incidents.ts';
import { invalid } from './invalid.ts';
import { type InvoiceParts, mountInvoice } from './invoice.ts';
import type { Engine } from './metric-families.ts';
import { mountMetrics } from './metrics.ts';
import { mountOverview } from './overview.ts';
import { mountPoll } from './poll.ts';
import { Problem, problemFrom, problemResponse } from './problems.ts';
import { mountPurchases } from './purchases.ts';
import { mountRegistration } from './registration.ts';
import type { ApiBindings } from './serve.ts';
import { mountSilences } from './silences.ts';
import { mountStream, type StreamLimits } from './stream.ts';
import { mountSubscriberActions } from './subscriber-actions.ts';
import { mountSubscribers } from './subscribers.ts';
import { mountWhy } from './why.ts';

export interface ApiParts {
  readonly sql: Sql;
  readonly databaseUrl: string;
  readonly settings: Pick<Settings, 'apiKey' | 'apiReadKey' | 'sites' | 'policy' | 'webhooks' | 'subscribers'>;
  /** Encrypts what is stored of subscribers; without it nothing secret can be stored. */
  readonly secrets?: Secrets | null;
  readonly health: Health;
  readonly log: Logger;
  /** Wakes whoever waits for events; without one they look every few seconds. */
  readonly feed?: FeedHub;
  readonly streams?: StreamLimits;
  /** When stays become overdue; absent where nothing polls: then by the settings alone. */
  readonly limits?: Limits;
  /** What is counted in /metrics; absent where nothing polls. */
  readonly engine?: Engine;
  /** Absent where nothing polls: then no site can be asked. */
  readonly invoiceOf?: InvoiceParts['invoiceOf'];
}

export type Api = OpenAPIHono<{ Bindings: ApiBindings }>;

/** Builds the API. It needs no server: `fetch` answers requests. */
export function createApi({ sql, settings, secrets = null, health, log, feed = createFeedHub(sql), ...parts }: ApiParts): Api {
  const { streams, engine = NOTHING_RUNS, invoiceOf = nobodyAsks } = parts;
  const { limits = createLimits({ sql, clock: { now: () => Date.now() }, policy: settings.policy }) } = parts;
  const app: Api = new OpenAPIHono({
    // Thrown rather than answered, so that there is one place where failures become answers.
    defaultHook: (result) => {
      if (!result.success) throw invalid(result.error, checkedBy(result));
    },
  });
  app.use(requestLog(log), answerHeaders, guardKeyless(settings));
  app.use('/v1/*', requireKey(settings));
  app.use('/metrics', requireKey(settings));

  mountHealth(app, { sql, health });
  mountMetrics(app, { sql, health, engine });
  mountRegistration(app, { sql, sites: settings.sites.map((site) => site.name) });
  mountPurchases(app, { sql, limits });
  mountPoll(app, { sql });
  mountEvents(app, { feed });
  mountStream(app, { feed, log, limits: streams });
  mountOverview(app, { sql });
  mountInvoice(app, { sql, invoiceOf });
  mountWhy(app, { sql, limits, schedule: settings.webhooks.schedule });
  const known = { sites: settings.sites.map((site) => site.name), webhooks: settings.webhooks };
  mountSubscribers(app, { sql, secrets, known, configured: settings.subscribers });
  const { concurrency } = settings.webhooks;
  mountSubscriberActions(app, { sql, secrets, configured: settings.subscribers, concurrency });
  mountDeliveries(app, { sql });
  mountIncidents(app, { sql });
  mountSilences(app, { sql, secrets });
  mountDocument(app, { keyed: settings.apiKey !== null || settings.apiReadKey !== null });

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

const nobodyAsks: InvoiceParts['invoiceOf'] = async () => ({ kind: 'unconfigured', retryAfter: 0 });

const NOTHING_RUNS: Engine = { meters: createMeters(), shardsOwned: () => 0, unwritten: () => 0 };

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
