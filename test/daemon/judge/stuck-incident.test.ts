import { expect, test } from 'vitest';
import { alertedData, placesOf, stuckData } from '../../../src/daemon/judge/stuck-incident.ts';
import { draftOf, eventBody } from '../../../src/domain/events/make-event.ts';
import { type Detection, newDetection } from '../../../src/domain/incidents/detection.ts';
import { openIncident } from '../../../src/domain/incidents/incident.ts';
import type { IncidentVerdict } from '../../../src/domain/incidents/judgement.ts';

const MINUTE = 60_000;
const T = Date.UTC(2026, 10, 20, 9, 15);
const CARD = 6;
const alarmAt = (since: number) => ({
  at: T,
  rule: 'share' as const,
  since,
  entrants: 9,
  overdue: 4,
  usualShare: 0.03,
  perDay: 400,
  falseAlarmEvery: null,
});

const leaf = (site: string, since: number, count: number) =>
  openIncident(
    `inc_${site}`,
    { kind: 'stuck', site, state: CARD, subscriber: null, severity: 0, count, since: T, alarm: alarmAt(since), movedOn: 2 },
    T,
  );
const [se, fi] = [leaf('se', T - 20 * MINUTE, 3), leaf('fi', T - 30 * MINUTE, 5)];
const alone: IncidentVerdict = {
  incident: se,
  announce: null,
  alert: 'opened',
  reason: '',
  lookAgainAt: null,
  parts: [],
  messages: [],
};
const both: IncidentVerdict = {
  ...alone,
  incident: openIncident(
    'inc_all',
    { kind: 'stuck', site: null, state: CARD, subscriber: null, severity: 1, count: 8, since: T },
    T,
  ),
  parts: [se, fi],
};
const over = (verdict: IncidentVerdict): IncidentVerdict => ({
  ...verdict,
  incident: { ...verdict.incident, endedAt: T + MINUTE },
});

const detection = (site: string, timedOutAfter: number[]): Detection => ({
  ...newDetection(site, CARD),
  alarm: alarmAt(T),
  run: { since: T, entrants: 9, overdue: 4, customers: [], overdueAfter: 0 },
  exits: { well: 0, timedOut: timedOutAfter.length, other: 0, timedOutAfter },
});

type Story = Parameters<typeof stuckData>[1];
const part = (site: string) => ({ site, state: CARD, count: 4, lastWellAt: null, wellBefore: 0, stuckSinceThen: 0 });
const story = (differs: Partial<Story> = {}): Story => ({
  row: null,
  singles: null,
  limit: null,
  oldest: [],
  money: { waiting: [{ amount: '12.50', currency: 'EUR' }], unpriced: 1, counted: 3, atLeast: true },
  evidence: { parts: [part('se')], sites: 2, orders: 4, begunAgain: 0 },
  around: { stays: [], marks: [] },
  left: null,
  last: null,
  became: null,
  earlier: null,
  ...differs,
});
const OVERDUE: Parameters<typeof stuckData>[2]['overdue'] = [
  { site: 'se', state: CARD, count: 3, since: T - 25 * MINUTE },
  { site: 'se', state: CARD + 1, count: 2, since: T - 55 * MINUTE },
  { site: 'fi', state: CARD, count: 3, since: T - 28 * MINUTE },
  { site: 'no', state: CARD, count: 9, since: T - 50 * MINUTE },
];
const told = (
  verdict: IncidentVerdict,
  differs: Partial<Story> = {},
  detections = [detection('se', []), detection('no', [])],
  overdue = OVERDUE,
) =>
  stuckData(verdict, story(differs), {
    overdue,
    detections,
    sessionLength: 20 * MINUTE,
  });

test('an incident at one state of one site: its limit, its own customers and no others, the money, and why it may be', () => {
  const limit = { ms: 15 * MINUTE, source: 'default', dwell: null } as const;
  expect(told(alone, { limit })).toMatchObject({
    since: new Date(T - 25 * MINUTE).toISOString(),
    count: 3,
    limitMs: 15 * MINUTE,
    lately: { entrants: 9, overdue: 4 },
    noticedAfterMs: 20 * MINUTE,
    waiting: [{ amount: '12.50', currency: 'EUR' }],
    unpriced: 1,
    atLeast: true,
    causes: [{ cause: 'rerender' }, { cause: 'return_request' }],
    movedOn: null,
  });
});

test('every field of an incident at one state of one site', () => {
  const dwell = { usual: 4 * MINUTE, p95: 9 * MINUTE, purchases: 800 };
  const limit = { ms: 15 * MINUTE, source: 'learned', dwell } as unknown as Story['limit'];
  const oldest = [{ purchaseId: 'p-1' }, { purchaseId: 'p-2' }] as unknown as Story['oldest'];
  const earlier = { cause: 'deploy', note: 'We rolled back.', by: 'ann', at: T - 60 * MINUTE, site: 'fi', state: CARD };
  const { causes, ...rest } = told(alone, { limit, oldest, earlier: earlier as Story['earlier'], became: '3 got on' });
  const state = { value: CARD, name: 'WaitingForCardPayments' };
  expect(rest).toEqual({
    ...{ since: '2026-11-20T08:50:00.000Z', state: rest.state, count: 3, peak: 3, limitMs: 15 * MINUTE },
    parts: [{ site: 'se', state: rest.state, count: 3, peak: 3, ended: false }],
    dwell: { usualMs: 4 * MINUTE, p95Ms: 9 * MINUTE, purchases: 800, source: 'learned' },
    alarm: { ...alarmAt(0), at: '2026-11-20T09:15:00.000Z', since: '2026-11-20T08:55:00.000Z' },
    ...{ lately: { entrants: 9, overdue: 4 }, noticedAfterMs: 20 * MINUTE, purchases: ['p-1', 'p-2'] },
    ...{ waiting: [{ amount: '12.50', currency: 'EUR' }], unpriced: 1, atLeast: true, slice: null, mark: null },
    earlier: { ...earlier, at: '2026-11-20T08:15:00.000Z', state: rest.state },
    ...{ became: '3 got on', movedOn: null, includes: [] },
  });
  expect([rest.state, causes.length]).toEqual([state, 2]);
  expect(told(alone, { earlier: { ...earlier, state: null } as Story['earlier'] }).earlier).toMatchObject({ state: null });
});

test('since when the customer waits who waits longest, where any still waits', () => {
  expect(told(both).since).toBe('2026-11-20T08:47:00.000Z');
  const gone = [{ site: 'se', state: CARD, count: 0, since: null }];
  expect(told(alone, {}, [], gone)).not.toHaveProperty('since');
});

test('a parent whose parts are not known is a place without a name and without an alarm', () => {
  const parent = { ...both, parts: [], incident: { ...both.incident, state: null } };
  expect(placesOf(parent)).toEqual([{ site: '', state: 0, since: T, count: 8 }]);
  const marks = [
    { at: T - 40 * MINUTE, text: 'long before' },
    { at: T - MINUTE, text: 'just before' },
  ];
  expect(told(parent, { around: { stays: [], marks } }, [])).toMatchObject({
    ...{ state: null, alarm: null, noticedAfterMs: null, lately: null, mark: { text: 'just before' } },
    parts: [{ site: '', state: expect.objectContaining({ name: expect.any(String) }) }],
  });
});

test('its parts: which of them are over, the largest fifty, and the alarm that came first', () => {
  const quiet = { ...leaf('no', T, 2), quietSince: T };
  const ended = { ...leaf('dk', T, 1), endedAt: T };
  const first = { ...leaf('is', T, 9), alarm: { ...alarmAt(T - 2 * MINUTE), at: T - MINUTE } };
  const silent = { ...leaf('ee', T, 8), alarm: null };
  const { parts, noticedAfterMs } = told({ ...both, parts: [se, quiet, ended, first, silent] });
  expect(parts.map(({ site, ended: is }) => [site, is])).toEqual([
    ['is', false],
    ['ee', false],
    ['se', false],
    ['no', true],
    ['dk', true],
  ]);
  expect(noticedAfterMs).toBe(MINUTE);
  const many = Array.from({ length: 51 }, (_, at) => leaf(`s${at}`, T, at));
  expect(told({ ...both, parts: many }).parts.length).toBe(50);
});

test('how many came lately counts where an alarm is on', () => {
  const calm = { ...detection('fi', []), alarm: null };
  const unknown = { ...detection('fi', []), run: null };
  for (const other of [calm, unknown])
    expect(told(both, {}, [detection('se', []), other]).lately).toEqual({ entrants: 9, overdue: 4 });
});

test('where it is, by its customers, and the mark before it', () => {
  const stay = (index: number, isStuck: boolean) => ({
    ...{ customer: `${index}`, method: '5', country: isStuck ? 'SE' : 'NO', currency: null, enteredAt: T },
    ...{ overdueAt: isStuck ? T + MINUTE : null, leftAt: isStuck ? null : T + MINUTE, toState: isStuck ? null : 2 },
  });
  const stays = Array.from({ length: 30 }, (_, index) => stay(index, index < 10));
  expect(told(alone, { around: { stays, marks: [{ at: T - MINUTE, text: 'deploy 4.2' }] } })).toMatchObject({
    slice: { method: null, country: 'SE', inside: { came: 10, stuck: 10 }, elsewhere: { came: 20, stuck: 0 } },
    mark: { text: 'deploy 4.2' },
  });
  // Elsewhere more are stuck than usual at any of its places, or it is not known what is usual.
  const spread = stays.map((each, index) => (index < 14 && index >= 8 ? { ...each, ...stay(index, true), country: 'NO' } : each));
  const parted = { ...both, parts: [se, { ...fi, alarm: null }] };
  expect(told(parted, { around: { stays, marks: [] } }).slice).not.toBeNull();
  expect(told(parted, { around: { stays: spread, marks: [] } }).slice).toBeNull();
  expect(told({ ...alone, incident: { ...se, alarm: null } }, { around: { stays, marks: [] } }).slice).toBeNull();
  expect(told(alone)).toMatchObject({ slice: null, mark: null });
});

test('a parent: its places since each alarm, the largest part first, and the alarm of the first part', () => {
  expect(placesOf(both).map(({ site, since, count }) => [site, since, count])).toEqual([
    ['se', T - 20 * MINUTE, 3],
    ['fi', T - 30 * MINUTE, 5],
  ]);
  const { parts, includes, lately, noticedAfterMs } = told(both, {}, [detection('se', []), detection('fi', [])]);
  expect(parts.map(({ site }) => site)).toEqual(['fi', 'se']);
  expect({ includes, lately, noticedAfterMs }).toEqual({
    includes: ['inc_se', 'inc_fi'],
    lately: { entrants: 18, overdue: 8 },
    noticedAfterMs: 20 * MINUTE,
  });
});

test('at the end: who is left, how many got on, and the causes that people were alerted of', () => {
  const causes = [{ cause: 'deploy', why: 'It stopped.', likely: true }];
  const head = { incidentId: 'inc_all', openedAt: T, since: T } as never;
  const data = { ...(head as object), ...told(both), causes, kind: 'stuck' } as never;
  const body = eventBody('evt_1', draftOf('incident.opened', { at: T }, data));
  const left = [
    { site: 'se', state: CARD, count: 1, since: T },
    { site: 'fi', state: CARD, count: 1, since: T },
  ];
  expect(told(over(both), { evidence: null, left, last: { at: T, body } })).toMatchObject({ count: 2, movedOn: 4, causes });
  expect(told(over(both), { evidence: null, left: [], last: null })).toMatchObject({ count: 0, causes: [] });
});

test('of a last message that cannot be read nothing is known', () => {
  expect([alertedData(null), alertedData({ body: '{}' })]).toEqual([null, null]);
});
