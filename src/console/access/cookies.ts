/** The console's cookies: the session, which scripts cannot read, and the colours a person chose. */
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { DAY, SECOND } from '../../domain/values/time.ts';
import type { Theme } from '../frame/page.ts';
import { SESSION_LIFETIME } from './sessions.ts';

const SESSION = 'purchase_watch_session';
const THEME = 'purchase_watch_theme';
const THEME_KEPT = 365 * DAY;

/** Where cookies hold: the path below which the console lies, and whether people come by https. */
export interface CookieScope {
  readonly base: string;
  readonly isSecure: boolean;
}

const optionsOf = ({ base, isSecure }: CookieScope) =>
  // Lax: a person who follows a link in Slack is signed in; posts are checked for their origin besides.
  ({ path: `${base}/`, httpOnly: true, sameSite: 'Lax', secure: isSecure }) as const;

export function sessionToken(c: Context): string | null {
  return getCookie(c, SESSION) ?? null;
}

export function keepSession(c: Context, token: string, scope: CookieScope): void {
  setCookie(c, SESSION, token, { ...optionsOf(scope), maxAge: SESSION_LIFETIME / SECOND });
}

export function dropSession(c: Context, scope: CookieScope): void {
  deleteCookie(c, SESSION, optionsOf(scope));
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
