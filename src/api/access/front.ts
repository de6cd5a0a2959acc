/** The socket while the daemon starts: it says that the process lives and what the start is doing. The API takes it over. */
import { Hono } from 'hono';
import type { Settings } from '../../config/settings.ts';
import { NO_REPLICA_YET, REPLICA_HEADER } from '../../runtime/http/replica-header.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createRegistry, processFamilies } from '../../runtime/metrics.ts';
import { packageVersion } from '../../runtime/process/package-version.ts';
import { createRareWarning } from '../../runtime/rare-warning.ts';
import { wall } from '../../runtime/time.ts';
import { answerHeaders } from '../http/answer-headers.ts';
import { Problem, problemResponse } from '../http/problems.ts';
import { type ApiBindings, serveApi } from '../http/serve.ts';
import { mostConnections, openFilesLimit } from '../limits/connections.ts';
import { guardKeyless, requireKey } from './access.ts';
import { askedBy, createFailures } from './failures.ts';
import { createIsKnown } from './known.ts';
import { createLineBudget } from './line-budget.ts';
import type { Rule } from './scopes.ts';
import { createWrongKeys } from './wrong-keys.ts';

export type Front = Awaited<ReturnType<typeof openFront>>;

/** Listens. Throws AppError, with what to do, when it cannot listen there. */
export async function openFront(settings: Pick<Settings, 'host' | 'port' | 'apiKeys' | 'sites' | 'webhooks'>, log: Logger) {
  const { host, port, apiKeys } = settings;
  let doing = 'beginning';
  let since = new Date(wall());
  const app = new Hono<{ Bindings: ApiBindings }>();
  const lines = createLineBudget(log);
  const failures = createFailures({ log, lines });
  const keys = { keys: apiKeys, wrongKeys: createWrongKeys(), lines };
  app.use(answerHeaders, guardKeyless(apiKeys), requireKey(keys, ruleAt));
  app.get('/healthz', (c) => c.json({ status: 'alive' }));
  app.get('/readyz', (c) => {
    c.header(REPLICA_HEADER, NO_REPLICA_YET);
    const isReader = c.get('caller')?.scopes.includes('read') === true;
    return c.json({ status: 'starting', ...(isReader && { doing, since: since.toISOString() }) }, 503);
  });
  let registry: ReturnType<typeof createRegistry> | null = null;
  app.get('/metrics', async (c) => {
    registry ??= createRegistry(processFamilies(packageVersion(), true));
    const page = await registry;
    return c.text(await page.metrics(), 200, { 'content-type': page.contentType });
  });
  const detail = 'The daemon is starting. Try again in a few seconds; GET /readyz with a key for reading says what it does.';
  app.notFound(() => problemResponse(new Problem('starting', detail, { headers: { 'retry-after': '5' } })));
  app.onError(async (error, c) => problemResponse(await failures(error, askedBy(c, null))));
  const calls = settings.sites.reduce((sum, { concurrency }) => sum + concurrency, settings.webhooks.concurrency);
  const { most: connections, room } = mostConnections({ files: openFilesLimit(), calls });
  const onCrowded = createRareWarning((times) => log.warn({ times, connections, advice: CROWDED }, 'api.crowded'));
  const server = await serveApi(app, {
    host,
    port,
    connections,
    room,
    isKnown: createIsKnown(apiKeys),
    onCrowded,
    onFailure: async (error, { method, url }, address = 'unknown') => {
      const asked = { method, path: new URL(url).pathname, key: null, address, call: `${method} of nothing` };
      return problemResponse(await failures(error, asked));
    },
  });
  log.info({ url: server.url, connections }, 'api.listening');
  return {
    ...server,
    /** Connections with a request under way, at most. */
    connections,
    /** The budget of the process for lines that callers can cause. */
    lines,
    /** The start does this from now on, in words for people. */
    at: (step: string): void => {
      doing = step;
      since = new Date(wall());
      log.info({ doing }, 'start.step');
    },
  };
}

const CROWDED =
  'idle connections were closed to make room, or requests refused; look who opens so many, or allow the process more open files';

/** Only /readyz and /metrics look at keys: what else there is cannot be called yet. */
function ruleAt({ req }: { req: { path: string } }): Rule {
  if (req.path === '/metrics') return { call: 'GET /metrics', scope: 'metrics', isOptional: false, isPersonal: false };
  const scope = req.path === '/readyz' ? 'read' : null;
  return { call: 'GET /readyz', scope, isOptional: true, isPersonal: false };
}
