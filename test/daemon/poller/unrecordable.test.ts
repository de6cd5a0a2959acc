import { expect, test } from 'vitest';
import { createInsteadOf } from '../../../src/daemon/poller/unrecordable.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { Purchase } from '../../../src/domain/purchases/purchase.ts';
import { aPurchase } from '../../support/a-purchase.ts';

const NOW = 1_800_000_000_000;
const REFUSED = { code: '23514', schema_name: 'app', table_name: 'purchases', constraint_name: 'no_cards', detail: 'a value' };

function instead(purchase: Purchase, error: unknown) {
  const windows = new Map([['default', { place: () => ({ slot: 9, stays: true }) }]]);
  const insteadOf = createInsteadOf({
    ...{ windows: windows as never, policyFor: () => DEFAULT_POLL_POLICY, skipped: () => [], spread: () => 0 },
  });
  const entry = { purchase, digest: 'known' };
  return { entry, polls: insteadOf({ entry, decided: { now: NOW, askedAt: NOW } } as never, error) };
}
const read = { state: 6, stateSince: NOW - 60_000, seenAt: NOW - 1_000, sequence: 3 } as const;

test('a failure of the purchase is recorded, which names what refuses and no value', () => {
  const { entry, polls } = instead(aPurchase(read), REFUSED);
  expect(polls.map(({ decided }) => decided.outcome)).toEqual([
    expect.objectContaining({
      kind: 'failed',
      reason: 'unrecordable',
      events: [],
      purchase: expect.objectContaining({ failures: 1, state: 6 }),
    }),
  ]);
  const text = polls[0]!.decided.outcome.lastError!;
  expect(text).toContain('(error 23514, constraint no_cards, table app.purchases)');
  expect(text).not.toContain('a value');
  // The same answer again is none that is recorded.
  expect(entry.digest).toBeNull();
});

test('an error that names nothing is one all the same', () => {
  const [poll] = instead(aPurchase(read), null).polls;
  expect(poll!.decided.outcome.lastError).toMatch(/^The service answered, and the database refuses to record it\. /);
});

test('an event that would be refused, too, is left out of the second try', () => {
  const { polls } = instead(aPurchase({ ...read, failures: 200, seenAt: NOW - 3_600_000 }), REFUSED);
  expect(
    polls.map(({ decided: { outcome } }) => [outcome.kind, outcome.events.map(({ type }) => type), outcome.purchase.status]),
  ).toEqual([
    ['changed', ['purchase.unreadable'], 'unreadable'],
    ['failed', [], 'watching'],
  ]);
  expect(polls[1]!.decided.outcome.purchase).toMatchObject({ sequence: 3, failures: 201 });
  // Whom no event tells, nobody is alerted of it either.
  expect(polls.map(({ decided: { outcome } }) => outcome.isAlarming)).toEqual([true, false]);
});
