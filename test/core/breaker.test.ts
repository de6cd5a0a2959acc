import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { afterAnswer, allowance, type Breaker, CLOSED, probeSent } from '../../src/core/breaker.ts';
import type { Observation } from '../../src/core/purchase.ts';
import { answer, trouble } from '../support/a-purchase.ts';

const SECOND = 1_000;
const good = answer(0);
const bad = trouble('unreachable');

/** The breaker after answers, one a millisecond from `now` on, each about another purchase unless told otherwise. */
function answered(
  breaker: Breaker,
  answers: readonly Observation[],
  now = 0,
  { spread = 0, purchase = null, answeredAt = 0 }: { spread?: number; purchase?: number | null; answeredAt?: number | null } = {},
): Breaker {
  return answers.reduce((current, seen, index) => {
    const probe = current.kind === 'open' && current.probing;
    const context = { now: now + index, ceiling: 50, spread, purchase: purchase ?? index, probe, answeredAt };
    return afterAnswer(current, seen, context);
  }, breaker);
}
const times = (count: number, seen: Observation): Observation[] => Array.from({ length: count }, () => seen);
/** Open since 4 ms, with a first probe a second later. */
const open = answered(CLOSED, times(5, bad));
const PROBE_AT = 4 + SECOND;
/** After the first probe was answered well. */
const recovering = answered(probeSent(open), [good], PROBE_AT);

test('an open breaker heeds its probe alone: late answers of calls that left before end no pause and count for no probe', () => {
  const late = { now: 500, ceiling: 50, spread: 0, purchase: 9, probe: false, answeredAt: 0 };
  const throttled = answered(CLOSED, [trouble('throttled', { retryAfter: 90 * SECOND })]);
  expect(afterAnswer(throttled, good, late)).toBe(throttled);
  const probing = probeSent(open);
  expect(afterAnswer(probing, bad, late)).toBe(probing);
  expect(afterAnswer(probing, good, late)).toBe(probing);
  expect(afterAnswer(probing, good, { ...late, probe: true }).kind).toBe('recovering');
});

describe('a site that answers', () => {
  test('may be called freely, and five failures in a row change that', () => {
    expect(allowance(answered(CLOSED, times(4, bad)), 10)).toEqual({ kind: 'all' });
    expect(allowance(open, 10)).toEqual({ kind: 'none', until: PROBE_AT });
  });

  test.each(['unreachable', 'refused'] as const)('five times %s opens', (kind) => {
    expect(answered(CLOSED, times(5, trouble(kind)))).toMatchObject({ kind: 'open', cause: 'failing' });
  });

  test.each([good, trouble('unknown'), trouble('malformed')])('any answer of the service breaks the row: $kind', (seen) => {
    expect(answered(CLOSED, [...times(4, bad), seen, ...times(4, bad)]).kind).toBe('closed');
  });

  test('is not given up for one or two purchases whose calls always fail, until it has been silent for minutes', () => {
    const failing = (count: number, culprits: number, answeredAt: number | null): Breaker =>
      times(count, bad).reduce(
        (current, seen, index) =>
          afterAnswer(current, seen, {
            now: 1_000 + index,
            ceiling: 50,
            spread: 0,
            purchase: index % culprits,
            probe: false,
            answeredAt,
          }),
        CLOSED,
      );
    expect(failing(50, 1, 0).kind).toBe('closed');
    expect(failing(50, 2, 0).kind).toBe('closed');
    expect(failing(5, 3, 0).kind).toBe('open');
    expect(failing(5, 1, 1_000 - 5 * 60 * SECOND).kind).toBe('open');
    expect(failing(5, 1, null).kind).toBe('open');
  });

  test('that asks for fewer calls is left alone at once, for as long as it asks', () => {
    const throttled = answered(CLOSED, [trouble('throttled', { retryAfter: 90 * SECOND })]);
    expect(throttled).toMatchObject({ kind: 'open', cause: 'throttled' });
    expect(allowance(throttled, 90 * SECOND - 1)).toEqual({ kind: 'none', until: 90 * SECOND });
    expect(allowance(throttled, 90 * SECOND)).toEqual({ kind: 'probe' });
  });
});

describe('failures of one purchase alone', () => {
  const MINUTE = 60 * SECOND;

  test('say nothing about a site that answers others', () => {
    expect(answered(CLOSED, times(50, bad), 0, { purchase: 7 }).kind).toBe('closed');
  });

  test.each([2, 3])('of %i purchases in turn', (purchases) => {
    let breaker: Breaker = CLOSED;
    for (let call = 0; call < 20; call++) breaker = answered(breaker, [bad], call, { purchase: call % purchases });
    expect(breaker.kind).toBe(purchases < 3 ? 'closed' : 'open');
  });

  test('are all there is to go by when the site has answered nobody for five minutes, or never', () => {
    const alone = { purchase: 7 };
    expect(answered(CLOSED, times(5, bad), 5 * MINUTE - 5, alone).kind).toBe('closed');
    expect(answered(CLOSED, times(5, bad), 5 * MINUTE, alone).kind).toBe('open');
    expect(answered(CLOSED, times(5, bad), 0, { ...alone, answeredAt: null }).kind).toBe('open');
    expect(answered(CLOSED, times(4, bad), 5 * MINUTE, alone).kind).toBe('closed');
  });

  test('do not count any more once the site has answered', () => {
    const two = answered(answered(CLOSED, times(4, bad), 0, { purchase: 1 }), times(4, bad), 10, { purchase: 2 });
    expect(answered(two, [good, ...times(5, bad)], 20, { purchase: 3 }).kind).toBe('closed');
  });
});

describe('a site that fails', () => {
  test('is probed once, and nothing else leaves before the answer', () => {
    expect(allowance(open, PROBE_AT)).toEqual({ kind: 'probe' });
    expect(allowance(probeSent(open), PROBE_AT + 60 * SECOND)).toEqual({ kind: 'none', until: null });
  });

  test('is probed at growing intervals, half a minute at most', () => {
    let breaker = open;
    let now = 4;
    const waits: number[] = [];
    for (let probe = 1; probe <= 8; probe++) {
      const { until } = allowance(breaker, now) as { until: number };
      waits.push(until - now);
      now = until;
      breaker = answered(probeSent(breaker), [bad], now);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30, 30].map((seconds) => seconds * SECOND));
  });

  test('is not probed earlier by jitter, nor before its Retry-After', () => {
    for (const spread of [-1, 0, 1]) {
      const probeAt = (seen: Observation): number =>
        (answered(CLOSED, times(5, seen), 0, { spread }) as { probeAt: number }).probeAt - 4;
      expect(probeAt(bad)).toBeGreaterThanOrEqual(SECOND);
      expect(probeAt(bad)).toBeLessThanOrEqual(1.1 * SECOND);
      expect(probeAt(trouble('unreachable', { retryAfter: 45 * SECOND }))).toBeGreaterThanOrEqual(45 * SECOND);
    }
  });

  test('says nothing new with failures of calls that left before, but a longer Retry-After counts', () => {
    expect(answered(open, times(20, bad), 10)).toEqual(open);
    const asked = answered(open, [trouble('throttled', { retryAfter: 20 * SECOND })], 10);
    expect(allowance(asked, 15 * SECOND)).toEqual({ kind: 'none', until: 10 + 20 * SECOND });
    expect(answered(asked, [trouble('unreachable', { retryAfter: SECOND })], 20)).toEqual(asked);
  });
});

describe('a site that is back', () => {
  test('gets two calls a second, then twice as many every second', () => {
    expect([0, 1, 2, 3].map((seconds) => allowance(recovering, PROBE_AT + seconds * SECOND))).toEqual(
      [2, 4, 8, 16].map((rate) => ({ kind: 'limited', rate })),
    );
  });

  test('is called freely again by an answer once the ceiling is reached, and not before', () => {
    expect(answered(recovering, [good], PROBE_AT + 4 * SECOND).kind).toBe('recovering');
    expect(answered(recovering, [good], PROBE_AT + 5 * SECOND)).toEqual(CLOSED);
  });

  test('and fails twice is left alone again, twice as long', () => {
    const relapsed = answered(recovering, [bad, bad], PROBE_AT + 100);
    expect(relapsed).toMatchObject({ kind: 'open', cause: 'failing', wait: 2 * SECOND });
    expect(answered(recovering, [bad, good, bad], PROBE_AT + 100).kind).toBe('recovering');
  });
});

test('one probe at a time, and nothing beside it, whatever is answered when', () => {
  const wait = fc.oneof(fc.nat(50), fc.nat(40 * SECOND));
  const seen = fc.constantFrom(good, bad, bad, bad, trouble('refused'), trouble('throttled', { retryAfter: 5 * SECOND }));
  fc.assert(
    fc.property(
      fc.array(fc.tuple(wait, seen), { maxLength: 60 }),
      fc.double({ min: -1, max: 1, noNaN: true }),
      (steps, spread) => {
        let breaker: Breaker = CLOSED;
        let now = 0;
        for (const [pause, outcome] of steps) {
          now += pause;
          const allowed = allowance(breaker, now);
          if (allowed.kind === 'none') continue;
          if (allowed.kind === 'limited') expect(allowed.rate).toBeGreaterThanOrEqual(2);
          breaker = probeSent(breaker);
          if (allowed.kind === 'probe') expect(allowance(breaker, now + 3_600 * SECOND)).toEqual({ kind: 'none', until: null });
          now += 5;
          breaker = afterAnswer(breaker, outcome, {
            now,
            ceiling: 50,
            spread,
            purchase: now,
            probe: allowed.kind === 'probe',
            answeredAt: 0,
          });
          // Every pause ends: there is always a moment for the next call.
          if (breaker.kind === 'open') {
            expect(breaker.probing).toBe(false);
            expect(breaker.probeAt).toBeGreaterThan(now);
            expect(breaker.probeAt).toBeLessThanOrEqual(now + 33 * SECOND);
          }
        }
      },
    ),
    { numRuns: 500 },
  );
});
