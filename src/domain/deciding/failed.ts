/** What follows from a poll without a good answer: the purchase's own trouble, or the site's. */

import { type EventDraft, stateOrNull } from '../events/make-event.ts';
import { failureBackoff, giveUpMoment, nextRecheck, policyOf, postponement, withJitter } from '../polling/poll-plan.ts';
import { earlierPoll, type PlannedPoll } from '../polling/poll-reason.ts';
import type { Purchase, Trouble } from '../purchases/purchase.ts';
import type { StatePolicy } from '../purchases/states.ts';
import type { Instant } from '../values/time.ts';
import { MOST_INVOICE_FAILURES } from './invoice.ts';
import { announce, type DecideContext, expire, type PollOutcome } from './outcome.ts';

/** What a poll without a good answer leaves as it was. */
const NOTHING_SEEN = { transition: null, stay: null, details: null, detailsChanged: false, unknownState: null } as const;

/** A failure of the purchase's own. */
export function decideOwnTrouble(before: Purchase, trouble: Trouble & { kind: string }, context: DecideContext): PollOutcome {
  const { now, policy, spread } = context;
  const unknown = trouble.kind === 'unknown';
  const failures = before.failures + 1;
  const unknowns = unknown ? before.unknowns + 1 : before.unknowns;
  const events: EventDraft[] = [];
  let { status, sequence } = before;
  if (unknown && status === 'watching' && unknowns >= policy.unreadableAfter) {
    status = 'unreadable';
    sequence += 1;
    const data = { state: stateOrNull(before.state), tries: unknowns, reason: trouble.reason };
    announce(events, before, now, 'purchase.unreadable', before.state, data);
  }
  // Without a good status the invoice is not asked for; that must not keep a settled purchase due for good.
  const wanted = before.invoice === 'wanted' && failures < MOST_INVOICE_FAILURES;
  const invoice = before.invoice === 'wanted' && !wanted ? 'none' : before.invoice;
  const purchase: Purchase = { ...before, polls: before.polls + 1, status, failures, unknowns, invoice, sequence };
  const kept = { ...NOTHING_SEEN, purchase, lastError: trouble.detail };
  const polled = status === 'watching' || status === 'unreadable';
  const giveUpAt = giveUpMoment(purchase, policy, context.skipped);
  if (polled && now >= giveUpAt) return expire(kept, events, context);

  const statePolicy = policyOf(policy, before.state ?? 0);
  const again = tryAgain(now + failureBackoff(statePolicy, failures, spread), now + (trouble.retryAfter ?? 0));
  const asksForInvoice = wanted && status !== 'stopped';
  const rechecked = status === 'settled' ? afterFailedRecheck(purchase, statePolicy, { unknown, again, ...context }) : null;
  const invoiced: PlannedPoll | null = asksForInvoice ? { at: again.at, reason: 'invoice' } : rechecked;
  const next = polled ? earlierPoll({ at: giveUpAt, reason: 'give_up' }, again) : invoiced;
  const changed = events.length > 0 || invoice !== before.invoice;
  return {
    ...kept,
    kind: changed ? 'changed' : 'failed',
    reason: trouble.reason,
    nextPollAt: next?.at ?? null,
    nextPollReason: next?.reason ?? null,
    events,
  };
}

/** The poll after a failure: when its wait ends, or later when the service asks for more. */
function tryAgain(waited: Instant, asked: Instant): PlannedPoll {
  return asked > waited ? { at: asked, reason: 'retry_after' } : { at: waited, reason: 'failure' };
}

/** So many failures in a row of a recheck: about two hours with the usual plan. */
const MOST_RECHECK_FAILURES = 8;

/**
 * When to poll a settled purchase after a recheck that failed. A service that does not know the purchase has forgotten it, so
 * only the planned rechecks follow. Any other failure is tried again, but not for ever: retention waits for the last recheck.
 */
function afterFailedRecheck(
  { stateSince, failures }: Purchase,
  policy: StatePolicy,
  { unknown, again, now, skipped }: { unknown: boolean; again: PlannedPoll } & Pick<DecideContext, 'now' | 'skipped'>,
): PlannedPoll | null {
  const planned = nextRecheck(policy, { now, since: stateSince ?? now, skipped });
  const isTriedAgain = policy.recheck.length > 0 && !unknown && failures < MOST_RECHECK_FAILURES;
  return isTriedAgain ? earlierPoll(planned, again) : planned;
}

/** The site's trouble: nothing is recorded, and the purchase is polled again soon. */
export function postpone(before: Purchase, trouble: Trouble, { now, spread, strikes }: DecideContext): PollOutcome {
  return {
    kind: 'postponed',
    reason: trouble.reason,
    purchase: before,
    nextPollAt: now + withJitter(postponement(strikes), spread),
    nextPollReason: null,
    lastError: trouble.detail,
    events: [],
    ...NOTHING_SEEN,
  };
}
