/**
 * Goes through recorded stays again under other settings, from moment to moment, and says what would have been said. It asks
 * the same questions as the judge (`judgement.ts`), at moments as far apart as its ticks. Deterministic, without I/O.
 */

import type { ChannelRule } from '../incidents/audience.ts';
import type { Detection } from '../incidents/detection.ts';
import { type AlertPolicy, type Incident, REOPENS_WITHIN, type Silence } from '../incidents/incident.ts';
import { isLeaf } from '../incidents/incident-tree.ts';
import { judge, type Message, type Overdue, type Told, weigh } from '../incidents/judgement.ts';
import type { Symptom } from '../incidents/symptom.ts';
import { type PollPolicy, policyOf } from '../polling/poll-plan.ts';
import type { Limit } from '../stays/dwell.ts';
import { createLearned } from '../stays/learned.ts';
import {
  asLeft,
  asOverdue,
  type RecordedOutage,
  type RecordedStay,
  type RehearsedStay,
  rehearseStay,
} from '../stays/recorded-stay.ts';
import type { SiteStay } from '../stays/stay.ts';
import type { Known } from '../stays/usual.ts';
import type { Instant, Milliseconds } from '../values/time.ts';
import { createCheckoutRehearsal, type RehearsedCheckouts } from './rehearsed-checkouts.ts';

/** The daemon's judge looks this often. */
const TICK: Milliseconds = 5_000;
/** What is usual is looked up again this often, as the judge does, and limits are learned. */
const USUAL_FOR: Milliseconds = 10 * 60_000;
const LEARN: Milliseconds = 60 * 60_000;

export interface RehearsalOptions {
  /** What is said before is not reported: it only teaches what is usual. */
  readonly from: Instant;
  readonly to: Instant;
  readonly policy: PollPolicy;
  readonly alerts: AlertPolicy;
  readonly channels: readonly ChannelRule[];
  readonly silences: readonly Silence[];
  readonly outages: readonly RecordedOutage[];
}

/** Something that would have been said. */
export interface RehearsedMessage extends Message {
  readonly at: Instant;
  readonly incident: Incident;
  /** Of a parent: the incidents it tells of. */
  readonly parts: readonly Incident[];
  /** That of the single state it is about; null for parents and for sites that do not answer. */
  readonly limit: Limit | null;
}

export interface RehearsalResult {
  readonly messages: readonly RehearsedMessage[];
  /** Messages about single stuck checkouts. */
  readonly checkouts: readonly RehearsedCheckouts[];
  /** Stays gone through, those of the time before included. */
  readonly stays: number;
  /** Purchases that would have been flagged. */
  readonly overdue: number;
  /** Incidents that no other one tells of: opened in the time, open when it began, and when it ended. */
  readonly opened: number;
  readonly openBefore: number;
  readonly openAfter: number;
  /** Of those opened, how many were over without anybody having been told. */
  readonly unsaid: number;
  /** Limits at the end, where any stay was: for settings that have them learned. */
  readonly limits: readonly { readonly site: string; readonly state: number; readonly limit: Limit }[];
}

export interface Rehearsal {
  /** Takes the next stays, in the order in which they began. */
  take(stays: readonly RecordedStay[]): void;
  finish(): RehearsalResult;
}

/** Something that happens to a stay. */
interface Happening {
  readonly at: Instant;
  /** Among those of one moment, the order in which stays came. */
  readonly place: number;
  readonly what: 'overdue' | 'left' | 'gone';
  readonly stay: RehearsedStay;
}

export function createRehearsal(options: RehearsalOptions): Rehearsal {
  const { from, to, policy, alerts, channels, silences, outages } = options;
  const learned = createLearned(policy);
  const outagesOf = Map.groupBy(outages, ({ site }) => site);
  const edges = outages.flatMap(({ noticedAt, until }) => (until === null ? [noticedAt] : [noticedAt, until])).toSorted(byTime);
  const places = new Map<string, { site: string; state: number }>();
  const waiting = new Map<string, Map<number, RecordedStay>>();
  const heard = new Map<string, Set<string>>();
  const messages: RehearsedMessage[] = [];
  const checkouts: RehearsedCheckouts[] = [];
  const singles = createCheckoutRehearsal({ channels, silences, alerts });
  /** Those that were opened in the time, as they are now. */
  const opened = new Map<string, Incident>();
  const said = new Set<string>();
  let detections: readonly Detection[] = [];
  let incidents: readonly Incident[] = [];
  /** Sorted when they are needed. */
  let coming: Happening[] = [];
  let clock: Instant | null = null;
  let lookAt: Instant | null = null;
  let learnAt = Number.NEGATIVE_INFINITY;
  let usualAt = Number.NEGATIVE_INFINITY;
  const usualOf = new Map<string, Known>();
  let count = 0;
  let overdue = 0;
  let made = 0;
  let openBefore: number | null = null;

  const plan = (recorded: RecordedStay): void => {
    const { site, state } = recorded;
    const limit = learned.limitOf(site, state).ms;
    const place = count++;
    if (limit === null) return;
    places.set(keyOf(recorded), { site, state });
    const stay = rehearseStay(recorded, { limit, policy: policyOf(policy, state), outages: outagesOf.get(site) ?? [] });
    const { leftAt, unwatchedAt, paidAt } = recorded;
    const add = (at: Instant | null, what: Happening['what']): void => {
      if (at !== null && at < to) coming.push({ at, place, what, stay });
    };
    add(stay.overdueAt, 'overdue');
    add(leftAt, 'left');
    if (stay.overdueAt === null) return;
    const gone = [unwatchedAt, paidAt].filter((at) => at !== null);
    if (gone.length > 0) add(Math.max(Math.min(...gone), stay.overdueAt), 'gone');
  };

  const happen = ({ at, place, what, stay }: Happening): SiteStay | null => {
    const key = keyOf(stay.recorded);
    const here = waiting.get(key) ?? new Map<number, RecordedStay>();
    waiting.set(key, here);
    if (what !== 'overdue') {
      here.delete(place);
      singles.over(place, at, what === 'left' ? stay.recorded.toState : null);
    }
    if (what === 'gone') return null;
    if (what === 'left') return asLeft(stay);
    here.set(place, stay.recorded);
    singles.stuck(place, stay.recorded, at);
    if (at >= from) overdue += 1;
    return asOverdue(stay);
  };

  const overdueNow = (): Overdue[] =>
    detections
      .flatMap(({ site, state, alarm }) => (alarm === null ? [] : [{ site, state, from: alarm.since }]))
      .map(({ site, state, from: first }) => {
        const here = [...(waiting.get(keyOf({ site, state }))?.values() ?? [])].filter(({ enteredAt }) => enteredAt >= first);
        const since = here.reduce((least, { enteredAt }) => Math.min(least, enteredAt), Number.POSITIVE_INFINITY);
        return {
          site,
          state,
          count: new Set(here.map(({ customer }) => customer)).size,
          since: here.length === 0 ? null : since,
        };
      });

  const symptomsAt = (now: Instant): Symptom[] =>
    outages
      .filter(({ noticedAt, until }) => noticedAt <= now && (until === null || now < until))
      .map(({ site, since }) => ({ kind: 'unreachable', site, state: null, subscriber: null, severity: 0, count: 1, since }));

  const usualAround = (site: string, state: number, now: Instant): Known => {
    if (now - usualAt >= USUAL_FOR) {
      usualOf.clear();
      usualAt = now;
    }
    const key = keyOf({ site, state });
    const usual = usualOf.get(key) ?? learned.usual(site, state, now);
    usualOf.set(key, usual);
    return usual;
  };

  const around = (now: Instant) => (site: string, state: number) => usualAround(site, state, now);

  const note = ({ incident, messages: told, parts }: Told, now: Instant): void => {
    if (opened.has(incident.id) || (incident.openedAt === now && now >= from)) opened.set(incident.id, incident);
    for (const { stage, channels: names } of told) {
      const before = heard.get(incident.id) ?? new Set();
      heard.set(incident.id, new Set([...before, ...names]));
      if (names.length > 0) said.add(incident.id);
      const limit = isLeaf(incident) ? learned.limitOf(incident.site!, incident.state!) : null;
      if (stage === 'opened' || stage === 'reopened') singles.takenOver([incident, ...parts], around(now));
      if (now >= from && names.length > 0) messages.push({ at: now, stage, channels: names, incident, parts, limit });
    }
  };

  /** One look of the judge. */
  const look = (now: Instant, happened: readonly Happening[]): void => {
    if (now >= from) openBefore ??= incidents.filter(speaks).length;
    const stays = happened.map(happen).filter((stay) => stay !== null);
    const open = incidents.filter(({ endedAt }) => endedAt === null);
    const weighed = weigh(detections, stays, { open, usual: (site, state) => usualAround(site, state, now) });
    learned.add(weighed);
    detections = weighed.detections;
    const speaking = new Set(open.map(({ id }) => id));
    const known = incidents.filter(
      ({ endedAt, kind, parent }) =>
        endedAt === null || (kind === 'stuck' && now - endedAt < REOPENS_WITHIN) || (parent !== null && speaking.has(parent)),
    );
    const judged = judge({
      now,
      detections,
      overdue: overdueNow(),
      symptoms: symptomsAt(now),
      incidents: known,
      silences,
      channels,
      heard: (incident) => [...(heard.get(incident) ?? [])],
      policy: alerts,
      newId: () => `rehearsed-${++made}`,
    });
    const looked = new Map(judged.detections.map((each) => [keyOf(each), each]));
    detections = detections.map((each) => looked.get(keyOf(each)) ?? each);
    const changed = new Map(judged.verdicts.map(({ incident }) => [incident.id, incident]));
    incidents = [
      ...known.map((incident) => changed.get(incident.id) ?? incident),
      ...[...changed.values()].filter(({ id }) => !known.some((incident) => incident.id === id)),
    ];
    for (const told of judged.verdicts) note(told, now);
    const told = singles.look(now, incidents, around(now));
    if (now >= from) checkouts.push(...told.messages);
    const next = [judged.lookAgainAt, told.lookAgainAt].filter((at) => at !== null);
    lookAt = next.length === 0 ? null : Math.min(...next);
  };

  /** Lives through everything before a moment. */
  const liveUntil = (end: Instant): void => {
    coming.sort((a, b) => a.at - b.at || a.place - b.place);
    let next = 0;
    for (;;) {
      const wake = Math.min(
        coming[next]?.at ?? Number.POSITIVE_INFINITY,
        edges[0] ?? Number.POSITIVE_INFINITY,
        lookAt ?? Number.POSITIVE_INFINITY,
      );
      const now = Math.max(Math.ceil(wake / TICK) * TICK, clock === null ? Number.NEGATIVE_INFINITY : clock + TICK);
      if (now >= end) break;
      let last = next;
      while (last < coming.length && coming[last]!.at <= now) last += 1;
      while (edges.length > 0 && edges[0]! <= now) edges.shift();
      look(now, coming.slice(next, last));
      next = last;
      clock = now;
    }
    coming = coming.slice(next);
  };

  const learn = (at: Instant): void => {
    const hour = Math.floor(at / LEARN) * LEARN;
    if (hour <= learnAt) return;
    liveUntil(hour);
    learned.learn(hour);
    learnAt = hour;
  };

  return {
    take: (stays) => {
      for (const stay of stays) {
        learn(stay.enteredAt);
        plan(stay);
      }
      // Those that follow began later, and nothing happens to them before.
      const last = stays.at(-1);
      if (last !== undefined) liveUntil(last.enteredAt);
    },
    finish: () => {
      liveUntil(to);
      learned.learn(to);
      const own = [...opened.values()].filter(({ parent }) => parent === null);
      const openAfter = incidents.filter(speaks).length;
      return {
        messages,
        checkouts,
        stays: count,
        overdue,
        opened: own.length,
        openBefore: openBefore ?? openAfter,
        openAfter,
        unsaid: own.filter(({ id, endedAt }) => endedAt !== null && !said.has(id)).length,
        limits: [...places.values()]
          .map(({ site, state }) => ({ site, state, limit: learned.limitOf(site, state) }))
          .toSorted((a, b) => (a.site < b.site ? -1 : a.site > b.site ? 1 : a.state - b.state)),
      };
    },
  };
}

/** Whether an incident is open and none other tells of it. */
function speaks({ endedAt, parent }: Incident): boolean {
  return endedAt === null && parent === null;
}

function byTime(a: Instant, b: Instant): number {
  return a - b;
}

function keyOf({ site, state }: { readonly site: string; readonly state: number }): string {
  return `${site} ${state}`;
}
