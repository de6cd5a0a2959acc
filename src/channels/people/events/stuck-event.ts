/** Events about stuck purchases, read back from their body. */

import type { NamedState } from '../../../domain/purchases/states.ts';
import type { Instant, Milliseconds } from '../../../domain/values/time.ts';
import { count, digits, type Fields, fields, instant, list, quantity, share, state, text } from './event-fields.ts';
import type { IncidentHead } from './incident-head.ts';

/** Customers who stay in one state of one site. */
export interface StuckPart {
  readonly site: string;
  readonly state: NamedState;
  readonly count: number;
  readonly peak: number;
  readonly ended: boolean;
}

/** How long customers take who get on, and where that is known from. */
export interface Working {
  readonly usualMs: Milliseconds | null;
  readonly p95Ms: Milliseconds | null;
  readonly purchases: number | null;
  readonly source: 'learned' | 'pooled' | 'configured' | 'default' | null;
}

/** What the incident rests on, as it was when it was noticed. */
export interface ToldAlarm {
  readonly rule: 'share' | 'sparse';
  readonly since: Instant | null;
  readonly entrants: number | null;
  readonly overdue: number | null;
  readonly usualShare: number | null;
  readonly perDay: number | null;
  readonly falseAlarmEvery: number | null;
}

/** What it was, as an operator said. */
export interface Answer {
  readonly cause: string;
  readonly note: string | null;
  readonly by: string | null;
  readonly at: Instant | null;
  readonly site: string | null;
  readonly state: NamedState | null;
}

export interface StuckIncident extends IncidentHead {
  readonly kind: 'stuck';
  /** Null: several sites. */
  readonly site: string | null;
  /** Null: several states. */
  readonly state: NamedState | null;
  /** Customers who are overdue now, and at the worst. */
  readonly count: number;
  readonly peak: number;
  /** One for each state of each site that it is about; at least one. */
  readonly parts: readonly StuckPart[];
  readonly limitMs: Milliseconds | null;
  readonly dwell: Working | null;
  readonly alarm: ToldAlarm | null;
  /** Customers counted since the first one who speaks for it, and those of them who became overdue; null when not known. */
  readonly lately: { readonly entrants: number; readonly overdue: number } | null;
  /** From the first customer who speaks for it until it was noticed. */
  readonly noticedAfterMs: Milliseconds | null;
  /** The oldest few. */
  readonly purchases: readonly string[];
  readonly waiting: readonly { readonly amount: string; readonly currency: string }[];
  /** Purchases whose amount nobody knows. */
  readonly unpriced: number;
  /** The likely ones, the likeliest first: a key of domain/incidents/causes.ts, and what speaks for it. */
  readonly causes: readonly { readonly cause: string; readonly why: string | null }[];
  /** What it was the last time this happened. */
  readonly earlier: Answer | null;
  /** What it was this time. */
  readonly answer: Answer | null;
  /** How many of those overdue left well after all; told at the end. */
  readonly movedOn: number | null;
  /** Incidents that are told with this one. */
  readonly includes: readonly string[];
  /** What becomes of alerts about single stuck checkouts; null when nothing changes. */
  readonly singles: Singles | null;
}

/** Single alerts rest until the incident is over, or (`until` is null) incidents alert instead from here on. */
export interface Singles {
  readonly until: 'over' | null;
  readonly counted: number;
  readonly perDay: number | null;
}

/** Reads what an event says of stuck purchases; null when it does not say where or how many. */
export function readStuck(head: IncidentHead, data: Fields): StuckIncident | null {
  const site = text(data.site);
  const stateOfAll = state(data.state);
  const total = count(data.count);
  if (total === null) return null;
  const peak = Math.max(total, count(data.peak) ?? 0);
  const told = list(data.parts).flatMap((part) => readPart(fields(part)) ?? []);
  const only = site !== null && stateOfAll !== null ? { site, state: stateOfAll, count: total, peak, ended: false } : null;
  const parts = told.length === 0 && only !== null ? [only] : told;
  if (parts.length === 0) return null;
  return {
    ...head,
    kind: 'stuck',
    site,
    state: stateOfAll,
    count: total,
    peak,
    parts,
    limitMs: count(data.limitMs),
    dwell: readWorking(fields(data.dwell)),
    alarm: readAlarm(fields(data.alarm)),
    lately: readLately(fields(data.lately)),
    noticedAfterMs: count(data.noticedAfterMs),
    purchases: list(data.purchases).flatMap((id) => text(id) ?? []),
    waiting: list(data.waiting).flatMap((entry) => {
      const { amount, currency } = fields(entry);
      const [known, unit] = [digits(amount), text(currency)];
      return known === null || unit === null ? [] : [{ amount: known, currency: unit }];
    }),
    unpriced: count(data.unpriced) ?? 0,
    causes: list(data.causes).flatMap((entry) => {
      const cause = text(fields(entry).cause);
      return cause === null ? [] : [{ cause, why: text(fields(entry).why) }];
    }),
    earlier: readAnswer(fields(data.earlier)),
    answer: readAnswer(fields(data.answer)),
    movedOn: count(data.movedOn),
    includes: list(data.includes).flatMap((id) => text(id) ?? []),
    singles: readSingles(fields(data.singles)),
  };
}

function readPart(part: Fields): StuckPart | null {
  const site = text(part.site);
  const itsState = state(part.state);
  if (site === null || itsState === null) return null;
  const now = count(part.count) ?? 0;
  return { site, state: itsState, count: now, peak: Math.max(now, count(part.peak) ?? 0), ended: part.ended === true };
}

function readWorking({ usualMs, p95Ms, purchases, source }: Fields): Working | null {
  const sources = ['learned', 'pooled', 'configured', 'default'] as const;
  const known = {
    usualMs: count(usualMs),
    p95Ms: count(p95Ms),
    purchases: count(purchases),
    source: sources.find((word) => word === source) ?? null,
  };
  return Object.values(known).every((value) => value === null) ? null : known;
}

function readAlarm(alarm: Fields): ToldAlarm | null {
  if (alarm.rule !== 'share' && alarm.rule !== 'sparse') return null;
  return {
    rule: alarm.rule,
    since: instant(alarm.since),
    entrants: count(alarm.entrants),
    overdue: count(alarm.overdue),
    usualShare: share(alarm.usualShare),
    perDay: quantity(alarm.perDay),
    falseAlarmEvery: quantity(alarm.falseAlarmEvery),
  };
}

function readLately(lately: Fields): StuckIncident['lately'] {
  const [entrants, overdue] = [count(lately.entrants), count(lately.overdue)];
  return entrants === null || overdue === null ? null : { entrants, overdue };
}

function readSingles({ until, counted, perDay }: Fields): Singles | null {
  const stays = count(counted);
  return stays === null ? null : { until: until === 'over' ? 'over' : null, counted: stays, perDay: quantity(perDay) };
}

function readAnswer(answer: Fields): Answer | null {
  const cause = text(answer.cause);
  if (cause === null) return null;
  return {
    cause,
    note: text(answer.note),
    by: text(answer.by),
    at: instant(answer.at),
    site: text(answer.site),
    state: state(answer.state),
  };
}
