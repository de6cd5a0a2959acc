/** Events about single stuck checkouts, as they are read back from their body. */

import type { CheckoutsData } from '../../../domain/events/people-event-types.ts';
import type { Instant } from '../../../domain/values/time.ts';

export type AlertedCheckout = CheckoutsData['stuck'][number];
export type OverCheckout = CheckoutsData['over'][number] & { readonly overAt: Instant };
/** Why checkouts of a state at a site alert by themselves. */
export type AlertReason = CheckoutsData['reasons'][number];

/** The lists have the first checkouts; the numbers count all. */
export interface Checkouts extends Readonly<Pick<CheckoutsData, 'stuckCount' | 'overCount' | 'causes'>> {
  readonly kind: 'checkouts';
  readonly at: Instant;
  readonly stuck: readonly AlertedCheckout[];
  readonly over: readonly OverCheckout[];
  readonly reasons: readonly AlertReason[];
  readonly isTest: boolean;
}

/** An event about single checkouts; null when it names none. */
export function checkoutsOf(at: Instant, data: CheckoutsData): Checkouts | null {
  const { stuck, stuckCount, overCount, reasons, causes, test } = data;
  const over = data.over.flatMap((each) => (each.overAt === null ? [] : [{ ...each, overAt: each.overAt }]));
  if (stuck.length + over.length === 0) return null;
  const counts = { stuckCount: Math.max(stuckCount, stuck.length), overCount: Math.max(overCount, over.length) };
  return { kind: 'checkouts', at, stuck, over, ...counts, reasons, causes, isTest: test === true };
}

/** Several events as one, the oldest first: a checkout that is over by the later ones is not stuck any more. */
export function joined(events: readonly Checkouts[]): Checkouts {
  const keyOf = ({ site, purchaseId, since }: AlertedCheckout | OverCheckout): string => `${site} ${purchaseId} ${since}`;
  const last = events.at(-1)!;
  const over = new Map(events.flatMap((event) => event.over.map((each) => [keyOf(each), each])));
  const stuck = new Map(events.flatMap((event) => event.stuck.map((each) => [keyOf(each), each])));
  const unnamed = (of: (event: Checkouts) => number): number => events.reduce((sum, event) => sum + of(event), 0);
  for (const key of over.keys()) stuck.delete(key);
  const reasons = new Map(events.flatMap((event) => event.reasons.map((each) => [`${each.site} ${each.state.value}`, each])));
  const here = ({ site, state: { value } }: AlertReason): number =>
    [...stuck.values()].filter((each) => each.site === site && each.state.value === value).length;
  return {
    ...last,
    stuck: [...stuck.values()],
    over: [...over.values()],
    stuckCount: stuck.size + unnamed((event) => event.stuckCount - event.stuck.length),
    overCount: over.size + unnamed((event) => event.overCount - event.over.length),
    reasons: [...reasons.values()].map((reason) => ({ ...reason, count: here(reason) })).filter((reason) => reason.count > 0),
    causes: events.findLast(({ causes }) => causes.length > 0)?.causes ?? [],
  };
}
