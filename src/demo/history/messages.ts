/** The messages that people would have got of the past incident: one when it was noticed, one when it was over. Pure. */
import { draftOf, type EventDraft } from '../../domain/events/make-event.ts';
import type { IncidentEventData } from '../../domain/events/people-event-types.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { isoTime } from '../../domain/values/time.ts';
import type { EndedIncident, EndedPurchase } from '../../postgres/upkeep/history.ts';

/** The events of the beginning and the end, with what was known at each. */
export function messagesOf(incident: EndedIncident, past: readonly EndedPurchase[]): EventDraft[] {
  const { id, site, state, alarm, since, openedAt, acknowledgedAt, endedAt, by, cause, note, peak, movedOn } = incident;
  const stuck = past.filter(
    (each) =>
      each.site === site &&
      each.endedAt > openedAt &&
      each.events.some(({ type, at }) => type === 'purchase.stuck' && at <= openedAt),
  );
  const amount = stuck.reduce((sum, { fields }) => sum + (JSON.parse(fields) as { Price: number }).Price, 0);
  const opened: IncidentEventData<'incident.opened'> = {
    incidentId: id,
    kind: 'stuck',
    openedAt: isoTime(openedAt),
    endedAt: null,
    reopenedAt: null,
    since: isoTime(since),
    severity: 'critical',
    acknowledged: null,
    answer: null,
    site,
    state: namedState(state),
    count: stuck.length,
    peak: stuck.length,
    parts: [{ site, state: namedState(state), count: stuck.length, peak: stuck.length, ended: false }],
    limitMs: null,
    dwell: null,
    alarm: alarm === null ? null : { ...alarm, at: isoTime(alarm.at), since: isoTime(since) },
    lately: alarm === null ? null : { entrants: alarm.entrants, overdue: alarm.overdue },
    slice: null,
    mark: null,
    noticedAfterMs: openedAt - since,
    purchases: stuck.map(({ purchaseId }) => purchaseId),
    waiting: [{ amount: String(amount), currency: 'SEK' }],
    unpriced: 0,
    atLeast: false,
    causes: [],
    earlier: null,
    became: null,
    movedOn: null,
    includes: [],
    singles: null,
  };
  const ended: IncidentEventData<'incident.ended'> = {
    ...opened,
    endedAt: isoTime(endedAt),
    acknowledged: { by, note: null, at: isoTime(acknowledgedAt) },
    answer: { cause, note, by, at: isoTime(endedAt) },
    count: 0,
    peak,
    parts: [{ site, state: namedState(state), count: 0, peak, ended: true }],
    lately: null,
    purchases: [],
    waiting: [],
    movedOn,
  };
  return [draftOf('incident.opened', { at: openedAt, state }, opened), draftOf('incident.ended', { at: endedAt, state }, ended)];
}
