import { expect, test } from 'vitest';
import { createKnownBreaker } from '../../../../src/daemon/poller/sites/known-breaker.ts';
import { type Breaker, CLOSED } from '../../../../src/domain/polling/breaker.ts';

const START = 1_800_000_000_000;
const OPEN: Breaker = { kind: 'open', cause: 'failing', probeAt: 5_000, wait: 4_000, probing: false, rate: 2, unless: null };

test('it is closed at first, and knows since when it is as it is, and when it is probed by the clock of people', () => {
  let elapsed = 0;
  const known = createKnownBreaker({ now: () => START + elapsed, monotonic: () => elapsed });
  expect(known.now()).toEqual({ breaker: 'closed', cause: null, since: START, nextProbeAt: null });
  elapsed = 1_000;
  known.set(CLOSED);
  known.set(OPEN);
  const open = { breaker: 'open', cause: 'failing', since: START + 1_000 };
  expect(known.now()).toEqual({ ...open, nextProbeAt: START + 5_000 });
  // The same kind goes on.
  elapsed = 5_000;
  known.set({ ...OPEN, probing: true });
  expect(known.now()).toEqual({ ...open, nextProbeAt: null });
  known.set({ ...OPEN, probeAt: 15_000, cause: 'throttled' });
  expect(known.now()).toEqual({ ...open, cause: 'throttled', nextProbeAt: START + 15_000 });
  expect(known.get()).toMatchObject({ probeAt: 15_000 });
});

test('when it is probed is computed once, because clocks drift, and not at all once it is closed', () => {
  const clock = { now: START, monotonic: 0 };
  const known = createKnownBreaker({ now: () => clock.now, monotonic: () => clock.monotonic });
  known.set(OPEN);
  Object.assign(clock, { now: START + 2_000, monotonic: 1_000 });
  known.set(OPEN);
  expect(known.now().nextProbeAt).toBe(START + 5_000);
  known.set(CLOSED);
  expect(known.now()).toEqual({ breaker: 'closed', cause: null, since: START + 2_000, nextProbeAt: null });
});
