/** The report of a rehearsal, from the decisions of its judge. Only this file and rehearsal.ts write the counts. */

import type { Incident } from '../incidents/incident.ts';
import type { Message } from '../incidents/judgement.ts';
import type { StuckLimit } from '../stays/dwell.ts';
import type { Instant } from '../values/time.ts';
import type { RehearsedCheckouts } from './rehearsed-checkouts.ts';
import type { RiskCounts } from './rehearsed-risks.ts';

/** An alert that would have been sent. */
export interface RehearsedMessage extends Message {
  readonly at: Instant;
  readonly incident: Incident;
  /** Of a parent: its parts. */
  readonly parts: readonly Incident[];
  /** The limit of the single state that the incident is about; null for parents and for sites that do not answer. */
  readonly limit: StuckLimit | null;
}

/** An incident that would have been open at some moment of the time. */
export interface RehearsedIncident {
  readonly incident: Incident;
  /** The first message of the time that said that it began or came back; null where no channel was alerted. */
  readonly alertedAt: Instant | null;
}

export type RehearsalResult = ReturnType<typeof resultOf>;
type PlaceLimit = { readonly site: string; readonly state: number; readonly limit: StuckLimit };

export interface RehearsalCounts {
  /** Nothing before this moment is reported. */
  readonly from: Instant;
  readonly messages: RehearsedMessage[];
  readonly checkouts: RehearsedCheckouts[];
  /** Incidents that were open in the time, as they are now. */
  readonly seen: Map<string, Incident>;
  /** Incidents of which any channel was alerted. */
  readonly alerted: Set<string>;
  overdue: number;
  /** Null until the time begins. */
  openBefore: number | null;
}

export function newRehearsalCounts(from: Instant): RehearsalCounts {
  return { from, messages: [], checkouts: [], seen: new Map(), alerted: new Set(), overdue: 0, openBefore: null };
}

/** The judge is about to look: at the first look in the time, these incidents are those of before. */
export function countBefore(counts: RehearsalCounts, now: Instant, incidents: readonly Incident[]): void {
  if (now < counts.from || counts.openBefore !== null) return;
  const open = speaking(incidents);
  counts.openBefore = open.length;
  for (const incident of open) counts.seen.set(incident.id, incident);
}

export function noteMessage(counts: RehearsalCounts, message: RehearsedMessage): void {
  if (message.channels.length === 0) return;
  counts.alerted.add(message.incident.id);
  if (message.at >= counts.from) counts.messages.push(message);
}

/** `stays`: those gone through, those of the time before included; `limits`: those at the end, where any stay was. */
export function resultOf(
  counts: RehearsalCounts,
  {
    stays,
    incidents,
    limits,
    atRisk,
  }: { stays: number; incidents: readonly Incident[]; limits: readonly PlaceLimit[]; atRisk: RiskCounts | null },
) {
  const { messages, checkouts, overdue, alerted, from } = counts;
  const seen = [...counts.seen.values()].filter(({ parent }) => parent === null).toSorted((a, b) => a.openedAt - b.openedAt);
  const own = seen.filter(({ openedAt }) => openedAt >= from);
  const openAfter = speaking(incidents).length;
  return {
    messages,
    /** Messages about single stuck checkouts. */
    checkouts,
    stays,
    /** Purchases that would have been flagged. */
    overdue,
    /** Purchases that would have been announced as at risk; null where the settings do not ask for it. */
    atRisk,
    /** Incidents without a parent, in the order in which they opened; some may have opened before the time. */
    incidents: seen.map((incident): RehearsedIncident => ({ incident, alertedAt: firstAlert(messages, incident) })),
    /** Incidents without a parent: opened in the time, open when it began, and when it ended. */
    opened: own.length,
    openBefore: counts.openBefore ?? openAfter,
    openAfter,
    /** Of those opened, how many were over without an alert. */
    unsaid: own.filter(({ id, endedAt }) => endedAt !== null && !alerted.has(id)).length,
    limits: limits.toSorted((a, b) => (a.site < b.site ? -1 : a.site > b.site ? 1 : a.state - b.state)),
  };
}

/** The incidents that are open and have no parent, which would speak for them. */
function speaking(incidents: readonly Incident[]): Incident[] {
  return incidents.filter(({ endedAt, parent }) => endedAt === null && parent === null);
}

function firstAlert(messages: readonly RehearsedMessage[], { id }: Incident): Instant | null {
  return messages.find(({ incident, stage }) => incident.id === id && (stage === 'opened' || stage === 'reopened'))?.at ?? null;
}
