/** Whether the order of a completed purchase was paid by other purchases, too, and what to do about it. */
import { MOST_PAYMENTS, reusesReferences, reuseText } from '../incidents/paid-twice.ts';
import { isoTime } from '../values/time.ts';
import type { Facts, PaymentFacts } from './facts.ts';
import type { ExplanationStep, Matter } from './step.ts';

/** Null where it is no news: its order was paid once, or a reference stands for more than one order. */
export function paidTwice(facts: Facts): Matter | null {
  const others = othersOf(facts);
  if (others.length === 0 || noNews(facts) !== null) return null;
  const times = others.length === 1 ? 'twice' : `${others.length + 1} times`;
  return {
    code: 'paid_twice',
    text: `Its order was paid ${times}, also by ${others.map(paymentText).join(' and ')}: look at the order, and if the customer meant to pay once, refund one of them.`,
  };
}

/** When it was announced; how things stand where it is not, with the reason. */
export function paidTwiceSteps(facts: Facts): {
  readonly steps: readonly ExplanationStep[];
  readonly standing: readonly ExplanationStep[];
} {
  const { announcedAt } = facts.order;
  const others = othersOf(facts);
  const kind = 'order' as const;
  const why = noNews(facts);
  const said =
    announcedAt === null ? [] : [{ at: announcedAt, kind, text: 'announced that its order was paid twice (order.paid_twice)' }];
  if (others.length === 0) return { steps: said, standing: [] };
  const text = `its order was paid also by ${others.slice(0, MOST_PAYMENTS).map(paymentText).join(' and ')}`;
  const standing: ExplanationStep =
    why === null
      ? { at: null, kind, wrong: true, text }
      : { at: null, kind, text: `${text}; that is not announced, because ${why}` };
  return { steps: said, standing: [standing] };
}

/** Why other payments of its order are not announced; null when they are. */
function noNews({ order: { payments, counts } }: Facts): string | null {
  if (reusesReferences(counts)) return reuseText(counts);
  if (payments.length > MOST_PAYMENTS) return `a reference with more than ${MOST_PAYMENTS} completed purchases names no order`;
  return null;
}

function othersOf({ purchase, order: { payments } }: Facts): PaymentFacts[] {
  return payments.filter(({ purchaseId }) => purchaseId !== purchase.purchaseId);
}

function paymentText({ purchaseId, price, currency, completedAt }: PaymentFacts): string {
  const amount = price === null || currency === null ? 'amount not known' : `${price} ${currency}`;
  return `${purchaseId} (${amount}, completed ${isoTime(completedAt).slice(0, 16).replace('T', ' ')}Z)`;
}
