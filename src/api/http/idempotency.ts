/**
 * `Idempotency-Key`: a request that is made twice with the same key is done once, and both get the same answer. A key
 * counts for a day, for one method and path, and for the caller's key of the API alone.
 */

import { createHash } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import type { Sql } from '../../actions/database.ts';
import { claimKey, type KeyedRequest, keepAnswer, releaseKey } from '../../actions/purchases/idempotency.ts';
import { sealingNow } from '../../actions/subscribers/key-change.ts';
import { stringifyExact } from '../../domain/values/exact-json.ts';
import type { Secrets } from '../../runtime/secrets/secrets.ts';
import { fieldProblem, Problem } from './problems.ts';

const HEADER = 'idempotency-key';
const KEEP = 24 * 3_600_000;
/** A request that takes longer was lost with its process. */
const BUSY_FOR = 15 * 60_000;
const LONGEST_PATH = 500;
/** Before what is stored in the clear, where there is no key to encrypt with; then no answer holds a secret. */
const CLEAR = 0;
/** Kept of an answer's headers. */
const KEPT_HEADERS = ['content-type', 'location'];

/** For a route's definition. */
export const idempotencyHeader = {
  [HEADER]: z.string().optional().openapi({
    minLength: 1,
    maxLength: 255,
    description:
      'Any text of your own: a repeat of the request by the same caller with the same key gets the first answer, for a day.',
    example: '0b1c7f5e-6a54-4a5e-9d3f-2f4f3b1a9c11',
  }),
};

/** Honours the header, for routes that read their body with `exactJson` before it. Only good answers are kept. */
export function idempotent({ sql, secrets }: { sql: Sql; secrets: Secrets | null }): MiddlewareHandler {
  return async (c, next) => {
    const key = c.req.header(HEADER);
    if (key === undefined) return next();
    // Another daemon, which does not know a new key yet, may be asked again.
    const sealing = secrets === null ? null : await sealingNow(sql, secrets);
    const request = await keyedRequest(c, checkedKey(key), sealing);
    const claim = await claimKey(sql, request, { busyFor: BUSY_FOR, keep: KEEP });
    if (claim.kind === 'busy') {
      throw new Problem('idempotency_key_in_use', 'The first request with this Idempotency-Key is still under way; try again.', {
        headers: { 'retry-after': '1' },
      });
    }
    if (claim.kind === 'other_request') throw reused();
    if (claim.kind === 'answered') return answerAgain(claim, placeOf(request), secrets);
    await next();
    if (c.res.status >= 300) return void (await releaseKey(sql, request));
    const answer = await storable(c.res, placeOf(request), sealing);
    await keepAnswer(sql, request, { status: c.res.status, answer });
  };
}

function checkedKey(key: string): string {
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw fieldProblem(HEADER, 'must be 1 to 255 printable ASCII characters');
}

async function keyedRequest(c: Context, given: string, secrets: Secrets | null): Promise<KeyedRequest> {
  const { pathname, search } = new URL(c.req.url);
  // An index takes no text of any length.
  const address = pathname.length <= LONGEST_PATH ? pathname : hash(pathname).toString('hex');
  const scope = `${c.req.method} ${address}`;
  // By its key of the API, whose name may be another one after a restart; the header may spell `Bearer` and the blanks in several ways.
  const key = /\S+(?= *$)/.exec(c.req.header('authorization') ?? '')?.[0];
  const caller = c.get('caller')?.key == null ? '' : `Bearer ${key}`;
  // Only what `exactJson` read within its limit: a body that the route ignores may be endless.
  const body = Object.hasOwn(c.req, 'json') ? await c.req.json() : null;
  const text = `${search}\n${stringifyExact(body)}`;
  // A body may hold secrets, and a plain hash of a short one can be guessed.
  return {
    scope,
    keyHash: hash(`${caller}\n${given}`),
    requestHash: secrets?.fingerprint(text) ?? hash(text),
    knownAs: secrets?.fingerprints(text) ?? [],
  };
}

function placeOf({ scope, keyHash }: KeyedRequest): string {
  return `answer ${scope} ${Buffer.from(keyHash).toString('hex')}`;
}

async function storable(answer: Response, place: string, secrets: Secrets | null): Promise<Buffer> {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = answer.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  const text = JSON.stringify({ headers, body: await answer.clone().text() });
  return secrets === null ? Buffer.concat([Buffer.of(CLEAR), Buffer.from(text)]) : secrets.seal(text, place);
}

function answerAgain(
  { status, answer }: { status: number; answer: Uint8Array },
  place: string,
  secrets: Secrets | null,
): Response {
  const isClear = answer[0] === CLEAR;
  const text = isClear ? Buffer.from(answer.subarray(1)).toString() : (secrets?.open(answer, place) ?? null);
  if (text === null) throw reused();
  const { headers, body } = JSON.parse(text) as { headers: [string, string][]; body: string };
  return new Response(body === '' ? null : body, { status, headers: [...headers, ['idempotency-replayed', 'true']] });
}

/** With another key of the installation, no request is known to be the same. */
function reused(): Problem {
  const detail = 'This Idempotency-Key was used for another request, or before SECRETS_KEY was changed; take a new one.';
  return new Problem('idempotency_key_reused', detail);
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
