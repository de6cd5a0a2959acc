/** A rehearsed message as the event that the daemon would have written, without what only the moment itself could tell. */

import { eventBody } from '../../domain/events/make-event.ts';
import type { Alarm } from '../../domain/incidents/detection.ts';
import { type Incident, levelOf } from '../../domain/incidents/incident.ts';
import { isLeaf } from '../../domain/incidents/incident-tree.ts';
import { checkoutOutcome } from '../../domain/incidents/stuck-checkouts.ts';
import { namedState } from '../../domain/purchases/states.ts';
import type { RehearsedMessage } from '../../domain/rehearsal/rehearsal-result.ts';
import type { RehearsedCheckout, RehearsedCheckouts } from '../../domain/rehearsal/rehearsed-checkouts.ts';
import type { JsonValue } from '../../domain/values/exact-json.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';

/** The text of the event: ids of purchases, amounts and causes are missing. */
export function rehearsedBody(message: RehearsedMessage): string {
  const { at, stage, incident } = message;
  const data = incident.kind === 'stuck' ? stuckData(message) : { ...head(incident), lastError: null };
  return eventBody(incident.id, { type: `incident.${stage}`, sequence: null, at, state: incident.state, data });
}

/** A message about single stuck checkouts, likewise: without ids and amounts. */
export function rehearsedCheckoutsBody({ at, stuck, over, reasons }: RehearsedCheckouts): string {
  const name = ({ site, state, stay }: RehearsedCheckout): Record<string, JsonValue> => ({
    ...{ site, state: named(state), purchaseId: 'rehearsed', since: isoTime(stay.enteredAt) },
  });
  const outcome = ({ toState, stay }: RehearsedCheckout): string =>
    checkoutOutcome({ toState, isPaid: stay.paidAt !== null, status: 'stopped' });
  const data = {
    ...{ kind: 'checkouts', severity: 'warning', stuckCount: stuck.length, overCount: over.length },
    stuck: stuck.map(name),
    over: over.map((each) => ({
      ...name(each),
      ...{ outcome: outcome(each), to: each.toState === null ? null : named(each.toState), overAt: isoTimeOrNull(each.overAt) },
    })),
    reasons: reasons.map((reason) => ({ ...reason, state: named(reason.state) })),
  };
  return eventBody('rehearsed', { type: 'incident.checkouts', sequence: null, at, state: null, data });
}

function head(incident: Incident): Record<string, JsonValue> {
  const { id, kind, site, openedAt, endedAt, reopenedAt, since } = incident;
  const times = { openedAt: isoTime(openedAt), endedAt: isoTimeOrNull(endedAt), reopenedAt: isoTimeOrNull(reopenedAt) };
  return { incidentId: id, kind, site, ...times, since: isoTime(since), severity: levelOf(incident), acknowledged: null };
}

function stuckData({ incident, parts, limit }: RehearsedMessage): Record<string, JsonValue> {
  const { count, peak, state } = incident;
  const leaves = isLeaf(incident) ? [incident] : parts;
  const dwell = limit?.dwell ?? null;
  const alarm = alarmOf(incident, leaves);
  return {
    ...head(incident),
    state: state === null ? null : named(state),
    count,
    peak,
    parts: leaves.map((part) => ({
      site: part.site,
      state: named(part.state ?? 0),
      count: part.count,
      peak: part.peak,
      ended: part.quietSince !== null || part.endedAt !== null,
    })),
    limitMs: limit?.ms ?? null,
    dwell: dwell && { usualMs: dwell.usual, p95Ms: dwell.p95, purchases: dwell.purchases, source: limit!.source },
    alarm: alarm === null ? null : { ...alarm, at: isoTime(alarm.at), since: isoTime(alarm.since) },
    noticedAfterMs: alarm === null ? null : alarm.at - alarm.since,
  };
}

/** Of a parent, the alarm that came first. */
function alarmOf({ alarm }: Incident, leaves: readonly Incident[]): Alarm | null {
  const alarms = leaves.flatMap((leaf) => (leaf.alarm === null ? [] : [leaf.alarm]));
  return alarm ?? alarms.toSorted((a, b) => a.at - b.at)[0] ?? null;
}

function named(state: number): JsonValue {
  return { ...namedState(state) };
}
