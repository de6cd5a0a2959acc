/** Who was one of an event, who was not, and why. */

import { shownStatus } from '../deliveries/delivery-status.ts';
import { stateBoth } from '../purchases/states.ts';
import { humanDuration } from '../values/duration.ts';
import { clause, inBrackets } from '../values/errors.ts';
import type { Instant, Milliseconds } from '../values/time.ts';
import type { AttemptFacts, DeliveryFacts, Facts, PurchaseEventFacts, SubscriberFacts } from './facts.ts';
import { pauseRemedy, pauseText, wayText } from './held.ts';
import type { ExplanationStep, Matter } from './step.ts';

/** Why an event brings a subscriber no delivery; null when it should. */
export type NoDelivery = 'not_configured' | 'site' | 'type' | 'state' | 'earlier';

/** Within this time of a change of filters, events may have been matched against the old ones. */
const MATCHING_SETTLES: Milliseconds = 60_000;

/** Why the subscriber's filters, as they are now, leave this event out; null when they do not. */
function whyNone(subscriber: SubscriberFacts, event: PurchaseEventFacts, site: string): NoDelivery | null {
  const { audience, types, sites, states, configured, matchingSince } = subscriber;
  if (!configured) return 'not_configured';
  if (sites !== null && !sites.includes(site)) return 'site';
  const isWanted = types === null ? (audience === 'people') === event.type.startsWith('incident.') : types.includes(event.type);
  if (!isWanted) return 'type';
  if (states !== null && event.state !== null && !states.includes(event.state)) return 'state';
  return event.at < matchingSince + MATCHING_SETTLES ? 'earlier' : null;
}

const list = (values: readonly (string | number)[]): string => values.join(', ');

function reasonText(reason: NoDelivery, subscriber: SubscriberFacts, events = 'this'): string {
  const { name, audience, types, sites, states } = subscriber;
  if (reason === 'not_configured') return `not delivered to ${name}: it is not configured any more`;
  if (reason === 'site') return `not delivered to ${name}: it gets ${list(sites ?? [])} only`;
  if (reason === 'state') return `not delivered to ${name}: it gets the states ${list((states ?? []).map(stateBoth))} only`;
  if (reason === 'earlier') return `not delivered to ${name}: it was made, or its filters were set, later than ${events}`;
  if (types !== null) return `not delivered to ${name}: it gets ${list(types)} only`;
  return `not delivered to ${name}: ${audience === 'people' ? 'it gets incidents, not single purchases' : 'it gets events of purchases and sites only'}`;
}

/** Deliveries and attempts of an event, one subscriber after the other. `skip`: those of whom one reason holds for all events. */
export function deliverySteps(
  facts: Facts,
  event: PurchaseEventFacts,
  { schedule, skip }: DeliveryStepOptions,
): { steps: ExplanationStep[]; matters: Matter[] } {
  const steps: ExplanationStep[] = [];
  const matters: Matter[] = [];
  for (const subscriber of facts.subscribers) {
    const deliveries = facts.deliveries.filter((each) => each.event === event.position && each.subscriber === subscriber.id);
    const about = { sequence: event.sequence, eventId: event.id, subscriber: subscriber.name };
    for (const delivery of deliveries) {
      const attempts = facts.attempts.filter((each) => each.delivery === delivery.id);
      const { matter, ...step } = deliveryStep(facts, { event, subscriber, delivery, attempts, schedule });
      const { status } = shownStatus({ ...delivery, stored: delivery.status, subscriber }, facts.now);
      steps.push({ at: null, kind: 'delivery', ...step, ...about, status });
      if (matter !== undefined) matters.push(matter);
      // An attempt that simply succeeded is shown with its delivery.
      if (delivery.status !== 'delivered' || delivery.attempts > 1)
        steps.push(...attempts.map((each) => ({ ...attemptStep(each), ...about })));
    }
    if (deliveries.length > 0 || skip.has(subscriber.id) || isBeyond(facts, event)) continue;
    const reason = whyNone(subscriber, event, facts.purchase.site);
    const none = {
      at: null,
      kind: 'delivery',
      ...about,
      status: 'none',
      reason: reason ?? 'missing',
      wrong: reason === null,
    } as const;
    if (reason !== null) {
      steps.push({ ...none, text: reasonText(reason, subscriber) });
      continue;
    }
    const { name } = subscriber;
    steps.push({
      ...none,
      text: `${name} should get it and there is no delivery for it; "purchase-watch audit" finds all such gaps`,
    });
    matters.push({ code: 'delivery_missing', text: `Event ${event.sequence} has no delivery for ${name}, which wants it.` });
  }
  return { steps, matters };
}

export interface DeliveryStepOptions {
  /** The waits between attempts. */
  readonly schedule: readonly Milliseconds[];
  readonly skip: ReadonlySet<number>;
}

/** Whether the event's deliveries may lie beyond the bound of what was read. */
function isBeyond({ more, deliveries }: Facts, event: PurchaseEventFacts): boolean {
  return more.deliveries > 0 && deliveries.every((each) => each.event >= event.position);
}

interface OneDelivery extends Pick<DeliveryStepOptions, 'schedule'> {
  readonly event: PurchaseEventFacts;
  readonly subscriber: SubscriberFacts;
  readonly delivery: DeliveryFacts;
  readonly attempts: readonly AttemptFacts[];
}

/** A step about a delivery, and what is the matter with it, if anything. */
type Found = Pick<ExplanationStep, 'text' | 'wrong'> & { readonly at?: Instant | null; readonly matter?: Matter };

function deliveryStep(facts: Facts, one: OneDelivery): Found {
  const { subscriber, delivery, event } = one;
  const { settledAt: at, status, attempts } = delivery;
  if (status === 'delivered') return { at, text: deliveredText(one) };
  if (status === 'suppressed') return { at, text: suppressedText(one) };
  if (status === 'pending') return pendingStep(facts, one);
  const never = `never delivered to ${subscriber.name}: ${counted(attempts)} failed`;
  const text = `${never}, and no more will be made${inBrackets(delivery.lastError)}`;
  return { at, text, wrong: true, matter: { code: 'delivery_exhausted', text: `Event ${event.sequence} was ${never}.` } };
}

function deliveredText({ subscriber: { name }, delivery, attempts, event }: OneDelivery): string {
  const last = attempts.find((each) => each.number === delivery.attempts);
  const tries = delivery.attempts === 1 ? 'at the first attempt' : `at attempt ${delivery.attempts}`;
  if (last === undefined) return `delivered to ${name} ${tries}`;
  const answer = last.httpStatus === null ? '' : `HTTP ${last.httpStatus}, `;
  return `delivered to ${name} ${tries} (${answer}${humanDuration(Math.max(0, last.at - event.at))} after the event)`;
}

function suppressedText({ subscriber: { name }, delivery }: OneDelivery): string {
  return `not delivered to ${name}: ${delivery.lastError === null ? 'it was switched off then' : clause(delivery.lastError)}`;
}

/** Why it has not been sent yet: what holds it back the longest comes first. */
function pendingStep(facts: Facts, one: OneDelivery): Found {
  const { subscriber, delivery, event } = one;
  const { name } = subscriber;
  const before = beforeText(one);
  const not = `not delivered to ${name}`;
  if (!subscriber.configured) return { text: `${not}: ${before}it is not configured any more` };
  if (subscriber.status !== 'active') {
    const off = `it is switched off${inBrackets(subscriber.statusReason)}`;
    return { text: `${not}: ${before}${off}`, wrong: true, matter: matterOf('subscriber_off', event, `${not}, because ${off}`) };
  }
  if (delivery.inFlightSince !== null) {
    const long = humanDuration(Math.max(0, facts.now - delivery.inFlightSince));
    return { text: `being delivered to ${name}: attempt ${delivery.attempts + 1} has been under way for ${long}` };
  }
  const pause = pauseText(facts, subscriber);
  const behind = behindText(facts, one);
  if (pause !== null) {
    const text = `${not} yet: ${before}it is ${pause}${behind === null ? '' : `; then ${behind}`}`;
    const rest = `${not}, because it is ${pause}; ${pauseRemedy(subscriber)}`;
    return { text, wrong: true, matter: matterOf('subscriber_paused', event, rest) };
  }
  if (behind !== null) return { text: `${name} waits: ${behind}` };
  const tries = delivery.attempts - delivery.attemptsBefore;
  const when = whenText(facts, delivery);
  const way = wayText(one);
  const text = `${not} yet: ${before === '' && way !== null ? `${way}; ` : before}${when}`;
  if (way === null && tries === 0) return { text, wrong: false };
  const why = `${way ?? `${counted(tries)} failed`}${inBrackets(delivery.lastError)}; ${when}`;
  const code = way === null ? 'delivery_failing' : 'subscriber_unreached';
  return { text, wrong: true, matter: { code, text: `Event ${event.sequence} is ${not} yet: ${why}.` } };
}

/** The matter with an event, which can be named together with others with which the same is the matter. */
function matterOf(code: Matter['code'], { sequence }: PurchaseEventFacts, rest: string): Matter {
  return { code, text: `Event ${sequence} is ${rest}.`, of: { sequence, rest } };
}

/** The attempts so far, or how the delivery came to be sent again. */
function beforeText({ delivery, schedule, attempts }: OneDelivery): string {
  const tries = delivery.attempts - delivery.attemptsBefore;
  if (tries > 0) return `${tries} of ${schedule.length + 1} attempts failed${inBrackets(delivery.lastError)}; `;
  if (delivery.attempts === 0) return delivery.replayed ? 'it is sent by a replay; ' : '';
  const last = attempts.find((each) => each.number === delivery.attempts);
  if (last?.fault === 'ours')
    return `the last attempt failed for a reason on this side, which does not count${inBrackets(delivery.lastError)}; `;
  return delivery.replayed ? 'it is sent again, after all that is new; ' : 'it is sent once more by hand; ';
}

/** Which event of the purchase the subscriber gets first; null when this one is next. */
function behindText({ events, deliveries }: Facts, { delivery }: OneDelivery): string | null {
  if (delivery.behind === null) return null;
  const before = events.find((each) => each.position === delivery.behind);
  const which = before === undefined ? 'an earlier event' : `event ${before.sequence} (${before.id})`;
  const first = deliveries.find((each) => each.event === delivery.behind && each.subscriber === delivery.subscriber);
  // A replay comes after all new deliveries, whatever the place of its event.
  if (delivery.replayed && first?.replayed === false)
    return `it is replayed, which comes after what is new, and ${which} is not delivered yet`;
  return `it gets events in order, and ${which} is not delivered yet`;
}

function whenText({ owner, now }: Facts, { dueAt }: DeliveryFacts): string {
  if (dueAt > now) return `next attempt in ${humanDuration(dueAt - now)}`;
  const due = `due for ${humanDuration(now - dueAt)}`;
  if (owner.replicas === 0)
    return `${due}, and ${owner.silence.takesWrites ? 'no daemon is running' : 'the database takes no writes'}`;
  return owner.leaseUntil === null ? `${due}, and its shard has no owner at this moment` : `${due}, and on its way`;
}

function attemptStep({ at, number, outcome, fault, httpStatus, tookMs }: AttemptFacts): ExplanationStep {
  const how = outcome === 'delivered' ? 'succeeded' : `failed: ${outcome}`;
  const code = httpStatus === null || outcome === `http_${httpStatus}` ? '' : `HTTP ${httpStatus}, `;
  const ours = fault === 'ours' ? 'a fault of ours, ' : '';
  const text = `attempt ${number} ${how} (${ours}${code}took ${humanDuration(tookMs)})`;
  return { at, kind: 'attempt', text, attempt: number, outcome, httpStatus };
}

const counted = (attempts: number): string => (attempts === 1 ? 'one attempt' : `${attempts} attempts`);

/** Steps about subscribers that hold whatever the event; `skip` are the subscribers of whom one reason holds for all events. */
export function subscriberSteps(facts: Facts): { steps: ExplanationStep[]; skip: Set<number> } {
  const excluded = new Map(
    facts.subscribers.flatMap((subscriber) => {
      const reason = reasonForAll(facts, subscriber);
      return reason === null ? [] : [[subscriber.id, reason] as const];
    }),
  );
  const steps = facts.subscribers.flatMap((subscriber) => {
    const reason = excluded.get(subscriber.id);
    const step =
      reason === undefined ? stateStep(facts, subscriber) : { text: reasonText(reason, subscriber, 'these events'), reason };
    return step === null ? [] : [{ at: null, kind: 'subscriber' as const, subscriber: subscriber.name, ...step }];
  });
  return { steps, skip: new Set(excluded.keys()) };
}

/** The one reason why a subscriber gets no event of this purchase; null when it gets some, or each is withheld for another reason. */
function reasonForAll({ events, deliveries, purchase }: Facts, subscriber: SubscriberFacts): NoDelivery | null {
  if (deliveries.some((each) => each.subscriber === subscriber.id)) return null;
  const lasting = lastingReason(subscriber, purchase.site);
  if (lasting !== null) return lasting;
  const reasons = new Set(events.map((event) => whyNone(subscriber, event, purchase.site)));
  const [only] = reasons;
  return reasons.size === 1 ? (only ?? null) : null;
}

/** The matter with a subscriber that gets events of this purchase; null while all is well. */
function stateStep(facts: Facts, subscriber: SubscriberFacts): Pick<ExplanationStep, 'text' | 'reason' | 'wrong'> | null {
  const { name, kind, status, statusReason, unreached } = subscriber;
  if (!subscriber.configured) {
    // The state of a removed subscriber says nothing any more; and a subscriber that has its name now gets a step of its own.
    if (facts.subscribers.some((each) => each.name === name && each.configured)) return null;
    return { text: `${name} was removed, and gets nothing any more`, reason: 'not_configured' };
  }
  if (status !== 'active')
    return { text: `${name} is switched off${statusReason === null ? '' : `: ${statusReason}`}`, wrong: true };
  const pause = pauseText(facts, subscriber);
  if (pause !== null)
    return { text: `${name} is ${pause}; its deliveries are parked and are sent in order afterwards`, wrong: true };
  if (unreached !== null) {
    const long = humanDuration(Math.max(0, facts.now - unreached.since));
    const text = `we do not get through to ${name} for ${long}, for a reason on this side${inBrackets(unreached.error)}; its deliveries are sent in order once one gets through`;
    return { text, wrong: true };
  }
  return facts.events.length > 0 ? null : { text: `${name} (${kind}) gets the events it wants, once something happens` };
}

/** Why no event of this purchase will ever be for the subscriber as it is now. */
function lastingReason({ configured, sites, types, audience }: SubscriberFacts, site: string): NoDelivery | null {
  if (!configured) return 'not_configured';
  if (sites !== null && !sites.includes(site)) return 'site';
  const wanted = types === null ? audience !== 'people' : types.some((type) => type.startsWith('purchase.'));
  return wanted ? null : 'type';
}
