/** Purchases, answers and troubles as tests need them: whole, ordinary, and different only in what is named. */
import { digestOfDetails } from '../../src/checkout/client.ts';
import type { StatePolicy } from '../../src/domain/polling/poll-plan.ts';
import type { Details, Observation, Purchase } from '../../src/domain/purchases/purchase.ts';

/** A purchase that was registered and never polled. */
export function aPurchase(differs: Partial<Purchase> = {}): Purchase {
  return {
    id: 1,
    site: 'default',
    purchaseId: 'p-1',
    shard: 0,
    revision: 0,
    polls: 0,
    status: 'watching',
    state: null,
    stateSince: null,
    excused: 0,
    stuckSince: null,
    atRiskSince: null,
    seenAt: null,
    watchedSince: 0,
    failures: 0,
    unknowns: 0,
    invoice: null,
    sequence: 0,
    detailsDigest: null,
    reference: null,
    hasMetadata: false,
    ...differs,
  };
}

/** A well-formed answer. */
export function answer(state: number, details: Details = {}): Observation {
  return { kind: 'seen', digest: 'a digest', state, details, detailsDigest: digestOfDetails(details) };
}

/** An answer that could not be used. */
export function trouble(
  kind: Exclude<Observation['kind'], 'seen' | 'same'>,
  { reason = kind, retryAfter = null }: { reason?: string; retryAfter?: number | null } = {},
): Observation {
  return { kind, reason, detail: `The service answers ${reason}.`, httpStatus: null, retryAfter };
}

/** A plan for one state: asked every ten seconds, never stuck, not final. */
export function aStatePolicy(differs: Partial<StatePolicy> = {}): StatePolicy {
  return {
    poll: { first: 10_000, growth: 0, most: 10_000 },
    stuckAfter: null,
    auto: false,
    final: false,
    recheck: [],
    ...differs,
  };
}
