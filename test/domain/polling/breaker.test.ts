import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { afterAnswer, allowance, type Breaker, CLOSED, probeSent } from '../../../src/domain/polling/breaker.ts';
import { newSiteAnswers, type SiteAnswers } from '../../../src/domain/polling/site-answers.ts';
import type { Observation } from '../../../src/domain/purchases/purchase.ts';
import { answer, trouble } from '../../support/a-purchase.ts';

const SECOND = 1_000;
const good = answer(0);
const bad = trouble('unreachable');

let answers: SiteAnswers;
beforeEach(() => {
  answers = newSiteAnswers();
});

/** The breaker after answers, one a millisecond from `now` on, each about another purchase unless one is named. */
function answered(
  breaker: Breaker,
  seen: readonly Observation[],
  now = 0,
  { spread = 0, purchase = null, awaited = 0 }: { spread?: number; purchase?: number | null; awaited?: number } = {},
): Breaker {
  return seen.reduce((current, each, index) => {
    const probe = current.kind === 'open' && current.probing;
    const context = { now: now + index, ceiling: 50, spread, purchase: purchase ?? index, probe, awaited, answers };
    return afterAnswer(current, each, context);
  }, breaker);
}
const times = (count: number, seen: Observation): Observation[] => Array.from({ length: count }, () => seen);
/** A breaker that opened after 4 ms at a site that has answered nothing, with a first probe a second later. */
const opened = (): Breaker => answered(CLOSED, times(5, bad));
const PROBE_AT = 4 + SECOND;
/** After the first probe was answered well. */
const recovered = (): Breaker => answered(probeSent(opened()), [good], PROBE_AT);

describe('a site that answers', () => {
  test('may be called freely, and five failures in a row of a site that never answered change that', () => {
    expect(allowance(answered(CLOSED, times(4, bad)), 10)).toEqual({ kind: 'all' });
    expect(allowance(answered(CLOSED, [bad], 4), 10)).toEqual({ kind: 'none', until: PROBE_AT });
  });

  test.each(['unreachable', 'refused'] as const)('five times %s opens', (kind) => {
    expect(answered(CLOSED, times(5, trouble(kind)))).toMatchObject({ kind: 'open', cause: 'failing' });
  });

  test.each([good, trouble('unknown'), trouble('malformed')])('any answer of the service breaks the row: $kind', (seen) => {
    expect(answered(CLOSED, [...times(4, bad), seen, ...times(4, bad)]).kind).toBe('closed');
  });
});

describe('failures that come back sooner than good answers', () => {
  const doubtful = (): Breaker => answered(CLOSED, times(5, bad), 0, { awaited: 3 });

  test('let nothing leave, and count for nothing as soon as a call that left before is answered well', () => {
    expect(allowance(doubtful(), 10).kind).toBe('none');
    expect(answered(doubtful(), [bad, good], 10, { awaited: 2, purchase: 9 })).toBe(CLOSED);
    expect(answers.well.has(9)).toBe(true);
  });

  test('open the breaker for good once the last call that left before has failed, too', () => {
    const breaker = answered(answered(doubtful(), [bad, bad], 10, { awaited: 1 }), [bad], 20);
    expect(breaker).toMatchObject({ kind: 'open', unless: null });
    expect(answered(breaker, [good], 30)).toBe(breaker);
  });

  test('open it for good with a probe that fails', () => {
    expect(answered(probeSent(doubtful()), [bad], PROBE_AT, { awaited: 3 })).toMatchObject({ unless: null, wait: 2 * SECOND });
  });
});

test('a probe that fails after the site asked for fewer calls is of a site that fails', () => {
  const probed = probeSent(answered(CLOSED, [trouble('throttled')]));
  expect(answered(probed, [bad], SECOND)).toMatchObject({ kind: 'open', cause: 'failing', wait: 2 * SECOND });
});

test('an answer that says what the last one said is a good one', () => {
  expect(answered(CLOSED, [...times(4, bad), { kind: 'same' }, ...times(4, bad)]).kind).toBe('closed');
  answered(CLOSED, [{ kind: 'same' }], 10, { purchase: 9 });
  expect(answers.well.has(9)).toBe(true);
});

test('a probe leaves of an open breaker alone', () => expect(probeSent(CLOSED)).toBe(CLOSED));

test('an open breaker heeds its probe alone: late answers of calls that left before end no pause and count for no probe', () => {
  const late = { now: 500, ceiling: 50, spread: 0, purchase: 9, probe: false, awaited: 0, answers };
  const throttled = answered(CLOSED, [trouble('throttled', { retryAfter: 90 * SECOND })]);
  expect(afterAnswer(throttled, good, late)).toBe(throttled);
  const probing = probeSent(opened());
  expect(afterAnswer(probing, bad, late)).toBe(probing);
  expect(afterAnswer(probing, good, late)).toBe(probing);
  expect(afterAnswer(probing, good, { ...late, probe: true }).kind).toBe('recovering');
});

describe('a site that asks for fewer calls', () => {
  const throttled = (retryAfter: number | null = null): Observation => trouble('throttled', { retryAfter });

  test('is left alone at once, for as long as it asks', () => {
    const breaker = answered(CLOSED, [throttled(90 * SECOND)]);
    expect(breaker).toMatchObject({ kind: 'open', cause: 'throttled' });
    expect(allowance(breaker, 90 * SECOND - 1)).toEqual({ kind: 'none', until: 90 * SECOND });
    expect(allowance(breaker, 90 * SECOND)).toEqual({ kind: 'probe' });
  });

  test('gets half of its calls afterwards, and all of them a second later', () => {
    const breaker = answered(probeSent(answered(CLOSED, [throttled()])), [good], SECOND);
    expect(allowance(breaker, SECOND)).toEqual({ kind: 'limited', rate: 25 });
    expect(answered(breaker, [good], 2 * SECOND)).toBe(CLOSED);
  });

  test('is still the site that it was: who answered well is asked first after the pause', () => {
    answered(CLOSED, [good], 0, { purchase: 1 });
    answered(probeSent(answered(CLOSED, [throttled()], 1)), [good], SECOND + 1, { purchase: 2 });
    expect([...answers.well.keys()]).toEqual([1, 2]);
  });

  test('of the probe is asked for less still', () => {
    const breaker = answered(probeSent(answered(CLOSED, [throttled()])), [throttled()], SECOND);
    expect(breaker).toMatchObject({ cause: 'throttled', wait: 2 * SECOND, rate: 12.5 });
  });

  test('and answers others well waits no longer with each time, and gets ever fewer calls', () => {
    let breaker: Breaker = CLOSED;
    let now = 0;
    const rates: number[] = [];
    for (let time = 0; time < 5; time++) {
      breaker = answered(breaker, [throttled()], now);
      expect(allowance(breaker, now)).toEqual({ kind: 'none', until: now + SECOND });
      now += SECOND;
      breaker = answered(probeSent(breaker), [good], now);
      rates.push((allowance(breaker, now) as { rate: number }).rate);
    }
    expect(rates).toEqual([25, 12.5, 6.25, 3.125, 2]);
  });

  test('and answers nothing else is asked ever more rarely', () => {
    let breaker = answered(CLOSED, [throttled()]);
    const waits: number[] = [];
    for (let now = 0; waits.length < 7; ) {
      const { until } = allowance(breaker, now) as { until: number };
      waits.push(until - now);
      now = until;
      breaker = answered(probeSent(breaker), [throttled()], now);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30].map((seconds) => seconds * SECOND));
  });
});

describe('a site that fails', () => {
  test('is probed once, and nothing else leaves before the answer', () => {
    expect(allowance(opened(), PROBE_AT)).toEqual({ kind: 'probe' });
    expect(allowance(probeSent(opened()), PROBE_AT + 60 * SECOND)).toEqual({ kind: 'none', until: null });
  });

  test('is probed at growing intervals, half a minute at most', () => {
    let breaker = opened();
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

  test('is not probed earlier by jitter, nor before its Retry-After, nor much later', () => {
    for (const spread of [-1, 0, 1]) {
      const probeAt = (seen: Observation): number => {
        answers = newSiteAnswers();
        return (answered(CLOSED, times(5, seen), 0, { spread }) as { probeAt: number }).probeAt - 4;
      };
      expect(probeAt(bad)).toBeGreaterThanOrEqual(SECOND);
      expect(probeAt(bad)).toBeLessThanOrEqual(1.1 * SECOND);
      const asked = probeAt(trouble('unreachable', { retryAfter: 45 * SECOND }));
      expect(asked).toBeGreaterThanOrEqual(45 * SECOND);
      expect(asked).toBeLessThanOrEqual(45.25 * SECOND);
    }
  });

  test('is not probed about a purchase whose call left before and failed', () => {
    answered(CLOSED, [good], 0, { purchase: 9 });
    const breaker = answered(CLOSED, times(7, bad), 1);
    expect([breaker.kind, answers.well.has(9)]).toEqual(['open', true]);
    answered(breaker, [bad], 10, { purchase: 9 });
    expect(answers.well.has(9)).toBe(false);
  });

  test('says nothing new with failures of calls that left before, but a longer Retry-After counts', () => {
    const breaker = opened();
    expect(answered(breaker, times(20, bad), 10)).toEqual(breaker);
    const asked = answered(breaker, [trouble('throttled', { retryAfter: 20 * SECOND })], 10);
    expect(allowance(asked, 15 * SECOND)).toEqual({ kind: 'none', until: 10 + 20 * SECOND });
    expect(answered(asked, [trouble('unreachable', { retryAfter: SECOND })], 20)).toEqual(asked);
  });
});

describe('a site that is back', () => {
  test('gets two calls a second, then twice as many every second', () => {
    const breaker = recovered();
    expect([0, 1, 2, 3].map((seconds) => allowance(breaker, PROBE_AT + seconds * SECOND))).toEqual(
      [2, 4, 8, 16].map((rate) => ({ kind: 'limited', rate })),
    );
  });

  test('is called freely again by an answer once the ceiling is reached, and not before', () => {
    const breaker = recovered();
    expect(answered(breaker, [good], PROBE_AT + 4 * SECOND).kind).toBe('recovering');
    expect(answered(breaker, [good], PROBE_AT + 5 * SECOND)).toEqual(CLOSED);
  });

  test('and fails again altogether is left alone again, twice as long', () => {
    const later = (seen: Observation[]): Breaker =>
      seen.reduce(
        (breaker, each, index) => answered(breaker, [each], PROBE_AT + 100 + index, { purchase: 100 + index }),
        recovered(),
      );
    expect(later(times(7, bad))).toMatchObject({ kind: 'open', cause: 'failing', wait: 2 * SECOND });
    answers = newSiteAnswers();
    expect(later([bad, bad, bad, good, bad, bad, bad, bad]).kind).toBe('recovering');
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
        answers = newSiteAnswers();
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
            awaited: 0,
            answers,
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
