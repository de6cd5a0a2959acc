import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  forgetOutage,
  isSiteAtFault,
  isSiteDoubtful,
  newSiteAnswers,
  noteFailure,
  noteUsable,
  type SiteAnswers,
} from '../../../src/domain/polling/site-answers.ts';
import type { Observation } from '../../../src/domain/purchases/purchase.ts';
import { answer, trouble } from '../../support/a-purchase.ts';
import { seeded, siteTraffic, type Traffic } from '../../support/site-traffic.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const good = answer(0);
const bad = trouble('unreachable');

describe('one answer after the other', () => {
  let answers: SiteAnswers;
  let now: number;
  beforeEach(() => {
    answers = newSiteAnswers();
    now = 0;
  });
  const well = (...purchases: number[]): void => {
    for (const purchase of purchases) noteUsable(answers, purchase, { good: true, now });
  };
  /** After how many of these failures the site is at fault; null when it is not. */
  const faultAfter = (purchases: readonly number[]): number | null => {
    for (const [index, purchase] of purchases.entries()) {
      noteFailure(answers, purchase, now);
      if (isSiteAtFault(answers, now)) return index + 1;
    }
    return null;
  };
  const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);

  test('five failures are enough when the site has answered nothing, or nothing for five minutes', () => {
    expect(faultAfter([1, 1, 1, 1, 1, 1])).toBe(5);
    answers = newSiteAnswers();
    well(1);
    now = 5 * MINUTE - 1;
    expect(faultAfter([1, 1, 1, 1])).toBeNull();
    now += 1;
    expect(faultAfter([1])).toBe(1);
  });

  test('one or two purchases whose calls always fail say nothing about a site that answered lately', () => {
    well(1, 2);
    expect(faultAfter(Array.from({ length: 100 }, (_, index) => 1 + (index % 2)))).toBeNull();
  });

  test('all of three purchases are enough, and two of three of a few', () => {
    well(1, 2, 3);
    expect(faultAfter([1, 2, 3, 1, 2, 3, 1])).toBe(7);
    answers = newSiteAnswers();
    for (const odd of range(50, 4)) {
      noteFailure(answers, odd, now);
      well(1);
    }
    well(...range(1, 12));
    expect(faultAfter(range(1, 12))).toBe(8);
  });

  test.each([
    [0, 7],
    [4, 11],
    [2, 20],
  ])('of many purchases, a row that is too long for what fails usually (one in %i): %i', (usual, length) => {
    for (let time = 1; time <= 400; time++) {
      if (usual > 0 && time % usual === 0) noteFailure(answers, 1_000 + time, now);
      else well(time);
    }
    const found = faultAfter(range(10_000, 40))!;
    expect(found).toBeGreaterThanOrEqual(length);
    expect(found).toBeLessThanOrEqual(length + 4);
  });

  test('a purchase that goes on failing counts once, until it has answered', () => {
    well(...range(1, 60));
    expect(faultAfter(range(100, 14))).toBe(7);
    for (let time = 0; time < 50; time++) {
      well(1);
      expect(faultAfter(range(100, 14))).toBeNull();
    }
    well(...range(100, 14));
    expect(faultAfter(range(100, 14))).not.toBeNull();
  });

  test('after an outage the purchases that made it known count no more; the others do', () => {
    well(1, 2, 3, 4, 5);
    expect(faultAfter([1, 2, 3, 1, 2, 3, 1, 4, 2])).toBe(8);
    forgetOutage(answers);
    well(5);
    expect(faultAfter([1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4])).toBeNull();
    expect(faultAfter([6])).toBe(1);
  });

  test('purchases that answered well are asked when failures of several may be the site, the latest first', () => {
    well(...range(1, 70));
    expect([answers.well.size, [...answers.well.keys()].at(-1)]).toEqual([64, 70]);
    for (const purchase of [70, 69, 68, 70]) noteFailure(answers, purchase, now);
    expect(isSiteDoubtful(answers)).toBe(false);
    noteFailure(answers, 69, now);
    expect(isSiteDoubtful(answers)).toBe(true);
    expect([...answers.well.keys()].at(-1)).toBe(67);
    well(67);
    expect(isSiteDoubtful(answers)).toBe(false);
  });

  test('seven in a row are enough where a tenth fails usually, six are not', () => {
    well(...range(1, 70));
    expect(faultAfter(range(100, 6))).toBeNull();
    expect(faultAfter(range(106, 1))).toBe(1);
  });

  test('who answered well again counts as the latest, and who got another answer no longer', () => {
    well(...range(1, 64), 1, 65);
    expect([answers.well.has(1), answers.well.has(2), answers.well.size]).toEqual([true, false, 64]);
    noteUsable(answers, 65, { good: false, now });
    expect(answers.well.has(65)).toBe(false);
  });

  test('failures of two purchases, or of some that failed before, are no doubt', () => {
    for (const purchase of [1, 2, 1, 2, 1, 2]) noteFailure(answers, purchase, now);
    expect(isSiteDoubtful(answers)).toBe(false);
    noteFailure(answers, 3, now);
    expect(isSiteDoubtful(answers)).toBe(true);
    well(9);
    for (const purchase of [1, 2, 3, 1, 2, 3]) noteFailure(answers, purchase, now);
    expect(isSiteDoubtful(answers)).toBe(false);
  });

  test('a row of a minute without a usable answer is enough', () => {
    well(...range(1, 40));
    for (let time = 0; time < 60; time++) {
      noteFailure(answers, 100 + (time % 3), now);
      well(1);
    }
    expect(faultAfter([100, 101, 102, 103, 100, 101, 102])).toBeNull();
    now = MINUTE - 1;
    expect(isSiteAtFault(answers, now)).toBe(false);
    expect(isSiteAtFault(answers, MINUTE)).toBe(true);
  });

  test('about within a minute: ten that began to fail, not fewer than were answered, three failures for each answer', () => {
    const late = (differs: Partial<SiteAnswers['late']>): boolean => {
      answers.answeredAt = now;
      answers.late = { at: now, usable: 5, failures: 15, answered: 10, fresh: 10, ...differs };
      return isSiteAtFault(answers, now);
    };
    expect([late({}), late({ fresh: 9.9 }), late({ answered: 10.1 }), late({ usable: 5.1 })]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  test('who answered well five minutes ago speaks no longer for the site', () => {
    well(...range(1, 20));
    now = 5 * MINUTE - 1;
    well(50);
    expect(faultAfter([60, 61, 62, 60, 61, 62, 60])).toBeNull();
    now = 5 * MINUTE;
    well(50);
    expect(faultAfter([70, 71, 72, 70, 71, 72, 70])).toBe(7);
  });

  test('nothing of before an outage counts after it', () => {
    well(1, 2, 3);
    for (const purchase of [4, 5]) noteFailure(answers, purchase, now);
    well(1);
    noteFailure(answers, 6, now);
    forgetOutage(answers);
    expect([answers.well.size, [...answers.failing]]).toEqual([0, [6]]);
  });

  test('a purchase that fails again is remembered as the latest, and those before the last thousand are not', () => {
    for (const purchase of [...range(1, 1_000), 1, 1_001]) noteFailure(answers, purchase, now);
    expect([answers.failing.has(1), answers.failing.has(2), answers.failing.size]).toEqual([true, false, 1_000]);
    expect(answers.row.purchases.size).toBe(1_000);
  });

  test('memory is bounded', () => {
    for (let purchase = 0; purchase < 5_000; purchase++) noteFailure(answers, purchase, now);
    for (let purchase = 0; purchase < 5_000; purchase++) well(purchase);
    expect(answers.well.size).toBeLessThanOrEqual(64);
    expect(answers.failing.size).toBeLessThanOrEqual(1_000);
  });
});

describe('traffic of a site', () => {
  /** Answers of 20 to 80 ms; failures of a millisecond where `quick`. */
  const traffic = (
    purchases: number,
    until: number,
    random: () => number,
    fails: (purchase: number, now: number) => Observation | null,
    { settles = false, quick = false, ceiling = 50 } = {},
  ): Traffic =>
    siteTraffic({
      purchases,
      until,
      ceiling,
      random,
      call: (purchase, now) => {
        const failed = fails(purchase, now);
        const takes = failed !== null && quick ? 1 : 20 + 60 * random();
        return { seen: failed ?? good, takes, again: settles ? null : now + (5 + 5 * random()) * SECOND };
      },
    });
  /** As many purchases as given fail twice each, and all the others never. */
  const twice = (purchases: number, odd: number, random: () => number): ((purchase: number) => Observation | null) => {
    const left = new Map<number, number>();
    while (left.size < odd) left.set(Math.floor(random() * purchases), 2);
    return (purchase) => {
      const more = left.get(purchase) ?? 0;
      left.set(purchase, more - 1);
      return more > 0 ? bad : null;
    };
  };

  test.each([false, true])('54 purchases of which 14 fail twice are over in seconds (quick failures: %s)', (quick) => {
    const took: number[] = [];
    let openings = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const random = seeded(seed);
      const seen = traffic(54, 10 * MINUTE, random, twice(54, 14, random), { settles: true, quick, ceiling: 1_000 });
      expect(seen.calls).toHaveLength(54 + 28);
      openings += seen.openings.length;
      took.push(seen.finishedAt!);
    }
    // Two retries take three seconds. Before the first good answer a row of five may come by chance, in one case of some hundreds.
    expect(openings).toBeLessThanOrEqual(1);
    expect(took.filter((each) => each > 4 * SECOND).length).toBeLessThanOrEqual(1);
    expect(Math.max(...took)).toBeLessThan(15 * SECOND);
  });

  test.each([10, 54, 200])('%i purchases of which each fourth answer is odd, for an hour, open nothing', (purchases) => {
    const random = seeded(purchases);
    const seen = traffic(purchases, 60 * MINUTE, random, () => (random() < 0.25 ? bad : null));
    expect(seen.openings).toEqual([]);
  });

  test.each([5, 12, 54])('of %i purchases each fourth fails always, for an hour: nothing opens', (purchases) => {
    const seen = traffic(purchases, 60 * MINUTE, seeded(purchases), (purchase) => (purchase % 4 === 1 ? bad : null));
    expect(seen.openings).toEqual([]);
  });

  test('one purchase that fails and answers in turn opens nothing', () => {
    let calls = 0;
    const seen = traffic(6, 60 * MINUTE, seeded(6), (purchase) => {
      if (purchase !== 3) return null;
      calls += 1;
      return calls % 5 === 0 ? null : bad;
    });
    expect(seen.openings).toEqual([]);
  });

  test.each([3, 5, 10, 30, 54, 300])(
    'an outage of %i purchases opens once, with few calls, and is over soon after it',
    (purchases) => {
      for (let seed = 1; seed <= 4; seed++) {
        const random = seeded(seed);
        const from = 5 * MINUTE + random() * 20 * SECOND;
        const to = from + MINUTE;
        const seen = traffic(purchases, to + 2 * MINUTE, random, (_purchase, now) => (now >= from && now < to ? bad : null));
        expect(seen.openings).toHaveLength(1);
        const [opening] = seen.openings;
        expect(opening!.failures).toBeLessThanOrEqual(15);
        expect(opening!.at - from).toBeLessThan(12 * SECOND);
        expect(seen.calls.filter(({ at }) => at >= from && at < to).length).toBeLessThanOrEqual(25);
        expect(seen.calls.find(({ at, good: isGood }) => at >= to && isGood)!.at - to).toBeLessThan(35 * SECOND);
        expect(seen.breaker.kind).toBe('closed');
      }
    },
  );

  /** Customers who come one after the other, and are asked about four times each. */
  const coming = (perMinute: number, random: () => number, fails: (now: number) => boolean): Traffic => {
    const polls = new Map<number, number>();
    return siteTraffic({
      purchases: 25 * perMinute,
      until: 25 * MINUTE,
      random,
      starts: (purchase) => (purchase * MINUTE) / perMinute,
      call: (purchase, now) => {
        if (fails(now)) return { seen: bad, takes: 5, again: null };
        const done = (polls.get(purchase) ?? 0) + 1;
        polls.set(purchase, done);
        return { seen: good, takes: 20 + 60 * random(), again: done >= 4 ? null : now + (5 + 5 * random()) * SECOND };
      },
    });
  };

  test.each([10, 30, 60])(
    'of %i customers a minute, 19 of 20 calls fail: the site is at fault within two minutes',
    (perMinute) => {
      for (let seed = 1; seed <= 10; seed++) {
        const random = seeded(seed);
        const seen = coming(perMinute, random, (now) => now >= 10 * MINUTE && now < 15 * MINUTE && random() < 0.95);
        expect(seen.openings[0]?.at).toBeGreaterThan(10 * MINUTE);
        expect(seen.openings[0]?.at).toBeLessThan(12 * MINUTE);
      }
    },
  );

  test.each([10, 30, 60])('of %i customers a minute, each third call fails, and the site is not at fault', (perMinute) => {
    for (let seed = 1; seed <= 10; seed++) {
      const random = seeded(seed);
      expect(coming(perMinute, random, (now) => now >= MINUTE && random() < 1 / 3).openings).toEqual([]);
    }
  });

  test('of a few customers a minute, everything fails: the site is at fault within two minutes', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const seen = coming(2, seeded(seed), (now) => now >= 10 * MINUTE);
      expect(seen.openings[0]?.at).toBeGreaterThan(10 * MINUTE);
      expect(seen.openings[0]?.at).toBeLessThan(12 * MINUTE);
    }
  });

  test('a short failure of everything does not hide that most calls fail afterwards', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seeded(seed);
      const isShort = (now: number): boolean => now >= 5 * MINUTE && now < 5 * MINUTE + 20 * SECOND;
      const seen = coming(30, random, (now) => isShort(now) || (now >= 7 * MINUTE && now < 12 * MINUTE && random() < 0.95));
      expect(seen.openings.find(({ at }) => at >= 7 * MINUTE)?.at).toBeLessThan(9 * MINUTE);
    }
  });

  test('an outage of a site with a fourth of odd purchases is over once, and the odd ones do not open it again', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const random = seeded(seed);
      const seen = traffic(54, 15 * MINUTE, random, (purchase, now) =>
        (now >= 5 * MINUTE && now < 6 * MINUTE) || purchase % 4 === 1 ? bad : null,
      );
      expect(seen.openings).toHaveLength(1);
    }
  });

  test('each probe of an outage is about another purchase, one that answered before', () => {
    const seen = traffic(54, 7 * MINUTE, seeded(1), (purchase, now) =>
      now >= 5 * MINUTE && now < 6 * MINUTE ? bad : purchase % 4 === 1 ? bad : null,
    );
    const probes = seen.calls.filter(({ probe }) => probe).map(({ purchase }) => purchase);
    expect(probes.length).toBeGreaterThanOrEqual(5);
    expect(new Set(probes).size).toBe(probes.length);
    expect(probes.filter((purchase) => purchase % 4 === 1)).toEqual([]);
  });

  test('a site that lets ten calls a second through goes on being read, with short pauses', () => {
    const lately: number[] = [];
    let refused = 0;
    const seen = traffic(600, 2 * MINUTE, seeded(3), (_purchase, now) => {
      while (lately.length > 0 && lately[0]! <= now - SECOND) lately.shift();
      if (lately.length >= 10) {
        refused += 1;
        return trouble('throttled');
      }
      lately.push(now);
      return null;
    });
    const answered = seen.calls.filter(({ good: isGood }) => isGood);
    expect(answered.length).toBeGreaterThan(300);
    expect(refused).toBeLessThan(answered.length / 2);
    const gaps = answered.map(({ at }, index) => at - (answered[index - 1]?.at ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(5 * SECOND);
  });

  test('whatever fails when: what is due is asked, and the site is called freely a minute after the last failure', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: 1, max: 40 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (seed, purchases, share) => {
          const random = seeded(seed);
          const seen = traffic(purchases, 4 * MINUTE, random, (_purchase, now) =>
            now < 2 * MINUTE && random() < share ? (random() < 0.1 ? trouble('throttled') : bad) : null,
          );
          expect(seen.breaker.kind).toBe('closed');
          expect(new Set(seen.calls.filter(({ at }) => at > 3 * MINUTE).map(({ purchase }) => purchase)).size).toBe(purchases);
        },
      ),
      { numRuns: 60 },
    );
  });
});
