/** The console: pages at `/`, for people, over the API, which answers everything else. */
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import type { FeedHub } from '../actions/events/feed-hub.ts';
import { guardKeyless } from '../api/access/access.ts';
import type { OverviewBody } from '../api/health/overview.ts';
import type { ServedApp } from '../api/http/serve.ts';
import type { ApiKey } from '../config/api-keys.ts';
import type { Sql } from '../postgres/connection/database.ts';
import type { Logger } from '../runtime/logger.ts';
import { type CookieScope, themeOf } from './access/cookies.ts';
import { type ConsoleEnv, mountAccess } from './access/guard.ts';
import { createSessions } from './access/sessions.ts';
import { type ApiCalls, ApiRefusal, apiCalls } from './frame/api-calls.ts';
import { serveAsset } from './frame/assets.ts';
import { badgesOf } from './frame/badges.ts';
import { barePage, pageOf, type View } from './frame/page.ts';
import type { Ask, PageRoute } from './frame/page-route.ts';
import { formOf } from './frame/request.ts';
import { createLive } from './live.ts';
import { failedView, foreignView, notFoundView, refusedView } from './pages/error.ts';
import { PAGES } from './pages/pages.ts';
import { clockTime } from './parts/time.ts';

export interface ConsoleParts {
  readonly api: ServedApp;
  readonly feed: FeedHub;
  /** Connections for sessions. */
  readonly sql: Sql;
  readonly log: Logger;
  readonly keys: readonly ApiKey[];
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

/** What is the API's: the console has all other addresses. */
const OF_API = /^\/(?:v1|docs|openapi\.json|healthz|readyz|metrics)(?:\/|$)/;

/** Builds the console over an API. */
export function createConsole({ api, feed, sql, log, keys, consoleUrl }: ConsoleParts): ServedApp {
  const base = consoleUrl === null ? '' : new URL(consoleUrl).pathname.replace(/\/$/, '');
  const cookies: CookieScope = { base, isSecure: consoleUrl?.startsWith('https:') ?? false };
  const live = createLive(feed);
  const app = new Hono<ConsoleEnv>();
  app.use(headers, guardKeyless(keys) as MiddlewareHandler);
  app.get('/assets/*', serveAsset);
  app.use(csrf({ origin: (origin, c) => isOwn(origin, c, consoleUrl) }));
  mountAccess(app, { api, sessions: createSessions(sql, keys), sql, cookies, log, keys });
  app.get('/live', (c) => live.stream(c, c.get('caller')));

  const calls = new WeakMap<Context, ApiCalls>();
  const callsOf = (c: Context<ConsoleEnv>): ApiCalls => {
    const ofRequest = calls.get(c) ?? apiCalls(api, { ...c.env, caller: c.get('caller') });
    calls.set(c, ofRequest);
    return ofRequest;
  };
  const show = async (c: Context<ConsoleEnv>, view: View): Promise<Response> => {
    const caller = c.get('caller');
    const overview = await callsOf(c)
      .get<OverviewBody>('/v1/overview')
      .catch(() => null);
    const { pathname, search } = new URL(c.req.url);
    const badges = overview === null ? {} : badgesOf(overview);
    const frame = { base, address: base + pathname + search, theme: themeOf(c), caller, badges, at: clockTime(Date.now()) };
    return c.html(pageOf(view, frame), (view.status ?? 200) as 200);
  };
  const answer = async (c: Context<ConsoleEnv>, route: PageRoute): Promise<Response> => {
    const ask = await askOf(c, { api: callsOf(c), base, consoleUrl });
    if (!ask.caller.scopes.includes(route.scope)) return show(c, refusedView(ask, route.scope));
    const answered = await route.answer(ask);
    if (route.method === 'POST') {
      live.refreshes.forget();
      live.refreshes.changed();
    }
    return 'goTo' in answered ? c.redirect(base + answered.goTo, 303) : show(c, answered);
  };
  /** Answers an open page that asks for itself again; people who look at the same page with the same key share the answer. */
  const answerAgain = async (c: Context<ConsoleEnv>, route: PageRoute): Promise<Response> => {
    const { key, session } = c.get('caller');
    const what = [c.req.url, key, themeOf(c), route.isOfSession ? session : ''].join(' ');
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
  app.onError((error, c) => {
    if (error instanceof HTTPException && error.status === 403)
      return c.html(barePage(foreignView(base), { base, theme: themeOf(c) }), 403);
    if (!(error instanceof ApiRefusal)) log.error({ path: c.req.path.slice(0, 300), error }, 'console.failed');
    const view = failedView(error, base);
    return c.get('caller') === undefined
      ? c.html(barePage(view, { base, theme: themeOf(c) }), view.status as 503)
      : show(c, view);
  });
  return { fetch: inFrontOf(api, app, base) };
}

/** Passes on what is the API's. A proxy may pass the path below which it serves the console, or take it away. */
function inFrontOf(api: ServedApp, app: Hono<ConsoleEnv>, base: string): ServedApp['fetch'] {
  return (request, bindings) => {
    const url = new URL(request.url);
    const isInside = base !== '' && (url.pathname === base || url.pathname.startsWith(`${base}/`));
    const path = isInside ? url.pathname.slice(base.length) || '/' : url.pathname;
    const asked = isInside ? new Request(new URL(path + url.search, url), request) : request;
    return OF_API.test(path) ? api.fetch(asked, bindings) : app.fetch(asked, bindings);
  };
}

async function askOf(
  c: Context<ConsoleEnv>,
  { api, base, consoleUrl }: { api: ApiCalls; base: string; consoleUrl: string | null },
): Promise<Ask> {
  const caller = c.get('caller');
  return {
    ...{ api, caller, base, params: c.req.param() as Record<string, string>, query: c.req.query(), now: Date.now() },
    mayOperate: caller.scopes.includes('operate'),
    mayRegister: caller.scopes.includes('register'),
    origin: consoleUrl ?? new URL(c.req.url).origin,
    form: c.req.method === 'POST' ? await formOf(c) : {},
  };
}

/** Whether a form was posted by a page of this console, where the browser names no more than an origin. */
function isOwn(origin: string, c: Context, consoleUrl: string | null): boolean {
  if (consoleUrl !== null && origin === new URL(consoleUrl).origin) return true;
  return URL.parse(origin)?.host === c.req.header('host');
}

const headers: MiddlewareHandler = async (c, next) => {
  await next();
  for (const [name, value] of Object.entries(HEADERS)) if (!c.res.headers.has(name)) c.res.headers.set(name, value);
};
