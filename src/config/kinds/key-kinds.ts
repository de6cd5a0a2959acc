/** The kinds of values that the settings of API keys have. */
import type { Instant } from '../../domain/values/time.ts';
import { type Kind, orPlaceholder, textKind } from './kinds.ts';

/** Shorter keys can be guessed. */
export const SHORTEST_KEY = 20;

/** Twenty random hexadecimal digits have about twelve different ones, and fewer than six once in three million keys. */
const FEWEST_CHARACTERS = 6;

/** A key that fits into an Authorization header and is too long to guess. */
export const bearerKey = textKind(
  `a key of at least ${SHORTEST_KEY} letters, digits and -._~+/= without repetition (make one with: openssl rand -hex 32)`,
  {},
  (value) => value.length >= SHORTEST_KEY && /^[A-Za-z0-9._~+/-]+=*$/.test(value) && !isRepetition(value),
  { secret: true },
);

/** Whether a text is a shorter one again and again, or made of very few characters. */
function isRepetition(text: string): boolean {
  if (new Set(text).size < FEWEST_CHARACTERS) return true;
  for (let period = 1; period <= text.length / 2; period += 1) if (text.startsWith(text.slice(period))) return true;
  return false;
}

const HASH = 'sha256:[0-9a-f]{64}';

/** The SHA-256 hash of a key. Not shown: a person who has it can try keys without asking the daemon. */
export const keyHash = textKind(
  'sha256: and 64 hexadecimal digits (make a key and its hash with: purchase-watch key new)',
  { pattern: orPlaceholder(HASH) },
  (value) => new RegExp(`^${HASH}$`, 'i').test(value) && value.toLowerCase(),
  { secret: true },
);

const DAY = '\\d{4}-\\d{2}-\\d{2}';
const MOMENT = `${DAY}(?:T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,3})?)?(?:Z|[+-]\\d{2}:\\d{2}))?`;

/** A moment: a day, which stands for its beginning in UTC, or a time with its zone. */
export const moment: Kind<Instant> = {
  expected: 'a day such as 2027-03-31 (its beginning in UTC) or a time with its zone such as 2027-03-31T18:00:00Z',
  json: { type: 'string', pattern: orPlaceholder(MOMENT) },
  read: (value) => {
    if (typeof value !== 'string' || !new RegExp(`^${MOMENT}$`).test(value)) return undefined;
    const at = Date.parse(value);
    // A day that its month does not have would quietly become one of the next month.
    const day = value.slice(0, 10);
    const isDay = Number.isFinite(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
    return isDay && Number.isFinite(at) ? at : undefined;
  },
  write: (value) => new Date(value).toISOString(),
};

/** Scopes of keys. A key may do what its scopes name and nothing else: no scope includes another one. */
export const SCOPES = ['read', 'metrics', 'register', 'operate'] as const;

export type Scope = (typeof SCOPES)[number];

/** The problem of one key's fields in the file together; null when there is none. */
export function keyProblem(given: { scopes: readonly Scope[]; hash: string | null; key: string | null }): string | null {
  if (given.scopes.length === 0) return `scopes is missing or empty; expected one or more of ${SCOPES.join(', ')}`;
  if (given.hash !== null && given.key !== null) return 'has both hash and key; keep hash';
  if (given.hash === null && given.key === null) {
    return 'has neither hash nor key; make a key and its hash with: purchase-watch key new';
  }
  return null;
}
