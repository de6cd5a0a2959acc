/** Purchases that would have been announced as at risk (`purchase.at_risk`), and how they ended, as a rehearsal goes through them. */

import { isWorth, riskWindow } from '../polling/at-risk.ts';
import { type PollPolicy, policyOfSite } from '../polling/poll-plan.ts';
import type { RehearsedStay } from '../stays/recorded-stay.ts';
import { counted } from '../values/counts.ts';
import type { Instant } from '../values/time.ts';

/** Announced stays; of these, those whose purchase ended not paid, and paid. The others are open, or their order was paid by another purchase. */
export interface RiskCounts {
  readonly announced: number;
  readonly lost: number;
  readonly paid: number;
}

/** Takes stays one by one, and answers the counts of those that would have been announced in the time; null where no site asks for it. */
export function createRiskRehearsal({ from, to, policy }: { from: Instant; to: Instant; policy: PollPolicy }) {
  let counts: RiskCounts = { announced: 0, lost: 0, paid: 0 };
  return {
    take: (stay: RehearsedStay): void => {
      const at = announcedAt(stay, policyOfSite(policy, stay.recorded.site));
      if (at === null || at < from || at >= to) return;
      const { end } = stay.recorded;
      const { announced, lost, paid } = counts;
      counts = { announced: announced + 1, lost: lost + Number(end === 'lost'), paid: paid + Number(end === 'paid') };
    },
    counts: (): RiskCounts | null => (asksForRisk(policy) ? counts : null),
  };
}

/** Whether any site has purchases at risk announced. */
export function asksForRisk(policy: PollPolicy): boolean {
  return [policy, ...(policy.bySite?.values() ?? [])].some(({ atRisk }) => atRisk !== null);
}

/** `purchase.at_risk for 12 purchases: 9 of them ended not paid, 2 paid, of 1 it is not known`. */
export function riskText({ announced, lost, paid }: RiskCounts): string {
  const open = announced - lost - paid;
  const rest = open === 0 ? '' : `, of ${open} it is not known, or another purchase of the order was paid`;
  return `purchase.at_risk for ${counted(announced, 'purchase')}${announced === 0 ? '' : `: ${lost} of them ended not paid, ${paid} paid${rest}`}`;
}

/** When the stay would have been announced; null: never. A poll at that moment must have found the purchase still there. */
function announcedAt({ recorded, stuckAt }: RehearsedStay, policy: PollPolicy): Instant | null {
  const { state, enteredAt, seenAt, leftAt, registeredAt, amount, currency } = recorded;
  if (policy.atRisk === null || stuckAt === null || registeredAt == null) return null;
  const window = riskWindow(policy, { state, since: enteredAt, watchedSince: registeredAt });
  if (window === null || !isWorth(policy.atRisk, amount ?? null, currency ?? null)) return null;
  const at = Math.max(window.at, stuckAt);
  // As of `rehearseStay`: half-way between the last poll in the state and the first one after it.
  const there = leftAt === null ? seenAt : (seenAt + leftAt) / 2;
  return at < window.latestEnd && at <= there ? at : null;
}
