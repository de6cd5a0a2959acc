/** The stays of a purchase in its states, and how long each can have lasted: a change is known as an interval between two polls. */
import type { TransitionBody } from '../../api/purchases/purchase-body.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { type Instant, MINUTE, type Milliseconds, SECOND } from '../../domain/values/time.ts';

/** When a change happened: after `notBefore` (null: nothing is known of before), no later than `notAfter`. */
export interface Change {
  readonly notBefore: Instant | null;
  readonly notAfter: Instant;
}

export interface Stay {
  readonly sequence: number;
  readonly state: { readonly value: number; readonly name: string };
  readonly came: Change;
  /** Null while it lasts. */
  readonly left: Change | null;
  /** When a poll found it stuck; null when none did. */
  readonly stuckAt: Instant | null;
}

/** First to last. `stuckAt`: the moments of `purchase.stuck`. */
export function staysOf(transitions: readonly TransitionBody[], stuckAt: readonly Instant[]): Stay[] {
  const changes = transitions.map(({ notBefore, notAfter }) => ({
    notBefore: notBefore === null ? null : Date.parse(notBefore),
    notAfter: Date.parse(notAfter),
  }));
  return transitions.map(({ sequence, to }, index) => {
    const came = changes[index]!;
    const left = changes[index + 1] ?? null;
    const stuck = stuckAt.find((at) => at >= came.notAfter && at < (left?.notAfter ?? Number.POSITIVE_INFINITY));
    return { sequence, state: to, came, left, stuckAt: stuck ?? null };
  });
}

/** How long a stay lasted: `46 s to 1 min 3 s`, `about 3 min 24 s` where the bounds are near; of one that lasts, until now. */
export function stayText(stay: Stay, now: Instant): string {
  const { came, left } = stay;
  const least = leastOf(stay, now);
  if (came.notBefore === null) return `at least ${humanDuration(least)}`;
  return rangeText(least, Math.max((left?.notAfter ?? now) - came.notBefore, least));
}

/** Bounds so near to each other are one length to a person. */
const NEAR = 0.1;
const NEAR_TIME: Milliseconds = 5_000;

function rangeText(least: Milliseconds, most: Milliseconds): string {
  const [from, to] = [humanDuration(least), humanDuration(most)];
  if (from === to) return from;
  const unit = most >= 10 * MINUTE ? MINUTE : SECOND;
  const isNear = most - least <= Math.max(NEAR * most, NEAR_TIME) && most >= unit;
  return isNear ? `about ${humanDuration(Math.max(Math.round((least + most) / 2 / unit) * unit, unit))}` : `${from} to ${to}`;
}

/** How long a stay lasted at least. */
export function leastOf({ came, left }: Stay, now: Instant): Milliseconds {
  return Math.max((left === null ? now : (left.notBefore ?? left.notAfter)) - came.notAfter, 0);
}
