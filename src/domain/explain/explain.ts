/**
 * Why a purchase has (not) been polled, flagged or announced: what happened, how things stand, what comes, and in one
 * sentence what is the matter. Pure: rows, the time and the policy in, the answer out.
 */

import type { ChannelRule } from '../incidents/audience.ts';
import { giveUpMoment, type PollPolicy, policyOf } from '../polling/poll-plan.ts';
import { statePlace } from '../purchases/states.ts';
import { configuredLimit, type StuckLimit } from '../stays/dwell.ts';
import { commandLine } from '../values/command-line.ts';
import { humanDuration } from '../values/duration.ts';
import type { Milliseconds } from '../values/time.ts';
import { subscriberSteps } from './deliveries.ts';
import type { Facts } from './facts.ts';
import { historySteps } from './history.ts';
import { bulkTurn, lateness, stuckClock, whyLate, whyThen } from './poll.ts';
import { standingSteps } from './standing.ts';
import type { ExplanationStep } from './step.ts';
import { gravestFirst, verdict } from './verdict.ts';

export interface ExplainPolicy {
  /** The plan of the purchase's site. */
  readonly polling: PollPolicy;
  /** The limit of a state at the purchase's site, with its source; without this function, the limit of the policy. */
  limitOf?(state: number): StuckLimit;
  /** The channels for people, for when single checkouts alert them. */
  readonly channels?: readonly ChannelRule[];
  /** The waits between the attempts of a delivery. */
  readonly schedule: readonly Milliseconds[];
}

/** Explains a purchase as of `now`. */
export function explainPurchase(facts: Facts, { polling, schedule, channels, limitOf = byPolicy(polling) }: ExplainPolicy) {
  const { purchase, owner, now, more } = facts;
  const subscribers = subscriberSteps(facts);
  const history = historySteps(facts, polling, { schedule, skip: subscribers.skip });
  const standing = [...standingSteps(facts, polling, { limitOf, channels }), ...subscribers.steps];
  if (more.subscribers > 0) {
    const text = `${more.subscribers} more subscribers; name one with --subscriber (?subscriber=)`;
    standing.push({ at: null, kind: 'more', text });
  }
  const matters = gravestFirst(facts, { polling, channels }, history.matters);
  const { purchaseId, site, reference, status, state, stateSince, stuckSince, registeredAt, registeredBy } = purchase;
  const { watchedSince, lastPolledAt, nextPollAt, polls, shard } = purchase;
  return {
    now,
    purchase: {
      purchaseId,
      site,
      reference,
      status,
      state,
      stateSince,
      stuckSince,
      registeredAt,
      registeredBy,
      watchedSince,
      lastPolledAt,
      nextPollAt,
      polls,
      shard,
      replica: owner.leaseUntil === null ? null : owner.replica,
    },
    /** The gravest matters, or that all is well. */
    verdict: verdict(
      facts,
      matters,
      subscribers.steps.filter(({ reason }) => reason !== undefined).map(({ text }) => text),
    ),
    matters,
    /** The history, event by event; the deliveries follow their event. */
    steps: history.steps,
    /** How things stand: polling, site, shard, stuck clock, incident, subscribers. */
    standing,
    /** The steps that come, soonest first. */
    next: nextSteps(facts, polling),
  };
}

export type Explanation = ReturnType<typeof explainPurchase>;

function byPolicy(policy: PollPolicy): (state: number) => StuckLimit {
  return (state) => configuredLimit(policyOf(policy, state).stuckAfter, null, state);
}

function nextSteps(facts: Facts, policy: PollPolicy): ExplanationStep[] {
  const { purchase, now } = facts;
  const steps: ExplanationStep[] = [pollStep(facts, policy)];
  const isWatched = purchase.status === 'watching' || purchase.status === 'unreadable';
  const clock = purchase.stuckSince === null && purchase.status === 'watching' ? stuckClock(facts, policy) : null;
  if (clock !== null) {
    const text =
      clock.stuckAt > now
        ? `counts as stuck if it is still ${statePlace(purchase.state ?? 0)} and a poll confirms it`
        : 'the limit is reached: it counts as stuck once a poll confirms it';
    steps.push({ at: clock.stuckAt, kind: 'stuck_clock', text });
  }
  if (isWatched) {
    const text = `watching is given up if nothing changes for ${humanDuration(policy.giveUpAfter)} (polling.giveUpAfter)`;
    steps.push({ at: giveUpMoment(purchase, policy, facts.skipped), kind: 'give_up', text });
  }
  steps.push(...attemptSteps(facts));
  // Only a poll has no time: it is not planned, or has its turn after others.
  const soonest = ({ at }: ExplanationStep): number => at ?? Number.NEGATIVE_INFINITY;
  return steps.sort((a, b) => soonest(a) - soonest(b));
}

function pollStep(facts: Facts, policy: PollPolicy): ExplanationStep {
  const { purchase } = facts;
  const { reason, text } = whyThen(purchase, policy);
  const at = purchase.nextPollAt;
  if (at === null) return { at, kind: 'poll', reason, text: `${text}${watchAgain(facts)}` };
  const turn = bulkTurn(facts);
  if (turn !== null) return { at: null, kind: 'poll', reason, text: `next poll: ${turn}` };
  const late = lateness(facts);
  if (late === null) return { at, kind: 'poll', reason, text: `next poll: ${text}` };
  const planned = `next poll, late by ${humanDuration(late)}: ${whyLate(facts)}. It was planned so: ${text}`;
  return { at, kind: 'poll', reason, wrong: true, text: planned };
}

/** The command for polls that will not come by themselves, as the end of a sentence. */
function watchAgain({ purchase: { status, purchaseId, site } }: Facts): string {
  if (status === 'stopped' || status === 'expired')
    return `; "${commandLine`watch ${purchaseId} --site ${site}`}" takes it up again`;
  return status === 'settled' ? `; "${commandLine`poll ${purchaseId} --site ${site}`}" asks once more` : '';
}

/** Attempts that will be made; what only waits behind another event stands with its event. */
function attemptSteps({ deliveries, subscribers, events, owner }: Facts): ExplanationStep[] {
  return deliveries.flatMap((delivery): ExplanationStep[] => {
    const subscriber = subscribers.find(({ id }) => id === delivery.subscriber);
    const event = events.find(({ position }) => position === delivery.event);
    const isFirst = delivery.behind === null && delivery.inFlightSince === null;
    const isWaiting = delivery.status === 'pending' && isFirst && owner.replicas > 0;
    if (!isWaiting || subscriber?.status !== 'active' || !subscriber.configured || event === undefined) return [];
    const { sequence, id: eventId } = event;
    const attempt = delivery.attempts + 1;
    const text = `attempt ${attempt} to deliver event ${sequence} to ${subscriber.name}`;
    const at = Math.max(delivery.dueAt, subscriber.health?.pausedUntil ?? 0);
    return [{ at, kind: 'attempt', text, attempt, subscriber: subscriber.name, sequence, eventId }];
  });
}
