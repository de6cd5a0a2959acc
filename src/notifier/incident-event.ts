/** Events about incidents, which only channels for people receive, read back from their body. */
import { isDecimal, type JsonValue, parseExact } from '../core/exact-json.ts';
import { SUBSCRIBER_TROUBLES, type SubscriberTrouble } from '../core/incident.ts';
import type { Instant, Milliseconds } from '../core/purchase.ts';
import type { NamedState } from '../core/states.ts';

/** What an incident event says it is about. */
type IncidentStage = 'opened' | 'grew' | 'reminder' | 'ended';

interface Common {
  readonly incidentId: string;
  readonly stage: IncidentStage;
  /** When the event was made. */
  readonly at: Instant;
  readonly openedAt: Instant;
  readonly endedAt: Instant | null;
  /** The first symptom: the oldest stay in the state, or the first call without an answer. */
  readonly since: Instant;
}

/** Purchases of one site that stay in one state. */
export interface StuckIncident extends Common {
  readonly kind: 'stuck';
  readonly site: string;
  readonly state: NamedState;
  readonly count: number;
  readonly peak: number;
  readonly limitMs: Milliseconds | null;
  /** The oldest few. */
  readonly purchases: readonly string[];
  readonly waiting: readonly { readonly amount: string; readonly currency: string }[];
  /** How many left the state since; told at the end. */
  readonly movedOn: number | null;
}

/** A site that does not answer. */
export interface UnreachableIncident extends Common {
  readonly kind: 'unreachable';
  readonly site: string;
  readonly lastError: string | null;
  readonly askedAgainEveryMs: Milliseconds | null;
}

/** A subscriber that takes nothing, does not take everything, or was switched off. */
export interface SubscriberIncident extends Common {
  readonly kind: 'subscriber';
  readonly subscriber: string;
  /** What kind of receiver it is: webhook, slack, … */
  readonly channel: string | null;
  readonly origin: string | null;
  /** Null at the end. */
  readonly trouble: SubscriberTrouble | null;
  /** How it came to an end; null before. */
  readonly outcome: string | null;
  /** In a row. */
  readonly failures: number;
  readonly failingSince: Instant | null;
  /** Since when nothing gets through to it for a reason of ours. */
  readonly ourFailingSince: Instant | null;
  readonly lastError: string | null;
  readonly nextTryAt: Instant | null;
  readonly offSince: Instant | null;
  /** Deliveries that wait, and that were given up since it began; counted up to `countedTo`. */
  readonly waiting: number;
  readonly givenUp: number;
  readonly countedTo: number | null;
  /** When the first event of those given up was made. */
  readonly givenUpFrom: Instant | null;
}

/** An event that is not about an incident, or whose shape nobody here knows. */
export interface OtherEvent {
  readonly kind: 'other';
  readonly id: string;
  readonly type: string;
}

type Fields = { readonly [key: string]: JsonValue | undefined };

const STAGES: readonly string[] = ['opened', 'grew', 'reminder', 'ended'] satisfies IncidentStage[];

/** Reads an event's body. An alarm in an unknown shape is still an alarm: it comes back as `other`, never as an error. */
export function readIncidentEvent(body: string): StuckIncident | UnreachableIncident | SubscriberIncident | OtherEvent {
  const event = fields(parsed(body));
  const data = fields(event.data);
  const type = text(event.type) ?? '';
  const stage = type.startsWith('incident.') ? type.slice('incident.'.length) : '';
  const other: OtherEvent = { kind: 'other', id: text(event.id) ?? '', type };
  const site = text(data.site);
  const at = instant(event.timestamp);
  const since = instant(data.since);
  if (!STAGES.includes(stage) || at === null || since === null) return other;
  const common: Common = {
    incidentId: text(data.incidentId) ?? '',
    stage: stage as IncidentStage,
    at,
    openedAt: instant(data.openedAt) ?? since,
    endedAt: instant(data.endedAt),
    since,
  };
  if (data.kind === 'subscriber') return subscriberIncident(common, data) ?? other;
  if (site === null) return other;
  if (data.kind === 'unreachable') {
    return {
      ...common,
      kind: 'unreachable',
      site,
      lastError: text(data.lastError),
      askedAgainEveryMs: whole(data.askedAgainEveryMs),
    };
  }
  const state = fields(data.state);
  const value = whole(state.value);
  const count = whole(data.count);
  if (data.kind !== 'stuck' || value === null || count === null) return other;
  return {
    ...common,
    kind: 'stuck',
    site,
    state: { value, name: text(state.name) ?? String(value) },
    count,
    peak: whole(data.peak) ?? count,
    limitMs: whole(data.limitMs),
    purchases: list(data.purchases).flatMap((id) => text(id) ?? []),
    waiting: list(data.waiting).flatMap((entry) => {
      const amount = digits(fields(entry).amount);
      const currency = text(fields(entry).currency);
      return amount === null || currency === null ? [] : [{ amount, currency }];
    }),
    movedOn: whole(data.movedOn),
  };
}

function subscriberIncident(common: Common, data: Fields): SubscriberIncident | null {
  const subscriber = text(data.subscriber);
  const trouble = SUBSCRIBER_TROUBLES.find((word) => word === data.trouble) ?? null;
  if (subscriber === null || (trouble === null && common.stage !== 'ended')) return null;
  return {
    ...common,
    kind: 'subscriber',
    subscriber,
    channel: text(data.channel),
    origin: text(data.origin),
    trouble,
    outcome: text(data.outcome),
    failures: whole(data.failures) ?? 0,
    failingSince: instant(data.failingSince),
    ourFailingSince: instant(data.ourFailingSince),
    lastError: text(data.lastError),
    nextTryAt: instant(data.nextTryAt),
    offSince: instant(data.offSince),
    waiting: whole(data.waiting) ?? 0,
    givenUp: whole(data.givenUp) ?? 0,
    countedTo: whole(data.countedTo),
    givenUpFrom: instant(data.givenUpFrom),
  };
}

function parsed(body: string): JsonValue {
  try {
    return parseExact(body);
  } catch {
    return null;
  }
}

function fields(value: JsonValue | undefined): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function text(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function whole(value: JsonValue | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

/** An amount, as text or as a number, with the digits it came with. */
function digits(value: JsonValue | undefined): string | null {
  if (typeof value === 'number') return String(value);
  return value !== undefined && isDecimal(value) ? value.rawJSON : text(value);
}

function instant(value: JsonValue | undefined): Instant | null {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}
