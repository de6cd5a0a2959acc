import { describe, expect, test } from 'vitest';
import { type History, repaired } from '../../../src/domain/deciding/repair.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { Purchase } from '../../../src/domain/purchases/purchase.ts';
import { aPurchase } from '../../support/a-purchase.ts';

const T = 1_000_000;
const CARDS = 6;
const COMPLETED = 2;

/** A history in one line: what was announced, each a second after the one before; a state stands for a transition to it. */
function historyOf(...announced: (number | string)[]): History {
  const events = announced.map((what, index) => ({
    sequence: index + 1,
    type: typeof what === 'number' ? 'purchase.state_changed' : what,
    at: T + index,
  }));
  const last = announced.findLastIndex((what) => typeof what === 'number');
  return {
    events,
    lastTransition: last < 0 ? null : { sequence: last + 1, to: announced[last] as number, notAfter: T + last },
  };
}
const repair = (row: Partial<Purchase>, ...announced: (number | string)[]) =>
  repaired(aPurchase(row), historyOf(...announced), DEFAULT_POLL_POLICY);

describe('a row that agrees with its history', () => {
  test.each<[string, Partial<Purchase>, (number | string)[]]>([
    ['never seen', {}, []],
    ['in a state', { state: CARDS, stateSince: T, seenAt: T + 9, sequence: 1, excused: 7 }, [CARDS]],
    ['settled', { state: COMPLETED, stateSince: T + 1, seenAt: T + 1, sequence: 2, status: 'settled' }, [CARDS, COMPLETED]],
    ['stuck', { state: CARDS, stateSince: T, seenAt: T + 1, sequence: 2, stuckSince: T + 1 }, [CARDS, 'purchase.stuck']],
    [
      'announced as at risk',
      { state: CARDS, stateSince: T, seenAt: T + 2, sequence: 3, stuckSince: T + 1, atRiskSince: T + 2 },
      [CARDS, 'purchase.stuck', 'purchase.at_risk'],
    ],
    ['unreadable', { sequence: 1, status: 'unreadable' }, ['purchase.unreadable']],
    ['expired', { sequence: 1, status: 'expired', watchedSince: T }, ['purchase.expired']],
    ['registered again after it expired', { sequence: 1, watchedSince: T + 1 }, ['purchase.expired']],
    ['stopped', { state: CARDS, stateSince: T, seenAt: T, sequence: 1, status: 'stopped' }, [CARDS]],
  ])('%s: needs no repair', (_, row, announced) => {
    expect(repair(row, ...announced)).toBeNull();
  });
});

describe('a row that was taken back', () => {
  const before = { state: CARDS, stateSince: T, seenAt: T, sequence: 1, excused: 30 };

  test('gets state, time, status and sequence of the last transition', () => {
    expect(repair({ ...before, polls: 9 }, CARDS, COMPLETED)).toEqual(
      aPurchase({ state: COMPLETED, stateSince: T + 1, seenAt: T + 1, sequence: 2, status: 'settled', polls: 9 }),
    );
  });

  test('counts the events since then, and stays stuck when that was announced, so that nothing is announced twice', () => {
    expect(repair(before, 0, CARDS, 'purchase.stuck')).toMatchObject({ state: CARDS, sequence: 3, stuckSince: T + 2 });
    expect(repair(before, 0, CARDS, 'purchase.stuck', 'purchase.at_risk')).toMatchObject({ sequence: 4, atRiskSince: T + 3 });
    expect(repair({ ...before, stuckSince: T }, CARDS, 'purchase.stuck', 0, 'purchase.recovered')).toMatchObject({
      state: 0,
      sequence: 4,
      stuckSince: null,
    });
    expect(repair({ ...before, invoice: 'wanted' }, CARDS, COMPLETED, 'purchase.invoice_ready')).toMatchObject({
      invoice: 'ready',
      sequence: 3,
    });
  });

  test('stays stuck while it is unreadable, and not when its watch ended', () => {
    expect(repair(before, CARDS, 'purchase.stuck', 'purchase.unreadable')).toMatchObject({ stuckSince: T + 1 });
    expect(repair(before, CARDS, 'purchase.stuck', 'purchase.expired')).toMatchObject({ status: 'expired', stuckSince: null });
  });

  test('keeps the time that does not count only for the very stay it was counted for', () => {
    expect(repair({ ...before, sequence: 0 }, CARDS)).toMatchObject({ excused: 30 });
    expect(repair({ ...before, stateSince: T - 1 }, CARDS)).toMatchObject({ stateSince: T, excused: 0 });
    expect(repair({ ...before, state: COMPLETED }, CARDS)).toMatchObject({ state: CARDS, excused: 0 });
  });

  test('was last seen in its state when that began, where the row said another state', () => {
    expect(repair({ ...before, stateSince: T - 1, seenAt: T + 9 }, CARDS)).toMatchObject({ seenAt: T + 9 });
    expect(repair({ ...before, state: COMPLETED, seenAt: T + 9 }, CARDS)).toMatchObject({ seenAt: T });
  });

  test('is expired, unreadable or readable as was announced last', () => {
    expect(repair(before, CARDS, 'purchase.expired')).toMatchObject({ status: 'expired', sequence: 2 });
    expect(repair(before, CARDS, 'purchase.unreadable')).toMatchObject({ status: 'unreadable', sequence: 2 });
    expect(repair(before, CARDS, 'purchase.unreadable', 'purchase.readable')).toMatchObject({ status: 'watching', sequence: 3 });
  });

  test('stays stopped when somebody stopped it', () => {
    expect(repair({ ...before, status: 'stopped' }, CARDS, COMPLETED)).toMatchObject({ status: 'stopped', state: COMPLETED });
  });
});
