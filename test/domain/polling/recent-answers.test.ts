import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  areEnoughRead,
  forgetAnswers,
  newRecentAnswers,
  noteAnswer,
  type RecentAnswers,
} from '../../../src/domain/polling/recent-answers.ts';
import { answer, trouble } from '../../support/a-purchase.ts';
import { seeded, siteTraffic } from '../../support/site-traffic.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const good = answer(0);
const bad = trouble('unreachable');

/** Answers a millisecond apart from `from` on; a negative number is a failed call about that purchase. */
const recentAfter = (answers: readonly number[], { recent = newRecentAnswers(), from = 0 } = {}): RecentAnswers => {
  for (const [index, each] of answers.entries()) noteAnswer(recent, Math.abs(each), each > 0, from + index);
  return recent;
};
const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const enough = (recent: RecentAnswers, now: number, awaited = 0): boolean => areEnoughRead(recent, { now, awaited });

describe('one answer after the other', () => {
  test.each([
    // What was answered, and whether it is enough at once, after five seconds, and after five with a call on its way.
    ['five purchases', range(1, 5), true, true, true],
    ['one purchase again and again', [1, 1, 1, 1, 1, 1], false, true, false],
    ['four purchases', range(1, 4), false, true, false],
    ['fifteen of twenty', [...range(1, 15), ...range(16, 5).map((each) => -each)], true, true, true],
    ['as many as not', [1, 2, -3, -4], false, false, false],
    ['one of two', [1, -2], false, false, false],
    ['none', [-1], false, false, false],
    ['nothing', [], false, false, false],
  ])('%s', (_, answers, atOnce, later, awaited) => {
    expect([
      enough(recentAfter(answers), 20),
      enough(recentAfter(answers), 6 * SECOND),
      enough(recentAfter(answers), 6 * SECOND, 1),
    ]).toEqual([atOnce, later, awaited]);
  });

  test('the first answer to a poll counts, and the retry that brings its answer does not; the next poll does', () => {
    const recent = recentAfter([-1, 1, -2, -2, 2, -3, 3, 4]);
    expect(recent.lead).toBe(-2);
    expect(recentAfter([1, 2, 3], { recent, from: MINUTE }).lead).toBe(4);
    expect(recentAfter([-4], { recent, from: MINUTE }).lead).toBe(2);
  });

  test('a small lead must last: what ends it begins the time again', () => {
    const recent = recentAfter([1]);
    expect(enough(recent, 4 * SECOND)).toBe(false);
    noteAnswer(recent, 2, false, 4 * SECOND);
    noteAnswer(recent, 3, true, 4 * SECOND + 1);
    expect([enough(recent, 9 * SECOND), enough(recent, 9 * SECOND + 1)]).toEqual([false, true]);
  });

  test('an answer counts for five minutes', () => {
    const recent = recentAfter([-1, 2]);
    expect(enough(recent, 5 * MINUTE)).toBe(false);
    expect([recent.polls.size, recent.lead]).toEqual([1, 1]);
    expect(enough(recentAfter([]), 9 * MINUTE)).toBe(false);
  });

  test('of more than a hundred purchases the latest count', () => {
    const recent = recentAfter([-1, ...range(2, 99)]);
    expect([recent.polls.size, recent.lead]).toEqual([100, 98]);
    noteAnswer(recent, 101, true, 200);
    expect([recent.polls.size, recent.lead, recent.polls.has(1)]).toEqual([100, 100, false]);
  });

  test('what was answered before a failure is forgotten', () => {
    const recent = recentAfter(range(1, 50));
    forgetAnswers(recent);
    expect([recent, enough(recent, MINUTE)]).toEqual([newRecentAnswers(), false]);
  });

  test('whatever is answered: the lead is that of the polls that are remembered, of which there are a hundred at most', () => {
    const step = fc.record({ purchase: fc.nat(150), isGood: fc.boolean(), passes: fc.oneof(fc.nat(50), fc.nat(3 * MINUTE)) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
        const recent = newRecentAnswers();
        let now = 0;
        for (const { purchase, isGood, passes } of steps) {
          now += passes;
          noteAnswer(recent, purchase, isGood, now);
        }
        const polls = [...recent.polls.values()];
        expect(recent.lead).toBe(polls.reduce((sum, poll) => sum + (poll.isGood ? 1 : -1), 0));
        expect(recent.leadSince === null).toBe(recent.lead <= 0);
        expect(polls.length).toBeLessThanOrEqual(100);
        expect(polls.every(({ at }) => now - at < 5 * MINUTE)).toBe(true);
      }),
    );
  });
});

describe('traffic of a site', () => {
  /** When the site began to fail and when it ended, as a replica finds it: it fails when the breaker opens for good. */
  const failures = (
    purchases: number,
    until: number,
    seed: number,
    fails: (purchase: number, now: number, random: () => number) => boolean,
  ): { readonly from: number; to: number }[] => {
    const random = seeded(seed);
    const recent = newRecentAnswers();
    const found: { from: number; to: number }[] = [];
    const isFailing = (): boolean => found.at(-1)?.to === Number.POSITIVE_INFINITY;
    let isDown = false;
    let looked = 0;
    siteTraffic({
      purchases,
      until,
      random,
      call: (purchase, now) => ({
        seen: fails(purchase, now, random) ? bad : good,
        takes: 20 + 60 * random(),
        again: now + Math.min(Math.max(now * 0.1, 5 * SECOND), 5 * MINUTE) * (0.9 + 0.2 * random()),
      }),
      onAnswer: ({ now, purchase, good: isGood, opened, awaited }) => {
        // As the poller's sweeps do.
        for (; looked + 5 * SECOND < now; looked += 5 * SECOND)
          if (isFailing() && !isDown && enough(recent, looked)) found.at(-1)!.to = looked;
        if (isGood && isDown) {
          forgetAnswers(recent);
          isDown = false;
        }
        noteAnswer(recent, purchase, isGood, now);
        if (opened) {
          isDown = true;
          forgetAnswers(recent);
          if (!isFailing()) found.push({ from: now, to: Number.POSITIVE_INFINITY });
        } else if (isFailing() && !isDown && enough(recent, now, awaited)) found.at(-1)!.to = now;
      },
    });
    return found;
  };

  test.each([
    // With few purchases the next polls have to show that the site is well, five minutes later at most.
    [7, 6 * MINUTE],
    [12, 6 * MINUTE],
    [54, MINUTE],
    [300, MINUTE],
  ])(
    '%i purchases at a service that fails 95 of 100 calls for an hour: it fails all the time, until %i ms after',
    (purchases, late) => {
      const from = 5 * MINUTE;
      const to = from + 60 * MINUTE;
      for (let seed = 1; seed <= 5; seed++) {
        const found = failures(purchases, to + 10 * MINUTE, seed, (_, now, random) => now >= from && now < to && random() < 0.95);
        expect(found).toHaveLength(1);
        expect(found[0]!.from - from).toBeLessThan(1.5 * MINUTE);
        expect(found[0]!.to).toBeGreaterThan(to - 10 * SECOND);
        expect(found[0]!.to - to).toBeLessThan(late);
      }
    },
  );

  test.each([1, 3, 5, 10, 54, 300])(
    '%i purchases and an outage of ten minutes: it is over within a minute of its end',
    (purchases) => {
      for (let seed = 1; seed <= 5; seed++) {
        const found = failures(purchases, 30 * MINUTE, seed, (_, now) => now >= 5 * MINUTE && now < 15 * MINUTE);
        expect(found).toHaveLength(1);
        expect(found[0]!.to - 15 * MINUTE).toBeLessThan(MINUTE);
      }
    },
  );

  test.each([3, 5, 7, 10, 54])(
    '%i purchases of which each third poll fails twice: never for as long as `groupWait`',
    (purchases) => {
      for (let seed = 1; seed <= 5; seed++) {
        const left = new Map<number, number>();
        const found = failures(purchases, 60 * MINUTE, seed, (purchase, _, random) => {
          const before = left.get(purchase) ?? 0;
          const more = before > 0 ? before - 1 : random() < 1 / 3 ? 2 : 0;
          left.set(purchase, more);
          return more > 0;
        });
        for (const { from, to } of found) expect(to - from).toBeLessThan(20 * SECOND);
      }
    },
  );
});
