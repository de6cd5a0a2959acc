/** Lets in visitors who are signed in, and mounts signing in and out. */
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { KEYLESS, senderOf } from '../../api/access/access.ts';
import type { LineBudget } from '../../api/access/line-budget.ts';
import type { Caller } from '../../api/http/caller.ts';
import type { ApiBindings, ServedApp } from '../../api/http/serve.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type NewAction, recordAction } from '../../postgres/console/actions.ts';
import type { Logger } from '../../runtime/logger.ts';
import { below, type Forms } from '../frame/request.ts';
import { type CookieScope, dropSession, keepSession, keepTheme, sessionToken, themeOf } from './cookies.ts';
import type { Sessions } from './sessions.ts';
import { signInPage, tryKey } from './sign-in.ts';

export type ConsoleEnv = { Bindings: ApiBindings; Variables: { caller: Caller } };

export interface GuardParts {
  readonly api: ServedApp;
  readonly sessions: Sessions;
  readonly forms: Forms;
  /** Where sign-ins are recorded. */
  readonly sql: Sql;
  readonly cookies: CookieScope;
  readonly log: Logger;
  readonly lines: LineBudget;
  /** Whether keys are configured; without any, everybody on this machine may do everything. */
  readonly isKeyed: boolean;
}

/** Mounts `/sign-in`, asks for a session from there on, and mounts what a signed-in person may do to it. */
export function mountAccess(app: Hono<ConsoleEnv>, parts: GuardParts): void {
  const { api, sessions, forms, sql, cookies, log, lines, isKeyed } = parts;
  const { base } = cookies;
  const addressOf = (c: Context<ConsoleEnv>): string => c.env?.address ?? 'unknown';
  /** Never throws: what was done is done. */
  const record = (key: string | null, address: string, call: NewAction['call']): Promise<void> =>
    recordAction(sql, { key, address, via: 'console', call, subject: {}, outcome: 'done' }).catch((error: unknown) =>
      log.error({ call, key, error }, 'console.action_not_recorded'),
    );
  app.get('/sign-in', (c) => c.html(signInPage({ base, theme: themeOf(c), to: below(c.req.query('to')) })));
  app.post('/sign-in', async (c) => {
    const form = await forms.readOfStranger(c);
    const to = below(form.to);
    const tried = await tryKey(api, form.key ?? '', c.env?.address);
    // Of a wrong key the API logs a line; this one was not shown to it.
    if ('refusal' in tried && tried.status === 400)
      lines.log('info', { key: null, ...senderOf(c, 'POST /sign-in'), code: 'invalid_request' }, 'api.request_rejected');
    if ('refusal' in tried) return c.html(signInPage({ base, theme: themeOf(c), to, refusal: tried.refusal }), tried.status);
    keepSession(c, await sessions.begin(tried.caller, addressOf(c)), cookies);
    log.info({ key: tried.caller.key, address: addressOf(c) }, 'console.signed_in');
    await record(tried.caller.key, addressOf(c), 'sign in');
    return c.redirect(`${base}${to}`, 303);
  });
  app.use(requireSession({ sessions, cookies, isKeyed }));
  app.post('/sign-out', async (c) => {
    const { key } = c.get('caller');
    const token = sessionToken(c, cookies);
    const isEverywhere = (await forms.read(c)).from === 'everywhere';
    if (isEverywhere && key !== null) await sessions.endAll(key);
    else if (token !== null) await sessions.end(token);
    dropSession(c, cookies);
    log.info({ key, address: addressOf(c) }, 'console.signed_out');
    await record(key, addressOf(c), isEverywhere ? 'sign out everywhere' : 'sign out');
    return c.redirect(`${base}/sign-in`, 303);
  });
  app.post('/theme', async (c) => {
    const { theme = '', back } = await forms.read(c);
    keepTheme(c, theme, cookies);
    return c.redirect(`${base}${below(back?.slice(base.length))}`, 303);
  });
}

function requireSession({ sessions, cookies, isKeyed }: Pick<GuardParts, 'sessions' | 'cookies' | 'isKeyed'>) {
  const handler: MiddlewareHandler<ConsoleEnv> = async (c, next) => {
    const token = sessionToken(c, cookies);
    const caller = isKeyed ? (token === null ? null : await sessions.callerOf(token)) : KEYLESS;
    if (caller !== null) {
      c.set('caller', caller);
      return next();
    }
    const { pathname, search } = new URL(c.req.url);
    if (pathname === '/live') return c.text('Sign in again.', 401);
    const to = c.req.method === 'GET' && pathname !== '/' ? `?to=${encodeURIComponent(pathname + search)}` : '';
    return c.redirect(`${cookies.base}/sign-in${to}`, 303);
  };
  return handler;
}
