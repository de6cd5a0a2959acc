/**
 * Goes through recorded stays again under other settings, from moment to moment, and answers which alerts would have been sent. It asks
 * the same questions as the judge (`judgement.ts`), at moments as far apart as its ticks. Deterministic, without I/O.
 */

import type { ChannelRule } from '../incidents/audience.ts';
import type { AlertPolicy, Silence } from '../incidents/incident.ts';
import { isLeaf } from '../incidents/incident-tree.ts';
import { type IncidentVerdict, weigh } from '../incidents/judgement.ts';
import type { Symptom } from '../incidents/symptom.ts';
import { type PollPolicy, policyOf } from '../polling/poll-plan.ts';
import { createLearned, type Learned } from '../stays/learned.ts';
import { asLeft, asStuck, type RecordedOutage, type RecordedStay, rehearseStay } from '../stays/recorded-stay.ts';
import { placeKey, type SiteStay } from '../stays/stay.ts';
import type { CountedUsual } from '../stays/usual.ts';
import { earliest, HOUR, type Instant, type Milliseconds } from '../values/time.ts';
import { applyHappening, type Happening, happeningsOf, stuckOf, type WaitingStays } from './happenings.ts';
import { judgeOnce, type Memory, NOTHING_KNOWN, openOf } from './judge-look.ts';
import { countBefore, newRehearsalCounts, noteMessage, type RehearsalCounts, resultOf } from './rehearsal-result.ts';
import { type CheckoutRehearsal, createCheckoutRehearsal } from './rehearsed-checkouts.ts';
import { createRiskRehearsal } from './rehearsed-risks.ts';

/** The daemon's judge looks this often. */
const TICK: Milliseconds = 5_000;
/** How often the usual numbers are looked up again, as the judge does, and how often limits are learned. */
const USUAL_FOR: Milliseconds = 10 * 60_000;
const LEARN: Milliseconds = HOUR;

export interface RehearsalOptions {
  /** Alerts before are not reported: the time only teaches what is usual. */
  readonly from: Instant;
  readonly to: Instant;
  readonly policy: PollPolicy;
  readonly alerts: AlertPolicy;
  readonly channels: readonly ChannelRule[];
  readonly silences: readonly Silence[];
  readonly outages: readonly RecordedOutage[];
}

/** All that a rehearsal remembers. Only this file writes it; `waiting` is written by happenings.ts, `counts` by rehearsal-result.ts, too. */
interface State {
  readonly options: RehearsalOptions;
  readonly outagesOf: ReadonlyMap<string, readonly RecordedOutage[]>;
  readonly learned: Learned;
  readonly singles: CheckoutRehearsal;
  readonly risks: ReturnType<typeof createRiskRehearsal>;
  /** The usual numbers as of `usualAt`, by place. */
  readonly usualOf: Map<string, CountedUsual>;
  usualAt: Instant;
  learnAt: Instant;
  /** Where stays have a limit, by their key. */
  readonly places: Map<string, { readonly site: string; readonly state: number }>;
  /** Stays taken so far. */
  stays: number;
  readonly waiting: WaitingStays;
  readonly counts: RehearsalCounts;
  memory: Memory;
  /** Changes that have not come yet; sorted when they are needed. */
  coming: Happening[];
  /** When outages are noticed and end, of those moments that have not come yet. */
  edges: readonly Instant[];
  /** The last look of the judge. */
  lookedAt: Instant;
  /** When the judge wants to look again even if nothing happens. */
  lookAgainAt: Instant | null;
}

export function createRehearsal(options: RehearsalOptions) {
  const state = newState(options);
  return {
    /** Takes the next stays, in the order in which they began. */
    take: (stays: readonly RecordedStay[]): void => {
      for (const stay of stays) {
        learnUntil(state, stay.enteredAt);
        plan(state, stay);
      }
    },
    finish: () => {
      liveUntil(state, options.to);
      state.learned.learn(options.to);
      const { learned, places, memory, stays, counts, risks } = state;
      const limits = [...places.values()].map((place) => ({ ...place, limit: learned.limitOf(place.site, place.state) }));
      return resultOf(counts, { stays, incidents: memory.incidents, limits, atRisk: risks.counts() });
    },
  };
}

function newState(options: RehearsalOptions): State {
  const { outages } = options;
  return {
    options,
    outagesOf: Map.groupBy(outages, ({ site }) => site),
    learned: createLearned(options.policy),
    singles: createCheckoutRehearsal(options),
    risks: createRiskRehearsal(options),
    usualOf: new Map(),
    usualAt: Number.NEGATIVE_INFINITY,
    learnAt: Number.NEGATIVE_INFINITY,
    places: new Map(),
    stays: 0,
    waiting: new Map(),
    counts: newRehearsalCounts(options.from),
    memory: NOTHING_KNOWN,
    coming: [],
    edges: outages
      .flatMap(({ noticedAt, until }) => (until === null ? [noticedAt] : [noticedAt, until]))
      .toSorted((a, b) => a - b),
    lookedAt: Number.NEGATIVE_INFINITY,
    lookAgainAt: null,
  };
}

/** Lives through each hour and learns limits from it, so that no more than an hour's changes are in memory. */
function learnUntil(state: State, at: Instant): void {
  const hour = Math.floor(at / LEARN) * LEARN;
  if (hour <= state.learnAt) return;
  liveUntil(state, hour);
  state.learned.learn(hour);
  state.learnAt = hour;
}

/** Finds out what will happen to a stay, under the limit of now. */
function plan(state: State, recorded: RecordedStay): void {
  const { learned, options, outagesOf, places } = state;
  const { site, state: number } = recorded;
  const place = state.stays;
  state.stays += 1;
  const limit = learned.limitOf(site, number).ms;
  if (limit === null) return;
  places.set(placeKey(recorded), { site, state: number });
  const policy = policyOf(options.policy, number);
  const stay = rehearseStay(recorded, { limit, policy, outages: outagesOf.get(site) ?? [] });
  state.risks.take(stay);
  state.coming.push(...happeningsOf(stay, place, options.to));
}

/** Lives through everything before a moment. */
function liveUntil(state: State, end: Instant): void {
  state.coming.sort((a, b) => a.at - b.at || a.place - b.place);
  let next = 0;
  for (;;) {
    const now = nextLook(state, state.coming[next]);
    if (now >= end) break;
    let last = next;
    while (last < state.coming.length && state.coming[last]!.at <= now) last += 1;
    state.edges = state.edges.filter((at) => at > now);
    look(state, now, state.coming.slice(next, last));
    next = last;
  }
  state.coming = state.coming.slice(next);
}

/** The tick of the judge at which something has happened, or at which it wants to look again. */
function nextLook({ edges, lookAgainAt, lookedAt }: State, happening: Happening | undefined): Instant {
  const never = Number.POSITIVE_INFINITY;
  const wake = Math.min(happening?.at ?? never, edges[0] ?? never, lookAgainAt ?? never);
  return Math.max(Math.ceil(wake / TICK) * TICK, lookedAt + TICK);
}

function look(state: State, now: Instant, happened: readonly Happening[]): void {
  const { options, learned, counts, singles } = state;
  const { silences, channels, alerts: policy } = options;
  const usual = (site: string, number: number): CountedUsual => usualAround(state, site, number, now);
  countBefore(counts, now, state.memory.incidents);
  const stays = happened.map((happening) => happen(state, happening)).filter((stay) => stay !== null);
  const weighed = weigh(state.memory.detections, stays, { open: openOf(state.memory), usual });
  learned.add(weighed);
  const { detections } = weighed;
  const overdue = stuckOf(state.waiting, detections);
  const symptoms = symptomsAt(options.outages, now);
  const { memory, judgement } = judgeOnce(state.memory, { now, detections, overdue, symptoms, silences, channels, policy });
  for (const verdict of judgement.verdicts) note(state, verdict, now, usual);
  const checkouts = singles.look(now, memory.incidents, usual);
  if (now >= counts.from) counts.checkouts.push(...checkouts.messages);
  const again = [judgement.lookAgainAt, checkouts.lookAgainAt].filter((at) => at !== null);
  state.memory = memory;
  state.lookedAt = now;
  state.lookAgainAt = earliest(again);
}

/** Answers what the judge weighs of it; null when it is nothing. */
function happen({ waiting, singles, counts }: State, happening: Happening): SiteStay | null {
  const { at, place, what, stay } = happening;
  applyHappening(waiting, happening);
  if (what === 'stuck') {
    singles.stuck(place, stay.recorded, at);
    if (at >= counts.from) counts.overdue += 1;
    return asStuck(stay);
  }
  singles.over(place, at, what === 'left' ? stay.recorded.toState : null);
  return what === 'left' ? asLeft(stay) : null;
}

function note(state: State, { incident, messages, parts }: IncidentVerdict, now: Instant, usual: UsualOf): void {
  const { counts, learned, singles } = state;
  if (now >= counts.from) counts.seen.set(incident.id, incident);
  for (const { stage, channels } of messages) {
    const limit = isLeaf(incident) ? learned.limitOf(incident.site!, incident.state!) : null;
    if (stage === 'opened' || stage === 'reopened') singles.takenOver([incident, ...parts], usual);
    noteMessage(counts, { at: now, stage, channels, incident, parts, limit });
  }
}

type UsualOf = (site: string, state: number) => CountedUsual;

function usualAround(state: State, site: string, number: number, now: Instant): CountedUsual {
  if (now - state.usualAt >= USUAL_FOR) {
    state.usualOf.clear();
    state.usualAt = now;
  }
  const key = placeKey({ site, state: number });
  const usual = state.usualOf.get(key) ?? state.learned.usual(site, number, now);
  state.usualOf.set(key, usual);
  return usual;
}

/** The sites of which no purchase was read at a moment. */
function symptomsAt(outages: readonly RecordedOutage[], now: Instant): Symptom[] {
  return outages
    .filter(({ noticedAt, until }) => noticedAt <= now && (until === null || now < until))
    .map(({ site, since, severity }) => ({
      kind: 'unreachable',
      site,
      state: null,
      subscriber: null,
      severity,
      count: 1,
      since,
    }));
}
