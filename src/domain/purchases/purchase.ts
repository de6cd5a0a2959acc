/** The nouns that travel from a poll to its record. Times are epoch milliseconds of the database's clock. */

import type { JsonValue } from '../values/exact-json.ts';
import type { Instant, Milliseconds } from '../values/time.ts';

export const PURCHASE_STATUSES = ['watching', 'settled', 'unreadable', 'expired', 'stopped'] as const;
export type PurchaseStatus = (typeof PURCHASE_STATUSES)[number];

/** The fields of an answer that `store.fields` names, by the specification's field names; amounts are Decimals. */
export type Details = { readonly [field: string]: JsonValue };

/** Characters of a digest of Details: the first ones of the sha256 of their text, in base64. */
export const DIGEST_LENGTH = 22;

/** A watched purchase as the owner of its shard holds it in memory between two polls: what deciding needs, and no more. */
export interface Purchase {
  /** The row's own key. */
  readonly id: number;
  readonly site: string;
  readonly purchaseId: string;
  readonly shard: number;
  /** Raised by every change from outside (stop, ask now); a poll begun before it is not recorded. */
  readonly revision: number;
  /** Polls recorded so far. With the revision it is the row's version: a poll is recorded only if it is the next one. */
  readonly polls: number;
  readonly status: PurchaseStatus;
  /** Null until the first good observation. */
  readonly state: number | null;
  /** When this stay in the state was first observed. */
  readonly stateSince: Instant | null;
  /** Time of this stay in which no poll could be made; it never counts towards stuck. */
  readonly excused: Milliseconds;
  /** When a poll confirmed that the purchase is stuck; null while it is not. */
  readonly stuckSince: Instant | null;
  /** When it was last announced that the purchase is at risk: of this stay if that is not before `stateSince`. */
  readonly atRiskSince: Instant | null;
  /** The last good observation. */
  readonly seenAt: Instant | null;
  /** Registration, or the latest renewal of it: `giveUpAfter` counts from here or from the last change. */
  readonly watchedSince: Instant;
  /** Failed polls in a row that are this purchase's own. */
  readonly failures: number;
  /** Of these, answers that the service does not know the id. */
  readonly unknowns: number;
  /** Whether its invoice is to be asked for, was announced, or does not exist; null when no setting asks for it. */
  readonly invoice: 'wanted' | 'ready' | 'none' | null;
  /** Number of events so far: the last event's `sequence`. */
  readonly sequence: number;
  /** Digest of the stored Details, as last recorded: enough to see that they changed. */
  readonly detailsDigest: string | null;
  /** As registered; events carry it. */
  readonly reference: string | null;
  /** Whether metadata was registered, which stays in the database until there is an event to make, for it may be large. */
  readonly hasMetadata: boolean;
}

/** Fields that only events need. */
export interface Attached {
  readonly reference: string | null;
  /** JSON text as registered. */
  readonly metadata: string | null;
  /** JSON text of the stored Details; null where none are stored. */
  readonly details: string | null;
}

/** Why an answer could not be used. Ends up in `lastError`, so it never quotes the answer's content. */
export interface Trouble {
  /** A stable word for logs and metrics, for example `timeout`, `http_503`, `not_json`, `wrong_purchase`. */
  readonly reason: string;
  /** One sentence for people, without secrets and without personal data. */
  readonly detail: string;
  readonly httpStatus: number | null;
  /** The wait that the header `Retry-After` asked for; null without the header. */
  readonly retryAfter: Milliseconds | null;
  /** Codes of the errors that the answer lists: short words and digits. */
  readonly codes?: readonly string[];
}

/** The reason of an answer that says in words that there is no such purchase. */
export const NO_SUCH_PURCHASE = 'no_such_purchase';

/** The result of one poll. Every poll ends in exactly one of these kinds; no failure of the service is thrown. */
export type Observation =
  /** A well-formed answer about this purchase: the only kind that may change a state. `digest` is of its bytes. */
  | {
      readonly kind: 'seen';
      readonly state: number;
      readonly details: Details;
      readonly detailsDigest: string;
      readonly digest: string;
    }
  /** Byte for byte the answer whose digest the caller knew: the state and the details are what they were. */
  | { readonly kind: 'same' }
  /** The service says that there is no such purchase, or answers 404 or 410: the purchase's own trouble. */
  | ({ readonly kind: 'unknown' } & Trouble)
  /** The service answers with something that is not this purchase's status, as with a list of errors: the purchase's own trouble. */
  | ({ readonly kind: 'malformed' } & Trouble)
  /** The service asks for fewer calls (429): the site's. */
  | ({ readonly kind: 'throttled' } & Trouble)
  /** Credentials are not accepted (401, 403, or the token endpoint refuses): the site's. */
  | ({ readonly kind: 'refused' } & Trouble)
  /** No usable answer (no connection, time-out, 5xx, redirect, an HTML page): the site's, unless it is only ever this purchase. */
  | ({ readonly kind: 'unreachable' } & Trouble);

/** Whose trouble a failed observation is. */
export function blame(observation: Observation): 'nobody' | 'purchase' | 'site' {
  if (observation.kind === 'seen' || observation.kind === 'same') return 'nobody';
  return observation.kind === 'unknown' || observation.kind === 'malformed' ? 'purchase' : 'site';
}
