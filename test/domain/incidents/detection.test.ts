import { expect, test } from 'vitest';
import {
  alarmSeverity,
  clearsAt,
  type Detection,
  feed,
  look,
  movedBack,
  newDetection,
} from '../../../src/domain/incidents/detection.ts';
import { numberOf } from '../../../src/domain/purchases/states.ts';
import type { SiteStay, StayOutcome } from '../../../src/domain/stays/stay.ts';
import type { Usual } from '../../../src/domain/stays/usual.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LIMIT = 15 * MINUTE;
const CARD = 6;
const UNKNOWN: Usual = { share: null, perDay: null };
const SPARSE: Usual = { share: null, perDay: 2 };

function stay(outcome: StayOutcome, enteredAt: number, customer: string, differs: Partial<SiteStay> = {}): SiteStay {
  const lasted = outcome === 'overdue' ? LIMIT : outcome === 'late' ? 2 * LIMIT : MINUTE;
  const toState = outcome === 'overdue' ? null : numberOf(outcome === 'other' ? 'Cancelled' : 'Completed');
  const [at, shortest, longest] = [enteredAt + lasted, lasted, lasted];
  return {
    site: 'se',
    state: CARD,
    customer,
    firstSight: false,
    foundLate: false,
    outcome,
    toState,
    enteredAt,
    at,
    shortest,
    longest,
    ...differs,
  };
}

const fed = (detection: Detection, stays: readonly SiteStay[], usual = UNKNOWN): Detection =>
  stays.reduce((before, each) => feed(before, each, usual), detection);
const overdueOnes = (count: number, from = 0): SiteStay[] =>
  Array.from({ length: count }, (_, n) => stay('overdue', from + n * MINUTE, `o-${from}-${n}`));
const wellOnes = (count: number, from = 0): SiteStay[] =>
  Array.from({ length: count }, (_, n) => stay('well', from + n * MINUTE, `w-${from}-${n}`));
const fresh = newDetection('se', CARD);
/** Four were stuck who came at 0, 1, 2 and 3 minutes; noticed at 18. */
const alarmed = fed(fresh, overdueOnes(4));
const ALARM_AT = 3 * MINUTE + LIMIT;

test('four customers overdue one after the other raise the alarm, three do not', () => {
  expect(fed(fresh, overdueOnes(3)).alarm).toBeNull();
  expect(alarmed.alarm).toEqual({
    at: ALARM_AT,
    rule: 'share',
    since: 0,
    entrants: 4,
    overdue: 4,
    usualShare: 0.05,
    perDay: null,
    falseAlarmEvery: 5600,
  });
});

test('a customer who left well in between is made up for by the fourth, two need a fifth', () => {
  const [a, b, c, d, e] = overdueOnes(5) as [SiteStay, SiteStay, SiteStay, SiteStay, SiteStay];
  const [v, w] = wellOnes(2, HOUR) as [SiteStay, SiteStay];
  expect(fed(fresh, [a, b, v, c, d]).alarm).toMatchObject({ entrants: 5, overdue: 4 });
  expect(fed(fresh, [a, v, b, w, c, d]).alarm).toBeNull();
  expect(fed(fresh, [a, v, b, w, c, d, e]).alarm).toMatchObject({ entrants: 7, overdue: 5 });
});

test('an overdue customer is forgotten after seven who left well', () => {
  const one = fed(fresh, overdueOnes(1));
  expect(fed(one, wellOnes(6)).run).toMatchObject({ entrants: 7, overdue: 1 });
  expect(fed(one, wellOnes(7))).toMatchObject({ score: 0, run: null, lately: [] });
  expect(fed(one, [...wellOnes(7), ...overdueOnes(3, HOUR)]).alarm).toBeNull();
});

test('of a state of which nothing is known nothing is counted, and its first stuck customer is all that is', () => {
  expect(fresh).toMatchObject({ run: null, row: null, alarm: null, wellSince: [], lately: [] });
  expect(fed(fresh, overdueOnes(1))).toMatchObject({ run: { customers: ['o-0-0'] }, lately: [true] });
});

test('an alarm stays as it was when it was noticed, however many more are stuck', () => {
  expect(fed(alarmed, overdueOnes(5, HOUR))).toMatchObject({ alarm: alarmed.alarm, run: { overdue: 9 } });
});

test('the shortest time after which one was stuck counts', () => {
  const [one, other] = overdueOnes(2) as [SiteStay, SiteStay];
  const longer = { ...other, shortest: 3 * LIMIT };
  for (const stays of [
    [one, longer],
    [longer, one],
  ])
    expect(fed(fresh, stays).run!.overdueAfter).toBe(LIMIT);
});

test('who left well last is known also where that is recorded late, and in the order in which customers came', () => {
  const late = stay('late', 0, 'slow', { at: LIMIT });
  expect(fed(fresh, [stay('well', HOUR, 'a'), late]).lastWellAt).toBe(HOUR + MINUTE);
  const came = [5, 3, 4].map((hours) => stay('well', hours * HOUR, `w-${hours}`));
  expect(fed(alarmed, came).wellSince).toEqual([3 * HOUR, 4 * HOUR, 5 * HOUR]);
});

test('a state with few customers is not known for one before a day has passed', () => {
  const at = Date.UTC(2026, 10, 20);
  const known = fed(fresh, [stay('well', at, 'first')], SPARSE);
  const two = [stay('overdue', at + HOUR, 'a'), stay('overdue', at + 2 * HOUR, 'b')];
  expect(fed(known, two, SPARSE).alarm).toBeNull();
  const later = two.map((each) => ({ ...each, enteredAt: each.enteredAt + DAY, at: each.at + DAY }));
  expect(fed(known, later, SPARSE).alarm).toMatchObject({ rule: 'sparse' });
});

test('one customer who tries again and again is one', () => {
  const tries = Array.from({ length: 30 }, (_, n) => stay('overdue', n * MINUTE, 'the same order'));
  const is = fed(fresh, tries);
  expect(is).toMatchObject({ alarm: null, run: { overdue: 1, entrants: 1 } });
  expect(is.score).toBe(fed(fresh, tries.slice(0, 1)).score);
});

test('what was there before us says nothing, nor does leaving by time-out, cancel or error', () => {
  const before = [
    ...overdueOnes(9).map((each) => ({ ...each, firstSight: true })),
    // Nor that a limit was set that they had passed long before.
    ...overdueOnes(9).map((each) => ({ ...each, foundLate: true })),
  ];
  const other = Array.from({ length: 9 }, (_, n) => stay('other', n, `x-${n}`));
  const late = Array.from({ length: 9 }, (_, n) => stay('late', n, `l-${n}`, { toState: numberOf('SessionTimedOut') }));
  expect(fed(fresh, [...before, ...wellOnes(3).map((each) => ({ ...each, firstSight: true })), ...other, ...late])).toEqual(
    fresh,
  );
});

test('stays in any order of customers give the same again, and nothing that was given is changed', () => {
  const stays = [...overdueOnes(3), ...wellOnes(2), ...overdueOnes(4, HOUR)];
  const frozen = JSON.stringify(alarmed);
  expect(fed(fresh, stays)).toEqual(fed(JSON.parse(JSON.stringify(fresh)) as Detection, stays));
  fed(alarmed, stays);
  expect(JSON.stringify(alarmed)).toBe(frozen);
});

test('a site where more are overdue in usual times needs more of them, and the alarm says what it was compared with', () => {
  const usual = { share: 0.12, perDay: 400 };
  expect(fed(fresh, overdueOnes(4), usual).alarm).toBeNull();
  expect(fed(fresh, overdueOnes(5), usual).alarm).toMatchObject({ usualShare: 0.12, perDay: 400, falseAlarmEvery: 6200 });
  expect(fed(fresh, overdueOnes(4), { share: 0.01, perDay: 400 }).alarm).toMatchObject({
    usualShare: 0.01,
    falseAlarmEvery: 5600,
  });
});

test('two in a row are enough where few customers come, once that is known for a day', () => {
  const known = fed(fresh, [stay('well', 0, 'first')], SPARSE);
  const two = [stay('overdue', DAY, 'a'), stay('overdue', 1.5 * DAY, 'b')];
  expect(fed(known, two, SPARSE).alarm).toMatchObject({
    rule: 'sparse',
    since: DAY,
    at: 1.5 * DAY + LIMIT,
    entrants: 2,
    overdue: 2,
    perDay: 2,
    falseAlarmEvery: null,
  });
  expect(fed(known, two, { share: null, perDay: 5 }).alarm).toBeNull();
  expect(fed(known, two, UNKNOWN).alarm).toBeNull();
  expect(fed(known, [two[0]!, stay('well', 1.2 * DAY, 'c'), two[1]!], SPARSE).alarm).toBeNull();
  expect(fed(known, [two[0]!, { ...two[1]!, customer: 'a' }], SPARSE).alarm).toBeNull();
});

test('the first two customers of a new site raise no alarm, as nobody knows how many will come; after a day the next one does', () => {
  const two = fed(fresh, overdueOnes(2), SPARSE);
  expect(two.alarm).toBeNull();
  expect(fed(two, [stay('overdue', DAY, 'third')], SPARSE).alarm).toMatchObject({ rule: 'sparse', overdue: 3 });
});

test('where few customers come, a late but good exit ends the row, one by time-out does not', () => {
  const known = fed(fresh, [stay('well', 0, 'first'), stay('overdue', DAY, 'a')], SPARSE);
  const next = stay('overdue', 2 * DAY, 'b');
  expect(fed(known, [stay('late', DAY, 'a'), next], SPARSE).alarm).toBeNull();
  const timedOut = stay('late', DAY, 'a', { toState: numberOf('SessionTimedOut') });
  expect(fed(known, [timedOut, next], SPARSE).alarm).toMatchObject({ rule: 'sparse' });
});

test('whoever came before another left well is in no row', () => {
  const known = fed(fresh, [stay('well', 0, 'first')], SPARSE);
  const slow = stay('overdue', DAY, 'slow');
  const is = fed(known, [stay('well', DAY + MINUTE, 'quick'), slow, stay('overdue', 2 * DAY, 'next')], SPARSE);
  expect(is).toMatchObject({ alarm: null, row: { since: 2 * DAY, customers: ['next'] } });
});

test('where few customers come and more are overdue in usual times, more in a row are needed', () => {
  const known = fed(fresh, [stay('well', 0, 'first')], SPARSE);
  const usual = { share: 0.12, perDay: 4 };
  expect(fed(known, overdueOnes(2, DAY), usual).alarm).toBeNull();
  expect(fed(known, overdueOnes(3, DAY), usual).alarm).toMatchObject({ rule: 'sparse', overdue: 3 });
});

test('five customers who came after the alarm and left well end it, when those who came with them would be overdue by then', () => {
  const from = ALARM_AT + MINUTE;
  const four = fed(alarmed, wellOnes(4, from));
  expect(clearsAt(four)).toBeNull();
  const five = fed(alarmed, wellOnes(5, from));
  const endsAt = from + 4 * MINUTE + LIMIT;
  expect(clearsAt(five)).toBe(endsAt);
  expect(look(five, { overdue: 3, now: endsAt - 1 }).alarm).not.toBeNull();
  const { lastWellAt, countedFrom } = five;
  expect(look(five, { overdue: 3, now: endsAt })).toEqual({ ...fresh, countedFrom, lastWellAt });
  expect(fed(five, [stay('well', endsAt, 'one more')]).alarm).toBeNull();
});

test('customers who came before the alarm do not end it, however well they leave', () => {
  const late = wellOnes(9).map((each, n) => ({ ...each, at: ALARM_AT + n * MINUTE }));
  expect(fed(alarmed, late)).toMatchObject({ alarm: alarmed.alarm, wellSince: [] });
});

test('who got stuck takes those away who came before', () => {
  const from = ALARM_AT + MINUTE;
  const five = fed(alarmed, wellOnes(5, from));
  const among = feed(five, stay('overdue', from + 2.5 * MINUTE, 'among them'), UNKNOWN);
  expect(among.wellSince).toEqual([from + 3 * MINUTE, from + 4 * MINUTE]);
  // Of those who came before the page was fixed, it says nothing.
  expect(feed(five, stay('overdue', from - MINUTE, 'before them'), UNKNOWN).wellSince).toHaveLength(5);
});

test('an overdue second try takes them away as well, although it is the same customer', () => {
  const five = fed(alarmed, wellOnes(5, ALARM_AT + MINUTE));
  const again = feed(five, stay('overdue', ALARM_AT + HOUR, 'o-0-0'), UNKNOWN);
  expect(again).toMatchObject({ wellSince: [], run: { overdue: 4 } });
});

test('of a crowd that comes within a minute, one speaks for the page', () => {
  const crowd = Array.from({ length: 50 }, (_, n) => stay('well', ALARM_AT + MINUTE + n * 1_000, `c-${n}`));
  expect(fed(alarmed, crowd).wellSince).toHaveLength(1);
});

test('nobody overdue for half an hour ends an alarm, somebody in between begins it again', () => {
  const quiet = look(alarmed, { overdue: 0, now: 20 * MINUTE });
  expect(quiet.noneOverdueSince).toBe(20 * MINUTE);
  expect(clearsAt(quiet)).toBe(50 * MINUTE);
  expect(look(quiet, { overdue: 0, now: 50 * MINUTE - 1 })).toBe(quiet);
  expect(look(quiet, { overdue: 0, now: 50 * MINUTE }).alarm).toBeNull();
  const again = look(quiet, { overdue: 1, now: 40 * MINUTE });
  expect(again).toMatchObject({ noneOverdueSince: null });
  expect(clearsAt(again)).toBeNull();
  expect(look(again, { overdue: 0, now: 60 * MINUTE })).toMatchObject({ alarm: alarmed.alarm, noneOverdueSince: 60 * MINUTE });
  expect(feed(quiet, stay('overdue', 25 * MINUTE, 'next'), UNKNOWN).noneOverdueSince).toBeNull();
});

test('where customers come an hour apart, half an hour without one is no good sign', () => {
  const hourly = fed(
    fresh,
    Array.from({ length: 4 }, (_, n) => stay('overdue', n * HOUR, `h-${n}`)),
  );
  // Four customers in four hours: four more should have come.
  expect(clearsAt(look(hourly, { overdue: 0, now: 4 * HOUR }))).toBe(8 * HOUR);
  const daily = fed(
    fresh,
    Array.from({ length: 4 }, (_, n) => stay('overdue', n * DAY, `d-${n}`)),
  );
  expect(clearsAt(look(daily, { overdue: 0, now: 4 * DAY }))).toBe(5 * DAY);
});

test('a look where no alarm is on changes nothing', () => {
  const three = fed(fresh, overdueOnes(3));
  expect(look(three, { overdue: 0, now: DAY })).toBe(three);
  expect(clearsAt(three)).toBeNull();
});

test('an alarm is critical from ten customers overdue, if at least every second one lately was', () => {
  expect(alarmSeverity(fresh)).toBe(0);
  expect(alarmSeverity(fed(fresh, overdueOnes(9)))).toBe(0);
  const ten = fed(fresh, overdueOnes(10));
  expect(alarmSeverity(ten)).toBe(1);
  expect(alarmSeverity(fed(ten, wellOnes(10)))).toBe(1);
  expect(alarmSeverity(fed(ten, wellOnes(11)))).toBe(0);
});

test('while an alarm is on, it is told how those end who were overdue, and who times out', () => {
  const timedOut = { toState: numberOf('SessionTimedOut'), shortest: 28 * MINUTE, longest: 30 * MINUTE };
  const stays = [
    stay('late', 0, 'o-0-0'),
    stay('late', MINUTE, 'o-0-1', timedOut),
    stay('other', ALARM_AT, 'x', { ...timedOut, shortest: 9 * MINUTE, longest: 9 * MINUTE }),
    stay('late', 0, 'there before us', { firstSight: true, toState: numberOf('Error') }),
  ];
  expect(fed(alarmed, stays).exits).toEqual({ well: 1, timedOut: 2, other: 1, timedOutAfter: [29 * MINUTE, 9 * MINUTE] });
  const many = Array.from({ length: 30 }, (_, n) => stay('late', n, `l-${n}`, { ...timedOut, shortest: n, longest: n }));
  expect(fed(alarmed, many).exits).toMatchObject({ timedOut: 30, timedOutAfter: Array.from({ length: 20 }, (_, n) => n + 10) });
  expect(fed(fresh, stays).exits).toEqual(fresh.exits);
});

test('what is remembered does not grow', () => {
  const stays = Array.from({ length: 500 }, (_, n) => [...overdueOnes(1, n * HOUR), ...wellOnes(1, n * HOUR + MINUTE)]).flat();
  const is = fed(alarmed, stays);
  expect(JSON.stringify(is).length).toBeLessThan(3_000);
  // The very first of them is the first of the alarm.
  expect(is.run).toMatchObject({ entrants: 1_003 });
});

test('when the clock is set back, times that lie ahead of it move with it, and the others stay', () => {
  const known: Detection = {
    ...alarmed,
    lastWellAt: 30 * MINUTE,
    wellSince: [9 * MINUTE, 31 * MINUTE],
    noneOverdueSince: 32 * MINUTE,
  };
  const moved = { now: 10 * MINUTE, by: 5 * MINUTE };
  expect(movedBack(known, moved)).toEqual({
    ...known,
    countedFrom: LIMIT - 5 * MINUTE,
    lastWellAt: 25 * MINUTE,
    alarm: { ...known.alarm, at: ALARM_AT - 5 * MINUTE },
    wellSince: [9 * MINUTE, 26 * MINUTE],
    noneOverdueSince: 27 * MINUTE,
  });
  const later: Detection = { ...known, run: { ...known.run!, since: HOUR }, row: { ...known.row!, since: HOUR } };
  const since = HOUR - 5 * MINUTE;
  expect(movedBack(later, moved)).toMatchObject({ run: { ...later.run, since }, row: { ...later.row, since } });
  expect(movedBack(fresh, moved)).toEqual(fresh);
});
