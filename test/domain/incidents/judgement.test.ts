import { beforeEach, describe, expect, test } from 'vitest';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import type { Detection } from '../../../src/domain/incidents/detection.ts';
import type { Incident, Silence } from '../../../src/domain/incidents/incident.ts';
import { type IncidentVerdict, judge, type StuckCount, weigh } from '../../../src/domain/incidents/judgement.ts';
import type { Symptom } from '../../../src/domain/incidents/symptom.ts';
import type { SiteStay } from '../../../src/domain/stays/stay.ts';
import type { Usual } from '../../../src/domain/stays/usual.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const T = Date.UTC(2026, 10, 20, 9, 15);
const LIMIT = 15 * MINUTE;
const policy = { groupWait: 30 * SECOND, quietFor: 10 * MINUTE, groupInterval: 5 * MINUTE, repeatInterval: 4 * HOUR };
const busy: Usual = { share: 0.03, perDay: 400 };

const ALL: ChannelRule = { name: '@slack', sites: null, severity: 'warning' };
const FI: ChannelRule = { name: '@slack-fi', sites: ['fi'], severity: 'warning' };
const URGENT: ChannelRule = { name: '@slack-urgent', sites: null, severity: 'critical' };

/** A judge's memory from one moment to the next, as the database keeps it. */
let detections: readonly Detection[];
let incidents: Incident[];
let alerted: Map<string, Set<string>>;
let customers: number;
let silences: Silence[];
let channels: ChannelRule[];
let symptoms: Symptom[];
beforeEach(() => {
  detections = [];
  incidents = [];
  alerted = new Map();
  customers = 0;
  silences = [];
  channels = [ALL];
  symptoms = [];
});

const stay = (site: string, state: number, outcome: SiteStay['outcome'], enteredAt: number, at: number): SiteStay => {
  customers += 1;
  const toState = outcome === 'overdue' ? null : 2;
  const dwell = { shortest: at - enteredAt, longest: at - enteredAt };
  return {
    site,
    state,
    outcome,
    toState,
    enteredAt,
    at,
    ...dwell,
    customer: `c-${customers}`,
    firstSight: false,
    foundLate: false,
  };
};
/** Customers who came a minute apart, the last of them just in time to be stuck now. */
const overdueStays = (site: string, state: number, count: number, now: number): SiteStay[] =>
  Array.from({ length: count }, (_, index) => {
    const at = now - (count - 1 - index) * MINUTE;
    return stay(site, state, 'overdue', at - LIMIT, at);
  });
const overdue = (site: string, state: number, count: number): StuckCount => ({ site, state, count, since: T - LIMIT });

/** One look; answers what was said as `stage incident-place → channels`. */
const look = (now: number, { stays = [], waiting = [] }: { stays?: SiteStay[]; waiting?: StuckCount[] } = {}): string[] => {
  const open = incidents.filter(({ endedAt }) => endedAt === null);
  const weighed = weigh(detections, stays, { open, usual: () => busy });
  const judgement = judge({
    now,
    detections: weighed.detections,
    overdue: waiting,
    symptoms,
    incidents,
    silences,
    channels,
    alertedChannels: (incident) => [...(alerted.get(incident) ?? [])],
    policy,
    newId: () => `inc_${incidents.length}_${Math.random()}`,
  });
  const looked = new Map(judgement.detections.map((each) => [`${each.site} ${each.state}`, each]));
  detections = weighed.detections.map((each) => looked.get(`${each.site} ${each.state}`) ?? each);
  for (const { incident, messages } of judgement.verdicts) {
    incidents = [...incidents.filter(({ id }) => id !== incident.id), incident];
    for (const { channels: names } of messages) {
      alerted.set(incident.id, new Set([...(alerted.get(incident.id) ?? []), ...names]));
    }
  }
  return judgement.verdicts.flatMap(said);
};
const said = ({ incident, messages, parts }: IncidentVerdict): string[] =>
  messages.map(({ stage, channels: names }) => {
    const places = parts.map(({ site, state }) => `${site}/${state}`).sort();
    const place = places.length > 0 ? `[${places.join(' ')}]` : `${incident.site ?? incident.subscriber}/${incident.state}`;
    return `${stage} ${place} → ${names.join(' ')}`;
  });
/** Breaks a page and lives until people know. */
const breakPage = (site: string, state: number, now: number): string[] => {
  const waiting = [overdue(site, state, 4)];
  return [...look(now, { stays: overdueStays(site, state, 4, now), waiting }), ...look(now + 31 * SECOND, { waiting })];
};

/** Nobody is stuck from now on, but at `waiting`: lives until that must have ended the alarm, and the incident. */
const mend = (now: number, waiting: StuckCount[] = []): string[] =>
  [0, 2 * HOUR, 2 * HOUR + 10 * MINUTE].flatMap((after) => look(now + after, { waiting }));

describe('a broken page', () => {
  test('is told once it was noticed, and its end once nobody was overdue for long enough', () => {
    expect(breakPage('se', 6, T)).toEqual(['opened se/6 → @slack']);
    expect(look(T + 10 * MINUTE, { waiting: [overdue('se', 6, 5)] })).toEqual([]);
    expect(look(T + 20 * MINUTE)).toEqual([]);
    expect(look(T + 49 * MINUTE)).toEqual([]);
    expect(mend(T + 50 * MINUTE)).toEqual(['ended se/6 → @slack']);
    expect(incidents[0]).toMatchObject({ peak: 5, count: 0, alarm: { rule: 'share', overdue: 4, entrants: 4 } });
  });

  test('in which nobody is stuck any more says when it ends, and ends then', () => {
    breakPage('se', 6, T);
    expect(incidents[0]!.endsAt).toBeNull();
    look(T + 20 * MINUTE);
    expect(incidents[0]).toMatchObject({ count: 0, quietSince: null, endsAt: expect.any(Number) });
    look(T + 22 * MINUTE, { waiting: [overdue('se', 6, 1)] });
    expect(incidents[0]!.endsAt).toBeNull();
    look(T + 25 * MINUTE);
    const endsAt = incidents[0]!.endsAt!;
    expect(endsAt).toBeGreaterThanOrEqual(T + 65 * MINUTE);
    expect([endsAt - 10 * MINUTE, endsAt - 1].flatMap((at) => look(at))).toEqual([]);
    expect(incidents[0]).toMatchObject({ quietSince: endsAt - 10 * MINUTE, endsAt });
    expect(look(endsAt)).toEqual(['ended se/6 → @slack']);
  });

  test('is not told again while nobody is there, however long that lasts', () => {
    breakPage('se', 6, T);
    expect(look(T + 5 * HOUR, { waiting: [overdue('se', 6, 0)] })).toEqual([]);
  });

  test('that is broken again soon is the same incident', () => {
    breakPage('se', 6, T);
    mend(T + 20 * MINUTE);
    expect(breakPage('se', 6, T + 3 * HOUR)).toEqual(['reopened se/6 → @slack']);
    expect(incidents).toHaveLength(1);
    expect(incidents[0]).toMatchObject({ openedAt: T, reopenedAt: T + 3 * HOUR, endedAt: null });
  });

  test('counts who got on after it came back apart from those before its first end', () => {
    const late = (count: number, now: number) =>
      Array.from({ length: count }, () => ({ ...stay('se', 6, 'late', now - 20 * MINUTE, now), toState: 2 }));
    breakPage('se', 6, T);
    look(T + 5 * MINUTE, { stays: late(3, T + 5 * MINUTE), waiting: [overdue('se', 6, 1)] });
    mend(T + 20 * MINUTE);
    expect(incidents[0]).toMatchObject({ endedAt: expect.any(Number), movedOn: 3 });
    breakPage('se', 6, T + 3 * HOUR);
    look(T + 3 * HOUR + 5 * MINUTE, { stays: late(2, T + 3 * HOUR + 5 * MINUTE), waiting: [overdue('se', 6, 2)] });
    expect(incidents[0]).toMatchObject({ reopenedAt: T + 3 * HOUR, movedOn: 2 });
  });

  test('that is broken again much later is another one', () => {
    breakPage('se', 6, T);
    mend(T + 20 * MINUTE);
    expect(breakPage('se', 6, T + 3 * HOUR + MINUTE)).toEqual(['opened se/6 → @slack']);
    expect(incidents).toHaveLength(2);
  });
});

describe('what has one cause', () => {
  test('two states of a site: the second is told with the first, once, and so is their end', () => {
    breakPage('se', 4, T);
    const waiting = [overdue('se', 4, 4), overdue('se', 6, 4)];
    expect(look(T + 5 * MINUTE, { stays: overdueStays('se', 6, 4, T + 5 * MINUTE), waiting })).toEqual([]);
    expect(look(T + 6 * MINUTE, { waiting })).toEqual(['opened [se/4 se/6] → @slack']);
    // One of them is mended: that is no news yet.
    expect(mend(T + 20 * MINUTE, [overdue('se', 6, 4)])).toEqual([]);
    for (const at of [3, 8]) expect(look(T + at * HOUR)).toEqual([]);
    expect(look(T + 8 * HOUR + 10 * MINUTE)).toEqual(['ended [se/4 se/6] → @slack']);
    expect(incidents.every(({ endedAt }) => endedAt !== null)).toBe(true);
  });

  test('several sites are one incident, for the channels of each of them, and urgent', () => {
    channels = [ALL, FI, URGENT];
    expect(breakPage('se', 6, T)).toEqual(['opened se/6 → @slack']);
    const waiting = [overdue('se', 6, 4), overdue('fi', 6, 4)];
    look(T + 5 * MINUTE, { stays: overdueStays('fi', 6, 4, T + 5 * MINUTE), waiting });
    expect(look(T + 6 * MINUTE, { waiting })).toEqual(['opened [fi/6 se/6] → @slack @slack-fi @slack-urgent']);
    expect(mend(T + 20 * MINUTE)).toEqual(['ended [fi/6 se/6] → @slack @slack-fi @slack-urgent']);
  });
});

describe('an incident that became part of another one', () => {
  const everything = { kind: null, site: null, state: null, subscriber: null };

  test('within a silence: the channels alerted of the first are alerted that all is over', () => {
    breakPage('se', 4, T);
    silences = [{ ...everything, startsAt: T + MINUTE, endsAt: T + 9 * HOUR }];
    const waiting = [overdue('se', 4, 4), overdue('se', 6, 4)];
    expect(look(T + 5 * MINUTE, { stays: overdueStays('se', 6, 4, T + 5 * MINUTE), waiting })).toEqual([]);
    expect(look(T + 6 * MINUTE, { waiting })).toEqual([]);
    expect(mend(T + 20 * MINUTE)).toEqual(['ended [se/4 se/6] → @slack']);
  });

  test('and comes back alone is told by itself, to those whom it concerns, and no more urgent than it is', () => {
    channels = [ALL, FI, URGENT];
    const both = [overdue('se', 6, 4), overdue('fi', 6, 4)];
    look(T, { stays: [...overdueStays('se', 6, 4, T), ...overdueStays('fi', 6, 4, T)], waiting: both });
    expect(look(T + 31 * SECOND, { waiting: both })).toEqual(['opened [fi/6 se/6] → @slack @slack-fi @slack-urgent']);
    expect(mend(T + 20 * MINUTE)).toHaveLength(1);
    expect(breakPage('se', 6, T + 2 * HOUR + 50 * MINUTE)).toEqual(['opened se/6 → @slack']);
    const back = incidents.find(({ site, endedAt }) => site === 'se' && endedAt === null)!;
    expect(back).toMatchObject({ parent: null, severity: 0, since: T - LIMIT, reopenedAt: T + 2 * HOUR + 50 * MINUTE });
  });

  test('two that ended together do not both come back: there is one of its kind', () => {
    const all = ['a', 'b', 'c', 'd'].map((site) => overdue(site, 6, 4));
    const broken = (sites: string[], now: number) => {
      const waiting = all.filter(({ site }) => sites.includes(site));
      look(now, { stays: sites.flatMap((site) => overdueStays(site, 6, 4, now)), waiting });
      look(now + 31 * SECOND, { waiting });
    };
    broken(['a', 'b'], T);
    const ended = T + 20 * MINUTE;
    const isOver = (incident: Incident): Incident => ({ ...incident, endedAt: ended, quietSince: ended - 10 * MINUTE });
    [detections, incidents] = [[], incidents.map(isOver)];
    const first = incidents;
    incidents = [];
    broken(['c', 'd'], T + 5 * MINUTE);
    [detections, incidents] = [[], [...first, ...incidents.map(isOver)]];
    broken(['a', 'c'], T + 25 * MINUTE);
    const open = incidents.filter(({ endedAt, site }) => endedAt === null && site === null);
    expect(open).toHaveLength(1);
    const ids = new Set(incidents.filter(({ endedAt }) => endedAt === null).map(({ id }) => id));
    expect(incidents.every(({ endedAt, parent }) => endedAt !== null || parent === null || ids.has(parent))).toBe(true);
  });
});

describe('channels', () => {
  test('that want only what is urgent hear of an incident when it becomes so, and of its end', () => {
    channels = [ALL, URGENT];
    breakPage('se', 6, T);
    const waiting = [overdue('se', 6, 14)];
    const more = overdueStays('se', 6, 10, T + 10 * MINUTE);
    expect(look(T + 10 * MINUTE, { stays: more, waiting })).toEqual(['grew se/6 → @slack', 'opened se/6 → @slack-urgent']);
    expect(mend(T + 20 * MINUTE)).toEqual(['ended se/6 → @slack @slack-urgent']);
  });

  test('are alerted of nothing in a silence but the end of what they know', () => {
    breakPage('se', 6, T);
    const everything = { kind: null, site: null, state: null, subscriber: null };
    silences = [{ ...everything, startsAt: T + MINUTE, endsAt: T + 9 * HOUR }];
    expect(breakPage('fi', 6, T + 40 * MINUTE)).toEqual([]);
    expect(look(T + 41 * MINUTE, { waiting: [overdue('se', 6, 40), overdue('fi', 6, 4)] })).toEqual([]);
    expect(mend(T + 50 * MINUTE, [overdue('fi', 6, 4)])).toEqual(['ended se/6 → @slack']);
    expect(look(T + 9 * HOUR, { waiting: [overdue('fi', 6, 4)] })).toEqual(['opened fi/6 → @slack']);
  });

  test('that were given another name are told what is still open, as if it had just begun, and its end', () => {
    breakPage('se', 6, T);
    channels = [{ ...ALL, name: '@slack-ops' }];
    const waiting = [overdue('se', 6, 4)];
    expect(look(T + 5 * HOUR, { waiting })).toEqual(['opened se/6 → @slack-ops']);
    expect(look(T + 10 * HOUR, { waiting })).toEqual([]);
    for (const at of [11, 30]) look(T + at * HOUR);
    expect(look(T + 31 * HOUR)).toEqual(['ended se/6 → @slack-ops']);
  });

  test('do not hear of their own trouble', () => {
    channels = [ALL, URGENT];
    symptoms = [{ kind: 'subscriber', site: null, state: null, subscriber: '@slack', severity: 4, count: 3, since: T }];
    look(T);
    expect(look(T + 31 * SECOND)).toEqual(['opened @slack/null → @slack-urgent']);
  });
});

describe('what is learned', () => {
  test('comes from good exits on calm days, and from nobody who was there before us', () => {
    const calm = [stay('se', 6, 'well', T, T + 40 * SECOND), { ...stay('se', 6, 'overdue', T, T + LIMIT), firstSight: true }];
    const first = weigh([], calm, { open: [], usual: () => busy });
    expect(first.stays).toEqual([{ site: 'se', state: 6, day: '2026-11-20', calm: true, well: 1, overdue: 0, other: 0 }]);
    expect(first.dwell.map(({ shortest, longest }) => [shortest, longest])).toEqual([[1, 1]]);
    expect(first.firstLooks).toEqual([{ site: 'se', at: T + LIMIT }]);
  });

  test('is nothing while an incident is open', () => {
    breakPage('se', 6, T);
    const open = incidents.filter(({ endedAt }) => endedAt === null);
    const during = weigh(detections, [stay('se', 6, 'well', T, T + 40 * SECOND)], { open, usual: () => busy });
    expect(during.dwell).toEqual([]);
    expect(during.stays).toMatchObject([{ calm: false, well: 1 }]);
  });
});
