/** A purchase's row, mended by the transitions and events that were announced of the purchase. */

import { type PollPolicy, policyOf } from '../polling/poll-plan.ts';
import type { Purchase, PurchaseStatus } from '../purchases/purchase.ts';
import { isSame } from '../values/exact-json.ts';
import type { Instant } from '../values/time.ts';

/** The last transition and the events that were announced of a purchase, in order of `sequence`. */
export interface History {
  readonly lastTransition: { readonly sequence: number; readonly to: number; readonly notAfter: Instant } | null;
  readonly events: readonly { readonly sequence: number; readonly type: string; readonly at: Instant }[];
}

/**
 * The purchase as its history says. Null when the row agrees with it already. A purchase that a person stopped stays
 * stopped, and one that was registered again after it expired is watched.
 */
export function repaired(row: Purchase, history: History, policy: PollPolicy): Purchase | null {
  const { lastTransition: last, events } = history;
  const state = last?.to ?? null;
  const stateSince = last?.notAfter ?? null;
  const since = events.filter(({ sequence }) => sequence > (last?.sequence ?? 0));
  const status = statusOf(row, since, state !== null && policyOf(policy, state).final);
  const stuck = since.findLast(({ type }) => type === 'purchase.stuck');
  const atRisk = since.findLast(({ type }) => type === 'purchase.at_risk');
  const isSameStay = state === row.state && stateSince === row.stateSince;
  const after: Purchase = {
    ...row,
    state,
    stateSince,
    status,
    sequence: events.at(-1)?.sequence ?? 0,
    stuckSince: stuck !== undefined && (status === 'watching' || status === 'unreadable') ? stuck.at : null,
    atRiskSince: atRisk?.at ?? (isSameStay ? row.atRiskSince : null),
    excused: isSameStay ? row.excused : 0,
    // Where the row says another state, what was seen since is of that state.
    seenAt: stateSince === null ? row.seenAt : Math.max(state === row.state ? (row.seenAt ?? 0) : 0, stateSince),
    invoice: events.some(({ type }) => type === 'purchase.invoice_ready') ? 'ready' : row.invoice,
  };
  return isSame(after, row) ? null : after;
}

function statusOf({ status, watchedSince }: Purchase, since: History['events'], isFinal: boolean): PurchaseStatus {
  if (status === 'stopped') return 'stopped';
  const last = since.findLast(({ type }) => ['purchase.unreadable', 'purchase.readable', 'purchase.expired'].includes(type));
  if (last?.type === 'purchase.expired' && last.at >= watchedSince) return 'expired';
  if (last?.type === 'purchase.unreadable') return 'unreadable';
  return isFinal ? 'settled' : 'watching';
}
