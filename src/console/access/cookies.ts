/** The console's cookies: the session, and what a person chose: colours, zone and name. Scripts cannot read them. */
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { DAY, SECOND } from '../../domain/values/time.ts';
import type { Theme } from '../frame/page.ts';
import { knownZone } from '../parts/time.ts';
import { SESSION_LIFETIME } from './sessions.ts';

const SESSION = 'purchase_watch_session';
/** A person's choices that browsers keep, by the end of the cookie's name. */
export type KeptChoice = 'theme' | 'zone' | 'name';
const CHOICE_KEPT = 365 * DAY;

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

/** The choice that a person made before, from the request's cookie; null where the person made none. */
export function choiceOf(c: Context, choice: KeptChoice): string | null {
  return getCookie(c, `purchase_watch_${choice}`) ?? null;
}

/** Has the browser keep the choice for a year; null removes it. */
export function keepChoice(c: Context, choice: KeptChoice, value: string | null, scope: CookieScope): void {
  const name = `purchase_watch_${choice}`;
  if (value === null) deleteCookie(c, name, optionsOf(scope));
  else setCookie(c, name, value, { ...optionsOf(scope), maxAge: CHOICE_KEPT / SECOND });
}

/** The zone a person chose for the times of pages; `usual` where none was chosen. */
export function zoneOf(c: Context, usual: string): string {
  return knownZone(choiceOf(c, 'zone') ?? '') ?? usual;
}

/** The colours a person chose; by the system where none were chosen. */
export function themeOf(c: Context): Theme {
  const chosen = choiceOf(c, 'theme');
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}
