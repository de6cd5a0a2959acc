/** The outcome of a poll without a good answer: the purchase's own trouble, or the site's. */

import { type PurchaseDraft, stateOrNull } from '../events/make-event.ts';
import {
  failureBackoff,
  giveUpMoment,
  nextRecheck,
  plannedInterval,
  policyOf,
  postponement,
  type StatePolicy,
  withJitter,
} from '../polling/poll-plan.ts';
import { earlierPoll, type PlannedPoll } from '../polling/poll-reason.ts';
import { NO_SUCH_PURCHASE, type Purchase, type Trouble } from '../purchases/purchase.ts';
import { timeAfter } from '../values/clock-steps.ts';
import { type Instant, MINUTE, type Milliseconds } from '../values/time.ts';
import { MOST_INVOICE_FAILURES } from './invoice.ts';
import { announce, type DecideContext, expire, type PollOutcome } from './outcome.ts';

/** The fields that a poll without a good answer leaves as they were. */
const NOTHING_SEEN = { transition: null, stay: null, details: null, detailsChanged: false, unknownState: null } as const;

/** A failure of the purchase's own. */
export function decideOwnTrouble(before: Purchase, trouble: Trouble & { kind: string }, context: DecideContext): PollOutcome {
  const { now, policy, spread } = context;
  const unknown = isUnknownId(before, trouble);
  const failures = before.failures + 1;
  const unknowns = unknown ? before.unknowns + 1 : before.unknowns;
  const statePolicy = policyOf(policy, before.state ?? 0);
  const events = announced(before, trouble, { unknown, failures, unknowns, statePolicy, ...context });
  const status = events.length > 0 ? 'unreadable' : before.status;
  const sequence = before.sequence + events.length;
  // Without a good status the invoice is not asked for; that must not keep a settled purchase due for good.
  const wanted = before.invoice === 'wanted' && failures < MOST_INVOICE_FAILURES;
  const invoice = before.invoice === 'wanted' && !wanted ? 'none' : before.invoice;
  const purchase: Purchase = { ...before, polls: before.polls + 1, status, failures, unknowns, invoice, sequence };
  const kept = { ...NOTHING_SEEN, purchase, lastError: trouble.detail };
  const polled = isPolled(status);
  const giveUpAt = giveUpMoment(purchase, policy, context.skipped);
  if (polled && now >= giveUpAt) return expire(kept, events, context);

  const wait = polled
    ? waitAfter(purchase, { unknown, statePolicy, now, spread })
    : failureBackoff(statePolicy, failures, spread);
  const again = tryAgain(now + wait, now + (trouble.retryAfter ?? 0));
  const asksForInvoice = wanted && status !== 'stopped';
  const rechecked =
    status === 'settled'
      ? afterFailedRecheck(purchase, statePolicy, { unknown: trouble.kind === 'unknown', again, ...context })
      : null;
  const invoiced: PlannedPoll | null = asksForInvoice ? { at: again.at, reason: 'invoice' } : rechecked;
  const next = polled ? earlierPoll({ at: giveUpAt, reason: 'give_up' }, again) : invoiced;
  const changed = events.length > 0 || invoice !== before.invoice;
  return {
    ...kept,
    kind: changed ? 'changed' : 'failed',
    reason: trouble.reason,
    codes: trouble.codes ?? [],
    isAlarming: isAlarming(events, before, unknown),
    nextPollAt: next?.at ?? null,
    nextPollReason: next?.reason ?? null,
    events,
  };
}

/** An id that was never known is the matter of who registered it, and alarms no person. */
function isAlarming(events: readonly PurchaseDraft[], { state }: Purchase, unknown: boolean): boolean {
  return events.length > 0 && (!unknown || state !== null);
}

function isPolled(status: Purchase['status']): boolean {
  return status === 'watching' || status === 'unreadable';
}

/** The event of a watched purchase that counts as unreadable from this poll on; empty while it does not. */
function announced(
  before: Purchase,
  { reason, codes = [], detail }: Trouble,
  context: DecideContext & { unknown: boolean; failures: number; unknowns: number; statePolicy: StatePolicy },
): PurchaseDraft[] {
  const { unknown, failures, unknowns, policy, now } = context;
  const events: PurchaseDraft[] = [];
  const isUnreadable = unknown ? unknowns >= policy.unreadableAfter : haveLasted(failures, before, context);
  if (before.status !== 'watching' || !isUnreadable) return events;
  const tries = unknown ? unknowns : failures;
  const data = { state: stateOrNull(before.state), tries, reason, codes: [...codes], lastError: detail };
  announce(events, before, now, 'purchase.unreadable', before.state, data);
  return events;
}

/** Whether the answer counts as "unknown id". Of a purchase that was read before, 404 alone says too little. */
function isUnknownId({ state }: Purchase, { kind, reason }: Trouble & { kind: string }): boolean {
  return kind === 'unknown' && (state === null || reason === NO_SUCH_PURCHASE);
}

/** The fewest answers without a status, and the shortest time over which they came, that make a purchase unreadable. */
const FEWEST_ODD_ANSWERS = 3;
const ODD_FOR: Milliseconds = 5 * MINUTE;

/** Whether answers without a status have come for long enough. How long is reckoned from their number and the waits between them. */
function haveLasted(
  failures: number,
  { seenAt, stateSince }: Purchase,
  { statePolicy, now, skipped = [] }: { statePolicy: StatePolicy } & Pick<DecideContext, 'now' | 'skipped'>,
): boolean {
  if (failures < FEWEST_ODD_ANSWERS) return false;
  if (seenAt === null) return failureBackoff(statePolicy, failures, 0) - statePolicy.poll.first >= ODD_FOR;
  const waits = (failures - 1) * plannedInterval(statePolicy, now - (stateSince ?? seenAt));
  return waits >= ODD_FOR && now >= timeAfter(seenAt, ODD_FOR, skipped);
}

/** The wait of a watched purchase: what was read before goes on at its plan, an id that never was is asked for ever more rarely. */
function waitAfter(
  { state, stateSince, failures }: Purchase,
  { unknown, statePolicy, now, spread }: { unknown: boolean; statePolicy: StatePolicy } & Pick<DecideContext, 'now' | 'spread'>,
): Milliseconds {
  if (state !== null && !unknown) return withJitter(plannedInterval(statePolicy, now - (stateSince ?? now)), spread);
  return failureBackoff(statePolicy, failures, spread);
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

/** The site's trouble: nothing is recorded, and the purchase is polled again soon, or when the service asked for it. */
export function postpone(before: Purchase, trouble: Trouble, { now, spread, strikes }: DecideContext): PollOutcome {
  const wait =
    trouble.retryAfter === null ? withJitter(postponement(strikes), spread) : Math.max(trouble.retryAfter, postponement(1));
  return {
    kind: 'postponed',
    reason: trouble.reason,
    purchase: before,
    nextPollAt: now + wait,
    nextPollReason: null,
    lastError: trouble.detail,
    events: [],
    ...NOTHING_SEEN,
  };
}
