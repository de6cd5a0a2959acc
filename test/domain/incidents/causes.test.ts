import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  CAUSES,
  type CauseEvidence,
  type CauseKey,
  type CausePart,
  exitsTogether,
  isCauseKey,
  rankCauses,
} from '../../../src/domain/incidents/causes.ts';

const MINUTE = 60_000;
const IDENTITY = 4;
const CARD = 6;
const CREDIT = 10;
const AT = Date.UTC(2026, 10, 20, 14, 2, 40);

/** A part in which customers have been stuck and got on by turns, so that nothing can be said of a moment it began. */
const part = (differs: Partial<CausePart> = {}): CausePart => ({
  site: 'se',
  state: CARD,
  count: 7,
  lastWellAt: null,
  wellBefore: 0,
  stuckSinceThen: 0,
  ...differs,
});
const sudden = { lastWellAt: AT, wellBefore: 12, stuckSinceThen: 7 };
/** Most came before the last one who got on. */
const mixed = { lastWellAt: AT, wellBefore: 1, stuckSinceThen: 1 };

const evidence = (differs: Partial<CauseEvidence> = {}): CauseEvidence => ({
  parts: [part()],
  sites: 3,
  orders: 0,
  begunAgain: 0,
  leftSince: { well: 0, timedOut: 0, other: 0 },
  timedOutAfter: [],
  sessionLength: 30 * MINUTE,
  ...differs,
});
const ranked = (differs: Partial<CauseEvidence>): CauseKey[] => rankCauses(evidence(differs)).map(({ cause }) => cause);
const why = (cause: CauseKey, differs: Partial<CauseEvidence>): string | undefined =>
  rankCauses(evidence(differs)).find((each) => each.cause === cause)?.why;

describe('the causes', () => {
  const entries = Object.entries(CAUSES);

  test.each(entries)('%s is told in plain texts that fit a message', (_, { title, cause, remedy }) => {
    expect(title.length).toBeLessThanOrEqual(60);
    for (const text of [cause, remedy]) {
      expect(text.length).toBeLessThanOrEqual(280);
      expect(text).toMatch(/\.$/);
    }
    // Nothing that Slack or HTML would take for markup.
    expect(title + cause + remedy).not.toMatch(/[<>&*_`~\n]/);
  });

  test.each(entries)('%s has a section of its own in the docs', (_, { title, anchor }) => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/alerts.md'), 'utf8');
    const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!);
    expect(headings).toContain(title);
    const id = title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-');
    expect(anchor).toBe(id);
  });

  test('are known by their keys alone', () => {
    expect(['deploy', 'of tomorrow', 'toString'].map(isCauseKey)).toEqual([true, false, false]);
  });

  test('each has another title', () => {
    expect(new Set(entries.map(([, { title }]) => title)).size).toBe(entries.length);
  });
});

describe('the provider', () => {
  test('comes first when several sites are affected at once, with how many of how many', () => {
    const parts = [part(), part({ site: 'no', count: 5 })];
    expect(ranked({ parts })).toEqual(['provider']);
    expect(why('provider', { parts, sites: 5 })).toBe('12 customers at 2 of 5 sites are stuck at the same time.');
  });

  test('and what fits one page only is not told then, but that it was sudden is', () => {
    const parts = [part(sudden), part({ site: 'no', ...sudden, stuckSinceThen: 9 })];
    expect(ranked({ parts })).toEqual(['provider', 'deploy']);
    expect(why('deploy', { parts })).toContain('At no 12 customers');
  });

  test('is not blamed for two states of one site', () => {
    expect(ranked({ parts: [part(), part({ state: IDENTITY })] })).not.toContain('provider');
  });

  test('is not blamed for a site where nobody waits any more', () => {
    expect(ranked({ parts: [part(), part({ site: 'no', count: 0 })] })).not.toContain('provider');
  });
});

describe('a return page that starts a new checkout', () => {
  test('is named when half of the orders were begun again', () => {
    expect(ranked({ orders: 11, begunAgain: 9 })).toEqual(['new_checkout', 'rerender']);
    expect(why('new_checkout', { orders: 11, begunAgain: 9 })).toBe('9 of 11 orders were begun again by the same customer.');
    expect(ranked({ orders: 12, begunAgain: 6 })).toContain('new_checkout');
    expect(ranked({ orders: 13, begunAgain: 6 })).not.toContain('new_checkout');
  });

  test('needs three of them', () => {
    expect(ranked({ orders: 3, begunAgain: 3 })).toContain('new_checkout');
    expect(ranked({ orders: 2, begunAgain: 2 })).not.toContain('new_checkout');
  });
});

describe('a deploy', () => {
  const both = [part(sudden), part({ state: IDENTITY })];

  test('comes first when both states of a site broke suddenly, and says when', () => {
    expect(ranked({ parts: both })).toEqual(['deploy', 'rerender']);
    expect(why('deploy', { parts: both })).toBe(
      'At se 12 customers got on in the hour until 2026-11-20 14:02 UTC, and 7 who came later are stuck.',
    );
  });

  test('comes before the reasons of a state when only that broke suddenly: those do not explain that it worked before', () => {
    expect(ranked({ parts: [part(sudden)] })).toEqual(['deploy', 'rerender']);
    expect(ranked({ parts: [part({ ...sudden, state: IDENTITY })] })).toEqual(['deploy', 'redirect']);
  });

  test('needs three customers who got on before, and three who did not since', () => {
    for (const [wellBefore, stuckSinceThen, expected] of [
      [3, 3, true],
      [2, 3, false],
      [3, 2, false],
    ] as const) {
      expect(ranked({ parts: [part({ ...sudden, state: CREDIT, wellBefore, stuckSinceThen })] })).toEqual(
        expected ? ['deploy'] : [],
      );
    }
  });

  test('is not named where nobody is known to have got on, nor without suddenness', () => {
    expect(ranked({ parts: [part(), part({ state: IDENTITY, count: 9 })] })).toEqual(['rerender', 'redirect']);
  });

  test('may break states of which no cause is documented, too', () => {
    expect(ranked({ parts: [part({ ...sudden, state: CREDIT })] })).toEqual(['deploy']);
  });
});

describe('late returns', () => {
  const late = { parts: [part({ ...mixed, state: IDENTITY })], leftSince: { well: 2, timedOut: 3, other: 0 } };
  const minutes = (...lengths: number[]) => lengths.map((length) => length * MINUTE);

  test('are named when time-outs come just as the session ends, while others get on', () => {
    expect(ranked({ ...late, timedOutAfter: minutes(26, 28, 30, 29) })).toEqual(['late_return', 'redirect']);
    expect(why('late_return', { ...late, timedOutAfter: minutes(26, 28, 30, 29, 5) })).toBe(
      '4 of the last 5 that timed out did so just as the session of 30 min ended, while others get on.',
    );
  });

  test('are less likely than a deploy where both states of one site stopped at once', () => {
    const half = (state: number, site = 'se') => part({ ...sudden, stuckSinceThen: 3, state, site });
    const causes = (...parts: CausePart[]) => ranked({ ...late, parts, timedOutAfter: minutes(26, 28, 30, 29) });
    expect(causes(half(CARD), half(IDENTITY))).toEqual(['deploy', 'late_return']);
    for (const state of [CARD, IDENTITY]) expect(causes(half(state), half(CREDIT))).toEqual(['late_return', 'deploy']);
    expect(causes(half(CARD), half(IDENTITY, 'fi'))).toEqual(['provider', 'late_return']);
  });

  test('the end of the session is meant within a fifth of its length', () => {
    expect(ranked({ ...late, timedOutAfter: minutes(24, 24, 36) })).toContain('late_return');
    expect(ranked({ ...late, timedOutAfter: minutes(24, 24, 23.9) })).not.toContain('late_return');
    expect(ranked({ ...late, timedOutAfter: minutes(24, 24, 36.1) })).not.toContain('late_return');
  });

  test('four of five must be so, and three at least', () => {
    expect(ranked({ ...late, timedOutAfter: minutes(29, 29, 29, 29, 10) })).toContain('late_return');
    expect(ranked({ ...late, timedOutAfter: minutes(29, 29, 29, 10) })).not.toContain('late_return');
    expect(ranked({ ...late, timedOutAfter: minutes(29, 29) })).not.toContain('late_return');
  });

  test('are not named where nobody gets on: then everybody times out so', () => {
    const timedOutAfter = minutes(29, 29, 29, 29);
    expect(ranked({ parts: [part({ state: IDENTITY })], timedOutAfter })).not.toContain('late_return');
    const since = (stuckSinceThen: number) => [
      part({ state: IDENTITY, count: 8, lastWellAt: AT, wellBefore: 1, stuckSinceThen }),
    ];
    expect(ranked({ parts: since(4), timedOutAfter })).toContain('late_return');
    expect(ranked({ parts: since(5), timedOutAfter })).not.toContain('late_return');
    const elsewhere = part({ state: CREDIT });
    expect(ranked({ parts: [...since(4), elsewhere], timedOutAfter })).not.toContain('late_return');
  });
});

describe("the bank's return request", () => {
  test('is named when only card payments of one site are affected, after the reason that the specification names', () => {
    expect(ranked({})).toEqual(['rerender', 'return_request']);
    expect(why('return_request', {})).toBe('All 7 stuck customers wait for the card provider, none elsewhere.');
    expect(why('return_request', { parts: [part({ count: 1 })] })).toMatch(/^The one stuck customer waits /);
  });

  test('is not named when another state is affected', () => {
    expect(ranked({ parts: [part(), part({ state: IDENTITY })] })).not.toContain('return_request');
    expect(ranked({ parts: [part(), part({ state: CREDIT })] })).toEqual(['rerender']);
  });
});

describe('a frame', () => {
  const stays = { parts: [part({ state: IDENTITY, count: 5 })], orders: 5 };

  test('is named when nobody got on and nobody tried again', () => {
    expect(ranked(stays)).toEqual(['redirect', 'framed']);
    expect(why('framed', stays)).toBe('None of 5 customers got on, and none of 5 orders was begun again.');
  });

  test.each<[string, Partial<CauseEvidence>]>([
    ['somebody tried again', { begunAgain: 1 }],
    ['somebody got on, late', { leftSince: { well: 1, timedOut: 0, other: 0 } }],
    ['fewer than five customers wait', { parts: [part({ state: IDENTITY, count: 4 })] }],
    ['orders are not known, so that nobody can be seen to try again', { orders: 4 }],
    ['others get on', { parts: [part({ ...mixed, state: IDENTITY, count: 5 })] }],
    ['others get on in one of its states', { parts: [part({ state: CREDIT }), part({ ...mixed, state: IDENTITY, count: 5 })] }],
  ])('is not named when %s', (_, differs) => {
    expect(ranked({ ...stays, ...differs })).toEqual(['redirect']);
  });
});

describe('a cause is likely', () => {
  const likely = (differs: Partial<CauseEvidence>) => rankCauses(evidence(differs)).map((each) => [each.cause, each.likely]);

  test('when at least three customers speak for it, and possible before', () => {
    const possible = [
      ['rerender', false],
      ['return_request', false],
    ];
    for (const count of [1, 2]) expect(likely({ parts: [part({ count })] })).toEqual(possible);
    expect(likely({ parts: [part({ count: 3 })] })).toEqual(possible.map(([cause]) => [cause, true]));
  });

  test('when customers who got on before exclude the others', () => {
    expect(likely({ parts: [part(sudden)] })[0]).toEqual(['deploy', true]);
  });

  test('at several sites not by two customers, who may both have left', () => {
    const parts = [part({ count: 1 }), part({ site: 'no', count: 1 })];
    expect(likely({ parts })).toEqual([['provider', false]]);
    expect(likely({ parts: [...parts, part({ site: 'fi', count: 1 })] })).toEqual([['provider', true]]);
  });

  test('and then comes before what is merely possible', () => {
    const parts = [part({ count: 1 }), part({ site: 'no', count: 1 })];
    expect(likely({ parts, orders: 3, begunAgain: 3 })).toEqual([
      ['new_checkout', true],
      ['provider', false],
    ]);
  });
});

describe('when nothing else is known', () => {
  test("the specification's own reason is told", () => {
    expect(ranked({ parts: [part({ state: IDENTITY, count: 3 })] })).toEqual(['redirect']);
    expect(why('redirect', { parts: [part({ state: IDENTITY, count: 1 })] })).toBe(
      '1 customer is stuck waiting for identification, for which the specification names this reason.',
    );
    expect(why('redirect', { parts: [part({ state: IDENTITY, count: 3 })] })).toMatch(/^3 customers are stuck waiting/);
  });

  test('and for a state without one nothing is made up', () => {
    expect(ranked({ parts: [part({ state: CREDIT })] })).toEqual([]);
    expect(ranked({ parts: [] })).toEqual([]);
  });
});

test('two are told at most, whatever speaks for more', () => {
  const everything = evidence({
    parts: [part(sudden), part({ ...sudden, state: IDENTITY }), part({ ...sudden, site: 'no' })],
    orders: 20,
    begunAgain: 20,
  });
  expect(rankCauses(everything).map(({ cause }) => cause)).toEqual(['provider', 'new_checkout']);
});

test('what people alone can know is never ranked', () => {
  for (const cause of ['cart_update', 'abandoned', 'other', 'unknown'] as const) {
    expect(Object.keys(CAUSES)).toContain(cause);
    expect(ranked({ orders: 9, begunAgain: 9, parts: [part(sudden)] })).not.toContain(cause);
  }
});

test('exits of several states are counted together', () => {
  const exits = { well: 1, timedOut: 2, other: 3, timedOutAfter: [5, 6] };
  expect(exitsTogether([exits, { ...exits, timedOutAfter: [7] }])).toEqual({
    leftSince: { well: 2, timedOut: 4, other: 6 },
    timedOutAfter: [5, 6, 7],
  });
  expect(exitsTogether([])).toEqual({ leftSince: { well: 0, timedOut: 0, other: 0 }, timedOutAfter: [] });
});
