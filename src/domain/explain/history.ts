/** The history of a purchase, event by event, with the deliveries of each. */

import type { StateTransition } from '../deciding/outcome.ts';
import { type PollPolicy, policyOf } from '../polling/poll-plan.ts';
import { stateBoth, statePlace, stateWords } from '../purchases/states.ts';
import { humanDuration } from '../values/duration.ts';
import { type DeliveryStepOptions, deliverySteps } from './deliveries.ts';
import type { Facts, PurchaseEventFacts, PurchaseFacts } from './facts.ts';
import { paidTwiceSteps } from './paid-twice.ts';
import { singleSteps } from './single-alerts.ts';
import type { ExplanationStep, Matter } from './step.ts';

export function historySteps(
  facts: Facts,
  policy: PollPolicy,
  options: DeliveryStepOptions,
): { steps: ExplanationStep[]; matters: Matter[] } {
  const { purchase, events, transitions, more } = facts;
  const groups: ExplanationStep[][] = [[registeredStep(purchase)]];
  const matters: Matter[] = [];
  if (purchase.watchedSince > purchase.registeredAt + 1_000) {
    groups.push([{ at: purchase.watchedSince, kind: 'watched', text: 'registered again, and watched again from here on' }]);
  }
  for (const event of events) {
    const delivered = deliverySteps(facts, event, options);
    const transition = transitions.find((each) => each.sequence === event.sequence);
    groups.push([eventStep(event, transition, policy), ...delivered.steps]);
    matters.push(...delivered.matters);
  }
  const firstShown = events[0]?.sequence ?? 1;
  for (const transition of transitions) {
    if (events.some((each) => each.sequence === transition.sequence) || (more.events > 0 && transition.sequence < firstShown))
      continue;
    const text = `${moveText(transition, policy)}, but it has no event; "purchase-watch audit" finds all such gaps`;
    groups.push([{ ...transitionFields(transition), text, wrong: true }]);
    matters.push({ code: 'event_missing', text: `Change ${transition.sequence} was never announced: it has no event.` });
  }
  for (const step of [...singleSteps(facts), ...paidTwiceSteps(facts).steps]) groups.push([step]);
  const ended = endedStep(purchase);
  if (ended !== null) groups.push([ended]);
  // Groups stay together, so that the deliveries follow their event.
  const steps = groups.sort(([a], [b]) => a!.at! - b!.at! || (a!.sequence ?? 0) - (b!.sequence ?? 0)).flat();
  return { steps: [steps[0]!, ...moreSteps(facts), ...steps.slice(1)], matters };
}

function registeredStep({ registeredAt, registeredBy }: PurchaseFacts): ExplanationStep {
  return { at: registeredAt, kind: 'registered', text: `registered ${registeredText(registeredBy)}` };
}

function registeredText(by: string | null): string {
  if (by === null) return '(by whom was not noted then)';
  if (by === 'api') return 'through the API';
  if (by === 'cli') return 'on the command line';
  return by.startsWith('sql:') ? `with SQL, by the role ${by.slice('sql:'.length)}` : `by ${by}`;
}

function moreSteps({ more }: Facts): ExplanationStep[] {
  const earlier = Object.entries({ event: more.events, delivery: more.deliveries, attempt: more.attempts }).filter(
    ([, count]) => count > 0,
  );
  if (earlier.length === 0) return [];
  const left = earlier.map(([noun, count]) => `${count} more ${count === 1 ? noun : `${noun.replace(/y$/, 'ie')}s`}`);
  return [{ at: null, kind: 'more', text: `${left.join(', ')} that are older and not shown` }];
}

/** A change of state and its event are one thing that happened. */
function eventStep(event: PurchaseEventFacts, transition: StateTransition | undefined, policy: PollPolicy): ExplanationStep {
  const about = { at: event.at, sequence: event.sequence, eventId: event.id, type: event.type };
  if (transition !== undefined) return { ...transitionFields(transition), ...about, text: moveText(transition, policy) };
  const name = event.state === null ? null : statePlace(event.state);
  return { ...about, kind: event.type === 'purchase.stuck' ? 'stuck' : 'event', text: eventText(event.type, name) };
}

function transitionFields({ sequence, from, to, notAfter }: StateTransition) {
  return { at: notAfter, kind: 'transition' as const, sequence, from, to };
}

function moveText({ from, to, notBefore, notAfter }: StateTransition, policy: PollPolicy): string {
  const final = policyOf(policy, to).final ? ', which is final' : '';
  if (from === null) return `first seen: ${stateBoth(to)}${final}`;
  const within = notBefore === null ? '' : ` (some time in the ${humanDuration(notAfter - notBefore)} before)`;
  return `${stateWords(from)} → ${stateBoth(to)}${final}${within}`;
}

function eventText(type: string, state: string | null): string {
  const known: ReadonlyMap<string, string> = new Map([
    ['purchase.state_changed', 'a change of state was announced, and is not among the changes'],
    ['purchase.stuck', `stuck ${state}: confirmed by a poll`],
    ['purchase.at_risk', `at risk ${state}: announced because its session is about to end`],
    ['purchase.recovered', `not stuck ${state} any more`],
    ['purchase.unreadable', 'unreadable: several polls in a row brought no answer that could be used and recorded'],
    ['purchase.readable', 'readable again'],
    ['purchase.expired', 'watching was given up: no change for too long'],
    ['purchase.invoice_ready', 'its invoice details are there'],
  ]);
  return known.get(type) ?? type;
}

function endedStep({ status, endedAt }: PurchaseFacts): ExplanationStep | null {
  if (status !== 'stopped' || endedAt === null) return null;
  return { at: endedAt, kind: 'ended', text: 'watching was stopped by hand' };
}
