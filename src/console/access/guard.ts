/** Lets in visitors who are signed in, and mounts signing in and out, and what a person chooses. */

import type { Context, Hono, MiddlewareHandler } from 'hono';
import type { Sql } from '../../actions/database.ts';
import { LONGEST_NAME } from '../../actions/incidents/rules.ts';
import { type NewAction, recordAction } from '../../actions/recorded.ts';
import { senderOf } from '../../api/access/access.ts';
import type { LineBudget } from '../../api/access/line-budget.ts';
import type { Caller } from '../../api/http/caller.ts';
import type { ApiBindings, ServedApp } from '../../api/http/serve.ts';
import type { ApiKey } from '../../config/api-keys.ts';
import { isKeyless } from '../../config/api-keys.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createLinks } from '../../runtime/secrets/one-time-links.ts';
import { below, readForm, readFormOfStranger } from '../frame/request.ts';
import { knownZone } from '../parts/time.ts';
import { type CookieScope, choiceOf, dropSession, keepChoice, keepSession, sessionToken, themeOf } from './cookies.ts';
import type { Sessions } from './sessions.ts';
import { linkPage, signInPage, tryKey } from './sign-in.ts';

export type ConsoleEnv = { Bindings: ApiBindings; Variables: { caller: Caller } };

export interface GuardParts {
  readonly api: ServedApp;
  readonly sessions: Sessions;
  /** Where sign-ins are recorded. */
  readonly sql: Sql;
  readonly cookies: CookieScope;
  readonly log: Logger;
  readonly lines: LineBudget;
  readonly keys: readonly ApiKey[];
  /** DATA_DIR, where used links are noted. */
  readonly dataDir: string;
}

/** Mounts `/sign-in`, asks for a session from there on, and mounts what a signed-in person may do to it. */
export function mountAccess(app: Hono<ConsoleEnv>, parts: GuardParts): void {
  const { api, sessions, sql, cookies, log, lines, keys, dataDir } = parts;
  const { base } = cookies;
  const addressOf = (c: Context<ConsoleEnv>): string => c.env?.address ?? 'unknown';
  /** Never throws: what was done is done. */
  const record = (c: Context<ConsoleEnv>, { key, name = null }: Signed, call: NewAction['call']): Promise<void> => {
    const action = { key, person: name, address: addressOf(c), call, subject: {} };
    return recordAction(sql, { ...action, via: 'console', outcome: 'done' }).catch((error: unknown) =>
      log.error({ call, key, error }, 'console.action_not_recorded'),
    );
  };
  const signIn = async (c: Context<ConsoleEnv>, signed: Signed): Promise<void> => {
    keepSession(c, await sessions.begin(signed, addressOf(c)), cookies);
    log.info({ key: signed.key, address: addressOf(c) }, 'console.signed_in');
    await record(c, signed, 'sign in');
  };
  const links = createLinks(isKeyless(keys) ? (keys[0]?.hash ?? null) : null, dataDir);
  app.get('/sign-in', (c) => {
    const page = { base, theme: themeOf(c) };
    return c.html(
      isKeyless(keys) ? linkPage(page) : signInPage({ ...page, to: below(c.req.query('to')), name: choiceOf(c, 'name') ?? '' }),
    );
  });
  app.get('/open', async (c) => {
    // Hono answers HEAD by this handler, too; a program that only looks at an address is not to sign in.
    if (c.req.method === 'HEAD') return c.body(null);
    const token = sessionToken(c, cookies);
    const isSignedIn = token !== null && (await sessions.callerOf(token)) !== null;
    // Used up by a browser that is signed in, too: the link stays in its history.
    const isGood = links.use(new URL(c.req.url).search.slice(1));
    // A page that is loaded again, or was prepared by the browser, needs no second link.
    if (isSignedIn) return c.redirect(`${base}/`, 303);
    if (!isKeyless(keys)) return c.redirect(`${base}/sign-in`, 303);
    if (!isGood) {
      const refusal = 'This link was used already, or is too old. The command makes another one.';
      return c.html(linkPage({ base, theme: themeOf(c), refusal }), 401);
    }
    await signIn(c, { key: null, name: nameOf(choiceOf(c, 'name')) });
    return c.redirect(`${base}/`, 303);
  });
  app.post('/sign-in', async (c) => {
    const form = await readFormOfStranger(c);
    const to = below(form.to);
    const tried = await tryKey(api, form.key ?? '', c.env?.address);
    // Of a wrong key the API logs a line; this one was not shown to it.
    if ('refusal' in tried && tried.status === 400)
      lines.info({ key: null, ...senderOf(c, 'POST /sign-in'), code: 'invalid_request' }, 'api.request_rejected');
    const { person = '' } = form;
    if ('refusal' in tried) {
      if (isFromScript(c)) return c.text(tried.refusal, tried.status);
      return c.html(signInPage({ base, theme: themeOf(c), to, name: person, refusal: tried.refusal }), tried.status);
    }
    const name = nameOf(person);
    await signIn(c, { key: tried.caller.key, name });
    if (name !== choiceOf(c, 'name')) keepChoice(c, 'name', name, cookies);
    return isFromScript(c) ? c.body(null, 204) : c.redirect(`${base}${to}`, 303);
  });
  app.use(requireSession({ sessions, cookies }));
  app.post('/sign-out', async (c) => {
    const caller = c.get('caller');
    const { key } = caller;
    const token = sessionToken(c, cookies);
    const isEverywhere = (await readForm(c)).from === 'everywhere';
    if (isEverywhere) await sessions.endAll(key);
    else if (token !== null) await sessions.end(token);
    dropSession(c, cookies);
    log.info({ key, address: addressOf(c) }, 'console.signed_out');
    await record(c, caller, isEverywhere ? 'sign out everywhere' : 'sign out');
    return c.redirect(`${base}/sign-in`, 303);
  });
  mountChoices(app, parts);
}

/** Mounts what a person chooses for all pages: colours, zone, and the name that the others see. */
function mountChoices(app: Hono<ConsoleEnv>, { sessions, cookies }: GuardParts): void {
  const { base } = cookies;
  const backTo = (address: string | undefined): string => base + below(address?.slice(base.length));
  app.post('/theme', async (c) => {
    const { theme = '', back } = await readForm(c);
    keepChoice(c, 'theme', theme === 'light' || theme === 'dark' ? theme : null, cookies);
    return c.redirect(backTo(back), 303);
  });
  app.post('/zone', async (c) => {
    const { zone = '', back } = await readForm(c);
    keepChoice(c, 'zone', knownZone(zone), cookies);
    return c.redirect(backTo(back), 303);
  });
  app.post('/name', async (c) => {
    const { person = '', back } = await readForm(c);
    const { session } = c.get('caller');
    const name = nameOf(person);
    keepChoice(c, 'name', name, cookies);
    if (session !== undefined) await sessions.rename(session, name);
    return c.redirect(backTo(back), 303);
  });
}

type Signed = Pick<Caller, 'key' | 'name'>;

/** A page asks for itself again, or signs in without being left. */
const isFromScript = (c: Context): boolean => c.req.header('hx-request') !== undefined;

/** The name that a person typed, on one line and not too long; null: none. */
function nameOf(typed: string | null): string | null {
  const name = (typed ?? '')
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return name === '' ? null : [...name].slice(0, LONGEST_NAME).join('');
}

function requireSession({ sessions, cookies }: Pick<GuardParts, 'sessions' | 'cookies'>) {
  const handler: MiddlewareHandler<ConsoleEnv> = async (c, next) => {
    const token = sessionToken(c, cookies);
    const caller = token === null ? null : await sessions.callerOf(token);
    if (caller !== null) {
      c.set('caller', caller);
      return next();
    }
    const { pathname, search } = new URL(c.req.url);
    // An open page stays as it is, and says so.
    if (pathname === '/live' || isFromScript(c)) return c.text('Sign in again.', 401);
    const to = c.req.method === 'GET' && pathname !== '/' ? `?to=${encodeURIComponent(pathname + search)}` : '';
    return c.redirect(`${cookies.base}/sign-in${to}`, 303);
  };
  return handler;
}
