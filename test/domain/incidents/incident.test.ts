import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Incident,
  judgeIncident,
  levelOf,
  nextReminderAt,
  openIncident,
  reopened,
  type Silence,
  silencedUntil,
} from '../../../src/domain/incidents/incident.ts';
import { REPLICA_TROUBLES } from '../../../src/domain/incidents/replica-trouble.ts';
import type { Symptom } from '../../../src/domain/incidents/symptom.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const policy = { groupWait: 30 * SECOND, quietFor: 10 * MINUTE, groupInterval: 5 * MINUTE, repeatInterval: 4 * HOUR };
const T = Date.UTC(2026, 10, 20, 9, 15);

const symptom = (count: number, since = T - MINUTE): Symptom => ({
  kind: 'stuck',
  site: 'se',
  state: 6,
  subscriber: null,
  severity: 0,
  count,
  since,
});
const judge = (before: Incident, now: number, count: number, silent: number | null = null) =>
  judgeIncident(before, count === 0 ? null : symptom(count), now, policy, { silent });
const opened = openIncident('inc_1', symptom(2), T);
/** Told at T + 30 s, of two. */
const alerted = judge(opened, T + 30 * SECOND, 2).incident;

describe('a new incident', () => {
  test('is that of its symptom, and nobody knows of it yet', () => {
    expect(opened).toMatchObject({ kind: 'stuck', site: 'se', state: 6, openedAt: T, since: T - MINUTE, count: 2, peak: 2 });
    expect(opened).toMatchObject({ alertedAt: null, alertedCount: null, quietSince: null, endedAt: null });
  });

  test('collects for a while, and is then alerted with all that came', () => {
    const collecting = judge(opened, T + 30 * SECOND - 1, 7);
    expect(collecting).toMatchObject({ alert: null, lookAgainAt: T + 30 * SECOND });
    const alerts = judge(collecting.incident, T + 30 * SECOND, 9);
    expect(alerts).toMatchObject({
      alert: 'opened',
      incident: { count: 9, peak: 9, alertedAt: T + 30 * SECOND, alertedCount: 9 },
    });
    expect(alerts.lookAgainAt).toBe(T + 30 * SECOND + 4 * HOUR);
  });

  test('that is over before anybody was alerted ends without a word', () => {
    expect(judge(opened, T + 10 * SECOND, 0)).toMatchObject({
      alert: null,
      announce: null,
      reason: 'over-before-alert',
      incident: { endedAt: T + 10 * SECOND },
      lookAgainAt: null,
    });
  });
});

describe('an incident that people know of', () => {
  test('ends by itself once its alarm does, while nobody is stuck; while somebody is, that is not known', () => {
    const endOf = (count: number, clearsAt: number | null) =>
      judgeIncident(alerted, { ...symptom(count), clearsAt }, T + MINUTE, policy).incident.endsAt;
    expect([endOf(0, T + HOUR), endOf(0, null), endOf(2, T + HOUR)]).toEqual([T + HOUR + policy.quietFor, null, null]);
  });

  test('of replicas does not grow because more have the same trouble', () => {
    const replicas = (count: number) => ({ ...symptom(count), kind: 'replica' as const, site: null, state: null });
    const known = judgeIncident(openIncident('inc_4', replicas(1), T), replicas(1), T + MINUTE, policy).incident;
    expect(judgeIncident(known, replicas(9), T + HOUR, policy).alert).toBeNull();
  });

  test('is alerted again when it has doubled, and not before five minutes have passed', () => {
    expect(judge(alerted, T + 5 * MINUTE + 30 * SECOND, 3).alert).toBeNull();
    const early = judge(alerted, T + 2 * MINUTE, 4);
    expect(early).toMatchObject({ alert: null, lookAgainAt: T + 5 * MINUTE + 30 * SECOND });
    const grown = judge(early.incident, T + 5 * MINUTE + 30 * SECOND, 4);
    expect(grown).toMatchObject({ alert: 'grew', incident: { alertedCount: 4, peak: 4 } });
    expect(judge(grown.incident, T + 20 * MINUTE, 7).alert).toBeNull();
    expect(judge(grown.incident, T + 20 * MINUTE, 8).alert).toBe('grew');
  });

  test('is reminded of after four hours, counted from the last word', () => {
    const due = T + 30 * SECOND + 4 * HOUR;
    expect(judge(alerted, due - 1, 2)).toMatchObject({ alert: null, lookAgainAt: due });
    const reminded = judge(alerted, due, 2);
    expect(reminded).toMatchObject({ alert: 'reminder', lookAgainAt: due + 24 * HOUR, incident: { reminders: 1 } });
    expect(judge(reminded.incident, due + 4 * HOUR, 2).alert).toBeNull();
    expect(judge(reminded.incident, due + 24 * HOUR, 2)).toMatchObject({
      alert: 'reminder',
      lookAgainAt: due + 48 * HOUR,
      incident: { reminders: 2 },
    });
  });

  test('is reminded of after four hours again once there was news', () => {
    const due = T + 30 * SECOND + 4 * HOUR;
    const grown = judge(judge(alerted, due, 2).incident, due + HOUR, 4);
    expect(grown).toMatchObject({ alert: 'grew', lookAgainAt: due + 5 * HOUR });
    expect(judge(grown.incident, due + 5 * HOUR, 4).alert).toBe('reminder');
  });

  test('is alerted again when it becomes worse by a step, and not when it becomes better and worse again', () => {
    const at = (severity: number, now: number, before: Incident) =>
      judgeIncident(before, { ...symptom(2), severity }, now, policy);
    const worse = at(1, T + 10 * MINUTE, alerted);
    expect(worse).toMatchObject({ alert: 'grew', incident: { severity: 1, alertedSeverity: 1 } });
    const better = at(0, T + 20 * MINUTE, worse.incident);
    expect(better).toMatchObject({ alert: null, incident: { severity: 0, alertedSeverity: 1 } });
    expect(at(1, T + 30 * MINUTE, better.incident).alert).toBeNull();
  });

  test('remembers its worst and its first moment', () => {
    const worse = judgeIncident(alerted, symptom(9, T - HOUR), T + MINUTE, policy).incident;
    const better = judgeIncident(worse, symptom(3, T), T + 2 * MINUTE, policy).incident;
    expect(better).toMatchObject({ count: 3, peak: 9, since: T - HOUR });
  });

  test('is over when it has been quiet for a while, and that is alerted', () => {
    const quiet = judge(alerted, T + HOUR, 0);
    expect(quiet).toMatchObject({
      alert: null,
      incident: { count: 0, quietSince: T + HOUR, endsAt: T + HOUR + 10 * MINUTE, endedAt: null },
      lookAgainAt: T + HOUR + 10 * MINUTE,
    });
    expect(judge(quiet.incident, T + HOUR + 10 * MINUTE - 1, 0).alert).toBeNull();
    const ended = judge(quiet.incident, T + HOUR + 10 * MINUTE, 0);
    expect(ended).toMatchObject({
      alert: 'ended',
      incident: { endsAt: null, endedAt: T + HOUR + 10 * MINUTE, peak: 2 },
      lookAgainAt: null,
    });
  });

  test('that comes back while it is quiet goes on as if nothing had been', () => {
    const quiet = judge(alerted, T + HOUR, 0).incident;
    const back = judge(quiet, T + HOUR + 20 * SECOND, 2);
    expect(back).toMatchObject({ alert: null, incident: { quietSince: null, endsAt: null, count: 2 } });
    expect(judge(back.incident, T + HOUR + 40 * SECOND, 0)).toMatchObject({
      alert: null,
      incident: { quietSince: T + HOUR + 40 * SECOND },
    });
  });
});

describe('an acknowledged incident', () => {
  const acknowledged: Incident = { ...alerted, acknowledgedAt: T + MINUTE };

  test('is not reminded of', () => {
    expect(judge(acknowledged, T + 9 * HOUR, 2)).toMatchObject({ alert: null, lookAgainAt: null });
  });

  test('is alerted when it has doubled, and not again by time alone', () => {
    expect(judge(acknowledged, T + 2 * MINUTE, 4)).toMatchObject({ alert: null, lookAgainAt: T + 5 * MINUTE + 30 * SECOND });
    const grown = judge(acknowledged, T + 9 * HOUR, 4);
    expect(grown).toMatchObject({ alert: 'grew', lookAgainAt: null, incident: { acknowledgedAt: T + MINUTE } });
    expect(judge(grown.incident, T + 19 * HOUR, 5).alert).toBeNull();
  });

  test('is alerted when it is over', () => {
    const quiet = judge(acknowledged, T + HOUR, 0);
    expect(judge(quiet.incident, T + HOUR + 10 * MINUTE, 0).alert).toBe('ended');
  });
});

describe('in a silence', () => {
  const END = T + 2 * HOUR;

  test('nobody is alerted of an incident, but machines are, once; what is left of it is alerted when the silence ends', () => {
    const silenced = judge(opened, T + 30 * SECOND, 3, END);
    expect(silenced).toMatchObject({ alert: null, announce: 'opened', reason: 'silenced', lookAgainAt: END });
    expect(silenced.incident).toMatchObject({ alertedAt: null, announcedAt: T + 30 * SECOND });
    expect(judge(silenced.incident, T + HOUR, 40, END)).toMatchObject({ alert: null, announce: null });
    expect(judge(silenced.incident, END, 4)).toMatchObject({ alert: 'opened', announce: null, incident: { alertedCount: 4 } });
  });

  test('an incident still collects before anything is decided', () => {
    expect(judge(opened, T + SECOND, 3, END)).toMatchObject({ announce: null, reason: 'collecting' });
  });

  test('what nobody heard of ends without a word to people, and machines hear it', () => {
    const silenced = judge(opened, T + 30 * SECOND, 3, END).incident;
    const quiet = judge(silenced, T + HOUR, 0, END);
    expect(quiet).toMatchObject({ alert: null, announce: null, incident: { endedAt: null } });
    const over = judge(quiet.incident, T + HOUR + 10 * MINUTE, 0, END);
    expect(over).toMatchObject({
      alert: null,
      announce: 'ended',
      reason: 'over-while-silenced',
      incident: { alertedAt: null, endedAt: T + HOUR + 10 * MINUTE },
    });
  });

  test('what people know of neither grows nor is reminded of, and its end is alerted', () => {
    expect(judge(alerted, T + HOUR, 50, END)).toMatchObject({ alert: null, lookAgainAt: END });
    expect(judge(alerted, T + 9 * HOUR, 2, T + 10 * HOUR).alert).toBeNull();
    expect(judge(alerted, END, 50).alert).toBe('grew');
    const quiet = judge(alerted, T + HOUR, 0, END).incident;
    expect(judge(quiet, T + HOUR + 10 * MINUTE, 0, END)).toMatchObject({ alert: 'ended', announce: 'ended' });
  });
});

describe('a silence', () => {
  const silence = (differs: Partial<Silence>): Silence => ({
    kind: null,
    site: null,
    state: null,
    subscriber: null,
    startsAt: T,
    endsAt: T + HOUR,
    ...differs,
  });
  const about = { kind: 'stuck', site: 'se', state: 6, subscriber: null } as const;

  test.each([
    [{}, true],
    [{ site: 'se' }, true],
    [{ site: 'fi' }, false],
    [{ state: 6 }, true],
    [{ state: 4 }, false],
    [{ kind: 'stuck' }, true],
    [{ kind: 'unreachable' }, false],
    [{ kind: 'stuck', site: 'se', state: 6 }, true],
    [{ kind: 'stuck', site: 'se', state: 4 }, false],
    [{ startsAt: T + SECOND }, false],
    [{ startsAt: T - HOUR, endsAt: T }, false],
  ] as const)('%j matches: %s', (differs, matches) => {
    expect(silencedUntil(about, [silence(differs)], T)).toBe(matches ? T + HOUR : null);
  });

  test('of a state does not match a whole site that does not answer', () => {
    expect(
      silencedUntil({ kind: 'unreachable', site: 'se', state: null, subscriber: null }, [silence({ state: 6 })], T),
    ).toBeNull();
  });

  test('among several the one that ends last counts', () => {
    const all = [
      silence({ endsAt: T + MINUTE }),
      silence({ site: 'se', endsAt: T + 2 * HOUR }),
      silence({ site: 'fi', endsAt: T + 9 * HOUR }),
    ];
    expect(silencedUntil(about, all, T)).toBe(T + 2 * HOUR);
  });
});

describe('an incident that is back', () => {
  const ended = judge(judge(alerted, T + HOUR, 0).incident, T + HOUR + 10 * MINUTE, 0).incident;
  const back = reopened(ended, T + 80 * MINUTE);

  test('is the same one, and alerted as such at once', () => {
    const verdict = judge(back, T + 80 * MINUTE, 3);
    expect(verdict).toMatchObject({
      alert: 'reopened',
      reason: 'again',
      incident: { id: 'inc_1', endedAt: null, count: 3, openedAt: T },
    });
    const later = judge(verdict.incident, T + 90 * MINUTE, 0).incident;
    expect(judge(later, T + 100 * MINUTE, 0).alert).toBe('ended');
  });

  test('is reminded of, whoever looked after it before', () => {
    const before = { ...reopened({ ...ended, acknowledgedAt: T + MINUTE }, T + 80 * MINUTE) };
    const alerted = judge(before, T + 80 * MINUTE, 3).incident;
    expect(judge(alerted, T + 6 * HOUR, 3).alert).toBe('reminder');
    expect(judge({ ...alerted, acknowledgedAt: T + 2 * HOUR }, T + 6 * HOUR, 3).alert).toBeNull();
  });

  test('in a silence is alerted when that ends, and not at all when it is over by then', () => {
    const silenced = judge(back, T + 80 * MINUTE, 3, T + 3 * HOUR);
    expect(silenced).toMatchObject({ alert: null, lookAgainAt: T + 3 * HOUR });
    expect(judge(silenced.incident, T + 3 * HOUR, 3).alert).toBe('reopened');
    const quiet = judge(silenced.incident, T + 90 * MINUTE, 0).incident;
    expect(judge(quiet, T + 100 * MINUTE, 0)).toMatchObject({ alert: null, incident: { endedAt: T + 100 * MINUTE } });
  });
});

test('an incident that another one tells of says nothing itself', () => {
  const child: Incident = { ...opened, parent: 'inc_2' };
  expect(judge(child, T + MINUTE, 40)).toMatchObject({ alert: null, announce: 'opened', reason: 'alerted-by-parent' });
  const quiet = judge(judge(child, T + MINUTE, 40).incident, T + HOUR, 0).incident;
  expect(judge(quiet, T + HOUR + 10 * MINUTE, 0)).toMatchObject({
    alert: null,
    announce: 'ended',
    reason: 'alerted-by-parent',
    incident: { endedAt: T + HOUR + 10 * MINUTE },
  });
});

test('while the alarm is on and no customer is stuck, people are alerted of nothing, and machines of the beginning', () => {
  expect(judgeIncident(opened, symptom(0), T + 30 * SECOND, policy)).toMatchObject({
    alert: null,
    announce: 'opened',
    reason: 'no-channel-now',
  });
});

test.each([
  ['stuck', 0, 'warning'],
  ['stuck', 1, 'critical'],
  ['unreachable', 0, 'critical'],
  ['subscriber', 2, 'warning'],
  ['subscriber', 3, 'critical'],
] as const)('%s of severity %d is %s', (kind, severity, level) => {
  expect(levelOf({ kind, severity })).toBe(level);
});

test('a replica is critical from the trouble on that nobody is judged', () => {
  const levels = REPLICA_TROUBLES.map((trouble, severity) => [trouble, levelOf({ kind: 'replica', severity })] as const);
  expect(levels.filter(([, level]) => level === 'warning').map(([trouble]) => trouble)).toEqual([
    'settings_differ',
    'reaches_no_receiver',
    'reaches_no_site',
  ]);
});

describe('the next reminder', () => {
  const at = (differs: Partial<Incident>) => nextReminderAt({ ...alerted, ...differs }, policy);

  test('comes after four hours, and later ones after a day', () => {
    expect(at({})).toBe(T + 30 * SECOND + 4 * HOUR);
    expect(at({ reminders: 1 })).toBe(T + 30 * SECOND + 24 * HOUR);
    expect(nextReminderAt({ ...alerted, reminders: 1 }, { repeatInterval: 48 * HOUR })).toBe(T + 30 * SECOND + 48 * HOUR);
  });

  test.each<[string, Partial<Incident>]>([
    ['it has ended', { endedAt: T + HOUR }],
    ['nothing is wrong at the moment', { quietSince: T + HOUR }],
    ['another incident sends its alerts', { parent: 'inc_2' }],
    ['nobody was alerted of it', { alertedAt: null }],
    ['nobody was alerted that it is back', { reopenedAt: T + HOUR }],
    ['a person looks after it', { acknowledgedAt: T + MINUTE }],
    ['a person looks after it since it is back', { acknowledgedAt: T + 20 * SECOND, reopenedAt: T + 20 * SECOND }],
  ])('does not come when %s', (_, differs) => expect(at(differs)).toBeNull());

  test('comes when it is back, was alerted again, and a person looked after it only before', () => {
    expect(at({ acknowledgedAt: T + 19 * SECOND, reopenedAt: T + 20 * SECOND })).toBe(T + 30 * SECOND + 4 * HOUR);
    expect(at({ reopenedAt: T + 30 * SECOND })).toBe(T + 30 * SECOND + 4 * HOUR);
  });
});

test('through silences and acknowledgements, machines hear begin and end once each, and people the end of what they heard of', () => {
  const looks = fc.array(
    fc.record({
      pause: fc.oneof(fc.nat(MINUTE), fc.nat(3 * HOUR)),
      count: fc.oneof(fc.constant(0), fc.nat(40)),
      silent: fc.boolean(),
      acknowledge: fc.boolean(),
    }),
    { minLength: 1, maxLength: 60 },
  );
  fc.assert(
    fc.property(looks, (steps) => {
      let incident = opened;
      let now = T;
      const alerts: string[] = [];
      const announced: string[] = [];
      for (const { pause, count, silent, acknowledge } of steps) {
        now += pause;
        if (acknowledge) incident = { ...incident, acknowledgedAt: now };
        const verdict = judge(incident, now, count, silent ? now + HOUR : null);
        if (verdict.lookAgainAt !== null) expect(verdict.lookAgainAt).toBeGreaterThan(now);
        if (silent && verdict.alert !== null) expect(verdict.alert).toBe('ended');
        if (incident.acknowledgedAt !== null) expect(verdict.alert).not.toBe('reminder');
        incident = verdict.incident;
        if (verdict.alert !== null) alerts.push(verdict.alert);
        if (verdict.announce !== null) announced.push(verdict.announce);
        if (incident.endedAt !== null) break;
      }
      const isOver = incident.endedAt !== null;
      expect(announced).toEqual(announced.length === 0 ? [] : isOver ? ['opened', 'ended'] : ['opened']);
      expect(alerts.filter((word) => word === 'opened')).toEqual(alerts.length === 0 ? [] : ['opened']);
      if (alerts.length > 0) expect([alerts[0], alerts.at(-1) === 'ended']).toEqual(['opened', isOver]);
    }),
    { numRuns: 1_000 },
  );
});

test('whatever happens, the opening is the first alert and sent once, the end last, and nothing too often', () => {
  const looks = fc.array(fc.tuple(fc.oneof(fc.nat(MINUTE), fc.nat(3 * HOUR)), fc.nat(40)), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(looks, (steps) => {
      let incident = opened;
      let now = T;
      const alerts: { alert: string; at: number; count: number }[] = [];
      for (const [pause, count] of steps) {
        now += pause;
        const verdict = judge(incident, now, count);
        incident = verdict.incident;
        if (verdict.alert !== null) alerts.push({ alert: verdict.alert, at: now, count });
        expect(incident.peak).toBeGreaterThanOrEqual(incident.count);
        if (incident.endedAt !== null) break;
        expect(verdict.lookAgainAt).toBeGreaterThan(now);
      }
      alerts.forEach(({ alert, at, count }, index) => {
        const last = alerts[index - 1];
        expect(alert === 'opened').toBe(index === 0);
        if (alert === 'ended') expect(index).toBe(alerts.length - 1);
        if (alert === 'grew') {
          expect(at - last!.at).toBeGreaterThanOrEqual(policy.groupInterval);
          expect(count).toBeGreaterThanOrEqual(2 * last!.count);
        }
        if (alert === 'reminder') expect(at - last!.at).toBeGreaterThanOrEqual(policy.repeatInterval);
      });
      // Who was alerted of it is alerted of its end.
      if (incident.endedAt !== null && alerts.length > 0) expect(alerts.at(-1)!.alert).toBe('ended');
    }),
    { numRuns: 500 },
  );
});
