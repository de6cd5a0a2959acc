import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  buildDigest,
  type DigestFacts,
  type DigestIncident,
  type DigestSite,
  digestGroups,
  digestSince,
  isDigestDue,
  LATEST_DIGEST,
  type SiteFacts,
  trendRangeOf,
} from '../../../src/domain/incidents/digest.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 10, 20, 7);
const QUIET: SiteFacts = {
  ...{
    site: 'se',
    since: NOW - DAY,
    incidents: [],
    overdue: [],
    stays: [],
    pace: [],
    trend: { range: '24h', present: { customers: 0, paid: 0 }, before: { customers: 0, paid: 0 } },
    unreadable: 0,
    expired: 0,
  },
};
const facts = (...sites: SiteFacts[]): DigestFacts => ({ until: NOW, sites, subscribers: [], countedTo: 1_000 });
const INCIDENT: DigestIncident = {
  ...{ id: 'inc_1', kind: 'stuck', states: [6], partOf: null, openedAt: NOW - 5 * HOUR, endedAt: NOW - 4 * HOUR },
  ...{ count: 0, peak: 31, owner: 'Kim', cause: 'deploy' },
};

describe('a digest is due', () => {
  test.each([
    ['when the schedule named a moment since the last one', NOW - HOUR, NOW - DAY, true],
    ['at that moment itself', NOW, NOW - DAY, true],
    ['not again once it was made', NOW - HOUR, NOW - HOUR, false],
    ['not again after it was made late', NOW - 2 * HOUR, NOW - HOUR, false],
    ['when it was missed for not quite six hours', NOW - LATEST_DIGEST + 1, NOW - DAY, true],
    ['not when it was missed for longer', NOW - LATEST_DIGEST, NOW - DAY, false],
    ['not when the schedule names none', null, NOW - DAY, false],
  ])('%s', (_, named, madeUpTo, due) => {
    expect(isDigestDue(named, madeUpTo, NOW)).toBe(due);
  });

  test('and looks back to the last one, a month at most', () => {
    expect(digestSince(NOW - 3 * DAY, NOW)).toBe(NOW - 3 * DAY);
    expect(digestSince(NOW - 200 * DAY, NOW)).toBe(NOW - 31 * DAY);
  });
});

describe('there is something to say', () => {
  test('in a letter, which covers a week, where customers came; not on a day', () => {
    const ends = { present: { customers: 900, paid: 700 }, before: { customers: 0, paid: 0 } };
    expect(buildDigest(facts({ ...QUIET, trend: { range: '24h', ...ends } }))).toBeNull();
    expect(buildDigest(facts({ ...QUIET, trend: { range: '7d', ...ends } }))).toMatchObject({
      sites: [{ trend: { range: '7d', customers: 900, share: 700 / 900, change: 'too_few', before: { share: null } } }],
    });
    const nobody = { customers: 0, paid: 0 };
    expect(buildDigest(facts({ ...QUIET, trend: { range: '7d', present: nobody, before: ends.present } }))).toBeNull();
    expect([NOW - 7 * DAY, NOW - 6 * DAY, NOW - 6 * DAY + 1].map((since) => trendRangeOf(since, NOW))).toEqual([
      '7d',
      '7d',
      '24h',
    ]);
  });

  test('not where nothing happened', () => {
    expect(buildDigest(facts(QUIET))).toBeNull();
    expect(buildDigest(facts())).toBeNull();
  });

  test('not for the numbers of an ordinary day, however they are', () => {
    const stays = [{ state: 6, well: 400, overdue: 9, other: 12, usualShare: 0.01 }];
    const pace = [{ state: 6, p95: 14 * 60_000, purchases: 400, usualP95: 60_000, limit: 15 * 60_000 }];
    expect(buildDigest(facts({ ...QUIET, stays, pace, overdue: [{ state: 6, count: 0, since: null }] }))).toBeNull();
  });

  test.each([
    ['an incident', { incidents: [INCIDENT] }],
    ['somebody overdue', { overdue: [{ state: 6, count: 1, since: NOW - HOUR }] }],
    ['a purchase that became unreadable', { unreadable: 1 }],
    ['a purchase that expired', { expired: 1 }],
  ])('with %s', (_, change) => {
    expect(buildDigest(facts({ ...QUIET, ...change }, { ...QUIET, site: 'no' }))).toMatchObject({
      kind: 'digest',
      since: '2026-11-19T07:00:00.000Z',
      until: '2026-11-20T07:00:00.000Z',
      sites: [{ site: 'se' }],
      quiet: ['no'],
    });
  });

  test('with deliveries that were given up, but not with what merely waits, of which people are reminded anyway', () => {
    const parked = { id: 1, name: 'shop', givenUp: 0, parked: 412, off: true };
    expect(buildDigest({ ...facts(QUIET), subscribers: [parked] })).toBeNull();
    const lost = { id: 2, name: 'books', givenUp: 3, parked: 0, off: false };
    expect(buildDigest({ ...facts(QUIET), subscribers: [parked, lost] })).toMatchObject({
      sites: [],
      quiet: ['se'],
      subscribers: [
        { subscriber: 'shop', parked: 412, off: true },
        { subscriber: 'books', givenUp: 3 },
      ],
    });
  });
});

test('the event holds times as text, states with their names, and shares of those who were counted', () => {
  const built = buildDigest(
    facts({
      ...QUIET,
      incidents: [INCIDENT],
      overdue: [{ state: 4, count: 2, since: NOW - 25 * 60_000 }],
      stays: [
        { state: 6, well: 90, overdue: 10, other: 20, usualShare: 0.03 },
        { state: 4, well: 0, overdue: 0, other: 3, usualShare: null },
        { state: 9, well: 0, overdue: 0, other: 0, usualShare: null },
      ],
    }),
  );
  expect(built).toMatchObject({
    sites: [
      {
        incidents: [
          {
            incidentId: 'inc_1',
            states: [{ value: 6, name: 'WaitingForCardPayments' }],
            openedAt: '2026-11-20T02:00:00.000Z',
            endedAt: '2026-11-20T03:00:00.000Z',
            peak: 31,
            owner: 'Kim',
            cause: 'deploy',
          },
        ],
        overdue: [{ state: { value: 4, name: 'WaitingForIdentityProvider' }, count: 2, since: '2026-11-20T06:35:00.000Z' }],
        stays: [
          { state: { value: 6 }, entrants: 120, overdue: 10, share: 0.1, usualShare: 0.03 },
          { state: { value: 4 }, entrants: 3, overdue: 0, share: null, usualShare: null },
        ],
      },
    ],
  });
});

test('sites with open incidents come first, then those where most are overdue', () => {
  const overdue = (count: number) => [{ state: 6, count, since: NOW }];
  const built = buildDigest(
    facts(
      { ...QUIET, site: 'a', overdue: overdue(1), incidents: [INCIDENT] },
      { ...QUIET, site: 'b', overdue: overdue(9) },
      { ...QUIET, site: 'c', incidents: [{ ...INCIDENT, endedAt: null }] },
    ),
  ) as { sites: { site: string }[] };
  expect(built.sites.map(({ site }) => site)).toEqual(['c', 'b', 'a']);
});

test.each([
  ['the slow ones need half of the limit', { p95: 450_000 }, true],
  ['they need less', { p95: 449_000 }, false],
  ['too few are known', { purchases: 49 }, false],
  ['there is no limit', { limit: null }, false],
])('how long customers need is told when they come near the limit: %s', (_, change, told) => {
  const pace = [{ state: 6, p95: 600_000, purchases: 50, usualP95: null, limit: 900_000, ...change }];
  const built = buildDigest(facts({ ...QUIET, unreadable: 1, pace })) as { sites: { pace: unknown[] }[] };
  const { usualP95, limit, purchases } = pace[0]!;
  const line = {
    state: { value: 6, name: 'WaitingForCardPayments' },
    p95Ms: pace[0]!.p95,
    usualP95Ms: usualP95,
    limitMs: limit,
    purchases,
  };
  expect(built.sites[0]?.pace).toEqual(told ? [line] : []);
});

describe('sites are one message', () => {
  const site = (name: string, recipients: readonly number[], madeUpTo = NOW - DAY): DigestSite => ({
    ...{ site: name, recipients, madeUpTo },
  });

  test('when the same are told of them, in whatever order they come', () => {
    const all = [site('se', [1, 2]), site('no', [2, 1]), site('fi', [1]), site('dk', [])];
    expect(digestGroups(all, all, NOW)).toEqual([
      { recipients: [1, 2], sites: ['se', 'no'], troubleSince: NOW - DAY },
      // Whoever is told of it has just heard of the subscribers.
      { recipients: [1], sites: ['fi'], troubleSince: NOW },
    ]);
  });

  test('what was told of subscribers an hour ago with another zone is not told again', () => {
    const [se, fi] = [site('se', [1]), site('fi', [1], NOW - HOUR)];
    expect(digestGroups([se], [se, fi], NOW)).toMatchObject([{ sites: ['se'], troubleSince: NOW - HOUR }]);
  });

  test('but to one who did not hear that it is', () => {
    const [se, fi] = [site('se', [1, 2]), site('fi', [1], NOW - HOUR)];
    expect(digestGroups([se], [se, fi], NOW)).toMatchObject([{ sites: ['se'], troubleSince: NOW - DAY }]);
  });

  test('each site is in one group of exactly its recipients, and nobody hears of a subscriber twice', () => {
    const sites = fc.uniqueArray(
      fc.record({
        site: fc.string({ minLength: 1, maxLength: 5 }),
        recipients: fc.uniqueArray(fc.integer({ min: 1, max: 4 })),
        madeUpTo: fc.integer({ min: NOW - DAY, max: NOW - 1 }),
      }),
      { selector: (each) => each.site },
    );
    fc.assert(
      fc.property(sites, (all) => {
        const groups = digestGroups(all, all, NOW);
        const told = all.filter(({ recipients }) => recipients.length > 0);
        expect(groups.flatMap((group) => group.sites).sort()).toEqual(told.map((each) => each.site).sort());
        for (const group of groups) {
          for (const each of group.sites)
            expect(all.find((one) => one.site === each)!.recipients.toSorted()).toEqual(group.recipients.toSorted());
          const larger = groups.filter(
            (other) => other !== group && group.recipients.every((id) => other.recipients.includes(id)),
          );
          expect(group.troubleSince === NOW).toBe(larger.length > 0);
        }
      }),
    );
  });
});
