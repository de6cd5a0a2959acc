/** Past customers as the daemon would have recorded them: the deciding is the daemon's own. Pure. */
import { decide } from '../../domain/deciding/decide.ts';
import { completedEvents } from '../../domain/events/make-event.ts';
import { type PollPolicy, policyOf } from '../../domain/polling/poll-plan.ts';
import type { Purchase } from '../../domain/purchases/purchase.ts';
import { stringifyExact } from '../../domain/values/exact-json.ts';
import { type Instant, type Milliseconds, SECOND } from '../../domain/values/time.ts';
import type { EndedPurchase } from '../../postgres/upkeep/history.ts';
import { BROKEN_SITE } from '../cast/settings.ts';
import type { PastCustomer } from './customers.ts';

/** How long the service takes to answer. */
const ASKING: Milliseconds = 80;
const POLLED_EVERY: Milliseconds = 2 * SECOND;

/** Polls a past customer at each change, and in a state with a limit every two seconds until the customer is stuck or gone. */
export function recordedPast(
  { site, order, method, price, steps }: PastCustomer,
  purchaseId: string,
  policy: PollPolicy,
): EndedPurchase {
  const [CountryCode, CurrencyCode] = site === BROKEN_SITE ? ['SWE', 'SEK'] : ['FIN', 'EUR'];
  const details = { Price: price, OrderReference: order, PaymentMethod: method, CountryCode, CurrencyCode, SiteCode: site };
  const registeredAt = steps[0]!.at - SECOND;
  let purchase: Purchase = {
    id: 0,
    site,
    purchaseId,
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
    watchedSince: registeredAt,
    failures: 0,
    unknowns: 0,
    invoice: null,
    sequence: 0,
    detailsDigest: null,
    reference: null,
    hasMetadata: false,
  };
  const [transitions, events]: [EndedPurchase['transitions'][number][], EndedPurchase['events'][number][]] = [[], []];
  const poll = (state: number, now: Instant): void => {
    const answer = { kind: 'seen', state, details, detailsDigest: 'past', digest: 'past' } as const;
    const outcome = decide(purchase, answer, { askedAt: now - ASKING, now, policy, spread: 0, strikes: 0 });
    const { transition } = outcome;
    if (transition !== null) transitions.push(transition);
    events.push(...completedEvents(outcome.events, details, { reference: null, metadata: null, details: null }));
    purchase = outcome.purchase;
  };
  steps.forEach(({ state, at }, place) => {
    poll(state, at);
    const next = steps[place + 1]?.at;
    if (next === undefined) return;
    const isLimited = policyOf(policy, state).stuckAfter !== null;
    for (let now = at + POLLED_EVERY; isLimited && now < next && purchase.stuckSince === null; now += POLLED_EVERY)
      poll(state, now);
    // The polls between that change nothing are not decided one by one.
    purchase = { ...purchase, seenAt: Math.max(purchase.seenAt ?? at, next - POLLED_EVERY) };
  });
  const { sequence, polls, state, stateSince } = purchase;
  const endedAt = steps.at(-1)!.at;
  return {
    purchaseId,
    site,
    registeredAt,
    endedAt,
    state: state!,
    stateSince: stateSince!,
    polls,
    sequence,
    fields: stringifyExact(details),
    transitions,
    events,
  };
}
