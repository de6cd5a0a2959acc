/** What people would hear in weeks of shopping: the simulator's customers, polled and judged by the daemon's own decisions. */
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, START, simulateShop } from '../support/simulated-shop.ts';

test('three healthy weeks: at most one false incident in 5 000 stays', { timeout: 120_000 }, () => {
  const weeks = [1, 2, 3].map((seed) => simulateShop({ seed, days: 7, perHour: { se: 40, fi: 20, dk: 5 } }));
  const entrants = weeks.reduce((sum, week) => sum + week.entrants, 0);
  const opened = weeks.reduce((sum, week) => sum + week.opened, 0);
  expect(entrants).toBeGreaterThan(15_000);
  // Customers who leave at the bank are flagged all the same.
  expect(weeks.every((week) => week.overdue > 50)).toBe(true);
  expect(opened).toBeLessThanOrEqual(Math.floor(entrants / 5_000));
});

test.each([
  [2, 12, { days: 4, brokenAfter: 2 * DAY, latest: 16 * HOUR }],
  [200, 4, { days: 0.5, brokenAfter: 6 * HOUR, latest: 20 * MINUTE }],
])(
  'a page that breaks at %d purchases an hour is named after 4 to 14 customers, in each of %d shops',
  { timeout: 120_000 },
  (hourly, shops, { days, brokenAfter, latest }) => {
    for (let seed = 1; seed <= shops; seed++) {
      const { messages } = simulateShop({
        seed,
        days,
        perHour: { se: hourly },
        happenings: [[brokenAfter, (control) => control.breakPage({ site: 'se', states: ['WaitingForCardPayments'] })]],
      });
      const [first, ...later] = messages;
      expect(first).toMatchObject({ stage: 'opened', incident: { kind: 'stuck', site: 'se', state: 6 } });
      expect(first!.incident.alarm!.overdue).toBeGreaterThanOrEqual(4);
      expect(first!.incident.alarm!.overdue).toBeLessThanOrEqual(14);
      expect(first!.at - START - brokenAfter).toBeGreaterThan(15 * MINUTE);
      // With 2 purchases an hour, less than half of them by card, the fourth customer takes her time.
      expect(first!.at - START - brokenAfter).toBeLessThan(latest);
      // One incident; what follows is that it grew, or goes on.
      expect(later.map(({ incident }) => incident.id)).toEqual(later.map(() => first!.incident.id));
      expect(later.filter(({ stage }) => stage === 'opened')).toEqual([]);
    }
  },
);

test('a page that is mended: the end is told once, and nothing after it', { timeout: 60_000 }, () => {
  const { messages } = simulateShop({
    seed: 5,
    days: 1,
    perHour: { se: 60 },
    happenings: [
      [8 * HOUR, (control) => control.breakPage({ site: 'se', states: ['WaitingForCardPayments'] })],
      [10 * HOUR, (control) => control.fixPage({ site: 'se' })],
    ],
  });
  expect([messages[0]!.stage, messages.at(-1)!.stage]).toEqual(['opened', 'ended']);
  expect(messages.filter(({ stage }) => stage === 'opened' || stage === 'ended')).toHaveLength(2);
  const ended = messages.at(-1)!;
  // The last who came before the fix are stuck until a quarter of an hour after it; then it must hold for ten minutes.
  expect(ended.at - START - 10 * HOUR).toBeGreaterThan(10 * MINUTE);
  expect(ended.at - START - 10 * HOUR).toBeLessThan(60 * MINUTE);
});

test('an outage of a provider at three sites is one incident of several sites', { timeout: 60_000 }, () => {
  const states = ['WaitingForIdentityProvider'];
  const { messages, opened } = simulateShop({
    seed: 8,
    days: 1,
    perHour: { se: 120, fi: 110, dk: 100 },
    happenings: [
      [10 * HOUR, (control) => control.breakPage({ states })],
      [12 * HOUR, (control) => control.fixPage({ states })],
    ],
  });
  const several = messages.filter(({ incident }) => incident.site === null);
  expect(several.map(({ stage }) => stage)).toContain('opened');
  expect(several.at(-1)!.stage).toBe('ended');
  // A site may have been told before the second one showed that it is the provider. Nobody hears of the third, nor of ends one by one.
  expect(messages.filter(({ stage }) => stage === 'opened').length).toBeLessThanOrEqual(2);
  expect(messages.filter(({ stage }) => stage === 'ended')).toHaveLength(1);
  expect(opened).toBe(1);
  expect([...new Set(several.flatMap(({ parts }) => parts.map(({ site }) => site)))].sort()).toEqual(['dk', 'fi', 'se']);
});

test('a deploy at a site with two customers a day is named with the second one who is stuck', { timeout: 60_000 }, () => {
  for (let seed = 1; seed <= 6; seed++) {
    const { messages } = simulateShop({
      seed,
      days: 24,
      perHour: { se: 2 / 24 },
      life: 'card-paid',
      happenings: [[18 * DAY, (control) => control.breakPage({ site: 'se' })]],
    });
    expect(messages[0]).toMatchObject({ stage: 'opened', incident: { alarm: { rule: 'sparse', overdue: 2 } } });
    expect(messages[0]!.at - START).toBeGreaterThan(18 * DAY);
  }
});

test('healthy shops: a small one is alerted of each customer who leaves, a large one of none once its share is known', () => {
  const small = simulateShop({ seed: 3, days: 21, perHour: { se: 5 / 24 } });
  const named = small.checkouts.reduce((sum, { stuck }) => sum + stuck.length, 0);
  expect(small.overdue).toBeGreaterThan(0);
  expect(named).toBe(small.overdue);
  const large = simulateShop({ seed: 1, days: 7, perHour: { se: 40 }, from: 2 * DAY });
  expect(large.overdue).toBeGreaterThan(20);
  expect(large.checkouts).toEqual([]);
});
