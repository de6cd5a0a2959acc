/** A rehearsed message as the event that the daemon would have written, without the fields that were known at that moment only. */

import { draftOf, eventBody, stateOrNull } from '../../domain/events/make-event.ts';
import type { IncidentEventData } from '../../domain/events/people-event-types.ts';
import type { Alarm } from '../../domain/incidents/detection.ts';
import { type Incident, levelOf } from '../../domain/incidents/incident.ts';
import { isLeaf } from '../../domain/incidents/incident-tree.ts';
import { checkoutOutcome } from '../../domain/incidents/stuck-checkouts.ts';
import { isUnnamed } from '../../domain/incidents/symptom.ts';
import { namedState } from '../../domain/purchases/states.ts';
import type { RehearsedMessage } from '../../domain/rehearsal/rehearsal-result.ts';
import type { RehearsedCheckout, RehearsedCheckouts } from '../../domain/rehearsal/rehearsed-checkouts.ts';
import type { RehearsedPaidTwice } from '../../domain/rehearsal/rehearsed-payments.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';

const UNNAMED = { purchaseId: 'rehearsed', reference: null, orderReference: null, price: null, currency: null } as const;

/** The text of the event: ids of purchases, amounts and causes are missing. */
export function rehearsedBody(message: RehearsedMessage): string {
  const { at, stage, incident } = message;
  const data = incident.kind === 'stuck' ? stuckData(message) : unreachableData(incident);
  return eventBody(incident.id, draftOf(`incident.${stage}`, { at, state: incident.state }, data));
}

/** A message about single stuck checkouts, likewise: without ids and amounts. */
export function rehearsedCheckoutsBody({ at, stuck, over, reasons }: RehearsedCheckouts): string {
  const name = ({ site, state, stay }: RehearsedCheckout) => ({
    ...UNNAMED,
    site,
    state: namedState(state),
    since: isoTime(stay.enteredAt),
  });
  const outcome = ({ toState, stay }: RehearsedCheckout) =>
    checkoutOutcome({ toState, isPaid: stay.paidAt !== null, status: 'stopped' });
  const data: IncidentEventData<'incident.checkouts'> = {
    kind: 'checkouts',
    severity: 'warning',
    stuckCount: stuck.length,
    overCount: over.length,
    stuck: stuck.map((each) => {
      const { firstSight: foundLate } = each.stay;
      return { ...name(each), stuckSince: null, limitMs: null, unreadable: null, foundLate };
    }),
    over: over.map((each) => {
      const overAt = isoTimeOrNull(each.overAt);
      return { ...name(each), outcome: outcome(each), to: stateOrNull(each.toState), overAt };
    }),
    reasons: reasons.map((reason) => ({ ...reason, state: namedState(reason.state), count: 0, lastWellAt: null })),
    causes: [],
  };
  return eventBody('rehearsed', draftOf('incident.checkouts', { at }, data));
}

/** A message about orders that were paid twice, likewise. */
export function rehearsedPaidTwiceBody({ at, site, orders }: RehearsedPaidTwice): string {
  const payment = { ...UNNAMED, completedAt: null };
  const data: IncidentEventData<'incident.paid_twice'> = {
    kind: 'paid_twice',
    severity: 'warning',
    site,
    orderCount: orders.length,
    orders: orders.map((payments) => ({ payments: Array.from({ length: payments }, () => payment) })),
  };
  return eventBody('rehearsed', draftOf('incident.paid_twice', { at }, data));
}

function head(incident: Incident) {
  const { id, openedAt, endedAt, reopenedAt, since } = incident;
  const times = { openedAt: isoTime(openedAt), endedAt: isoTimeOrNull(endedAt), reopenedAt: isoTimeOrNull(reopenedAt) };
  return { incidentId: id, ...times, since: isoTime(since), severity: levelOf(incident), acknowledged: null };
}

function unreachableData(incident: Incident): IncidentEventData<'incident.opened'> {
  const reason = isUnnamed(incident.severity) ? 'not_configured' : null;
  const unknown = { reason, lastError: null, lastReadAt: null };
  return { ...head(incident), kind: 'unreachable', site: incident.site ?? '', ...unknown };
}

function stuckData({ incident, parts, limit }: RehearsedMessage): IncidentEventData<'incident.opened'> {
  const { count, peak, state, site } = incident;
  const leaves = isLeaf(incident) ? [incident] : parts;
  const dwell = limit?.dwell ?? null;
  const alarm = alarmOf(incident, leaves);
  return {
    ...head(incident),
    kind: 'stuck',
    site,
    state: stateOrNull(state),
    count,
    peak,
    parts: leaves.map((part) => ({
      site: part.site ?? '',
      state: namedState(part.state ?? 0),
      count: part.count,
      peak: part.peak,
      ended: part.quietSince !== null || part.endedAt !== null,
    })),
    limitMs: limit?.ms ?? null,
    dwell: dwell && { usualMs: dwell.usual, p95Ms: dwell.p95, purchases: dwell.purchases, source: limit!.source },
    alarm: alarm === null ? null : { ...alarm, at: isoTime(alarm.at), since: isoTime(alarm.since) },
    noticedAfterMs: alarm === null ? null : alarm.at - alarm.since,
    answer: null,
    lately: null,
    purchases: [],
    waiting: [],
    unpriced: 0,
    atLeast: false,
    causes: [],
    slice: null,
    mark: null,
    earlier: null,
    became: null,
    movedOn: null,
    includes: [],
    singles: null,
  };
}

/** The alarm of an incident; of a parent, the first alarm among its parts. */
function alarmOf({ alarm }: Incident, leaves: readonly Incident[]): Alarm | null {
  const alarms = leaves.flatMap((leaf) => (leaf.alarm === null ? [] : [leaf.alarm]));
  return alarm ?? alarms.toSorted((a, b) => a.at - b.at)[0] ?? null;
}
