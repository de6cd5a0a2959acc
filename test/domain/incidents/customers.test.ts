import { expect, test } from 'vitest';
import { fateOf, leftOutcome, type SeenStay, shareOverTime } from '../../../src/domain/incidents/customers.ts';

const [COMPLETED, TIMED_OUT, CARD] = [2, 5, 6];
const aStay = (differs: Partial<SeenStay> = {}): SeenStay => ({
  ...{ customer: 'c', enteredAt: 0, overdueAt: null, leftAt: null, toState: null },
  ...differs,
});
const well = (leftAt: number, customer = 'w'): SeenStay => aStay({ customer, leftAt, toState: COMPLETED });
const stuck = (overdueAt: number, customer: string): SeenStay => aStay({ customer, overdueAt });

test.each<[string, Partial<SeenStay>, string]>([
  ['is stuck', { overdueAt: 5 }, 'overdue'],
  ['left after it was stuck', { overdueAt: 5, leftAt: 9, toState: COMPLETED }, 'late'],
  ['left well', { leftAt: 9, toState: COMPLETED }, 'well'],
  ['timed out', { leftAt: 9, toState: TIMED_OUT }, 'other'],
  ['goes on', {}, 'open'],
])('a stay that %s', (_, stay, fate) => expect(fateOf(aStay(stay))).toBe(fate));

test('the share has a step for each outcome, in the order of time', () => {
  expect(shareOverTime([stuck(30, 'a'), well(10), well(20)])).toEqual([
    { at: 10, overdue: 0, of: 1 },
    { at: 20, overdue: 0, of: 2 },
    { at: 30, overdue: 1, of: 3 },
  ]);
});

test('who timed out in time, goes on, or becomes stuck again, is no step', () => {
  expect(shareOverTime([aStay({ leftAt: 1, toState: TIMED_OUT }), aStay(), stuck(2, 'a'), stuck(3, 'a')])).toEqual([
    { at: 2, overdue: 1, of: 1 },
  ]);
  const again = [stuck(2, 'a'), well(3, 'a'), well(4, 'a')];
  expect(shareOverTime(again).map(({ of }) => of)).toEqual([1, 2, 3]);
});

test('the share is that of the latest twenty', () => {
  const steps = shareOverTime([stuck(0, 'a'), ...Array.from({ length: 20 }, (_, at) => well(at + 1, `w${at}`))]);
  expect(steps.slice(-2)).toEqual([
    { at: 19, overdue: 1, of: 20 },
    { at: 20, overdue: 0, of: 20 },
  ]);
});

test.each([
  ['was paid, also where another one was', COMPLETED, 7, 'late'],
  ['timed out, and another of its order was paid', TIMED_OUT, 7, 'other'],
  ['goes on, and another of its order was paid', CARD, 7, 'other'],
  ['timed out', TIMED_OUT, null, 'lost'],
  ['goes on', CARD, null, 'open'],
])('a purchase that is stuck no more and %s', (_, state, paidByAnotherAt, outcome) => {
  expect(leftOutcome({ state, paidByAnotherAt })).toBe(outcome);
});
