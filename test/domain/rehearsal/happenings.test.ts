import { expect, test } from 'vitest';
import type { Detection } from '../../../src/domain/incidents/detection.ts';
import { applyHappening, happeningsOf, stuckOf, type WaitingStays } from '../../../src/domain/rehearsal/happenings.ts';
import type { RecordedStay, RehearsedStay } from '../../../src/domain/stays/recorded-stay.ts';

const recorded = (differs: Partial<RecordedStay> = {}): RecordedStay => ({
  ...{ site: 'se', state: 6, customer: 'a', enteredAt: 100, seenAt: 100, leftAt: null, toState: null },
  ...{ unwatchedAt: null, paidAt: null, firstSight: false },
  ...differs,
});
const stay = (stuckAt: number | null, differs: Partial<RecordedStay> = {}): RehearsedStay => ({
  ...{ recorded: recorded(differs), limit: 50, stuckAt, shortest: 0, longest: 0 },
});
const whatOf = (each: RehearsedStay, end = 1_000) => happeningsOf(each, 3, end).map(({ at, what }) => [what, at]);

test.each<[string, RehearsedStay, unknown[]]>([
  ['left in time', stay(null, { leftAt: 140 }), [['left', 140]]],
  [
    'stuck, then left',
    stay(150, { leftAt: 300 }),
    [
      ['stuck', 150],
      ['left', 300],
    ],
  ],
  [
    'stuck, and not watched any more',
    stay(150, { unwatchedAt: 400 }),
    [
      ['stuck', 150],
      ['gone', 400],
    ],
  ],
  [
    'stuck, and its order paid by another before',
    stay(150, { paidAt: 120, unwatchedAt: 400 }),
    [
      ['stuck', 150],
      ['gone', 150],
    ],
  ],
  ['never stuck, and not watched any more', stay(null, { unwatchedAt: 400 }), []],
  ['left after the end', stay(150, { leftAt: 1_000 }), [['stuck', 150]]],
])('what happens to a stay: %s', (_, each, happenings) => expect(whatOf(each)).toEqual(happenings));

test('who waits where there is an alarm is counted by customer, of those who came since it began', () => {
  const waiting: WaitingStays = new Map();
  const put = (place: number, customer: string, enteredAt: number, what: 'stuck' | 'left' = 'stuck') =>
    applyHappening(waiting, { at: 0, place, what, stay: stay(0, { customer, enteredAt }) });
  put(1, 'a', 50);
  put(2, 'b', 210);
  put(3, 'b', 220);
  put(4, 'c', 230);
  put(4, 'c', 230, 'left');
  const detection = (state: number, alarm: { since: number } | null) => ({ site: 'se', state, alarm }) as unknown as Detection;
  expect(stuckOf(waiting, [detection(6, { since: 200 }), detection(4, { since: 200 }), detection(6, null)])).toEqual([
    { site: 'se', state: 6, count: 1, since: 210 },
    { site: 'se', state: 4, count: 0, since: null },
  ]);
});
