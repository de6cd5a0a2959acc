/** The console: pages at `/`, for people, over the API, which answers everything else. */

import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Sql } from '../actions/database.ts';
import type { FeedHub } from '../actions/events/feed-hub.ts';
import { guardKeyless, refusedScope } from '../api/access/access.ts';
import { askedBy, createFailures } from '../api/access/failures.ts';
import type { LineBudget } from '../api/access/line-budget.ts';
import type { StreamPlaces } from '../api/events/stream-places.ts';
import type { Caller } from '../api/http/caller.ts';
import type { ServedApp } from '../api/http/serve.ts';
import type { OverviewBody } from '../api/overview/overview.ts';
import type { ApiKey } from '../config/api-keys.ts';
import type { Logger } from '../runtime/logger.ts';
import { wall } from '../runtime/time.ts';
import { cookieScope, themeOf, zoneOf } from './access/cookies.ts';
import { type ConsoleEnv, mountAccess } from './access/guard.ts';
import { requireOwnPages } from './access/own-pages.ts';
import { createSessions } from './access/sessions.ts';
import { type ApiCalls, ApiRefusal, apiCalls } from './frame/api-calls.ts';
import { serveAsset } from './frame/assets.ts';
import { badgesOf } from './frame/badges.ts';
import { barePage, pageOf, type View } from './frame/page.ts';
import type { Ask, PageRoute } from './frame/page-route.ts';
import { below, readForm } from './frame/request.ts';
import { type SiteZone, usualZone } from './frame/zones.ts';
import { createLive } from './live.ts';
import { failedView, notFoundView } from './pages/error.ts';
import { PAGES } from './pages/pages.ts';
import { clockTime, inZone, zoneName } from './parts/time.ts';

export interface ConsoleParts {
  readonly api: ServedApp;
  readonly feed: FeedHub;
  /** Places for the streams of open pages. */
  readonly places: StreamPlaces;
  /** Connections for looking up sessions, and for beginning and ending them. */
  readonly reads: Sql;
  readonly changes: Sql;
  readonly log: Logger;
  /** The budget of the process for lines that callers can cause. */
  readonly lines: LineBudget;
  readonly keys: readonly ApiKey[];
  /** Whose zones the times of pages may have. */
  readonly sites: readonly SiteZone[];
  /** DATA_DIR, where used links are noted. */
  readonly dataDir: string;
  /** The address people use; null: the one that they came by. */
  readonly consoleUrl: string | null;
}

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** Addresses of the API: the console has all others. */
const OF_API = /^\/(?:v1|docs|openapi\.json|healthz|readyz|metrics)(?:\/|$)/;

export function createConsole(parts: ConsoleParts): ServedApp {
  const { api, feed, places, reads, changes, log, lines, keys, sites, dataDir, consoleUrl } = parts;
  const cookies = cookieScope(consoleUrl);
  const { base } = cookies;
  const sessions = createSessions({ reads, changes }, keys);
  const live = createLive({ feed, places, sessions });
  const app = new Hono<ConsoleEnv>();
  app.use(headers, guardKeyless(keys) as MiddlewareHandler);
  app.get('/assets/*', serveAsset);
  app.use(requireOwnPages(consoleUrl));
  mountAccess(app, { api, sessions, sql: changes, cookies, log, lines, keys, dataDir });
  const usual = usualZone(sites);
  app.use((c, next) => inZone(zoneOf(c, usual), next));
  // Streamed as the API answers it: a page would hold the whole list.
  app.on('GET', ['/purchases.csv', '/incidents/:id/aftermath.csv'], (c) =>
    api.fetch(new Request(`http://console/v1${c.req.path}${new URL(c.req.url).search}`), {
      ...c.env,
      caller: c.get('caller'),
      via: 'console',
    }),
  );
  app.get('/live', (c) => live.stream(c, c.get('caller')));

  const calls = new WeakMap<Context, ApiCalls>();
  const callsOf = (c: Context<ConsoleEnv>): ApiCalls => {
    const ofRequest = calls.get(c) ?? apiCalls(api, { ...c.env, caller: c.get('caller') });
    calls.set(c, ofRequest);
    return ofRequest;
  };
  const show = async (c: Context<ConsoleEnv>, view: View): Promise<Response> => {
    const caller: Caller | undefined = c.get('caller');
    // A visitor who is not signed in sees nothing of this installation.
    if (caller === undefined) return c.html(barePage(view, { base, theme: themeOf(c) }), (view.status ?? 200) as 200);
    const overview = await callsOf(c)
      .get<OverviewBody>('/v1/overview')
      .catch(() => null);
    const { pathname, search } = new URL(c.req.url);
    const badges = overview === null ? {} : badgesOf(overview);
    const now = wall();
    const frame = {
      base,
      address: base + pathname + search,
      theme: themeOf(c),
      caller,
      badges,
      sites,
      now,
      at: clockTime(now),
      zone: zoneName(),
    };
    return c.html(pageOf(view, frame), (view.status ?? 200) as 200);
  };
  const answer = async (c: Context<ConsoleEnv>, route: PageRoute): Promise<Response> => {
    const caller = c.get('caller');
    // Before anything of a form is read.
    if (!caller.scopes.includes(route.scope)) {
      const call = `${route.method} ${route.path}`;
      throw refusedScope(c, caller, { call, scope: route.scope, lines });
    }
    const form = route.method === 'POST' ? await readForm(c, route.largestForm) : {};
    const answered = await route.answer(askOf(c, { api: callsOf(c), base, consoleUrl, form }));
    if (route.method === 'POST') {
      live.refreshes.forget();
      live.refreshes.changed();
    }
    return 'goTo' in answered ? c.redirect(base + below(answered.goTo), 303) : show(c, answered);
  };
  /** Answers an open page that asks for itself again; people who look at the same page with the same key share the answer. */
  const answerAgain = async (c: Context<ConsoleEnv>, route: PageRoute): Promise<Response> => {
    const { key, name = null, session } = c.get('caller');
    const what = JSON.stringify([c.req.url, key, name, themeOf(c), zoneName(), route.isOfSession ? session : '']);
    const { body, status } = await live.refreshes.answer(what, async () => {
      const made = await answer(c, route);
      return { body: await made.text(), status: made.status };
    });
    return c.html(body, status as 200);
  };
  const isAsked = (c: Context, route: PageRoute): boolean => route.method === 'GET' && c.req.header('hx-request') !== undefined;
  for (const route of PAGES)
    app.on(route.method, route.path, (c) => (isAsked(c, route) ? answerAgain(c, route) : answer(c, route)));
  app.notFound((c) => show(c, notFoundView(base)));
  const failures = createFailures({ log, lines });
  app.onError(async (error, c) => {
    const problem = error instanceof ApiRefusal ? error : await failures(error, askedBy(c, callOf(c)));
    const view = failedView(problem, base);
    // A fault of the page around it must not keep the answer back.
    return show(c, view).catch(() => c.html(barePage(view, { base, theme: 'system' }), problem.status));
  });
  return { fetch: inFrontOf(api, app, base) };
}

/** Passes on what is the API's. A proxy may pass the path below which it serves the console, or take it away. */
function inFrontOf(api: ServedApp, app: Hono<ConsoleEnv>, base: string): ServedApp['fetch'] {
  return (request, bindings) => {
    const url = new URL(request.url);
    const isInside = base !== '' && (url.pathname === base || url.pathname.startsWith(`${base}/`));
    const path = isInside ? url.pathname.slice(base.length) || '/' : url.pathname;
    url.pathname = path;
    // No Request can be made with the method TRACE.
    const asked = isInside && request.method !== 'TRACE' ? new Request(url, request) : request;
    return OF_API.test(path) ? api.fetch(asked, bindings) : app.fetch(asked, bindings);
  };
}

/** The route that was asked for, such as `POST /sign-in`; null where there is none. */
function callOf(c: Context): string | null {
  const route = matchedRoutes(c).find(({ method }) => method !== 'ALL');
  return route === undefined ? null : `${route.method} ${route.path}`;
}

function askOf(
  c: Context<ConsoleEnv>,
  { api, base, consoleUrl, form }: Pick<Ask, 'api' | 'base' | 'form'> & { consoleUrl: string | null },
): Ask {
  const caller = c.get('caller');
  return {
    api,
    caller,
    base,
    params: c.req.param() as Record<string, string>,
    query: c.req.query(),
    now: wall(),
    mayOperate: caller.scopes.includes('operate'),
    mayRegister: caller.scopes.includes('register'),
    origin: consoleUrl ?? new URL(c.req.url).origin,
    consoleUrl,
    form,
  };
}

const headers: MiddlewareHandler = async (c, next) => {
  await next();
  for (const [name, value] of Object.entries(HEADERS)) if (!c.res.headers.has(name)) c.res.headers.set(name, value);
};
