/** The console's cookies: the session, which scripts cannot read, and the colours a person chose. */
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { DAY, SECOND } from '../../domain/values/time.ts';
import type { Theme } from '../frame/page.ts';
import { SESSION_LIFETIME } from './sessions.ts';

const SESSION = 'purchase_watch_session';
const THEME = 'purchase_watch_theme';
const THEME_KEPT = 365 * DAY;

/** Where cookies hold. */
export interface CookieScope {
  /** The path below which the console lies. */
  readonly base: string;
  /** Whether people come by https. */
  readonly isSecure: boolean;
  /** The port that people use, empty for the scheme's own; null: the one by which a request comes. */
  readonly port: string | null;
}

/** The scope of the cookies of a console at this address (null: it has none of its own). */
export function cookieScope(consoleUrl: string | null): CookieScope {
  if (consoleUrl === null) return { base: '', isSecure: false, port: null };
  const { pathname, protocol, port } = new URL(consoleUrl);
  return { base: pathname.replace(/\/$/, ''), isSecure: protocol === 'https:', port };
}

const optionsOf = ({ base, isSecure }: CookieScope) =>
  // Lax: a person who follows a link in Slack is signed in; posts are checked for their origin besides.
  ({ path: `${base}/`, httpOnly: true, sameSite: 'Lax', secure: isSecure }) as const;

/**
 * Cookies do not distinguish ports, so the name does: the consoles of two daemons on one host keep their sessions apart. A name
 * that begins with `__Host-` or `__Secure-` is refused by browsers from any place that has no https.
 */
function sessionCookie(c: Context, { base, isSecure, port }: CookieScope): string {
  const prefix = !isSecure ? '' : base === '' ? '__Host-' : '__Secure-';
  const part = port ?? new URL(c.req.url).port;
  return `${prefix}${SESSION}${part === '' ? '' : `_${part}`}`;
}

export function sessionToken(c: Context, scope: CookieScope): string | null {
  return getCookie(c, sessionCookie(c, scope)) ?? null;
}

export function keepSession(c: Context, token: string, scope: CookieScope): void {
  setCookie(c, sessionCookie(c, scope), token, { ...optionsOf(scope), maxAge: SESSION_LIFETIME / SECOND });
}

export function dropSession(c: Context, scope: CookieScope): void {
  deleteCookie(c, sessionCookie(c, scope), optionsOf(scope));
}

/** The colours a person chose; by the system where none were chosen. */
export function themeOf(c: Context): Theme {
  const chosen = getCookie(c, THEME);
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}

export function keepTheme(c: Context, theme: string, scope: CookieScope): void {
  if (theme === 'light' || theme === 'dark') setCookie(c, THEME, theme, { ...optionsOf(scope), maxAge: THEME_KEPT / SECOND });
  else deleteCookie(c, THEME, optionsOf(scope));
}
