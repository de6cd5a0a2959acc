import { expect, test } from 'vitest';
import type { AlertPolicy } from '../../../src/domain/incidents/incident.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy, policyOf } from '../../../src/domain/polling/poll-plan.ts';
import { createRehearsal, type RehearsalOptions } from '../../../src/domain/rehearsal/rehearsal.ts';
import type { RehearsalResult } from '../../../src/domain/rehearsal/rehearsal-result.ts';
import type { RecordedStay } from '../../../src/domain/stays/recorded-stay.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const T = Date.UTC(2026, 10, 1);
const CARD = 6;
const COMPLETED = 2;
const TIMED_OUT = 5;

const ALERTS: AlertPolicy = {
  groupWait: 30 * SECOND,
  quietFor: 10 * MINUTE,
  groupInterval: 5 * MINUTE,
  repeatInterval: 4 * HOUR,
};
const OPTIONS: RehearsalOptions = {
  from: T + DAY,
  to: T + 3 * DAY,
  policy: DEFAULT_POLL_POLICY,
  alerts: ALERTS,
  channels: [{ name: '@slack', sites: null, severity: 'warning' }],
  silences: [],
  outages: [],
};

interface Shop {
  readonly site?: string;
  readonly every?: number;
  readonly broken?: readonly [from: number, to: number];
  readonly until?: number;
  /** Polls between which customers are seen to leave: this long after they came. */
  readonly dwell?: number;
}

/** Customers of a shop, one after the other; while its page is broken none gets on. */
function customersOf({ site = 'se', every = 5 * MINUTE, broken = [0, 0], until = OPTIONS.to, dwell = 40 * SECOND }: Shop = {}) {
  const stays: RecordedStay[] = [];
  for (let enteredAt = T; enteredAt < until; enteredAt += every) {
    const isLost = enteredAt >= broken[0] && enteredAt < broken[1];
    const lasts = isLost ? 25 * MINUTE : dwell;
    stays.push({
      site,
      state: CARD,
      customer: `${site}-${enteredAt}`,
      enteredAt,
      seenAt: enteredAt + lasts - 5 * SECOND,
      leftAt: enteredAt + lasts,
      toState: isLost ? TIMED_OUT : COMPLETED,
      unwatchedAt: null,
      paidAt: null,
      firstSight: false,
    });
  }
  return stays;
}

function rehearse(stays: readonly RecordedStay[], differs: Partial<RehearsalOptions> = {}, batch = 100): RehearsalResult {
  const rehearsal = createRehearsal({ ...OPTIONS, ...differs });
  const ordered = stays.toSorted((a, b) => a.enteredAt - b.enteredAt);
  for (let at = 0; at < ordered.length; at += batch) rehearsal.take(ordered.slice(at, at + batch));
  return rehearsal.finish();
}

function withLimit(change: { stuckAfter: number; auto: boolean }): PollPolicy {
  const states = new Map(DEFAULT_POLL_POLICY.states);
  return { ...DEFAULT_POLL_POLICY, states: states.set(CARD, { ...policyOf(DEFAULT_POLL_POLICY, CARD), ...change }) };
}

const stagesOf = ({ messages }: RehearsalResult): string[] => messages.map(({ stage }) => stage);
const BROKEN: [number, number] = [T + 2 * DAY, T + 2 * DAY + HOUR];

test('a healthy shop is silent', () => {
  const result = rehearse(customersOf());
  expect(result).toMatchObject({ messages: [], overdue: 0, opened: 0, stays: 864 });
});

test('two purchases of one order are one customer who waits', () => {
  const again = customersOf({ broken: BROKEN }).flatMap((stay) => (stay.toState === TIMED_OUT ? [stay, stay] : [stay]));
  const once = rehearse(customersOf({ broken: BROKEN }));
  const twice = rehearse(again);
  expect(twice.overdue).toBe(2 * once.overdue);
  const counts = ({ messages }: RehearsalResult) => messages.map(({ stage, incident }) => [stage, incident.count, incident.peak]);
  expect(counts(twice)).toEqual(counts(once));
});

test('a broken page is told once when it begins and once when it is over', () => {
  const result = rehearse(customersOf({ broken: BROKEN }));
  expect(result).toMatchObject({ overdue: 12, opened: 1, openBefore: 0, openAfter: 0, unsaid: 0 });
  const said = stagesOf(result);
  expect([said[0], said.at(-1)]).toEqual(['opened', 'ended']);
  const [opened] = result.messages;
  // The fourth customer who is stuck names it, and half a minute is waited for more of them.
  expect(opened!.at).toBe(BROKEN[0] + 15 * MINUTE + 3 * 5 * MINUTE + 30 * SECOND);
  expect(opened).toMatchObject({ channels: ['@slack'], incident: { site: 'se', state: CARD }, limit: { ms: 15 * MINUTE } });
});

test('a longer limit than customers stay says nothing of the same page', () => {
  const policy = withLimit({ stuckAfter: 26 * MINUTE, auto: false });
  expect(rehearse(customersOf({ broken: BROKEN }), { policy })).toMatchObject({ messages: [], overdue: 0 });
});

test('a limit that is learned from those who got on names it sooner', () => {
  const policy = withLimit({ stuckAfter: 15 * MINUTE, auto: true });
  const learned = rehearse(customersOf({ broken: BROKEN }), { policy });
  const configured = rehearse(customersOf({ broken: BROKEN }));
  expect(learned.limits).toMatchObject([{ site: 'se', state: CARD, limit: { ms: 5 * MINUTE, source: 'learned' } }]);
  expect(configured.messages[0]!.at - learned.messages[0]!.at).toBe(10 * MINUTE);
});

test('the batches in which stays come change nothing', () => {
  const stays = [...customersOf({ broken: BROKEN }), ...customersOf({ site: 'no', every: 7 * MINUTE, broken: BROKEN })];
  const policy = withLimit({ stuckAfter: 15 * MINUTE, auto: true });
  const whole = rehearse(stays, { policy }, 10_000);
  expect(whole.messages.length).toBeGreaterThan(1);
  for (const batch of [1, 7, 300]) expect(rehearse(stays, { policy }, batch)).toEqual(whole);
});

test('several sites at once are one incident', () => {
  const stays = [...customersOf({ broken: BROKEN }), ...customersOf({ site: 'no', broken: BROKEN })];
  const result = rehearse(stays);
  expect(result.opened).toBe(1);
  expect(result.messages.map(({ incident }) => incident.site)).toContain(null);
  expect(
    result.messages
      .find(({ incident }) => incident.site === null)!
      .parts.map(({ site }) => site)
      .sort(),
  ).toEqual(['no', 'se']);
});

test('what is said before the time is left out, and goes on in it', () => {
  const result = rehearse(customersOf({ broken: [T + DAY - HOUR, T + DAY + HOUR] }));
  expect(result).toMatchObject({ opened: 0, openBefore: 1, openAfter: 0 });
  expect(stagesOf(result)).not.toContain('opened');
  expect(stagesOf(result).at(-1)).toBe('ended');
});

test('nothing is used of what came after the time', () => {
  const until = BROKEN[0] + 31 * MINUTE;
  const result = rehearse(customersOf({ broken: BROKEN, until }), { to: until });
  expect(result).toMatchObject({ overdue: 4, opened: 1, openAfter: 1 });
  expect(stagesOf(result)).toEqual(['opened']);
});

test('silences hold as they did', () => {
  const about = { kind: null, site: 'se', state: null, subscriber: null };
  const silences = [{ ...about, startsAt: BROKEN[0], endsAt: BROKEN[1] + 2 * HOUR }];
  const result = rehearse(customersOf({ broken: BROKEN }), { silences });
  expect(result).toMatchObject({ messages: [], opened: 1, unsaid: 1, overdue: 12 });
});

test('channels hear of what they ask for', () => {
  const channels = [
    { name: '@slack-no', sites: ['no'], severity: 'warning' as const },
    { name: '@slack-se', sites: ['se'], severity: 'warning' as const },
  ];
  const result = rehearse(customersOf({ broken: BROKEN }), { channels });
  expect(new Set(result.messages.flatMap((message) => message.channels))).toEqual(new Set(['@slack-se']));
});

test('a site that did not answer is told as it was, and its customers are not overdue meanwhile', () => {
  const [since, until] = BROKEN;
  const away = customersOf({ broken: BROKEN }).map((stay) =>
    stay.toState === TIMED_OUT ? { ...stay, seenAt: stay.enteredAt, leftAt: until + MINUTE } : stay,
  );
  const outages = [{ site: 'se', severity: 0, since, noticedAt: since + 10 * SECOND, until }];
  const result = rehearse(away, { outages });
  expect(result.overdue).toBe(0);
  expect(result.messages.map(({ stage, incident }) => [stage, incident.kind, incident.site])).toEqual([
    ['opened', 'unreachable', 'se'],
    ['ended', 'unreachable', 'se'],
  ]);
  expect(result.messages.map(({ at }) => at)).toEqual([since + 40 * SECOND, until + 30 * SECOND]);
});

test('time in which a site did not answer is not waited in, and outages are told as they come, in whatever order they are given', () => {
  const [since, until] = BROKEN;
  const late = customersOf({ broken: BROKEN }).map((stay) =>
    stay.toState === TIMED_OUT ? { ...stay, seenAt: until + 55 * SECOND, leftAt: until + MINUTE } : stay,
  );
  const outage = { site: 'se', severity: 0, since, noticedAt: since + 10 * SECOND, until };
  expect(rehearse(late).overdue).toBeGreaterThan(0);
  expect(rehearse(late, { outages: [outage] }).overdue).toBe(0);
  const open = { ...outage, site: 'no', since: since + 6 * HOUR, noticedAt: since + 6 * HOUR, until: null };
  const { messages, openAfter } = rehearse([], { outages: [open, outage] });
  const told = messages.filter(({ stage }) => stage !== 'reminder');
  expect(told.map(({ stage, at, incident }) => [stage, at, incident.site])).toEqual([
    ['opened', since + 40 * SECOND, 'se'],
    ['ended', until + 30 * SECOND, 'se'],
    ['opened', since + 6 * HOUR + 30 * SECOND, 'no'],
  ]);
  expect(openAfter).toBe(1);
});

test('what was over before the time is not reported: incidents, purchases that got stuck and single checkouts', () => {
  expect(rehearse(customersOf({ broken: [T + 6 * HOUR, T + 7 * HOUR] }))).toMatchObject({ incidents: [], overdue: 0 });
  const lostAt = (at: number) => rehearse(customersOf({ every: at - T, broken: [at, at + 1] }));
  const named = (at: number) => lostAt(at).checkouts.filter(({ stuck }) => stuck.length > 0).length;
  const wait = 15 * MINUTE + 30 * SECOND;
  expect([OPTIONS.from - wait, OPTIONS.from - wait - 5 * SECOND].map(named)).toEqual([1, 0]);
  const inTime = [OPTIONS.from - 15 * MINUTE, OPTIONS.from - 15 * MINUTE - 1].map((at) => lostAt(at).overdue);
  expect(inTime).toEqual([1, 0]);
});

test('a state in which nobody can be stuck has no limit', () => {
  const completed = customersOf().map((stay) => ({ ...stay, state: COMPLETED, leftAt: null, toState: null }));
  const { limits } = rehearse([...customersOf(), ...completed]);
  expect(limits.map(({ state }) => state)).toEqual([CARD]);
});

test('limits are those that are learned by the end of the time', () => {
  const policy = withLimit({ stuckAfter: 15 * MINUTE, auto: true });
  const to = T + 50 * MINUTE;
  const { limits } = rehearse(customersOf({ every: 10 * SECOND, until: to }), { policy, from: T, to });
  expect(limits).toMatchObject([{ limit: { source: 'learned' } }]);
});

test('once people are alerted of an incident of a known place, its single checkouts are not named any more', () => {
  const base = customersOf({ broken: [T, T + 1] });
  const [lost] = base as [RecordedStay];
  const lostAt = (at: number, customer: string) => ({
    ...{ ...lost, customer, enteredAt: at, seenAt: at + 24 * MINUTE, leftAt: at + 25 * MINUTE },
  });
  const four = ['a', 'b', 'c', 'd'].map((customer) => lostAt(BROKEN[0], customer));
  const { checkouts, opened } = rehearse([...base, ...four, lostAt(BROKEN[0] + 12 * HOUR, 'e')], { from: T });
  expect(opened).toBe(1);
  expect(checkouts.flatMap(({ stuck }) => stuck).map(({ stay }) => stay.enteredAt)).toEqual([T]);
});

test('each site is judged by what is known of it', () => {
  const lost = T + DAY + 6 * HOUR;
  const small = customersOf({ site: 'no', every: 6 * HOUR, broken: [lost, lost + MINUTE] });
  const { checkouts } = rehearse([...customersOf(), ...small]);
  expect(checkouts.flatMap(({ reasons }) => reasons)).toMatchObject([{ site: 'no', mode: 'auto' }]);
});

test('whose order was paid by another purchase does not wait any more', () => {
  const lost = customersOf({ broken: BROKEN });
  const paid = lost.map((stay) => (stay.toState === TIMED_OUT ? { ...stay, paidAt: stay.enteredAt + 16 * MINUTE } : stay));
  const peak = ({ messages }: RehearsalResult) => Math.max(...messages.map(({ incident }) => incident.peak));
  expect(peak(rehearse(paid))).toBeLessThan(peak(rehearse(lost)));
  const one = T + DAY + 6 * HOUR;
  const small = customersOf({ every: 6 * HOUR, broken: [one, one + MINUTE] });
  const { checkouts } = rehearse(
    small.map((stay) => (stay.toState === TIMED_OUT ? { ...stay, paidAt: one + 20 * MINUTE } : stay)),
  );
  expect(checkouts[1]!.over).toMatchObject([{ overAt: one + 20 * MINUTE, toState: null }]);
});

test('who was paid for by another purchase and then got on after all is counted once', () => {
  const late = customersOf({ broken: BROKEN }).map((stay) => ({ ...stay, toState: COMPLETED }));
  const paid = late.map((stay) =>
    stay.leftAt! - stay.enteredAt > HOUR / 4 ? { ...stay, paidAt: stay.enteredAt + 20 * MINUTE } : stay,
  );
  const movedOn = ({ messages }: RehearsalResult) => messages.at(-1)!.incident.movedOn;
  expect(movedOn(rehearse(late))).toBeGreaterThan(0);
  expect(movedOn(rehearse(paid))).toBe(movedOn(rehearse(late)));
});

test('who is not watched any more does not wait any more', () => {
  const open = { leftAt: null, toState: null };
  const there = customersOf({ broken: BROKEN }).map((stay) => (stay.toState === TIMED_OUT ? { ...stay, ...open } : stay));
  const gone = there.map((stay) => (stay.leftAt === null ? { ...stay, unwatchedAt: stay.enteredAt + HOUR } : stay));
  expect(rehearse(there, { to: BROKEN[1] + 3 * HOUR })).toMatchObject({ overdue: 12, opened: 1 });
  const peak = ({ messages }: RehearsalResult) => Math.max(...messages.map(({ incident }) => incident.peak));
  expect(peak(rehearse(there))).toBe(12);
  expect(peak(rehearse(gone))).toBeLessThan(12);
});

test('who was there before us proves nothing', () => {
  const stays = customersOf({ broken: BROKEN }).map((stay) => ({ ...stay, firstSight: true }));
  expect(rehearse(stays)).toMatchObject({ messages: [], overdue: 12, opened: 0 });
});

test('a small shop: each stuck checkout is named, and once more when it is over, as the mode of the channel says', () => {
  const lost = T + DAY + 6 * HOUR;
  const stays = customersOf({ every: 6 * HOUR, broken: [lost, lost + MINUTE] });
  const { checkouts, messages } = rehearse(stays);
  expect(messages).toEqual([]);
  expect(checkouts.map(({ stuck, over, channels }) => [stuck.length, over.length, channels])).toEqual([
    [1, 0, ['@slack']],
    [0, 1, ['@slack']],
  ]);
  expect(checkouts[0]!.at - lost).toBe(15 * MINUTE + 30 * SECOND);
  expect(checkouts[0]!.reasons).toMatchObject([{ mode: 'auto', isLast: false }]);
  expect(checkouts[1]!.over[0]).toMatchObject({ toState: TIMED_OUT });
  const silent = [{ ...OPTIONS.channels[0]!, stuck: 'incidents' as const }];
  expect(rehearse(stays, { channels: silent }).checkouts).toEqual([]);
});

test('a shop of which enough is known: only with each are single checkouts named', () => {
  const lost = T + DAY + 6 * HOUR;
  const stays = customersOf({ broken: [lost, lost + MINUTE] });
  expect(rehearse(stays).checkouts).toEqual([]);
  const each = [{ ...OPTIONS.channels[0]!, stuck: 'each' as const }];
  expect(rehearse(stays, { channels: each }).checkouts).toHaveLength(2);
});
