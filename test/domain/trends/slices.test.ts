import { describe, expect, test } from 'vitest';
import { type PlacedCount, worseSlices } from '../../../src/domain/trends/slices.ts';
import { createRandom } from '../../simulation/world/random.ts';

const place = { site: 'se', way: 6 as number | null, currency: 'SEK' as string | null };
/** So many customers of a place, of whom so many paid. */
const came = (customers: number, paid: number, at: Partial<typeof place> = {}): PlacedCount[] => [
  { ...place, ...at, outcome: 'paid', customers: paid, gone: 0 },
  { ...place, ...at, outcome: 'not_paid', customers: customers - paid, gone: 0 },
  { ...place, ...at, outcome: 'paid_by_another', customers: 500, gone: 0 },
];
const week = { range: '7d', isOneSite: false } as const;

describe('worse slices', () => {
  test('are named with what differs, the most lost customers first, three at most', () => {
    const [now, before] = [1, 2].map((time) =>
      [6, 7, 4, 12, 9].flatMap((way, at) => came(1_000, 800 - (time === 1 ? 100 + at : 0), { way, site: `s${way}` })),
    );
    const { looked, words, slices } = worseSlices(now!, before!, week);
    expect(slices.map(({ site }) => site)).toEqual(['s9', 's12', 's4']);
    expect(looked).toBe(5);
    expect(words).toMatch(/^The worst of 5 groups with 30 customers or more/);
    expect(slices[0]).toMatchObject({ customers: 1_000, paid: 696, notPaid: 304, share: 0.696, before: { paid: 800 } });
    expect(slices[2]!.words).toBe('69.8 % paid, 10.2 percentage points less than in the 7 days before');
    expect(slices[2]!.where).toBe('s4, last waiting for identification');
  });

  test('go by the customers who would have paid as before, not by the share', () => {
    // Of 900 customers 120 fewer paid than by the share of before, of 400 customers 60, and of 300 customers 40.
    const now = [
      ...came(300, 200, { site: 'shrunk' }),
      ...came(400, 260, { site: 'far smaller' }),
      ...came(900, 600, { site: 'grown' }),
    ];
    const before = [
      ...came(600, 480, { site: 'shrunk' }),
      ...came(4_000, 3_200, { site: 'far smaller' }),
      ...came(150, 120, { site: 'grown' }),
    ];
    expect(worseSlices(now, before, week).slices.map(({ site }) => site)).toEqual(['grown', 'far smaller', 'shrunk']);
  });

  test('say their state, and of purchases without one that no state was seen', () => {
    const state = (way: number | null) => worseSlices(came(900, 500, { way }), came(900, 800, { way }), week).slices[0]!;
    expect(state(6)).toMatchObject({
      state: { name: 'WaitingForCardPayments' },
      where: 'se, last waiting for the card provider',
    });
    expect(state(null)).toMatchObject({ state: null, where: 'se, no state seen' });
  });

  test('are none where nothing grew worse, which is said with how many were looked at', () => {
    const both = [...came(900, 700), ...came(900, 700, { site: 'fi' })];
    const { words, slices } = worseSlices(both, both, week);
    expect(slices).toEqual([]);
    expect(words).toMatch(/^In none of 2 groups with 30 customers or more did the share that paid fall/);
  });

  test('are those beyond chance alone, corrected for the slices looked at', () => {
    const names = (slices: number) => {
      const others = Array.from({ length: slices - 1 }, (_, at) => came(1_000, 800, { site: `other ${at}` })).flat();
      return worseSlices([...came(1_000, 750), ...others], [...came(1_000, 803), ...others], week).slices.length;
    };
    expect([names(1), names(20)]).toEqual([1, 0]);
    expect(worseSlices(came(1_000, 900), came(1_000, 700), week)).toMatchObject({ looked: 1, slices: [] });
  });

  test('of fewer than thirty customers now or before are not looked at', () => {
    expect(worseSlices(came(29, 0), came(1_000, 900), week)).toMatchObject({ looked: 0, slices: [] });
    expect(worseSlices(came(1_000, 0), came(29, 29), week).words).toMatch(/^Too few to say/);
    expect(worseSlices(came(30, 5), came(30, 25), week).slices).toHaveLength(1);
  });

  test('are by currency where there are several that are counted apart, and a list can tell them apart', () => {
    const named = (currency: string | null) => {
      const other = came(400, 320, { currency });
      return worseSlices([...came(400, 200), ...other], [...came(400, 320), ...other], { ...week, isOneSite: true }).slices.map(
        (slice) => [slice.where, slice.currency, slice.customers],
      );
    };
    expect(named('SEK')).toEqual([['last waiting for the card provider', null, 800]]);
    expect(named('EUR')).toEqual([['last waiting for the card provider, SEK', 'SEK', 400]]);
    expect(named(null)).toEqual([['last waiting for the card provider, SEK', 'SEK', 400]]);
    expect(named('*')).toEqual([['last waiting for the card provider', null, 800]]);
  });

  test('are named by chance in about one of two hundred weeks at most, however many there are', () => {
    const random = createRandom(5);
    const drawn = () =>
      Array.from({ length: 8 }, (_, at) =>
        came(300, Array.from({ length: 300 }).filter(() => random.chance(0.77)).length, { site: `s${at}` }),
      ).flat();
    const wrong = Array.from({ length: 600 }).filter(() => worseSlices(drawn(), drawn(), week).slices.length > 0).length;
    expect(wrong).toBeLessThan(9);
  });
});
