/**
 * Values of the `Authorization` header: an OAuth 2.0 token that is fetched, kept and renewed, or HTTP Basic. The
 * specification leaves open which one the operations use, so each site says.
 */

import * as oauth from 'oauth4webapi';
import type { TokenTimes } from '../domain/polling/site-calls.ts';
import type { Instant, Milliseconds } from '../domain/values/time.ts';
import { UNPACKED } from '../runtime/http/unpacked.ts';
import { readBody } from './answer-text.ts';
import type { Failure, Reply } from './call.ts';
import type { Transport } from './transport.ts';
import { failureTrouble, isPage, pageTrouble, statusTrouble, type TroubleObservation, trouble } from './trouble.ts';

export interface Access {
  /** The header's value, at once when there is a good one. One request serves everybody who waits. */
  header(): string | TroubleObservation | Promise<string | TroubleObservation>;
  /** After a 401 or 403: another value to try once, or null when there is none worth trying. */
  instead(rejected: string): Promise<string | TroubleObservation | null>;
  /** To be called when that other value was rejected as well: renewing does not help, so it rests for a while. */
  gaveUp(): void;
  /** When the token was fetched, ends and was refused; null where there is no token. */
  token(): TokenTimes | null;
}

interface TokenOptions {
  readonly baseUrl: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Has its own connection: a renewal never stands in line behind the polls that wait for it. */
  readonly transport: Transport;
  readonly clock: { now(): Instant; monotonic(): Milliseconds };
}

const TOKEN_PATH = '/oauth2/token';
/** A token that fits into a header, and is no longer than servers take one. */
const USABLE_TOKEN = /^[\x21-\x7e]{1,16384}$/;
/** Lifetime when the service names none that makes sense; a 401 renews earlier anyway. */
const USUAL_LIFETIME: Milliseconds = 300_000;
/** Longer promises are not believed: a token is cheap. */
const LONGEST_LIFETIME: Milliseconds = 86_400_000;
/** Renewed this long before it expires, or a tenth of its life when that is less. */
const MARGIN: Milliseconds = 30_000;
/** A failure is the answer for everybody for this long, so that polls do not hammer the token endpoint. */
const FAILURE_KEPT: Milliseconds = 1_000;
/** After a new token was rejected like the old one, renewing on rejection rests for this long. */
const POINTLESS_FOR: Milliseconds = 10_000;

/** HTTP Basic (RFC 7617) in UTF-8. There is nothing to renew. */
export function basicAccess(clientId: string, clientSecret: string): Access {
  const value = `Basic ${Buffer.from(`${clientId}:${clientSecret}`, 'utf8').toString('base64')}`;
  return { header: () => value, instead: async () => null, gaveUp: () => undefined, token: () => null };
}

/** OAuth 2.0 client credentials at `/oauth2/token`, sent in the form as the specification shows it. */
export function oauthAccess({ baseUrl, clientId, clientSecret, transport, clock }: TokenOptions): Access {
  let value: string | null = null;
  let renewAt: Milliseconds = 0;
  let expiresAt: Milliseconds = 0;
  let failure: { readonly answer: TroubleObservation; readonly until: Milliseconds } | null = null;
  let underway: Promise<string | TroubleObservation> | null = null;
  let pointlessUntil: Milliseconds = 0;
  let times: TokenTimes = { fetchedAt: null, expiresAt: null, refusedAt: null, refusal: null };
  const refused = (refusal: string): void => {
    times = { ...times, refusedAt: Math.round(clock.now()), refusal };
  };

  async function renew(): Promise<string | TroubleObservation> {
    const answer = await fetchToken({ baseUrl, clientId, clientSecret, transport, clock });
    underway = null;
    const now = clock.monotonic();
    if ('token' in answer) {
      value = `Bearer ${answer.token}`;
      expiresAt = now + answer.lifetime;
      renewAt = expiresAt - Math.min(MARGIN, answer.lifetime / 10);
      failure = null;
      const fetchedAt = Math.round(clock.now());
      times = { ...times, fetchedAt, expiresAt: fetchedAt + answer.lifetime };
      return value;
    }
    refused(answer.detail);
    failure = { answer, until: now + Math.max(FAILURE_KEPT, answer.retryAfter ?? 0) };
    return oldOr(answer);
  }

  /** A token whose renewal failed serves until it really expires. */
  function oldOr(answer: TroubleObservation): string | TroubleObservation {
    return value !== null && clock.monotonic() < expiresAt ? value : answer;
  }

  function renewed(): string | TroubleObservation | Promise<string | TroubleObservation> {
    if (failure !== null && clock.monotonic() < failure.until) return oldOr(failure.answer);
    underway ??= renew();
    return underway;
  }

  return {
    header: () => (value !== null && clock.monotonic() < renewAt ? value : renewed()),
    async instead(rejected) {
      if (underway === null) {
        // Another call that was rejected earlier has renewed it in the meantime.
        if (value !== null && value !== rejected) return value;
        if (clock.monotonic() < pointlessUntil) return null;
      }
      if (value === rejected) value = null;
      return renewed();
    },
    gaveUp() {
      pointlessUntil = clock.monotonic() + POINTLESS_FOR;
      refused('The service refused a call with a new token as it refused the one before.');
    },
    token: () => times,
  };
}

interface Token {
  readonly token: string;
  readonly lifetime: Milliseconds;
}

async function fetchToken(options: TokenOptions): Promise<Token | TroubleObservation> {
  const { baseUrl, clientId, clientSecret, transport, clock } = options;
  const server = { issuer: baseUrl.origin, token_endpoint: `${baseUrl.href.replace(/\/+$/, '')}${TOKEN_PATH}` };
  const client = { client_id: clientId };
  // oauth4webapi throws for every kind of failure; what came back says more than its error does.
  const seen: { trouble: TroubleObservation | null } = { trouble: null };
  const send = async (_url: string, { body }: { readonly body: URLSearchParams }) => {
    const headers = ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json', ...UNPACKED];
    const reply = await transport.send({ method: 'POST', path: TOKEN_PATH, headers, body: body.toString() });
    seen.trouble = tokenTrouble(reply, clock.now());
    if (seen.trouble !== null) throw new Error('not a token');
    return normalised(reply as Reply);
  };
  try {
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      oauth.ClientSecretPost(clientSecret),
      {},
      {
        [oauth.customFetch]: send,
        [oauth.allowInsecureRequests]: baseUrl.protocol === 'http:',
      },
    );
    const answer = await oauth.processClientCredentialsResponse(server, client, response);
    if (!USABLE_TOKEN.test(answer.access_token)) return unusable();
    return { token: answer.access_token, lifetime: lifetimeOf(answer.expires_in) };
  } catch {
    return seen.trouble ?? unusable();
  }
}

/**
 * The answer as a strict reader expects it. Of the fields the specification shows only `access_token`; the type may be
 * missing and is Bearer in any case, the lifetime may be a string, and what else is there (an id token) is not used.
 */
function normalised(reply: Reply): Response {
  const { access_token, expires_in } = Object(readBody(reply)?.value);
  const seconds = typeof expires_in === 'string' && expires_in.trim() !== '' ? Number(expires_in) : expires_in;
  const lifetime = typeof seconds === 'number' && seconds > 0 ? { expires_in: seconds } : {};
  return Response.json({ access_token, token_type: 'bearer', ...lifetime });
}

function lifetimeOf(seconds: number | undefined): Milliseconds {
  return seconds === undefined ? USUAL_LIFETIME : Math.min(seconds * 1000, LONGEST_LIFETIME);
}

/** The trouble of an answer of the token endpoint, or null when the answer can be read. Reasons begin with `token_`. */
function tokenTrouble(answer: Reply | Failure, now: Instant): TroubleObservation | null {
  if ('failed' in answer) return ofToken(failureTrouble(answer), 'unreachable');
  if (answer.status >= 200 && answer.status < 300) return isPage(answer) ? ofToken(pageTrouble(answer), 'unreachable') : null;
  // RFC 6749 answers wrong credentials with 400 and 401. An address that is not there is another matter.
  const refusal = answer.status === 401 || answer.status === 403 || (answer.status === 400 && !isPage(answer));
  if (refusal) {
    const detail = `The token endpoint does not accept the site's client id and secret (HTTP ${answer.status}). Check both, and that they belong to the environment of the base address.`;
    return trouble('refused', `token_http_${answer.status}`, detail, answer);
  }
  const found = statusTrouble(answer, now);
  return ofToken(found, found.kind === 'throttled' ? 'throttled' : 'unreachable');
}

/** Nothing the token endpoint says is about a purchase, so its trouble is always the site's. */
function ofToken(found: TroubleObservation, kind: 'unreachable' | 'throttled'): TroubleObservation {
  const detail =
    found.kind === 'unknown'
      ? `There is no token endpoint at the base address (HTTP ${found.httpStatus}). Check the base address of the site.`
      : `While getting an access token: ${found.detail}`;
  return { ...found, kind, reason: `token_${found.reason}`, detail };
}

function unusable(): TroubleObservation {
  const detail =
    'The token endpoint answered without a usable access token. Check the base address, then ask the operator of the service.';
  return trouble('unreachable', 'token_unusable', detail);
}
