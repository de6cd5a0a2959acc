import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../src/domain/deciding/decide.ts';
import type { PollOutcome } from '../../../src/domain/deciding/outcome.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy, policyOf } from '../../../src/domain/polling/poll-plan.ts';
import { stuckMoment } from '../../../src/domain/polling/stuck.ts';
import type { Observation, Purchase } from '../../../src/domain/purchases/purchase.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';
import { answer, aPurchase, aStatePolicy, trouble } from '../../support/a-purchase.ts';
import { CANCELLED, CARDS, COMPLETED, HOUR, IDENTITY, MINUTE, NEW, planned, SECOND, T, typesOf } from './polls.ts';

const observation: fc.Arbitrary<Observation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(NEW, CARDS, CARDS, CARDS, IDENTITY, COMPLETED, CANCELLED, 17).map((state) => answer(state)),
  },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 99 }).map((cents) => answer(CARDS, { Price: decimal(`1.${cents}`) })) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ...(['unknown', 'malformed', 'throttled', 'refused', 'unreachable'] as const).map((kind) => trouble(kind)),
    ),
  },
);
const step = fc.record({
  seen: observation,
  late: fc.oneof(fc.constant(0), fc.nat(2 * SECOND), fc.nat(2 * HOUR)),
  took: fc.nat(10 * SECOND),
  spread: fc.double({ min: -1, max: 1, noNaN: true }),
  strikes: fc.integer({ min: 0, max: 8 }),
});
const policies: fc.Arbitrary<PollPolicy> = fc.constantFrom(
  DEFAULT_POLL_POLICY,
  planned(COMPLETED, { recheck: [MINUTE, HOUR] }, { giveUpAfter: HOUR, unreadableAfter: 2 }),
  planned(CARDS, aStatePolicy({ stuckAfter: 30 * SECOND }), { unreadableAfter: 1 }),
);

interface Step {
  readonly before: Purchase;
  readonly seen: Observation;
  readonly outcome: PollOutcome;
  readonly askedAt: number;
  readonly now: number;
  readonly policy: PollPolicy;
}

/** Lives a purchase from poll to poll as its plan says, and shows each to `check`. */
function live(check: (step: Step, life: readonly Step[]) => void): void {
  fc.assert(
    fc.property(policies, fc.array(step, { minLength: 1, maxLength: 40 }), (policy, steps) => {
      let purchase = aPurchase({ watchedSince: T });
      let due: number | null = T;
      let now = T;
      const life: Step[] = [];
      for (const { seen, late, took, spread, strikes } of steps) {
        // What is not planned any more is asked for by hand.
        const askedAt: number = Math.max(due ?? now + HOUR, now) + late;
        now = askedAt + took;
        const outcome = decide(purchase, seen, { askedAt, now, policy, spread, strikes });
        const lived = { before: purchase, seen, outcome, askedAt, now, policy };
        life.push(lived);
        check(lived, life);
        purchase = outcome.purchase;
        due = outcome.nextPollAt;
      }
    }),
    { numRuns: 500 },
  );
}

describe('through any life', () => {
  test('each event has the next number, without a gap, and says so itself', () => {
    live(({ before, outcome }) => {
      const numbers = outcome.events.map((_, index) => before.sequence + 1 + index);
      expect(outcome.events.map(({ sequence }) => sequence)).toEqual(numbers);
      expect(outcome.events.map(({ data }) => data.sequence)).toEqual(numbers);
      expect(outcome.purchase.sequence).toBe(before.sequence + numbers.length);
    });
  });

  test('each poll that is planned and recorded has its reason', () => {
    live(({ outcome }) => {
      const { kind, nextPollAt, nextPollReason } = outcome;
      expect(nextPollReason === null).toBe(nextPollAt === null || kind === 'postponed');
    });
  });

  test('only a good answer moves the state, and every move is one transition with its event', () => {
    live(({ before, seen, outcome }) => {
      const moved = outcome.purchase.state !== before.state;
      expect(outcome.transition !== null).toBe(moved);
      expect(typesOf(outcome).filter((type) => type === 'purchase.state_changed')).toHaveLength(moved ? 1 : 0);
      if (!moved) return;
      expect(seen.kind).toBe('seen');
      const announced = outcome.events.find(({ type }) => type === 'purchase.state_changed')!;
      expect(outcome.transition).toMatchObject({ sequence: announced.sequence, from: before.state, to: outcome.purchase.state });
    });
  });

  test('transitions form a chain, each after the one before', () => {
    live(({ outcome: { transition } }, life) => {
      if (transition === null) return;
      const last = life.slice(0, -1).findLast(({ outcome }) => outcome.transition !== null)?.outcome.transition ?? null;
      expect(transition.from).toBe(last?.to ?? null);
      expect(transition.sequence).toBeGreaterThan(last?.sequence ?? 0);
      if (last === null) expect(transition.notBefore).toBeNull();
      else expect(transition.notBefore).toBeGreaterThanOrEqual(last.notAfter);
      expect(transition.notAfter).toBeGreaterThanOrEqual(transition.notBefore ?? 0);
    });
  });

  test('nobody is called stuck before the limit, nor by an older question, nor by anything but a good answer', () => {
    live(({ before, seen, outcome, askedAt, policy }) => {
      const { purchase } = outcome;
      if (!typesOf(outcome).includes('purchase.stuck')) {
        if (purchase.stuckSince !== null) expect(purchase.stuckSince).toBe(before.stuckSince);
        return;
      }
      expect(seen.kind).toBe('seen');
      const { stuckAfter } = policyOf(policy, purchase.state!);
      expect(askedAt - purchase.stateSince!).toBeGreaterThanOrEqual(stuckAfter!);
      expect(askedAt).toBeGreaterThanOrEqual(
        stuckMoment(policyOf(policy, purchase.state!), purchase.stateSince!, purchase.excused)!,
      );
    });
  });

  test('the next poll never lies in the past, and never beyond the moment to call it stuck or to give up', () => {
    live(({ outcome, now, policy }) => {
      const { purchase, nextPollAt } = outcome;
      if (purchase.status === 'watching') expect(nextPollAt).not.toBeNull();
      if (nextPollAt === null) return;
      expect(nextPollAt).toBeGreaterThanOrEqual(now);
      if (outcome.kind !== 'postponed' && purchase.status === 'watching')
        expect(nextPollAt).toBeLessThanOrEqual(Math.max(purchase.watchedSince, purchase.stateSince ?? 0) + policy.giveUpAfter);
      if (purchase.failures > 0 || outcome.kind === 'postponed' || purchase.stuckSince !== null || purchase.status !== 'watching')
        return;
      const stuckAt = stuckMoment(policyOf(policy, purchase.state!), purchase.stateSince!, purchase.excused);
      if (stuckAt !== null) expect(nextPollAt).toBeLessThanOrEqual(Math.max(stuckAt, now));
    });
  });

  test('an answer that is the same to the byte leads to the same as one that says the same', () => {
    live(({ before, askedAt, now, policy }, life) => {
      if (before.state === null) return;
      const context = { askedAt, now, policy, spread: 0.3, strikes: 0 };
      const { details } = life.slice(0, -1).findLast(({ outcome }) => outcome.details !== null)!.outcome;
      const again = decide(before, answer(before.state, details!), context);
      expect({ ...decide(before, { kind: 'same' }, context), details }).toEqual(again);
    });
  });

  test('what changed is said to have changed: nothing else is written in full', () => {
    live(({ before, outcome }) => {
      if (outcome.kind === 'changed') return;
      const { purchase } = outcome;
      expect(outcome.events).toEqual([]);
      expect(purchase).toEqual({
        ...before,
        polls: outcome.kind === 'postponed' ? before.polls : before.polls + 1,
        seenAt: purchase.seenAt,
        excused: purchase.excused,
        failures: purchase.failures,
        unknowns: purchase.unknowns,
      });
    });
  });
});
