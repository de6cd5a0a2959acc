import { expect, test } from 'vitest';
import {
  type AskedPurchase,
  BLIND_AFTER,
  blindness,
  excuses,
  made,
  reachAfter,
  type SiteReadability,
  siteError,
  UNTRIED,
  usableAnswers,
} from '../../../src/domain/polling/reach.ts';
import type { Observation } from '../../../src/domain/purchases/purchase.ts';
import { answer, trouble } from '../../support/a-purchase.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const good = answer(0);
const read: SiteReadability = { wasRead: true, isKnownSite: true, trouble: null };
const fresh: SiteReadability = { ...UNTRIED, isKnownSite: false };
const known = (id: number): AskedPurchase => ({ id, status: 'watching', failures: 0, seenAt: 1 });
const unseen = (id: number): AskedPurchase => ({ ...known(id), seenAt: null });

/** After answers a second apart, from 0 on. */
const after = (reach: SiteReadability, answers: readonly (readonly [Observation, AskedPurchase | null])[]): SiteReadability =>
  answers.reduce((before, [seen, purchase], index) => reachAfter(before, seen, { now: index * SECOND, purchase }), reach);
/** How long after the first failure the site is blind; null: not within an hour. */
const blindAfter = (reach: SiteReadability): number | null => {
  for (let now = 0; now <= 60 * MINUTE; now += SECOND) if (blindness(reach, now) !== null) return now;
  return null;
};
const all = (kind: Parameters<typeof trouble>[0], purchases: readonly AskedPurchase[]) =>
  purchases.map((purchase) => [trouble(kind), purchase] as const);
const THREE_KNOWN = [known(1), known(2), known(3)];
const THREE_UNSEEN = [unseen(1), unseen(2), unseen(3)];

test.each([
  // What is asked of the site, what it answers, to whom, and when it is blind.
  ['429, whoever is asked', read, 'throttled', [known(1)], BLIND_AFTER],
  ['429 about one that was never read', read, 'throttled', [unseen(1)], BLIND_AFTER],
  ['refused credentials at the start', UNTRIED, 'refused', [unseen(1)], 0],
  ['refused credentials of several', read, 'refused', THREE_UNSEEN, 0],
  ['refused credentials of the only purchase, which was read before', read, 'refused', [known(1)], BLIND_AFTER],
  ['refused credentials of one that was never read', read, 'refused', [unseen(1)], null],
  ['nonsense about several', read, 'malformed', THREE_UNSEEN, BLIND_AFTER],
  ['nonsense about the only purchase, which was read before', read, 'malformed', [known(1)], 10 * MINUTE],
  ['nonsense about one that was never read', read, 'malformed', [unseen(1)], null],
  ['nonsense from a site that was never read', fresh, 'malformed', [unseen(1)], BLIND_AFTER],
  ['nonsense before it is known whether the site was read', UNTRIED, 'malformed', [unseen(1)], null],
  ['several unknown ids, one of them read before', read, 'unknown', [unseen(1), known(2), unseen(3)], BLIND_AFTER],
  ['several unknown ids, none of them read before', read, 'unknown', THREE_UNSEEN, null],
  ['several unknown ids at a site that was never read', fresh, 'unknown', THREE_UNSEEN, BLIND_AFTER],
  ['two unknown ids, both read before', read, 'unknown', [known(1), known(2)], null],
  ['one unknown id at a site that was never read', fresh, 'unknown', [unseen(1)], null],
  ['an outage, which the breaker finds', read, 'unreachable', THREE_KNOWN, null],
] as const)('%s', (_, reach, kind, purchases, expected) => {
  expect(blindAfter(after(reach, all(kind, purchases)))).toBe(expected);
});

test('a site without trouble is not blind, and an answer that shows nothing new changes nothing', () => {
  expect([blindness(read, 9 * MINUTE), excuses(read, 9 * MINUTE)]).toEqual([null, false]);
  const failing = { ...known(1), failures: 1 };
  for (const [seen, purchase] of [[good, known(1)] as const, [trouble('malformed'), failing] as const])
    expect(reachAfter(read, seen, { now: 0, purchase })).toBe(read);
  const down = after(read, all('malformed', [known(1)]));
  expect(reachAfter(down, trouble('malformed'), { now: MINUTE, purchase: { ...known(2), failures: 1 } })).toBe(down);
});

test('the time of the trouble counts from its first answer, whenever that came', () => {
  const asked = reachAfter(read, trouble('throttled'), { now: MINUTE, purchase: known(1) });
  expect(blindness(asked, MINUTE + BLIND_AFTER - 1)).toBeNull();
  expect(blindness(asked, MINUTE + BLIND_AFTER)).toMatchObject({ since: MINUTE });
});

test('one purchase that fails again and again is one, and no more than three are remembered', () => {
  const again = { ...known(1), failures: 1 };
  expect(blindAfter(after(read, all('unknown', [known(1), again, again, again])))).toBeNull();
  expect(after(read, all('unknown', [known(1), known(2), known(3), known(4)])).trouble!.suspects).toEqual([1, 2, 3]);
  // Its latest answer says what the trouble is: one id that is not known says nothing about the site.
  expect(blindAfter(after(read, [...all('malformed', [known(1)]), ...all('unknown', [again])]))).toBeNull();
});

test('an answer that says what the last one said is a read', () => {
  const blind = after(read, all('unknown', THREE_KNOWN));
  expect(reachAfter(blind, { kind: 'same' }, { now: MINUTE, purchase: known(4) })).toEqual(read);
});

test('a read ends every trouble, and the count begins again', () => {
  const blind = after(read, all('unknown', THREE_KNOWN));
  expect(reachAfter(blind, good, { now: MINUTE, purchase: known(4) })).toEqual(read);
  expect(
    blindAfter(after(read, [...all('unknown', [known(1), known(2)]), [good, known(4)], ...all('unknown', [known(3)])])),
  ).toBeNull();
});

test('one that failed before another was read, one that is not watched, and an invoice say nothing about the site', () => {
  const failing = { ...known(3), failures: 2 };
  const settled = { ...known(3), status: 'settled' } as const;
  for (const third of [failing, settled, null])
    expect(blindAfter(after(read, [...all('unknown', [known(1), known(2)]), [trouble('unknown'), third]]))).toBeNull();
  // Nor at a site of which nothing is known; of credentials, others may still be taken.
  expect(blindAfter(after(fresh, [[trouble('malformed'), settled]]))).toBeNull();
  expect(blindAfter(after(read, [[trouble('refused'), null]]))).toBeNull();
  // Its own failures since the last read were counted when it failed first.
  expect(blindAfter(after(read, all('malformed', [known(1), { ...known(1), failures: 1 }])))).toBe(10 * MINUTE);
});

test('nothing is held against purchases from the third one on, not only when the site counts as blind', () => {
  expect(excuses(after(read, all('unknown', [known(1), known(2)])), 2 * SECOND)).toBe(false);
  expect(excuses(after(read, all('unknown', THREE_KNOWN)), 3 * SECOND)).toBe(true);
  expect(excuses(after(read, all('malformed', [known(1)])), SECOND)).toBe(false);
  expect(excuses(after(read, all('malformed', [known(1)])), 10 * MINUTE)).toBe(true);
});

test('what the breaker found is certain at once, and over when the service looks up an id', () => {
  const down = made(after(read, all('unreachable', [known(1)])), {
    now: 5 * SECOND,
    reason: 'unreachable',
    error: 'It is down.',
  });
  expect(blindness(down, 5 * SECOND)).toMatchObject({ since: 0, reason: 'unreachable', error: 'It is down.' });
  expect(blindness(reachAfter(down, trouble('unknown'), { now: MINUTE, purchase: unseen(9) }), 2 * MINUTE)).toBeNull();
  const settled = { ...known(9), status: 'settled' } as const;
  expect(reachAfter(down, trouble('unknown'), { now: MINUTE, purchase: settled })).toEqual(read);
  // Found before any purchase failed here, it begins with that.
  const found = made(read, { now: 5 * SECOND, reason: 'unreachable', error: 'It is down.' });
  expect(reachAfter(found, trouble('malformed'), { now: MINUTE, purchase: known(9) }).trouble).toMatchObject({
    since: 5 * SECOND,
    suspects: [9],
  });
  // Nonsense ends no outage: nothing is read yet.
  expect(blindness(reachAfter(down, trouble('malformed'), { now: MINUTE, purchase: known(9) }), 2 * MINUTE)).toMatchObject({
    since: 0,
    reason: 'malformed',
  });
});

test('a failing site gives hardly any usable answer, or none', () => {
  expect([null, MINUTE, MINUTE + 1].map((at) => usableAnswers(MINUTE, at))).toEqual([
    'no usable answer',
    'no usable answer',
    'hardly any usable answer',
  ]);
});

test('people are told what to do where the answer itself does not say it', () => {
  const error = 'It says no.';
  const told = (['throttled', 'malformed', 'unknown', 'refused', 'unreachable'] as const).map((reason) =>
    siteError({ reason, error }),
  );
  expect(told).toEqual([
    expect.stringContaining('lower maxRps (CHECKOUT_MAX_RPS)'),
    expect.stringMatching(/ It says no\. Ask its operator what has changed/),
    expect.stringContaining('Check that the base address, the credentials and the environment'),
    error,
    error,
  ]);
});
