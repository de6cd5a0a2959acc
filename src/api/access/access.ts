/** Who may call: programs with a key of the settings, and while there is none, with the machine's own; never another web site's page. */

import type { Context, MiddlewareHandler } from 'hono';
import { type ApiKey, isKeyless, shownName } from '../../config/api-keys.ts';
import { SCOPES, type Scope } from '../../config/kinds/key-kinds.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { timeoutSignal, wall } from '../../runtime/time.ts';
import type { Caller } from '../http/caller.ts';
import { Problem } from '../http/problems.ts';
import { bearerKeys, hasExpired } from './keys.ts';
import type { LineBudget } from './line-budget.ts';
import type { Rule } from './scopes.ts';
import type { WrongKeys } from './wrong-keys.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** Absent where no key was checked. */
    caller?: Caller;
  }
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
/** A Host header or a host of a URL that names this machine. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
/** Headers that proxies add to what they pass on, in small letters and with `-` for `_`, which some proxies write. */
const OF_PROXIES =
  /^(?:forwarded|via|x-(?:original-)?forwarded(?:-.*)?|x-original-host|x-real-ip|x-(?:cluster-)?client-ip|x-envoy-.*|x-amzn-trace-id|true-client-ip|fly-client-ip|cf-connecting-ip|cf-ray)$/;
/** Who asks the operators' addresses (outside `/v1`) without a key, where none is configured. */
export const KEYLESS: Caller = { key: null, scopes: SCOPES, expires: null };
/** With these scopes a key changes something. */
const CHANGING: readonly Scope[] = ['register', 'operate'];

export interface AccessParts {
  readonly keys: readonly ApiKey[];
  readonly wrongKeys: WrongKeys;
  readonly lines: LineBudget;
}

/** Asks for a key with the scope that the route declares. Below `/v1` a request without a key learns nothing, not even which paths there are. */
export function requireKey(parts: AccessParts, ruleOf: (c: Context) => Rule | undefined): MiddlewareHandler {
  const identify = createIdentify(parts);
  return async (c, next) => {
    const rule = ruleOf(c);
    const isAsked = rule === undefined ? isBelowV1(c) : rule.scope !== null;
    if (!isAsked) return next();
    const caller = await identify(c, rule?.call ?? null);
    if (caller !== null) c.set('caller', caller);
    else if (!rule?.isOptional) throw unauthorized(howToCall(parts.keys));
    const lacks = caller !== null && rule?.scope != null && !caller.scopes.includes(rule.scope);
    if (!lacks || rule.isOptional) return next();
    throw refusedScope(c, caller, { call: rule.call, scope: rule.scope!, lines: parts.lines });
  };
}

/** Logs that a caller's key lacks the scope that a call needs, and answers the problem to throw. */
export function refusedScope(
  c: Context,
  { key, scopes }: Caller,
  { call, scope, lines }: { readonly call: string; readonly scope: Scope; readonly lines: LineBudget },
): Problem {
  lines.warn({ key, needs: scope, ...senderOf(c, call) }, 'api.scope_refused');
  const mayOnlyRead = CHANGING.includes(scope) && !scopes.some((each) => CHANGING.includes(each));
  return new Problem(
    mayOnlyRead ? 'read_only_key' : 'missing_scope',
    `${call} needs a key with the scope ${scope}; the key ${key} has ${scopes.join(', ')}.`,
  );
}

/** Reads who sends a request: null without a key. Throws the problem that a wrong key is, once it has cost its time. */
function createIdentify({ keys, wrongKeys, lines }: AccessParts): (c: Context, call: string | null) => Promise<Caller | null> {
  const keyOf = bearerKeys(keys);
  return async (c, call) => {
    // The console asks within this process, and has checked the session of the person.
    if (c.env?.caller !== undefined) return c.env.caller;
    const { isShown, key } = keyOf(c.req.header('authorization'));
    if (!isShown) return isKeyless(keys) && !isBelowV1(c) ? KEYLESS : null;
    const isExpired = key !== undefined && hasExpired(key);
    if (key !== undefined && !isExpired) return { key: shownName(key), scopes: key.scopes, expires: key.expires };
    const sender = senderOf(c, call);
    const refused = isExpired ? { reason: 'expired', key: key.name } : { reason: 'unknown' };
    lines.warn({ ...refused, ...sender }, 'api.key_refused');
    if (!(await wrongKeys.pay(sender.address, c.env?.closing))) throw tooMany();
    throw unauthorized(
      isExpired
        ? `The key ${key.name} expired at ${new Date(key.expires!).toISOString()}; use the one that replaces it.`
        : unknownKey(keys),
    );
  };
}

const isBelowV1 = ({ req }: Context): boolean => /^\/v1(?:\/|$)/.test(req.path);

function howToCall(keys: readonly ApiKey[]): string {
  if (!isKeyless(keys)) return 'Send the key in the header "authorization: Bearer <key>".';
  if (keys.length === 0)
    return 'No API_KEY is set, and the daemon keeps no key in DATA_DIR (its log says why, unless it is a worker, which has no API): set API_KEY, and start the daemon again.';
  return 'No API_KEY is set, so send the line of the file "authorization" in DATA_DIR: curl -H @.purchase-watch/authorization …; or set API_KEY.';
}

function unknownKey(keys: readonly ApiKey[]): string {
  if (isKeyless(keys)) return `The key is not the machine's. ${howToCall(keys)}`;
  return 'The key is not known here; compare it with API_KEY, API_READ_KEY and api.keys of the configuration.';
}

/** The longest that a timer can wait. */
const LONGEST_TIMER: Milliseconds = 2 ** 31 - 1;

/** Aborted when the caller's key expires, for answers that have no end; none for a key that never does. */
export function expirySignal({ expires }: Caller): AbortSignal[] {
  if (expires === null) return [];
  return [timeoutSignal(Math.min(Math.max(Math.ceil(expires - wall()), 0), LONGEST_TIMER))];
}

/** From where a request comes and what it asks for, for the log: nothing that the sender chose. */
export function senderOf(c: Context, call: string | null): { readonly address: string; readonly call: string } {
  return { address: c.env?.address ?? 'unknown', call: call ?? `${c.req.method} of nothing` };
}

/**
 * While the settings name no key, only this machine is served. A browser on this machine would lend that to any page: one
 * whose name was made to resolve to this machine (its Host shows that), or one that posts here (its Origin shows that). Proxies
 * that say so are refused with what to do; one that does not say so has no key of the machine.
 */
export function guardKeyless(keys: readonly ApiKey[]): MiddlewareHandler {
  return async (c, next) => {
    if (!isKeyless(keys)) return next();
    const { host, origin, 'sec-fetch-site': site, ...others } = c.req.header();
    const passedOn = Object.keys(others).find((name) => OF_PROXIES.test(name.replaceAll('_', '-')));
    if (passedOn !== undefined) {
      throw new Problem(
        'proxied',
        `Without a key only programs of this machine may call, and the header ${passedOn} says that a proxy passed the request on. Set API_KEY, and send it.`,
      );
    }
    if (host !== undefined && !LOOPBACK_HOST.test(host)) {
      throw new Problem(
        'foreign_host',
        `Without a key only this machine may call, and the Host header says ${JSON.stringify(host.slice(0, 80))}. Use http://127.0.0.1 or set API_KEY.`,
      );
    }
    if (!SAFE_METHODS.has(c.req.method) && isForeign({ origin, site, host })) {
      throw new Problem(
        'cross_site',
        'Without a key, web pages of other origins may not change anything here. Set API_KEY and send it.',
      );
    }
    await next();
  };
}

function isForeign({ origin, site, host }: Record<'origin' | 'site' | 'host', string | undefined>): boolean {
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && origin.toLowerCase() !== `http://${host?.toLowerCase()}`;
}

function unauthorized(detail: string): Problem {
  return new Problem('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="purchase-watch"' } });
}

function tooMany(): Problem {
  const detail = 'Too many wrong keys wait for their answers, from this address or from all. A right key is answered at once.';
  return new Problem('too_many_wrong_keys', detail, { headers: { 'retry-after': '10' } });
}
