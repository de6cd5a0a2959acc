/** Whether a request is from purchase-watch, and which event it brings: every receiver has to find that out first. */

import type { IncomingHttpHeaders } from 'node:http';
import { verify } from '../channels/outgoing/signature.ts';
import { humanDuration } from '../domain/values/duration.ts';
import { type JsonValue, parseExact } from '../domain/values/exact-json.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import type { Posted } from './posts.ts';

/** An event as it came, in either format. */
export interface ArrivedEvent {
  /** `webhook-id`: the same on every repeat. */
  readonly id: string;
  readonly type: string;
  /** When the event happened, as the sender wrote the time; null without a time. */
  readonly timestamp: string | null;
  readonly data: { readonly [name: string]: JsonValue };
  /** The verified text. */
  readonly text: string;
  /** The text, parsed; amounts keep their digits. */
  readonly body: JsonValue;
}

export type RefusalReason = 'no_signature' | 'bad_timestamp' | 'too_old' | 'too_new' | 'no_match' | 'not_text' | 'not_an_event';

export type Verdict =
  | { readonly kind: 'genuine'; readonly event: ArrivedEvent }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly detail: string };

/** The keys that a request is checked with; any of them may have signed. */
export interface Keys {
  /** `whsec_…` */
  readonly secrets: readonly string[];
  /** `whpk_…` */
  readonly publicKeys: readonly string[];
}

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/** Judges a request: its headers, its age, its signature over the bytes, and only then what the bytes say. */
export function judge({ headers, body, at }: Pick<Posted, 'headers' | 'body' | 'at'>, keys: Keys): Verdict {
  const [id, timestamp, signature] = NAMES.map((name) => headerOf(headers, name)) as [string, string, string];
  const missing = NAMES.filter((name) => headerOf(headers, name) === '');
  if (missing.length > 0) return refused('no_signature', `it is not signed: without ${missing.join(', ')}`);
  const text = body.toString();
  // A signature would be compared over other bytes than those that came.
  if (!Buffer.from(text).equals(body)) return refused('not_text', 'the body is not UTF-8');
  const reason = verify(text, { id, timestamp, signature }, { keys: keys.secrets, publicKeys: keys.publicKeys, now: at });
  if (reason !== null) {
    return refused(reason, complaint(reason, at - Number(timestamp) * 1_000, signature, keys));
  }
  const event = eventOf(id, text);
  return event === null ? refused('not_an_event', 'it is signed well, and is no event') : { kind: 'genuine', event };
}

function refused(reason: RefusalReason, detail: string): Verdict {
  return { kind: 'refused', reason, detail };
}

function headerOf(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name] ?? '');
}

function complaint(reason: NonNullable<ReturnType<typeof verify>>, age: Milliseconds, signature: string, keys: Keys): string {
  switch (reason) {
    case 'bad_timestamp':
      return 'webhook-timestamp is not a number of seconds';
    case 'too_old':
      return `it was signed ${humanDuration(age)} ago, and 5 min are accepted: an old request sent again, or two clocks that differ`;
    case 'too_new':
      return `it was signed ${humanDuration(-age)} from now: compare the clocks`;
    case 'no_match':
      return (
        unchecked(signature, keys) ??
        'no signature matches: it was signed with another secret, or its body was changed on the way'
      );
  }
}

/** When none of the signatures is of a kind that could be checked, that is the reason. */
function unchecked(signature: string, { secrets, publicKeys }: Keys): string | null {
  const kinds = new Set(signature.split(' ').map((part) => part.split(',')[0]!));
  const checked = [...(secrets.length > 0 ? ['v1'] : []), ...(publicKeys.length > 0 ? ['v1a'] : [])];
  if (checked.some((kind) => kinds.has(kind))) return null;
  const other = kinds.has('v1') ? 'v1 needs a secret' : kinds.has('v1a') ? 'v1a needs a public key' : 'no kind that is known';
  return `it has no ${checked.join(' or ')} signature: ${other}`;
}

/** The event in a verified text: our own form, or a CloudEvent around the same data. */
function eventOf(id: string, text: string): ArrivedEvent | null {
  const body = parsed(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
  const { type, timestamp, time, data } = body as Readonly<Record<string, JsonValue>>;
  if (typeof type !== 'string' || typeof data !== 'object' || data === null || Array.isArray(data)) return null;
  const seen = timestamp ?? time;
  return {
    id,
    type,
    timestamp: typeof seen === 'string' ? seen : null,
    data: data as ArrivedEvent['data'],
    text,
    body,
  };
}

function parsed(text: string): JsonValue {
  try {
    return parseExact(text);
  } catch {
    // Not JSON, or nested too deeply for anybody.
    return null;
  }
}
