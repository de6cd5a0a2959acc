import { describe, expect, test } from 'vitest';
import { type DeliveryPace, drainAfterResume, expectedDrain } from '../../../src/domain/deliveries/drain.ts';

const pace = (differs: Partial<DeliveryPace> = {}): DeliveryPace => ({
  median: 40,
  measured: 200,
  concurrency: 64,
  replicas: 1,
  waiting: 0,
  waitingAtLeast: false,
  ...differs,
});

describe('until what is sent again has arrived', () => {
  test('half of the slots are used, each for as long as the last ones took', () => {
    expect(expectedDrain({ count: 3_200, purchases: 3_200 }, pace())).toEqual({
      ms: 4_000,
      text: 'about 4 s: 32 at a time, 40 ms each (the median of its last 200 deliveries)',
    });
  });
  test('two daemons take half as long', () => {
    expect(expectedDrain({ count: 3_200, purchases: 3_200 }, pace({ replicas: 2, measured: 1 }))).toEqual({
      ms: 2_000,
      text: 'about 2 s: 64 at a time over 2 daemons, 40 ms each (its last delivery)',
    });
    expect(expectedDrain({ count: 3_200, purchases: 3_200 }, pace({ replicas: 2, waiting: 1_280 })).ms).toBe(2_400);
  });
  test('a receiver of one at a time is left with one', () => {
    expect(expectedDrain({ count: 10, purchases: 10 }, pace({ concurrency: 1 })).ms).toBe(400);
  });
  test('the events of one purchase go one after the other', () => {
    expect(expectedDrain({ count: 100, purchases: 1 }, pace())).toMatchObject({
      ms: 4_000,
      text: expect.stringContaining('1 at a time'),
    });
  });
  test('what waits already goes first, with all slots', () => {
    const drain = expectedDrain({ count: 3_200, purchases: 500 }, pace({ waiting: 6_400, waitingAtLeast: true }));
    expect(drain.ms).toBe(8_000);
    expect(drain.text).toMatch(/, after at least 6 400 that wait already$/);
    expect(expectedDrain({ count: 1, purchases: 1 }, pace({ waiting: 1 })).text).toMatch(/\), after 1 that waits already$/);
  });
  test.each([
    ['no daemon', { replicas: 0 }, /no daemon is running/],
    ['nothing measured', { median: null, measured: 0 }, /nothing was delivered to it yet/],
  ] as const)('%s: it is not known, and why is said', (_, differs, text) => {
    const drain = expectedDrain({ count: 1, purchases: 1 }, pace(differs));
    expect(drain).toEqual({ ms: null, text: expect.stringMatching(text) });
  });
  test('nothing takes no time', () => {
    expect(expectedDrain({ count: 0, purchases: 0 }, pace({ median: null }))).toEqual({
      ms: 0,
      text: 'there is nothing to send',
    });
  });
});

describe('until all that waits has arrived, once the subscriber takes deliveries again', () => {
  test('all slots of all daemons are used', () => {
    expect(drainAfterResume(pace({ waiting: 6_400 }))).toEqual({ ms: 4_000, perSecond: 1_600 });
    expect(drainAfterResume(pace({ waiting: 6_400, replicas: 2 }))).toEqual({ ms: 2_000, perSecond: 3_200 });
  });
  test('a receiver that answers at once takes a thousand a second and slot at most', () => {
    expect(drainAfterResume(pace({ waiting: 100, median: 0, concurrency: 1 }))).toEqual({ ms: 100, perSecond: 1_000 });
  });
  test.each([{ median: null }, { replicas: 0 }, { waiting: 0 }])('nothing is known with %j', (differs) => {
    expect(drainAfterResume(pace({ waiting: 1, ...differs }))).toBeNull();
  });
});
